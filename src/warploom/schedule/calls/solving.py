"""The sizes of a tensor function, from the shapes of the arrays of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

from warploom.core import Diagnostic, UserError, polynomials
from warploom.core.polynomials import Polynomial
from warploom.schedule.frontend.sizes import Sizes, names_of
from warploom.schedule.frontend.tree import ArrayParameter


def solved_sizes(
    name: str, arrays: Iterable[ArrayParameter], shapes: Mapping[str, tuple[int, ...]], sizes: Sequence[str]
) -> dict[str, int]:
    """The value of every size. UserError (CALL_SHAPE) where shapes contradict each other or leave a size open.

    Axes of one size alone say it; then sums in which one size is left, such as `n + 2`.
    """
    axes = [(a, position, extent) for a in arrays if a.name in shapes for position, extent in enumerate(shapes[a.name])]
    known = Sizes()
    said_by: dict[str, tuple[ArrayParameter, int]] = {}
    is_new = True
    while is_new:
        is_new = False
        for array, position, extent in axes:
            found = _last_open(array.shape[position], extent, known)
            if found is not None:
                size, value = found
                if value is None:
                    _refuse(array, position, extent, f"no whole {size} makes it {array.shape[position]}")
                known[size], said_by[size], is_new = value, (array, position), True
    for array, position, extent in axes:
        wanted = array.shape[position]
        if all(s in known for s in names_of(wanted)) and wanted.whole_at(known) != extent:
            why = ", ".join(f"{s} = {known[s]} by axis {said_by[s][1]} of {said_by[s][0].name!r}" for s in names_of(wanted))
            _refuse(array, position, extent, f"{wanted} is {wanted.whole_at(known)} ({why})" if why else f"it has {wanted}")
    if missing := [size for size in sizes if size not in known]:
        message = f"expected arrays that say the size{'s' if len(missing) > 1 else ''} {', '.join(missing)} of {name!r}, got none"
        raise UserError(Diagnostic("CALL_SHAPE", message, fix="Pass the output, too: its shape says the size."))
    return known


def _last_open(wanted: Polynomial, extent: int, known: Sizes) -> tuple[str, int | None] | None:
    """The one size that is open in a sum of sizes, and its value (None: no whole number that is 0 or more)."""
    left = [s for s in names_of(wanted) if s not in known]
    if len(left) != 1 or any(atom != left[0] and left[0] in names_of(polynomials.size(atom)) for atom in wanted.names):
        return None
    size, factor, rest = left[0], Fraction(0), Fraction(extent)
    for monomial, coefficient in wanted.terms:
        value = coefficient
        for name in monomial:
            if name != size:
                value *= known[name]
        if monomial.count(size) > 1:
            return None
        if size in monomial:
            factor += value
        else:
            rest -= value
    if factor == 0:
        return None
    found = rest / factor
    return size, int(found) if found.denominator == 1 and found >= 0 else None


def _refuse(array: ArrayParameter, position: int, extent: int, why: str) -> NoReturn:
    shape = ", ".join(map(str, array.shape))
    message = f"expected {array.name!r} of shape ({shape}), got {extent} on axis {position}: {why}"
    raise UserError(Diagnostic("CALL_SHAPE", message, array.span, "Pass arrays whose shapes fit together."))
