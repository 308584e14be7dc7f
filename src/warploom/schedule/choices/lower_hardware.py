"""Hardware dimensions of block and thread loops.

Source: paper, section 4.5: thread nests mapped to the same level share its index.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.core.launch import MAX_GRID
from warploom.core.linear import Linear
from warploom.schedule.choices.decided import Decided, LoweringError
from warploom.schedule.choices.lower_tree import Branch, Tree
from warploom.schedule.nest import Guard, Kind


def assign_hardware(decided: Decided, tree: Tree) -> None:
    """Sets `hardware` of block and thread loops: the innermost is 0."""
    _assign_blocks(tree)
    threads = [b for b in tree.branches if b.kind is Kind.THREAD]
    levels: list[list[Branch]] = []
    for branch in threads:
        for level in levels:
            if decided.thread_mapping(level[0].dims[0], branch.dims[0]) == "MAPPED":
                level.append(branch)
                break
        else:
            levels.append([branch])
    for level in levels:
        inner = sum(_is_inside(decided, other[0], level[0]) for other in levels if other is not level)
        for branch in level:
            branch.hardware = inner
    if sorted({b.hardware for b in threads if b.hardware is not None}) != list(range(len(levels))):
        raise LoweringError(f"the hardware levels of threads {[b.name for b in threads]} are not in one order")


def _is_inside(decided: Decided, inner: Branch, outer: Branch) -> bool:
    return decided.thread_mapping(outer.dims[0], inner.dims[0]) == "MAPPED_OUT"


def _assign_blocks(tree: Tree) -> None:
    blocks: list[Branch] = []
    items = tree.children
    while inner := [i for i in items if isinstance(i, Branch) and i.kind is Kind.BLOCK]:
        blocks.append(inner[0])
        items = inner[0].children
    if len(blocks) != sum(b.kind is Kind.BLOCK for b in tree.branches):
        raise LoweringError("block loops must be outermost, around every statement")
    order = list(reversed(blocks))
    large = next((b for b in order[1:] if b.size > MAX_GRID[1]), None)
    if large is not None:
        order.remove(large)
        order.insert(0, large)
    for number, branch in enumerate(order):
        branch.hardware = number


def only_first_threads(tree: Tree, path: tuple[Branch, ...], own: frozenset[int], dropped: frozenset[int]) -> tuple[Guard, ...]:
    """Guards that leave one thread of those that would run a store with the same result.

    path: the loops around the store; own: numbers of those whose index tells its results apart; dropped: statements of which
    nothing is left.
    """
    first: dict[int, Branch] = {}
    for statement, around in tree.paths.items():
        for branch in around:
            if branch.kind is Kind.THREAD and branch.hardware is not None and statement not in dropped:
                first.setdefault(branch.hardware, branch)
    inside: Mapping[int, Branch] = {b.hardware: b for b in path if b.kind is Kind.THREAD and b.hardware is not None}
    guards: list[Guard] = []
    for hardware, branch in sorted(first.items()):
        around = inside.get(hardware)
        if around is None or around.number not in own:
            guards.append(Guard(Linear((((around or branch).number, 1),)), 1))
    return tuple(guards)
