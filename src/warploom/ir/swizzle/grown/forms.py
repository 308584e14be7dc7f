"""All compositions that peeling finds for a table, in their cheapest order, those that begin with the other index among them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warploom.ir.swizzle.compositions import Composition
from warploom.ir.swizzle.functions import IntArray
from warploom.ir.swizzle.grown.orders import cheapest_order
from warploom.ir.swizzle.grown.peel import peel, permutes
from warploom.ir.swizzle.primitives import Cm2Linear


def forms(table: IntArray, start: str, i_count: int, j_count: int, undone: IntArray | None = None) -> Iterator[Composition]:
    """Compositions of i and j below these counts with the given [index, parameter] table, where `start` names the index.

    `undone`: a [parameter, index] table that may be what acts before the switch, where the switch hides it.
    """
    for composition in peel(table, start):
        yield cheapest_order(composition, i_count, j_count)
    size, parameters = (int(n) for n in table.shape)
    rest = _before_switch(table, undone)
    if rest is not None:
        other = "j" if start == "i" else "i"
        for inner in peel(rest, other):
            ordered = cheapest_order(inner, i_count, j_count)
            yield Composition(other, (Cm2Linear(parameters, size), *ordered.primitives))


def _before_switch(table: IntArray, undone: IntArray | None) -> IntArray | None:
    """W, [parameter, index], with cm2linear(parameters, size)(k = index) o W = table; None where there is none to know."""
    size, parameters = (int(n) for n in table.shape)
    moved = np.arange(size)[:, None] * parameters
    rest: IntArray = (table - moved) % size
    if parameters > size:
        # The switch hides multiples of its modulus: W may still be what is to be undone.
        if undone is None or not np.array_equal((moved + undone.T) % size, table):
            return None
        rest = undone.T
    return np.ascontiguousarray(rest.T) if permutes(rest) else None
