"""Swizzle Inventor's transformation swizzle: `xform{main, second, out, n, space}`, with the shorthands `row` and `col`.

The functions are those of `ir.swizzle` on the points (i, k): i on axis `main`, k on axis `second`; n defaults to the argument's
length of `main`, the space (1, 2, or 3 = the whole template) to 3.

Source: Swizzle Inventor, section 5.3, equations 5 to 7, and section 5.4.
"""

from __future__ import annotations

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.elements import point_numbers
from warploom.ir.dataflow.sets.selects import axis_names
from warploom.ir.dataflow.sets.swizzles import positions_on, swizzle_axes
from warploom.ir.kernel.nodes import Hole
from warploom.ir.kernel.text import index_text
from warploom.ir.swizzle import SPACES, function_set


def xform(call: Call) -> GatherSet:
    axes = swizzle_axes(call, "n", "space")
    n, space = call.integer("n", axes.n), call.integer("space", SPACES[-1])
    if space not in SPACES:
        raise call.bad_option(f"expected a space among {', '.join(map(str, SPACES))}, got {space}")
    if n < call.out[axes.main]:
        raise call.bad_option(f"expected n of at least {call.out[axes.main]}, the length of axis {axes.main}, got {n}")
    point, positions = point_numbers(call.out, (axes.main, axes.second))
    members = function_set(Hole(call.name, "xform", ("i", "k"), n=n), positions.T, space)
    names = axis_names(call)
    arguments = (names[axes.main], names[axes.second])
    source = positions_on(call, axes.out, n)
    return GatherSet(call.arguments, call.out, point, source, members, lambda expr: index_text(expr, arguments))
