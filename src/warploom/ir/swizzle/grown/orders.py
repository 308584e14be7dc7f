"""The cheapest order of a composition's primitives: those of digits apart commute, neighbours on one digit share a remainder."""

from __future__ import annotations

from warploom.ir.swizzle.compositions import Composition
from warploom.ir.swizzle.primitives import Cm2Linear, Primitive, Window, Xor, digit, mask_range

_Chain = tuple[Primitive, ...]


def cheapest_order(composition: Composition, m: int, n: int) -> Composition:
    """The same function for i below m and j below n, its primitives put where they cost least."""
    if any(isinstance(primitive, Cm2Linear) for primitive in composition.primitives):
        return composition
    size = m if composition.start == "i" else n
    orders = (Composition(composition.start, chain) for chain in _orders(composition.primitives, size))
    return min(orders, key=lambda order: order.cost(m, n))


def _orders(chain: _Chain, size: int) -> list[_Chain]:
    """All orders that swaps of commuting neighbours lead to, the given order first."""
    found = [chain]
    for order in found:  # grows on the way
        for place in range(len(order) - 1):
            outer, inner = order[place], order[place + 1]
            swapped = (*order[:place], inner, outer, *order[place + 2 :])
            if _apart(outer, inner, size) and swapped not in found:
                found.append(swapped)
    return found


def _apart(first: Primitive, second: Primitive, size: int) -> bool:
    a, b = _moved(first, size), _moved(second, size)
    return a.unit % (b.unit * b.count) == 0 or b.unit % (a.unit * a.count) == 0


def _moved(primitive: Primitive, size: int) -> Window:
    assert not isinstance(primitive, Cm2Linear)
    window, core = digit(primitive, size)
    # A mask moves the low bits alone.
    return Window(size, window.unit, mask_range(core.n)) if isinstance(core, Xor) else window
