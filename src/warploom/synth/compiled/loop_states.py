"""The state of a block at the header of a loop: what all threads hold, and what of shared memory is not ordered yet."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.synth.compiled.copies import Copy, Queue
from warploom.synth.compiled.data import Joined, Value
from warploom.synth.compiled.groups import Order, go_back_to, order_of
from warploom.synth.compiled.memory import History, Stored
from warploom.synth.compiled.names import NAME
from warploom.synth.compiled.renaming import SUM
from warploom.synth.compiled.threads import Block, Launch
from warploom.terms import Term

OpenAccesses = dict[tuple[int, int, int], frozenset[tuple[str, int]]]
"""By region, bytes of a place and place: kind and thread."""


@dataclass(slots=True)
class State:
    registers: dict[str, list[Value]]
    alike: dict[str, list[Value]]
    cells: list[dict[int, Stored]]
    history: list[tuple[int, dict[int, History]]]
    copies: dict[int, Queue]
    epoch: int
    times: list[int]
    shown: Order


def state_of(block: Block) -> State:
    regions = block.shared.regions
    return State(
        dict(block.registers),
        dict(block.alike),
        [dict(r.cells) for r in regions],
        [(r.granule_bytes, r.kept_history()) for r in regions],
        {t: Queue(list(q.open), [list(g) for g in q.groups]) for t, q in block.copies.items() if isinstance(q, Queue)},
        block.epoch,
        list(block.times),
        order_of(block),
    )


def restore(block: Block, state: State) -> None:
    block.registers = dict(state.registers)
    block.alike = dict(state.alike)
    for region, cells, (granule, history) in zip(block.shared.regions, state.cells, state.history, strict=True):
        region.cells = dict(cells)
        region.granule_bytes = granule
        region.go_back_to(history)
    block.copies = {t: Queue(list(q.open), [list(g) for g in q.groups]) for t, q in state.copies.items()}
    block.epoch = state.epoch
    block.times = list(state.times)
    go_back_to(block, state.shown)


def column_of(state: State, name: str, launch: Launch) -> list[Value] | None:
    """The value of each thread."""
    if (values := state.alike.get(name)) is None or launch.translations is None:
        return state.registers.get(name)
    return launch.translations.values_of(values, range(len(state.times)))


def open_accesses(block: Block) -> OpenAccesses:
    """Accesses to shared memory since the last barrier of all threads."""
    found: OpenAccesses = {}
    for n, region in enumerate(block.shared.regions):
        for granule, past in region.history.items():
            kinds = (("store", past.writers), ("update", past.updates.values()), ("load", past.readers.values()))
            accesses = frozenset([(kind, o.thread) for kind, owners in kinds for o in owners if o.epoch >= block.epoch])
            if accesses:
                found[n, region.granule_bytes, granule] = accesses
    return found


def is_computed(value: Value) -> bool:
    """Whether it is of floats that were computed, or has them in it."""
    if isinstance(value, Joined):
        return any(is_computed(part) for part, _ in value.parts)
    return isinstance(value, Term) and (value.op != "atom" or value.data[0] in (SUM, NAME))


def groups_of(queues: dict[int, Queue], thread: int) -> list[list[Copy]]:
    """Copies of a thread: those of no group yet, then each group's. A thread without a queue has none."""
    queue = queues.get(thread, Queue())
    return [queue.open, *queue.groups]


def is_same_place(a: Copy, b: Copy) -> bool:
    return (a.target, a.target_offset, a.size_bytes, len(a.values)) == (b.target, b.target_offset, b.size_bytes, len(b.values))
