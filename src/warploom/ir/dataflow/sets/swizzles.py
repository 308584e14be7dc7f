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
from math import prod

import numpy as np

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.elements import coordinates, element_numbers, point_numbers
from warploom.ir.dataflow.sets.listed import ListedSet, numbered_text
from warploom.ir.dataflow.sets.xform_template import XformTemplate, divisors, modulo_cost
from warploom.ir.kernel.nodes import IndexConst
from warploom.ir.swizzle import Functions, IntArray, Tables, distinct


@dataclass(frozen=True, slots=True)
class Axes:
    """Axes of the output: where i and k are read, where the value goes; `n` is the length of `main` in the argument."""

    main: int
    second: int
    out: int
    n: int


def swizzle_axes(call: Call, *more: str) -> Axes:
    """Axes of the call, from its options or its name's prefix; checks the shapes. `more` are further options."""
    shape = call.argument()
    prefix = call.name.removeprefix("gpu_swizzle_").split("_")[0]
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
    template = XformTemplate(axes.n, call.out[axes.main], call.out[axes.second], is_grouped=not call.name.endswith("_no_group"))
    listed = template.distinct()

    def text(number: int) -> str:
        g, cf, cr, dr, wrap = template.parameters(number)
        return f"{call.name}(g={g}, cf={cf}, cr={cr}, dr={dr}{', wrap' if wrap else ''})"

    def tabulate(out: Tables) -> None:
        template.tabulate(listed, out)

    return _swizzle(call, axes, (axes.main, axes.second), _Listing(listed, template.costs[listed], tabulate, text))


def rots(call: Call) -> GatherSet:
    axes = swizzle_axes(call)
    groups = [axes.n] if call.name.endswith("_no_group") else [g for g in divisors(axes.n) if g > 1 or axes.n == 1]
    i = np.arange(call.out[axes.main])
    settings = np.array([(g, shift) for g in groups for shift in range(g)], np.int64)
    g, shift = settings.T[:, :, None]
    tables: Tables = ((shift + i) % g + i // g * g).astype(np.int16)
    costs = np.array([_rot_cost(int(g), int(shift), axes.n) for g, shift in settings], np.int64)
    listed = distinct(tables, costs)

    def tabulate(out: Tables) -> None:
        out[:] = tables[listed]

    def text(number: int) -> str:
        return f"{call.name}(g={settings[number, 0]}, shift={settings[number, 1]})"

    return _swizzle(call, axes, (axes.main,), _Listing(listed, costs[listed], tabulate, text))


@dataclass(frozen=True, eq=False, slots=True)
class _Listing:
    """Distinct functions of the positions read, cheapest first."""

    numbers: IntArray
    costs: IntArray
    tabulate: Callable[[Tables], None]
    """Fills [functions, positions]."""
    text: Callable[[int], str]
    """Gives the text for a function's number."""


IDENTITY = -1


def _swizzle(call: Call, axes: Axes, read: tuple[int, ...], listing: _Listing) -> GatherSet:
    """The set of the listing's functions, and of the identity where the shapes agree."""
    has_identity = call.argument() == call.out
    if not has_identity and not len(listing.numbers):
        raise call.mismatch(f"a length of axis {axes.second} above 1, or equal shapes,")
    deciding = read if axes.out in read or not has_identity else (*read, axes.out)
    point, positions = point_numbers(call.out, deciding)
    # Row 0 is kept free for the identity: the table may be large, so it is made once.
    tables: Tables = np.empty((len(listing.numbers) + 1, prod(call.out[a] for a in read)), np.int16)
    listing.tabulate(tables[1:])
    if deciding != read:
        tables = tables[:, element_numbers(positions[: len(read)], tuple(call.out[a] for a in read))]
    numbers = np.concatenate([np.array([IDENTITY]), listing.numbers])
    costs = np.concatenate([np.zeros(1, np.int64), listing.costs])
    first = 1
    if has_identity:
        identity = positions[deciding.index(axes.out)].astype(np.int16)
        first, same = 0, _row_equal(tables[1:], identity)
        if same is not None:
            # In its place: the rows before it move up by one.
            for column in (tables, numbers, costs):
                column[2 : same + 2] = column[1 : same + 1].copy()
            first = 1
        tables[first], numbers[first], costs[first] = identity, IDENTITY, 0
    rows: IntArray = np.arange(len(numbers) - first)
    numbers = numbers[first:]
    functions = Functions(tables[first:], costs[first:], IndexConst, rows)
    values = int(functions.tables.max()) + 1

    def text(row: int) -> str:
        number = int(numbers[row])
        return f"{call.name}(identity)" if number == IDENTITY else listing.text(number)

    source = positions_on(call, axes.out, values)
    return GatherSet(call.arguments, call.out, point, source, ListedSet(functions, values), numbered_text(text))


def _row_equal(tables: Tables, row: Tables) -> int | None:
    """Position of the only row that may be equal to `row`."""
    left = np.arange(len(tables))
    for start in range(0, tables.shape[1], 64):
        left = left[(tables[left, start : start + 64] == row[start : start + 64]).all(axis=1)]
    return int(left[0]) if len(left) else None


def _rot_cost(g: int, shift: int, n: int) -> int:
    if shift == 0:
        return 0
    return 1 + modulo_cost(g) + (2 * modulo_cost(g) + 1 if g < n else 0)
