"""Tiles on one side of a diagonal: each total of a symmetric sum is used for two elements of the result.

A tile of the loops around a sum is left out where all of it is above the diagonal; where all of it is below, the end of the
kernel runs once more with both axes exchanged. So each element is stored once, by its own tile or by that on the other side.

A tile that the diagonal crosses stores all of its elements where one side divides the other: then such tiles make up squares,
and no tile below is the mirror image of a part of them. Other tiles on the diagonal store what is not above it, and once more,
with both axes exchanged, what is below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import assert_never

from warploom.core.linear import Linear
from warploom.schedule.backbone import Symmetry
from warploom.schedule.choices.lower_operations import Operation, Operations
from warploom.schedule.choices.lower_tree import Branch, Item, Tree
from warploom.schedule.choices.lower_values import Registers
from warploom.schedule.nest import Affine, Barrier, Combine, Compute, Guard, Kind, Load, Loop, Node, Ref, Store, renumbered


@dataclass(frozen=True, slots=True)
class Halves:
    """The tiles of a candidate."""

    tile: Branch
    """The innermost loop around a tile."""
    computed: Guard
    """Holds where some of the tile is on the diagonal or below."""
    mirrored: Guard
    """Holds where all of it is below."""
    crossed: Guard | None
    """Holds where not all of it is below; None where such tiles make up squares."""
    ending: frozenset[int]
    """Statements that run once more."""


def halves_of(
    symmetry: Symmetry, operations: Operations, tree: Tree, registers: Registers, index: Callable[[Operation, int], Affine]
) -> Halves | None:
    """None where the loops of the candidate make no such tiles: then all of the result is computed. `index` gives the index of an
    axis in an operation's loops."""
    total = operations.by_statement[symmetry.total]
    path = tree.paths[total.statement]
    own = {axis: [b for e in operations.levels[axis] if (b := tree.loop_of[total.dims[e]]) is not None] for axis in symmetry.axes}
    tiled = [b for b in path if b.kind in (Kind.LOOP, Kind.BLOCK) and any(b in loops for loops in own.values())]
    if not tiled or registers.reductions[total.statement].blocks or not _is_confined(symmetry, operations, tree, tiled[-1]):
        return None
    around = {b.number for b in path[: path.index(tiled[-1]) + 1]}
    starts: list[Affine] = []
    sides: list[int] = []
    for axis in symmetry.axes:
        whole = index(total, axis)
        start = Linear(tuple(t for t in whole.terms if t[0] in around), whole.constant)
        sizes = {b.number: b.size for b in own[axis]}
        side = 1
        for number, stride in sorted((t for t in whole.terms if t[0] not in around), key=lambda t: t[1]):
            if stride != side:
                return None
            side *= sizes[number]
        if not start.terms or start.constant or any(stride % side for _, stride in start.terms):
            return None
        starts.append(start)
        sides.append(side)
    rows, columns = sides
    bound = max(prod(operations.sizes[e] for e in operations.levels[axis]) for axis in symmetry.axes) + max(sides)
    behind = starts[0].plus(starts[1], -1)
    crossed = Guard(behind.scaled(-1).shifted(columns - 1), bound) if max(sides) % min(sides) else None
    computed, mirrored = Guard(behind.shifted(rows - 1), bound), Guard(behind.shifted(-columns), bound)
    return Halves(tiled[-1], computed, mirrored, crossed, symmetry.ending)


def _is_confined(symmetry: Symmetry, operations: Operations, tree: Tree, tile: Branch) -> bool:
    """All that the end of the kernel does, and all that is made inside of the tile, is used inside of it."""
    inside = {s for s, path in tree.paths.items() if tile in path}
    if not symmetry.ending <= inside or operations.by_statement[symmetry.total].carry is None:
        return False
    for statement in inside:
        if not inside.issuperset(operations.users.get(statement, ())):
            return False
        temporary = operations.by_statement[statement].temporary
        if temporary is not None and temporary.store in inside and temporary.load not in inside:
            return False
    outside = {
        o.instruction
        for s in symmetry.ending
        for o in operations.by_statement[s].results
        if o.instruction not in symmetry.ending and o.instruction != symmetry.total
    }
    return all(not set(symmetry.axes) & set(operations.axes_of(operations.by_statement[s])) for s in outside)


def again(items: list[Item], halves: Halves, write: Callable[[int], Node], numbers: Iterator[int]) -> tuple[Node, ...]:
    """The end of the kernel once more: the loops around its statements with numbers of their own; `write` writes one of them."""
    fresh: dict[int, int] = {}
    found = _again(items, halves, write)
    for node in found:
        for loop in _loops(node):
            fresh[loop.number] = next(numbers)
    return tuple(renumbered(node, lambda n: fresh.get(n, n)) for node in found)


def _again(items: list[Item], halves: Halves, write: Callable[[int], Node]) -> list[Node]:
    found: list[Node] = []
    for item in items:
        if isinstance(item, int) and item in halves.ending:
            found.append(write(item))
        elif isinstance(item, Branch):
            body = _again(item.children, halves, write)
            if any(_uses(node, item.number) for node in body):
                kind = item.kind if item.kind is not Kind.VECTOR or len(body) == 1 else Kind.UNROLL
                found.append(Loop(item.number, item.name, kind, item.size, tuple(body)))
            else:
                found += body  # of an axis that the end of the kernel does not have
    return found


def _loops(node: Node) -> Iterator[Loop]:
    if isinstance(node, Loop):
        yield node
        for child in node.body:
            yield from _loops(child)


def _uses(node: Node, number: int) -> bool:
    match node:
        case Loop(body=body):
            return any(_uses(child, number) for child in body)
        case Load(target=target, memory=memory):
            found = [*target.at, memory.offset]
        case Store(memory=memory, argument=argument):
            found = [memory.offset, *(argument.at if isinstance(argument, Ref) else ())]
        case Compute(target=target, arguments=arguments):
            found = list(target.at)
            for argument in arguments:
                found += argument.at if isinstance(argument, Ref) else [argument] if isinstance(argument, Linear) else []
        case Combine() | Barrier():
            return False
        case _:
            assert_never(node)
    return any(n == number for affine in found for n, _ in affine.terms)
