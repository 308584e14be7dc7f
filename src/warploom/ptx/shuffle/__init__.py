"""Replaces loads of values that another lane has loaded by warp shuffles (PTXASW 5.1, 5.2): detection, guards, code, profit.

Takes a PTX module and options. Gives the rewritten module and a report of every load. Open `rewrite.py` first, then `detect.py`
and `code.py`.

    source   ld.global.f32 %a, [A];            target   ld.global.f32 %b, [B];          A(tid.x + N) = B(tid.x), |N| <= 31

    activemask.b32 m                           once per run of straight-line code, before its first source
    incomplete = m != 0xffffffff
    corner = incomplete, or no lane N of this row and warp, or an index of this run may wrap
    shfl.sync %b, %a, N, m
    @corner ld.global.f32 %b, [B]              the original load

Why memory ends up the same, for every launch:

1. *The shuffle is executed by those it names* (PTX ISA 9.7.9.6, `shfl.sync`). All threads that execute one `activemask`
   together get one m, the set of just these threads. From there to the shuffle the code is straight, without calls: no thread
   of m exits, branches away or skips the shuffle, which has no predicate. So every thread named in m comes to this shuffle
   with this m, however the threads are scheduled. (A predicate on the shuffle, or a constant mask behind a test, would be as
   right, but makes ptxas branch.) Where m is not full the result may be undefined; nobody reads it: corner holds in every
   such lane.
2. *Lane + N is the thread with tid.x + N.* Threads are numbered x first and cut into warps of 32 (CUDA Programming Guide,
   SIMT architecture), so lane + N has tid.x + N and the same tid.y and tid.z if 0 <= lane + N < 32 and 0 <= tid.x + N <
   ntid.x. Both are tested, in one comparison with the nearer of the two ends; the second is left out only where `.reqntid`
   (or a limit the user states) says that rows hold whole warps. Neighbours along y are tested likewise: any block has the
   right answer.
3. *It has executed the source*, as the source dominates the target (block and position) and has no predicate, or one that a
   ballot of the same run asks for; its register still holds the value, or is copied right after the source. Or else the source
   stands in no loop and has no predicate, a thread that ran it notes so in a predicate (false at the kernel's start), and a
   ballot of these notes at the target says whether the neighbour did; copies of the values begin as 0.
4. *In the same iteration.* Every loop around the source is around the target, and is one in which lanes that stand together
   are in the same iteration: each branch in it is decided alike by all lanes, or leaves the loop for good with all but one
   successor, or whoever stays runs through a common block before the next iteration (`iterations`). The last rests on how
   lanes meet again: parted lanes wait for each other where all their ways must pass, or else never meet before that loop is
   left. Stack- and barrier-based reconvergence, thread frontiers and our interpreter (which does merge lanes in different
   iterations where it can) all have this. Where no loop holds the source, nothing is needed: the address has no counter in
   it.
5. *Its address was B.* Both threads satisfy the path condition of their load; A seen from this lane and B are equal terms, or
   are where an index `x + d` does not wrap, x being a value of this lane at the target. What is left open is tested by every
   lane for itself (`setp` into the corner), or the load is refused; `assume_nsw` skips the test and the report says so. One
   test serves all loads of a run with one value x (`ranges`), and stands at the run's start, on a copy of the arithmetic that
   leads to x (`early`): a lane may load for itself without need, never the other way round.
6. *Memory was the same.* Between source and target, on every path of a thread, stands no store, atomic, barrier, fence,
   acquire or call that might touch the space, wherever it may point. `.nc` loads read what nobody writes (ISA). If some write
   came between the neighbour's source and this lane's target all the same, nothing orders it against one of the two accesses:
   a data race of the original. Volatile, relaxed and acquire loads are never sources or targets. Where a thread may come to the
   target past the source, the ways count from the last place that both have in common. `noalias` lets plain stores through
   another pointer parameter than the source's stand between, and the report says which: right where the arrays do not overlap.

A reuse (N = 0) needs 3, 5 and 6 for one thread only, so plain stores of that thread in the straight-line code between the two
loads may stay: those at addresses shown to be elsewhere, and a few others that the thread tests,

    sub.s64 d, S, B;  setp.lt.u64 p, d + (bytes of the load - 1), bytes of both - 1;  mov %b, %a;  @p ld.global.f32 %b, [B]

where p holds exactly if the store at S wrote a byte of the load at B. A store of another thread there is a data race. Sources are
always loads that stay. Cache mode (`halo`) adds: the tests of 5 hold in all lanes of a full warp within one row, by vote, also
for neighbours 32 lanes away; then a halo load reads exactly what some lane's own target would have read, without a predicate,
at an address that is thus a good one. Loads that one thread makes of adjacent places are joined, on request, by `vectors`.
"""

from warploom.ptx.shuffle.options import MAX_DELTA, ShuffleOptions
from warploom.ptx.shuffle.plan import Kind, Mode, Variant
from warploom.ptx.shuffle.policy import Candidate, Decision, KernelFacts, Policy, apply_all, apply_none
from warploom.ptx.shuffle.profit import LEAST_GAIN, Estimate, Forecast, Profitable, forecast, forecast_vectors
from warploom.ptx.shuffle.report import Json, Judged, KernelReport, Refusal, VectorLoad
from warploom.ptx.shuffle.rewrite import Rewritten, shuffle

__all__ = [
    "LEAST_GAIN", "MAX_DELTA", "Candidate", "Decision", "Estimate", "Forecast", "Json", "Judged", "KernelFacts", "KernelReport",
    "Kind", "Mode", "Policy", "Profitable", "Refusal", "Rewritten", "ShuffleOptions", "Variant", "VectorLoad", "apply_all",
    "apply_none", "forecast", "forecast_vectors", "shuffle",
]  # fmt: skip
