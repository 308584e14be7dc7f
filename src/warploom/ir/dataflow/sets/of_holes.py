"""Swizzle Inventor's swizzles of an axis: `xform`; `compose`, `row_compose`, `col_compose`; `row` and `col`, which have both.

The functions are those of `ir.swizzle` on the points (i, k): i on axis `main`, k on axis `second`; n defaults to the argument's
length of `main`, the space to 3 for `xform` (the whole template) and to 2 for `compose` (up to two primitives; 3: up to five).
`row` and `col` with a space are the template alone.

Source: Swizzle Inventor, section 5.3, equations 5 to 7, section 5.4, and section 8.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.elements import point_numbers
from warploom.ir.dataflow.sets.selects import axis_names
from warploom.ir.dataflow.sets.swizzles import positions_on, swizzle_axes
from warploom.ir.kernel.nodes import Hole
from warploom.ir.kernel.text import index_text
from warploom.ir.swizzle import SPACES, EitherSet, FunctionSet, function_set
from warploom.ir.swizzle.grown import USUAL
from warploom.ir.swizzle.kinds import kind_of

SETS_KEPT = 4
"""Sets that are kept for each kind and range."""


def xform(call: Call) -> GatherSet:
    return _of_kind(call, "xform", "full", SPACES[-1])


def swizzle(call: Call) -> GatherSet:
    """The template, and where no space is asked for, compositions of up to two primitives such as `xor`."""
    if "space" in call.options:
        return xform(call)
    template = xform(call)
    axes = swizzle_axes(call, "n")
    if max(call.integer("n", axes.n), call.out[axes.second]) > USUAL:
        return template
    return replace(template, members=_either(template.members, compose(call).members))


@lru_cache(maxsize=SETS_KEPT)
def _either(*parts: FunctionSet) -> FunctionSet:
    return EitherSet(parts)


def compose(call: Call) -> GatherSet:
    return _of_kind(call, "compose", "long", 2)


def _of_kind(call: Call, kind: str, grammar: str, default: int) -> GatherSet:
    """The functions that a hole of a sketch may become."""
    axes = swizzle_axes(call, "n", "space")
    n, space = call.integer("n", axes.n), call.integer("space", default)
    if space not in SPACES:
        raise call.bad_option(f"expected a space among {', '.join(map(str, SPACES))}, got {space}")
    if n < call.out[axes.main]:
        raise call.bad_option(f"expected n of at least {call.out[axes.main]}, the length of axis {axes.main}, got {n}")
    hole = Hole(kind, kind, ("i", "k"), n=n, grammar=grammar)
    if (fault := kind_of(hole).fault(hole)) is not None:
        raise call.bad_option(fault[0])
    point, positions = point_numbers(call.out, (axes.main, axes.second))
    members = _members(hole, np.ascontiguousarray(positions.T).tobytes(), space)
    names = axis_names(call)
    arguments = (names[axes.main], names[axes.second])
    source = positions_on(call, axes.out, n)
    return GatherSet(call.arguments, call.out, point, source, members, lambda expr: index_text(expr, arguments))


@lru_cache(maxsize=SETS_KEPT)
def _members(hole: Hole, points: bytes, space: int) -> FunctionSet:
    """Holes of one kind at the same points share their set, and what it has listed."""
    return function_set(hole, np.frombuffer(points, np.int64).reshape(-1, 2), space)
