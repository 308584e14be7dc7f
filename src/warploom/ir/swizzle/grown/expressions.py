"""Compositions as index expressions, for completions and printed code.

A remainder that the next primitive takes again is not written, and primitives that move one digit after the other take it out
and put it back once, as `Composition.cost` counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

from warploom.ir.kernel.cost import is_power_of_two
from warploom.ir.kernel.nodes import HoleArg, IndexBinary, IndexConst, IndexExpr
from warploom.ir.swizzle.compositions import Composition
from warploom.ir.swizzle.primitives import Cm2Linear, Core, Fan, Rot, Window, Xor, digit, mask_range
from warploom.ir.swizzle.sums import ModularSum, quotient, remainder


@dataclass(frozen=True, slots=True)
class _Value:
    """An index, and a sum that equals it modulo `modulus` (0: there is none)."""

    exact: IndexExpr
    summed: IndexExpr
    modulus: int = 0

    def congruent(self, modulus: int) -> IndexExpr:
        """The shortest expression that is right modulo that number."""
        return self.summed if self.modulus and self.modulus % modulus == 0 else self.exact


def expression(composition: Composition, i_count: int, j_count: int) -> IndexExpr:
    """The composition for i and j below these counts, where i is the hole's first argument and j its second."""
    own, k = (HoleArg(0), HoleArg(1)) if composition.start == "i" else (HoleArg(1), HoleArg(0))
    size, parameters = (i_count, j_count) if composition.start == "i" else (j_count, i_count)
    value = _plain(own)
    chain = list(reversed(composition.primitives))
    while chain:
        if isinstance(chain[0], Cm2Linear):
            switch = chain.pop(0)
            assert isinstance(switch, Cm2Linear)
            value = _switched(switch, value, k)
            size = switch.modulus
            continue
        window, _ = digit(chain[0], size)
        cores: list[Core] = []
        while chain and not isinstance(chain[0], Cm2Linear):
            next_window, core = digit(chain[0], size)
            if next_window != window or (cores and _masks_in_place(core, window)):
                break
            cores.append(core)
            chain.pop(0)
            if _masks_in_place(core, window):
                break
        value = _with_digit_moved(value, window, cores, k, parameters)
    return value.exact


def _plain(index: IndexExpr) -> _Value:
    return _Value(index, index)


def _reduced(total: ModularSum, modulus: int) -> _Value:
    summed = total.expr()
    return _Value(remainder(summed, modulus), summed, modulus)


def _switched(switch: Cm2Linear, value: _Value, k: IndexExpr) -> _Value:
    total = ModularSum(switch.modulus)
    total.add(k, switch.n)
    total.add(value.congruent(switch.modulus), 1)
    return _reduced(total, switch.modulus)


def _masks_in_place(core: Core, window: Window) -> bool:
    """Whether the digit is a field of bits, so that a mask need not take it out."""
    return isinstance(core, Xor) and is_power_of_two(window.unit)


def _with_digit_moved(value: _Value, window: Window, cores: list[Core], k: IndexExpr, parameters: int) -> _Value:
    if window.whole or _masks_in_place(cores[0], window):
        for core in cores:
            value = _moved(core, value, k, parameters, window.unit)
        return value
    place = value.exact if window.unit == 1 else quotient(value.exact, window.unit)
    place = place if window.unit * window.count == window.size else remainder(place, window.count)
    moved = _plain(place)
    for core in cores:
        moved = _moved(core, moved, k, parameters, 1)
    change: IndexExpr = IndexBinary("-", moved.exact, place)
    if window.unit > 1:
        change = IndexBinary("*", change, IndexConst(window.unit))
    return _plain(IndexBinary("+", value.exact, change))


def _moved(core: Core, value: _Value, k: IndexExpr, parameters: int, unit: int) -> _Value:
    """`unit`: what one step of a mask is worth."""
    match core:
        case Rot(n, scale, period, constant):
            total = ModularSum(n)
            total.add(value.congruent(n), 1)
            total.add(k, scale)
            if period:
                total.add(quotient(k, abs(period)), 1 if period > 0 else -1)
            total.constant(constant)
            return _reduced(total, n)
        case Fan(n, scale):
            shared = math.gcd(scale, n)
            total = ModularSum(n)
            total.add(value.exact if shared > 1 else value.congruent(n), scale)
            if shared > 1:
                total.add(quotient(value.exact, n // shared), 1)
            return _reduced(total, n)
        case Xor(n, period, constant):
            index = value.exact
            if period:
                mask = k if period == 1 else quotient(k, period)
                if (parameters - 1) // period >= mask_range(n):
                    mask = remainder(mask, mask_range(n))
                index = IndexBinary("^", index, mask if unit == 1 else IndexBinary("*", mask, IndexConst(unit)))
            return _plain(IndexBinary("^", index, IndexConst(constant * unit)) if constant else index)
        case _:
            assert_never(core)
