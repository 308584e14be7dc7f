"""Sets that pick a copy, or keep an element, by conditions on where it is written.

    cond_keep{restrict=[axis, position, ..], consts=[..]}   out = in if cond else 0; kept outside the restriction
    reg_select{consts=[..]}                                 general_select on the last axis, over all axes
    general_select{axis=a, dims=[..], consts=[..]}          out[.., k, ..] = in[.., p, ..], p = 0 if cond_0 else 1 if ..

The last copy is picked where no condition holds. Conditions compare coordinates of the output: all unrestricted ones for
cond_keep, those of `dims` for general_select. The constants are 0, 1, -1, n, -n with n the output's length on the first axis
(on the chosen axis for general_select), or `consts`; 0 alone with the suffix `_no_consts`.

Source: Swizzleflow, section 5, and the authors' tool.
"""

from __future__ import annotations

from math import prod

import numpy as np

from warploom.ir.dataflow.gather_set import ZERO, GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.condition_lists import ConditionLists
from warploom.ir.dataflow.sets.conditions import conditions
from warploom.ir.dataflow.sets.elements import coordinates, point_numbers
from warploom.ir.dataflow.sets.listed import ListedSet
from warploom.ir.dataflow.sets.swizzles import positions_on
from warploom.ir.kernel.nodes import IndexConst, IndexExpr
from warploom.ir.kernel.text import index_text
from warploom.ir.swizzle import IntArray


def _constants(call: Call, length: int) -> tuple[int, ...]:
    if call.name.endswith("_no_consts"):
        return (0,)
    constants = call.integers("consts", (0, 1, -1, length, -length))
    if not constants:
        raise call.bad_option("expected at least one constant in consts, got none")
    return constants


def _options(call: Call, *own: str) -> tuple[str, ...]:
    return own if call.name.endswith("_no_consts") else (*own, "consts")


def axis_names(call: Call) -> tuple[str, ...]:
    return tuple(f"i{axis}" for axis in range(len(call.out)))


def cond_keep(call: Call) -> GatherSet:
    call.only(*_options(call, "restrict"))
    if call.argument() != call.out:
        raise call.mismatch("equal shapes")
    restrictions = call.restrictions()
    restricted = {axis for axis, _ in restrictions}
    axes = tuple(axis for axis in range(len(call.out)) if axis not in restricted)
    point, positions = point_numbers(call.out, axes)
    functions = conditions(positions, axes, _constants(call, call.out[0]))
    index = coordinates(call.out)
    affected = np.logical_and.reduce([index[axis] == position for axis, position in restrictions] or [np.True_])
    elements: IntArray = np.arange(prod(call.out))
    source = np.stack([np.where(affected, ZERO, elements), elements], axis=1)
    names = axis_names(call)

    def text(expr: IndexExpr) -> str:
        condition = ("true" if expr.value else "false") if isinstance(expr, IndexConst) else index_text(expr, names)
        where = "".join(f", at i{axis} == {position}" for axis, position in restrictions)
        return f"keep if {condition}{where}"

    return GatherSet(call.arguments, call.out, point, source, ListedSet(functions, 2), text)


def reg_select(call: Call) -> GatherSet:
    call.only(*_options(call))
    if len(call.out) == 0:
        raise call.mismatch("at least one axis")
    return _select(call, len(call.out) - 1, tuple(range(len(call.out))), _constants(call, call.out[0]))


def general_select(call: Call) -> GatherSet:
    call.only(*_options(call, "axis", "dims"))
    axis = call.axis("axis")
    dims = tuple(dict.fromkeys(call.checked_axis("dims", d) for d in call.integers("dims", None)))
    if not dims:
        raise call.bad_option("expected at least one axis in dims, got none")
    return _select(call, axis, dims, _constants(call, call.out[axis]))


def _select(call: Call, axis: int, dims: tuple[int, ...], constants: tuple[int, ...]) -> GatherSet:
    shape = call.argument()
    if len(shape) != len(call.out) or any(a != b for k, (a, b) in enumerate(zip(shape, call.out, strict=True)) if k != axis):
        raise call.mismatch(f"shapes that differ on axis {axis} alone")
    point, positions = point_numbers(call.out, dims)
    members = ConditionLists(conditions(positions, dims, constants), shape[axis])
    names = axis_names(call)
    source = positions_on(call, axis, shape[axis])
    return GatherSet(call.arguments, call.out, point, source, members, lambda expr: index_text(expr, names))
