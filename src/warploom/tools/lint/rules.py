"""The rules of `warploom lint`; docs/lint.md has a section for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from warploom.ptx.simt import BETWEEN_BLOCKS, IN_FLIGHT, STILL_READ, WITHOUT_FENCE, WITHOUT_PROXY_FENCE

Level: TypeAlias = Literal["error", "warning", "note"]
"""`error`: the launch is wrong. `warning`: it is slower than it has to be. `note`: a fact worth knowing."""
LEVELS: tuple[Level, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    """Stable; for baselines and for other tools."""
    name: str
    level: Level
    title: str
    fix: str


RULES = (
    Rule("WL001", "data-race", "error", "Two threads use one place at the same time, and one of them writes.",
         "Put a barrier between the two accesses, let one thread write, or use an atomic operation of a scope that has both."),
    Rule("WL002", "out-of-bounds", "error", "An access lies outside of every array.",
         "Guard the access by the size of the array, or launch fewer threads."),
    Rule("WL003", "misaligned", "error", "An address is no multiple of the width of the access.",
         "Read narrower elements, or align the array and its rows to the width."),
    Rule("WL004", "read-only", "error", "A store to memory that a kernel must not write.",
         "Write to an array of global or shared memory."),
    Rule("WL005", "uninitialised-shared", "error", "Shared memory is read where no thread has written.",
         "Fill what is read, the edges of the tile too, and put a barrier between."),
    Rule("WL006", "uninitialised-register", "error", "A value is used that nothing has set on this path.",
         "Give the variable a value on every path."),
    Rule("WL007", "early-copy-read", "error",
         "The target of an asynchronous copy or product is used before the thread has waited for it.",
         "Wait for the copy (cp.async.wait_group, or its mbarrier), then use a barrier, before the data are used."),
    Rule("WL008", "discarded", "error", "Memory is read after its lines were discarded.",
         "Write the lines before they are read, or do not discard them."),
    Rule("WL009", "inactive-lane", "error", "A shuffle reads from a lane that does not take part.",
         "Let all lanes of the mask reach the shuffle, or read from lanes that do."),
    Rule("WL010", "divergent-barrier", "error", "Some threads of a block never reach a barrier that others wait at.",
         "Move the barrier out of the branch or loop that only some threads run."),
    Rule("WL011", "deadlock", "error", "All threads that are left wait, and none can go on.",
         "Let every thread that is waited for arrive: compare counts, masks and phases of the barriers."),
    Rule("WL012", "trap", "error", "The kernel ends itself: trap, or a failed assertion.",
         "Look at the condition that leads there; a kernel that waits for its grid needs --cooperative."),
    Rule("WL013", "stack-overflow", "error", "Calls nest deeper than the stack of a thread.", "Bound the recursion."),
    Rule("WL014", "bad-call", "error", "A call leads to no function, or to one of another type.",
         "Check the function pointer and its type."),
    Rule("WL015", "uninitialised-local", "error", "An array of a thread is read where the thread has not written.",
         "Fill the array, or read only what was written."),
    Rule("WL016", "index-overflow", "error", "An address is made of a signed 32-bit sum or product that does not fit.",
         "Compute the index with 64 bits: make one of the factors a long long or size_t before the product."),
    Rule("WL101", "uncoalesced", "warning", "A warp asks for more sectors of global memory than its data fill.",
         "Let neighbouring lanes read neighbouring elements: change the order of the data, or stage a tile in shared memory."),
    Rule("WL102", "bank-conflict", "warning", "Lanes of a warp ask one bank of shared memory for different words.",
         "Let neighbouring lanes ask for neighbouring words, or pad or swizzle the rows of a tile: `warploom layout 32x32:f32 "
         "--access rows --access columns` finds the map of one of 32 rows of 32 floats."),
    Rule("WL103", "spills", "warning", "Values of a thread lie in local memory because its registers do not hold them.",
         "Shorten the life of values, unroll less, or allow more registers (__launch_bounds__, -maxrregcount)."),
    Rule("WL104", "low-occupancy", "note", "Fewer than half of the warps that a multiprocessor could hold fit on it.",
         "Use fewer registers or less shared memory, or another block: unless each thread has enough work in flight."),
    Rule("WL105", "local-memory", "note", "Each thread has memory of its own beside its registers: arrays or calls.",
         "Index the thread's arrays by constants (unrolled loops), or keep them in shared memory; let functions be inlined."),
    Rule("WL106", "repeated-load", "note", "Neighbouring lanes load what a lane of their warp has loaded already.",
         "Take it by a shuffle: `warploom ptx shuffle` rewrites the PTX and proves it."),
    Rule("WL201", "idle-barrier", "note", "A barrier of the block orders no two accesses.",
         "Leave it out; all that are named may go at once."),
    Rule("WL202", "float-atomic", "note", "Floats are added by atomic operations, in an order that changes from run to run.",
         "Where results must be the same bit by bit, add in a fixed order: by shuffles, then one block after the other."),
    Rule("WL203", "equal-stores", "note", "Lanes of a warp store one value at one place by one instruction.",
         "Let one of the lanes store."),
)  # fmt: skip

FIXES: Mapping[str, str] = {
    BETWEEN_BLOCKS: "No barrier orders two blocks: let one block write each place, use an atomic operation of the GPU's scope, "
    "or two launches.",
    STILL_READ: "Let who issued the read wait for its end (cp.async.bulk.wait_group.read, wgmma.wait_group, or the mbarrier of a "
    "tcgen05.commit), and then a barrier, before the place is stored to again.",
    WITHOUT_PROXY_FENCE: "Let every thread that stores execute fence.proxy.async after its stores, and then a barrier, before "
    "the asynchronous read is issued.",
    WITHOUT_FENCE: "Execute wgmma.fence.sync.aligned after registers of a product are set and before its first wgmma.mma_async.",
    IN_FLIGHT: "Execute wgmma.commit_group and wgmma.wait_group with few enough groups left before the register is used.",
}
"""How to fix a data race or an early read, by what its message says."""
BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
OF_KIND: Mapping[str, Rule] = {
    "shared_race": BY_NAME["data-race"],
    "global_race": BY_NAME["data-race"],
    "register_race": BY_NAME["data-race"],
    "out_of_bounds": BY_NAME["out-of-bounds"],
    "misaligned": BY_NAME["misaligned"],
    "read_only": BY_NAME["read-only"],
    "uninitialised_shared": BY_NAME["uninitialised-shared"],
    "uninitialised_register": BY_NAME["uninitialised-register"],
    "uninitialised_local": BY_NAME["uninitialised-local"],
    "early_copy_read": BY_NAME["early-copy-read"],
    "discarded": BY_NAME["discarded"],
    "shuffle_inactive": BY_NAME["inactive-lane"],
    "barrier_divergence": BY_NAME["divergent-barrier"],
    "deadlock": BY_NAME["deadlock"],
    "trap": BY_NAME["trap"],
    "stack_overflow": BY_NAME["stack-overflow"],
    "bad_call": BY_NAME["bad-call"],
    "index_overflow": BY_NAME["index-overflow"],
}
"""The rule of each kind of finding of the interpreter."""
