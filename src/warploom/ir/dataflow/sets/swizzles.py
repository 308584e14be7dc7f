"""Swizzles of one axis: Swizzleflow's `xforms` and `rots`.

    xforms(i, k) = (cf*(i mod g) + floor((i mod g)/df) + rot(k)) mod g + floor(i/g)*g
    rot(k)       = cr*k + floor(k/dr), mod gcd(g, cf) with `wrap`            df = g/gcd(g, cf)
    rots(i)      = (shift + i) mod g + floor(i/g)*g

i is the position on axis `main` of length n, k on axis `second` of length K; the element read lies where the one written does,
but on axis `out` at the value. cf, cr, shift in 0..g-1; dr | K, 2 <= dr; g | n, 2 <= g, or g = n alone (`_no_group`, which has
no wrap either). xforms always has the identity where the shapes agree. The prefix `row_` means main=1, second=0, out=1, and
`col_` main=0, second=1, out=0.

Source: Swizzleflow, section 5, with parameter ranges of the authors' tool. Its wrap and its ranges differ from Swizzle Inventor's
`xform` (ir.swizzle): this set is neither contained in that one nor contains it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

import numpy as np

from warploom.ir.cost import DIVISION_COST, MULTIPLY_COST, is_power_of_two
from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.elements import coordinates, element_numbers, point_numbers
from warploom.ir.dataflow.sets.listed import ListedSet, distinct_rows, numbered, numbered_text
from warploom.ir.swizzle import IntArray, Tables


@dataclass(frozen=True, slots=True)
class Axes:
    """Of the output: where i and k are read, where the value goes; `n` is the length of `main` in the argument."""

    main: int
    second: int
    out: int
    n: int


def swizzle_axes(call: Call, *more: str) -> Axes:
    """Axes of the call, from its options or its name's prefix; checks the shapes. `more` are further options."""
    shape = call.argument()
    prefix = call.name.split("_")[0]
    call.only(*(() if prefix in ("row", "col") else AXIS_OPTIONS), *more)
    if len(shape) != len(call.out):
        raise call.mismatch("as many axes out as in")
    if prefix in ("row", "col"):
        if len(shape) < 2:
            raise call.mismatch("at least two axes")
        main, second = (1, 0) if prefix == "row" else (0, 1)
        out = main
    else:
        main, second, out = call.axis("main"), call.axis("second"), call.axis("out")
    if main == second:
        raise call.bad_option(f"expected different axes main and second, got {main} twice")
    for axis, (length, wanted) in enumerate(zip(shape, call.out, strict=True)):
        if axis != out and wanted > length:
            raise call.mismatch(f"no axis but {out} longer out than in")
    return Axes(main, second, out, shape[main])


def positions_on(call: Call, axis: int, values: int) -> IntArray:
    """`GatherSet.source` for values that are positions on `axis`; undefined past the end of the argument's axis."""
    index = np.repeat(coordinates(call.out)[:, :, None], values, axis=2)
    index[axis] = np.arange(values)
    return element_numbers(index, call.argument())


AXIS_OPTIONS = ("main", "second", "out")


def xforms(call: Call) -> GatherSet:
    axes = swizzle_axes(call)
    grouped = not call.name.endswith("_no_group")
    tables, costs, parameters = _xform_tables(axes.n, call.out[axes.main], call.out[axes.second], grouped)

    def text(row: int) -> str:
        g, cf, cr, dr, wrap = (int(v) for v in parameters[row])
        return f"{call.name}(g={g}, cf={cf}, cr={cr}, dr={dr}{', wrap' if wrap else ''})"

    return _swizzle(call, axes, (axes.main, axes.second), tables, costs, text)


def rots(call: Call) -> GatherSet:
    axes = swizzle_axes(call)
    groups = [axes.n] if call.name.endswith("_no_group") else [g for g in _divisors(axes.n) if g > 1 or axes.n == 1]
    i = np.arange(call.out[axes.main])
    settings = np.array([(g, shift) for g in groups for shift in range(g)], np.int64)
    g, shift = settings.T[:, :, None]
    tables = ((shift + i) % g + i // g * g).astype(np.int16)
    costs = np.array([_rot_cost(int(g), int(shift), axes.n) for g, shift in settings], np.int64)

    def text(row: int) -> str:
        return f"{call.name}(g={settings[row, 0]}, shift={settings[row, 1]})"

    return _swizzle(call, axes, (axes.main,), tables, costs, text)


def _swizzle(
    call: Call, axes: Axes, read: tuple[int, ...], tables: Tables, costs: IntArray, text: Callable[[int], str]
) -> GatherSet:
    """The set of `tables` ([functions, positions on the axes `read`]), and of the identity where the shapes agree."""
    if call.argument() == call.out:
        deciding = read if axes.out in read else (*read, axes.out)
        point, positions = point_numbers(call.out, deciding)
        number = element_numbers(positions[: len(read)], tuple(call.out[a] for a in read))
        identity = positions[deciding.index(axes.out)].astype(np.int16)
        tables = np.concatenate([identity[None], tables[:, number]])
        costs = np.concatenate([np.zeros(1, np.int64), costs])
        text = _after_identity(f"{call.name}(identity)", text)
    elif len(tables):
        point, _ = point_numbers(call.out, read)
    else:
        raise call.mismatch(f"a length of axis {axes.second} above 1, or equal shapes,")
    functions = numbered(tables, costs)
    values = int(functions.tables.max()) + 1
    source = positions_on(call, axes.out, values)
    members = ListedSet(functions, values)
    return GatherSet(call.arguments, call.out, point, source, members, numbered_text(text))


def _after_identity(identity: str, text: Callable[[int], str]) -> Callable[[int], str]:
    return lambda row: identity if row == 0 else text(row - 1)


def _xform_tables(n: int, i_extent: int, k_extent: int, grouped: bool) -> tuple[Tables, IntArray, IntArray]:
    """[functions, i * k] values, costs, and (g, cf, cr, dr, wrap) with cf and cr as printed."""
    i = np.arange(i_extent, dtype=np.int64)
    periods = [d for d in _divisors(k_extent) if d > 1]
    tables: list[Tables] = []
    costs: list[IntArray] = []
    parameters: list[IntArray] = []
    for g in [g for g in _divisors(n) if g > 1] if grouped and n > 1 else [n]:
        group_cost = 2 * _modulo_cost(g) + 1 if g < n else 0
        for step in _divisors(g):
            # All cf with gcd(g, cf) = step share df and the rotations.
            scales = np.array([cf for cf in range(g) if gcd(g, cf) == step], np.int64)
            rotations, settings = _rotations(g, step, k_extent, periods, wrap=grouped)
            local = i % g
            fans = (scales[:, None] * local + local // (g // step)) % g
            fans, kept = _distinct_fans(fans)
            fan_costs = np.array([_scale_cost(int(s), g) for s in scales[kept]]) + _modulo_cost(g) + group_cost
            if 1 < step < g:
                fan_costs += 1 + _modulo_cost(g // step)
            moved = fans[:, None, :, None].astype(np.int16) + rotations[None, :, None, :].astype(np.int16)
            moved -= np.int16(g) * (moved >= g)
            moved += (i - local).astype(np.int16)[:, None]
            tables.append(moved.reshape(len(fans) * len(rotations), i_extent * k_extent))
            costs.append((fan_costs[:, None] + settings[:, 3]).ravel())
            rows = np.empty((len(fans), len(rotations), 5), np.int64)
            rows[..., 0] = g
            rows[..., 1] = _signed(scales[kept], g)[:, None]
            rows[..., 2:] = settings[:, :3]
            parameters.append(rows.reshape(-1, 5))
    return np.concatenate(tables), np.concatenate(costs), np.concatenate(parameters)


def _distinct_fans(fans: IntArray) -> tuple[IntArray, IntArray]:
    kept = distinct_rows(fans.astype(np.int16), np.arange(len(fans), dtype=np.int64))
    return fans[kept], kept


def _rotations(g: int, step: int, k_extent: int, periods: list[int], *, wrap: bool) -> tuple[IntArray, IntArray]:
    """[rotations, k] amounts below g, distinct; and (cr, dr, wrap, cost) of the cheapest of each."""
    k = np.arange(k_extent, dtype=np.int64)
    tables: list[IntArray] = []
    settings: list[IntArray] = []
    for modulus in (g, step) if wrap and step < g else (g,):
        cr, dr = (part.ravel() for part in np.meshgrid(np.arange(modulus), np.array(periods, np.int64), indexing="ij"))
        tables.append((cr[:, None] * k + k // dr[:, None]) % modulus)
        division = np.array([0 if d == k_extent else 1 + _modulo_cost(d) for d in periods], np.int64)
        cost = np.array([_joined_cost(int(c), modulus) for c in range(modulus)], np.int64)[:, None] + division
        wrapped = np.full(len(cr), int(modulus < g), np.int64)
        settings.append(np.stack([_signed(cr, modulus), dr, wrapped, cost.ravel() + wrapped * _modulo_cost(step)], axis=1))
    stacked, all_settings = np.concatenate(tables), np.concatenate(settings)
    keep = distinct_rows(stacked.astype(np.int16), all_settings[:, 3])
    return stacked[keep], all_settings[keep]


def _signed(value: IntArray, modulus: int) -> IntArray:
    return np.where(value <= modulus // 2, value, value - modulus)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _modulo_cost(n: int) -> int:
    return 1 if is_power_of_two(n) else DIVISION_COST


def _scale_cost(scale: int, modulus: int) -> int:
    """Of `scale * variable` mod `modulus`."""
    signed = scale if scale <= modulus // 2 else scale - modulus
    if signed in (0, 1):
        return 0
    return 1 if abs(signed) == 1 or is_power_of_two(abs(signed)) else MULTIPLY_COST


def _joined_cost(scale: int, modulus: int) -> int:
    """Of `+ scale * variable` mod `modulus`."""
    signed = scale if scale <= modulus // 2 else scale - modulus
    if signed == 0:
        return 0
    return 1 if abs(signed) == 1 else 2 if is_power_of_two(abs(signed)) else 1 + MULTIPLY_COST


def _rot_cost(g: int, shift: int, n: int) -> int:
    if shift == 0:
        return 0
    return 1 + _modulo_cost(g) + (2 * _modulo_cost(g) + 1 if g < n else 0)
