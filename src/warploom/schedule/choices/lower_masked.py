"""Tiles of which a block's rows need nothing (`Rewritten.mask`): the loop over the tiles leaves them out.

A form of the mask is at most what it is with all loops of the block at their best, but for the one over the tiles; where even
that is negative, the tile has no element that counts. Each row has one, so at least one tile of each block is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warploom.core.linear import Linear
from warploom.schedule.backbone import AxisSum, Operator
from warploom.schedule.choices.lower_operations import Operation, Operations
from warploom.schedule.choices.lower_tree import Branch, Tree
from warploom.schedule.nest import Affine, Guard, Kind


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
    loops = {id(b): b for o in operations.by_statement.values() if outer in o.dims and (b := tree.loop_of[o.dims[outer]]) is not None}
    top = next(
        o
        for o in operations.by_statement.values()
        if o.operator is Operator.MAX and o.carry is not None and o.carry.reduced == (rewritten.inner,)
    )
    loop = tree.loop_of[top.dims[outer]]
    if loop is None or loop.kind is not Kind.LOOP or len(loops) > 1:
        return None
    branches = {b.number: b for b in tree.branches}

    def guard(form: AxisSum) -> Guard:
        whole = index(top, form)
        kept = {n for n, _ in whole.terms if branches[n].kind is Kind.BLOCK or n == loop.number}
        most = whole.without(kept).span(lambda n: branches[n].size - 1)[1]
        best = Linear(whole.only(kept).terms, most)
        return Guard(best, best.span(lambda n: branches[n].size - 1)[1] + 1)

    return Needed(loop, tuple(map(guard, rewritten.mask.forms)))
