"""Which threads of a warp run together: divergence, meeting again, waiting, spinning."""

import numpy as np
import pytest

from warploom.ptx import launch
from warploom.ptx.simt.order import schedule_order

from .compiled import compiled
from .written import kernel, run, words

BALLOT = "activemask.b32 %r20;\nst.global.u32 [%rd3], %r20;\n"
FULL = 0xFFFFFFFF


class TestOrder:
    def test_diamond(self) -> None:
        rank = schedule_order([(1, 2), (3,), (3,), ()])
        assert rank[0] == 0
        assert rank[3] == 3

    def test_loop_before_its_exit(self) -> None:
        rank = schedule_order([(1,), (2, 3), (1,), ()])
        assert rank == [0, 1, 2, 3]

    def test_break_out_of_two_loops(self) -> None:
        graph = [(1,), (2, 6), (3, 5), (4, 2), (2, 7), (1,), (7,), ()]
        rank = schedule_order(graph)
        assert rank[7] == 7
        assert max(rank[2], rank[3], rank[4]) < rank[5] < rank[6]

    def test_irreducible(self) -> None:
        rank = schedule_order([(1, 2), (2, 3), (1, 3), ()])
        assert rank[0] == 0
        assert rank[3] == 3

    def test_deep_straight_line(self) -> None:
        count = 5000
        assert schedule_order([(n + 1,) if n + 1 < count else () for n in range(count)]) == list(range(count))


class TestReconvergence:
    def test_after_if_and_else(self) -> None:
        body = (
            "and.b32 %r5, %r1, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra A;\nmov.u32 %r6, 1;\nbra B;\nA: mov.u32 %r6, 2;\nB:\n"
            + BALLOT
        )
        assert words(body) == [FULL] * 64

    def test_inside_the_branches(self) -> None:
        body = "and.b32 %r5, %r1, 1;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra A;\n" + BALLOT + "bra B;\nA:\n" + BALLOT + "B:"
        assert words(body) == [0x55555555, 0xAAAAAAAA] * 32

    def test_nested_ifs(self) -> None:
        body = f"""and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0;
and.b32 %r6, %r1, 2; setp.eq.u32 %p2, %r6, 0;
@%p1 bra ELSE;
@%p2 bra INNER;
add.u32 %r7, %r1, 1;
INNER: {BALLOT}
bra END;
ELSE: @%p2 bra END;
{BALLOT}
END: activemask.b32 %r21;
setp.ne.u32 %p3, %r21, -1;
@%p3 trap;"""
        expected = [[0, 0xAAAAAAAA, 0x44444444, 0xAAAAAAAA][lane % 4] for lane in range(64)]
        assert words(body.replace("add.u32 %r7, %r1, 1;", "mov.u32 %r7, 1;")) == expected

    def test_loops_with_different_trip_counts(self) -> None:
        body = """mov.u32 %r5, 0;
LOOP: setp.ge.u32 %p1, %r5, %r1;
@%p1 bra DONE;
add.u32 %r5, %r5, 1;
bra LOOP;
DONE: activemask.b32 %r6;
setp.ne.u32 %p2, %r6, -1;
@%p2 trap;
st.global.u32 [%rd3], %r5;"""
        assert words(body) == list(range(64))

    def test_break_and_continue(self) -> None:
        source = r"""extern "C" __global__ void k(unsigned* y) {
          unsigned t = threadIdx.x, total = 0;
          for (unsigned i = 0; i < 40; i++) {
            if (i == t) break;
            if ((i ^ t) & 1) continue;
            for (unsigned j = 0; j < i; j++) { if (j * 7 > t) break; total += j; }
            total += 3;
          }
          y[t] = total + (__activemask() == ~0u ? 1000 : 0);
        }"""

        def expected(t: int) -> int:
            total = 0
            for i in range(40):
                if i == t:
                    break
                if (i ^ t) & 1:
                    continue
                for j in range(i):
                    if j * 7 > t:
                        break
                    total += j
                total += 3
            return total + 1000

        ran = launch(compiled(source), grid=1, block=64, args=[np.zeros(64, np.uint32)])
        assert ran.findings == ()
        assert ran.arrays[0].tolist() == [expected(t) for t in range(64)]

    def test_early_return_before_a_shuffle(self) -> None:
        body = "setp.ge.u32 %p1, %r1, 40;\n@%p1 ret;\nshfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;\nst.global.u32 [%rd3], %r5;"
        assert words(body) == [lane ^ 1 for lane in range(40)] + [0] * 24

    def test_irreducible_flow(self) -> None:
        body = """mov.u32 %r5, 0; and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 0;
@%p1 bra B;
A: add.u32 %r5, %r5, 1;
setp.gt.u32 %p2, %r5, %r1;
@%p2 bra END;
B: add.u32 %r5, %r5, 2;
setp.le.u32 %p2, %r5, %r1;
@%p2 bra A;
END: activemask.b32 %r7;
setp.ne.u32 %p3, %r7, -1;
@%p3 trap;
st.global.u32 [%rd3], %r5;"""

        def expected(lane: int) -> int:
            count, at_b = 0, lane % 2 == 0
            while True:
                if not at_b:
                    count += 1
                    if count > lane:
                        return count
                count += 2
                if count > lane:
                    return count
                at_b = False

        assert words(body) == [expected(lane) for lane in range(64)]

    def test_calls_meet_after_return(self) -> None:
        func = """.func (.reg .b32 %out) f(.reg .b32 %in) {
.reg .pred %p; .reg .b32 %t;
and.b32 %t, %in, 1; setp.eq.u32 %p, %t, 0;
@%p bra EVEN;
mul.lo.u32 %out, %in, 3;
ret;
EVEN: add.u32 %out, %in, 100;
ret;
}
"""
        body = "call (%r5), f, (%r1);\nactivemask.b32 %r6;\nsetp.ne.u32 %p1, %r6, -1;\n@%p1 trap;\nst.global.u32 [%rd3], %r5;"
        assert words(body, before=func) == [3 * t if t % 2 else t + 100 for t in range(64)]


class TestWaiting:
    def test_shuffle_in_both_branches_of_parts_of_a_warp(self) -> None:
        body = """setp.lt.u32 %p1, %r1, 16;
@%p1 bra LOW;
shfl.sync.bfly.b32 %r5, %r1, 1, 31, 0xffff0000;
bra END;
LOW: shfl.sync.bfly.b32 %r5, %r1, 2, 31, 0x0000ffff;
END: st.global.u32 [%rd3], %r5;"""
        assert words(body, block=32) == [t ^ 2 if t < 16 else t ^ 1 for t in range(32)]

    def test_warp_barrier_at_two_places(self) -> None:
        body = """setp.lt.u32 %p1, %r1, 16;
@%p1 bra LOW;
bar.warp.sync -1;
mov.u32 %r5, 1;
bra END;
LOW: bar.warp.sync -1;
mov.u32 %r5, 2;
END: st.global.u32 [%rd3], %r5;"""
        assert words(body, block=32) == [2] * 16 + [1] * 16

    def test_guarded_shuffle(self) -> None:
        body = "and.b32 %r6, %r1, 1; setp.eq.u32 %p1, %r6, 0; mov.u32 %r5, 99;\n"
        body += "@%p1 shfl.sync.idx.b32 %r5, %r1, 2, 31, 0x55555555;\nst.global.u32 [%rd3], %r5;"
        assert words(body, block=32) == [2, 99] * 16

    def test_barrier_while_others_have_left(self) -> None:
        body = "setp.ge.u32 %p1, %r1, 32;\n@%p1 ret;\nbar.sync 0;\nst.global.u32 [%rd3], 1;"
        assert words(body) == [1] * 32 + [0] * 32

    def test_named_barriers_of_two_halves(self) -> None:
        body = "shr.u32 %r5, %r1, 5; add.u32 %r5, %r5, 1;\nbar.sync %r5, 32;\nst.global.u32 [%rd3], %r5;"
        assert words(body) == [1] * 32 + [2] * 32

    def test_producer_and_consumer(self) -> None:
        body = """.shared .b32 tile[32];
mov.u64 %rd4, tile; and.b32 %r5, %r1, 31; mul.wide.u32 %rd5, %r5, 4; add.s64 %rd6, %rd4, %rd5;
setp.ge.u32 %p1, %r1, 32;
@%p1 bra CONSUME;
add.u32 %r6, %r1, 5; st.shared.u32 [%rd6], %r6;
bar.arrive 1, 64;
bra END;
CONSUME: bar.sync 1, 64;
ld.shared.u32 %r7, [%rd6];
st.global.u32 [%rd3], %r7;
END:"""
        assert words(body) == [0] * 32 + [5 + t for t in range(32)]

    def test_reductions_at_barriers(self) -> None:
        body = """setp.lt.u32 %p1, %r1, 10;
bar.red.popc.u32 %r5, 0, %p1;
bar.red.or.pred %p2, 0, %p1;
bar.red.and.pred %p3, 0, !%p1;
selp.u32 %r6, 100, 0, %p2;
selp.u32 %r7, 1000, 0, %p3;
add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7;
st.global.u32 [%rd3], %r5;"""
        assert words(body) == [110] * 64


class TestSpinning:
    def test_lock_within_a_warp(self) -> None:
        source = r"""extern "C" __global__ void k(unsigned* lock, unsigned* count) {
          while (atomicCAS(lock, 0u, 1u) != 0u) {}
          *(volatile unsigned*)count = *(volatile unsigned*)count + 1;
          __threadfence();
          atomicExch(lock, 0u);
        }"""
        zeros = np.zeros(1, np.uint32)
        ran = launch(compiled(source), grid=2, block=33, args=[zeros, zeros.copy()], limit=50_000_000)
        assert ran.status == "finished"
        assert ran.arrays[1].tolist() == [66]

    def test_flag_of_another_block(self) -> None:
        source = r"""extern "C" __global__ void k(volatile unsigned* flag, unsigned* y) {
          if (blockIdx.x == 0) { while (*flag == 0) {} y[threadIdx.x] = 7; }
          else { __syncthreads(); if (threadIdx.x == 0) *flag = 1; }
        }"""
        ran = launch(compiled(source), grid=2, block=64, args=[np.zeros(1, np.uint32), np.zeros(64, np.uint32)], limit=50_000_000)
        assert ran.status == "finished"
        assert ran.arrays[1].tolist() == [7] * 64

    def test_barrier_of_one_block_while_another_spins(self) -> None:
        source = r"""extern "C" __global__ void k(volatile unsigned* flag, unsigned* y) {
          if (blockIdx.x == 0) { while (*flag == 0) {} return; }
          if (threadIdx.x >= 32) { for (unsigned i = 0; i < threadIdx.x; i++) y[threadIdx.x] += i; }
          __syncthreads();
          if (threadIdx.x == 0) *flag = 1;
        }"""
        ran = launch(compiled(source), grid=2, block=64, args=[np.zeros(1, np.uint32), np.zeros(64, np.uint32)], limit=50_000_000)
        assert ran.status == "finished"

    def test_starved_for_ever(self) -> None:
        text = kernel("L: ld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;")
        assert launch(text, grid=1, block=32, args=[np.zeros(32, np.uint32)], limit=200_000).status == "limit"


@pytest.mark.parametrize("block", [1, 31, 32, 33, 100])
def test_partial_warps(block: int) -> None:
    body = "activemask.b32 %r5;\nvote.sync.ballot.b32 %r6, 1, %r5;\npopc.b32 %r7, %r6;\nst.global.u32 [%rd3], %r7;"
    ran = run(body.replace(", 1, %r5", ", %p1, %r5").replace("activemask", "setp.eq.u32 %p1, 0, 0;\nactivemask"), block=block)
    assert ran.findings == ()
    assert ran.arrays[0].tolist() == [min(32, block - thread // 32 * 32) for thread in range(block)]
