"""Tiles of which a block's rows need nothing (`Rewritten.mask`): the loop over the tiles leaves them out.

A form of the mask is at most what it is with all loops of the block at their best, but for the one over the tiles; where even
that is negative, the tile has no element that counts. Each row has one, so at least one tile of each block is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from warploom.core.launch import MAX_GRID
from warploom.core.linear import Linear
from warploom.schedule.backbone import AxisSum, Operator
from warploom.schedule.choices.lower_direction import turned
from warploom.schedule.choices.lower_operations import Operation, Operations
from warploom.schedule.choices.lower_tree import Branch, Tree
from warploom.schedule.nest import Affine, Guard, Kind, Loop, Nest, Node, blocks_of, loops, rounds_held


@dataclass(frozen=True, slots=True)
class Needed:
    """The tiles that a block makes."""

    loop: Branch
    """The loop over all tiles."""
    only: tuple[Guard, ...]
    """All hold in a tile that is made."""


def needed_tiles(operations: Operations, tree: Tree, index: Callable[[Operation, AxisSum], Affine]) -> Needed | None:
    """None where all are made. `index` gives a sum of axes from an operation's loops."""
    rewritten = operations.backbone.rewritten
    if rewritten is None or rewritten.mask is None:
        return None
    (outer,) = operations.levels[rewritten.outer]
    found = (tree.loop_of[o.dims[outer]] for o in operations.by_statement.values() if outer in o.dims)
    numbers = {b.number for b in found if b is not None}
    top = next(
        o
        for o in operations.by_statement.values()
        if o.operator is Operator.MAX and o.carry is not None and o.carry.reduced == (rewritten.inner,)
    )
    loop = tree.loop_of[top.dims[outer]]
    if loop is None or loop.kind is not Kind.LOOP or len(numbers) > 1:
        return None
    branches = {b.number: b for b in tree.branches}

    def guard(form: AxisSum) -> Guard:
        whole = index(top, form)
        kept = {n for n, _ in whole.terms if branches[n].kind is Kind.BLOCK or n == loop.number}
        most = whole.without(kept).span(lambda n: branches[n].size - 1)[1]
        best = Linear(whole.only(kept).terms, most)
        return Guard(best, best.span(lambda n: branches[n].size - 1)[1] + 1)

    return Needed(loop, tuple(map(guard, rewritten.mask.forms)))


def longest_first(nest: Nest) -> Nest:
    """The nest with its blocks in another order: those that make more tiles come before others, as far as one index tells."""
    loop = next((x for x in loops(nest.body) if x.only), None)
    if loop is None:
        return nest
    numbers, held = rounds_held(nest, loop)
    blocks = blocks_of(nest).around
    named = [b for b in blocks if b.number in numbers]
    others = [b for b in blocks if b.number not in numbers]
    growing: dict[int, int] = {}
    for block in named:
        rounds = held.sum(axis=tuple(n for n, number in enumerate(numbers) if number != block.number))
        if rounds[0] < rounds[-1]:
            growing[block.number] = block.size
    order = sorted(others, key=_place) + sorted(named, key=_place)
    if any(b.size > most for b, most in zip(order, MAX_GRID, strict=False)):
        order = sorted(blocks, key=_place)
    places = {b.number: n for n, b in enumerate(order)}
    return turned(replace(nest, body=tuple(_placed(node, places) for node in nest.body)), growing)


def _place(block: Loop) -> int:
    return block.hardware or 0


def _placed(node: Node, places: Mapping[int, int]) -> Node:
    """The block loops on these hardware dimensions."""
    if not isinstance(node, Loop) or node.number not in places:
        return node
    return replace(node, hardware=places[node.number], body=tuple(_placed(child, places) for child in node.body))
