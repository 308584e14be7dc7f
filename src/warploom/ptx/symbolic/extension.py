"""Extensions of sums and products as sums and products of extensions, where the facts show that nothing wraps."""

from __future__ import annotations

from warploom.ptx.symbolic.building import Assumption, Building
from warploom.ptx.symbolic.term import Term, linear, signed

_LEAST_INDEX = 32
"""Narrower sums come from conversions such as `(short)i`, which keep the low bits: they wrap as C says."""


def halved(algebra: Building, x: Term) -> tuple[Term, int] | None:
    """2^t y -> trunc(y), 2^t: the extension of one is 2^t times that of the other. Only for widths that masks make."""
    if x.width in (8, 16, 32, 64):
        return None
    constant, parts = linear(x)
    union = constant
    for _, coefficient in parts:
        union |= coefficient
    zeros = (union & -union).bit_length() - 1
    if zeros == 0:
        return None
    rest = algebra.sum_of(x.width, constant >> zeros, {a: c >> zeros for a, c in parts})
    return algebra.trunc(rest, x.width - zeros), 1 << zeros


def opened_sum(algebra: Building, x: Term, width: int, *, is_signed: bool) -> Term | None:
    """The extension of a sum, as a sum of extensions where that is proved exact; None where it is not."""
    constant, parts = linear(x)
    constant = signed(constant, x.width)
    bounds: list[tuple[Term, int, int, int]] = []
    low = high = constant
    for atom, coefficient in parts:
        factor = signed(coefficient, x.width)
        at = _range(algebra, atom, is_signed=is_signed)
        least, most = sorted((factor * at[0], factor * at[1]))
        bounds.append((atom, factor, least, most))
        low, high = low + least, high + most
    if within((low, high), x.width, is_signed=is_signed):
        return _sum_of_extensions(algebra, None, [(a, f) for a, f, _, _ in bounds], constant, width, is_signed=is_signed)
    rest = algebra.sum_of(x.width, 0, dict(parts))
    if constant and _fits(algebra, rest, constant, constant, is_signed=is_signed):
        return _sum_of_extensions(algebra, rest, [], constant, width, is_signed=is_signed)
    if is_signed and algebra.assume_nsw and x.width >= _LEAST_INDEX:
        algebra.assumptions[Assumption(x)] = None
        return _sum_of_extensions(algebra, None, [(a, f) for a, f, _, _ in bounds], constant, width, is_signed=True)
    near = [(a, f) for a, f, least, most in bounds if (most - least) << 3 < 1 << x.width]
    if near and len(near) < len(bounds):
        small = {a for a, _ in near}
        rest = algebra.sum_of(x.width, 0, {a: c for a, c in parts if a not in small})
        low = constant + sum(least for a, _, least, _ in bounds if a in small)
        high = constant + sum(most for a, _, _, most in bounds if a in small)
        if _fits(algebra, rest, low, high, is_signed=is_signed):
            return _sum_of_extensions(algebra, rest, near, constant, width, is_signed=is_signed)
    return None


def _fits(algebra: Building, x: Term, low: int, high: int, *, is_signed: bool) -> bool:
    """Whether x plus anything from low to high stays within the width."""
    at = _range(algebra, x, is_signed=is_signed)
    return within((at[0] + low, at[1] + high), x.width, is_signed=is_signed)


def _sum_of_extensions(
    algebra: Building, rest: Term | None, parts: list[tuple[Term, int]], constant: int, width: int, *, is_signed: bool
) -> Term:
    result = algebra.const(constant, width)
    if rest is not None:
        result = algebra.add(result, algebra.extended(rest, width, is_signed=is_signed))
    for atom, factor in parts:
        result = algebra.add(result, algebra.extended(atom, width, is_signed=is_signed), factor)
    return result


def opened_product(algebra: Building, x: Term, width: int, *, is_signed: bool) -> Term | None:
    """The extension of a product, as a product of extensions where that is proved exact; None where it is not."""
    low = high = 1
    for factor in x.args:
        at = _range(algebra, factor, is_signed=is_signed)
        corners = [p * q for p in (low, high) for q in at]
        low, high = min(corners), max(corners)
    if not within((low, high), x.width, is_signed=is_signed):
        if not (is_signed and algebra.assume_nsw and x.width >= _LEAST_INDEX):
            return None
        algebra.assumptions[Assumption(x)] = None
    result = algebra.extended(x.args[0], width, is_signed=is_signed)
    for factor in x.args[1:]:
        result = algebra.mul(result, algebra.extended(factor, width, is_signed=is_signed))
    return result


def _range(algebra: Building, x: Term, *, is_signed: bool) -> tuple[int, int]:
    return algebra.facts.signed(x) if is_signed else algebra.facts.unsigned(x)


def within(arc: tuple[int, int], width: int, *, is_signed: bool) -> bool:
    """Whether least and greatest value fit the width."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
    return low <= arc[0] and arc[1] <= high
