"""Swizzled offsets as text, of an xor with as little as possible inside it.

    s(e) = e ^ (e >> (base + shift) & 2^bits - 1) << base

Multiples of 2^(base + shift + bits), and what stays below 2^base, go through unchanged: s(e + d) = s(e) + d. What has no bit in
common with the rest is swizzled by itself: s(e + d) = s(e) ^ s(d), where d is of unrolled loops, a constant in each copy of them.
"""

from __future__ import annotations

from warploom.core.linear import Linear
from warploom.ctext import Text, binary, call
from warploom.ir.swizzle import Rot
from warploom.schedule.cuda.indices import Indices, Offset
from warploom.schedule.nest import Swizzle


def swizzled_text(indices: Indices, form: Offset, swizzle: Swizzle, label: str) -> Text:
    """The offset `form` through the swizzle; `label` names parts that are hoisted."""
    if isinstance(swizzle.core, Rot):
        return swizzle_call(swizzle, indices.hoisted(form, label))
    bits, base, shift = swizzle.bits()
    hoisted = frozenset(a for scope in indices.scoped() for a in scope.atoms)
    rest, added = _unchanged(indices, form, 1 << base, 1 << (base + shift + bits), hoisted)
    function = f"swizzled<{bits}, {base}, {shift}>"
    outer, inner = rest.only(hoisted), rest.without(hoisted)
    if outer.terms and (inner.terms or inner.constant) and _are_disjoint(indices, outer, inner):
        text = binary("^", call(function, indices.hoisted(outer, label)), call(function, indices.text(inner)))
    else:
        text = call(function, indices.hoisted(rest, label))
    return indices.text(added, text) if added.terms or added.constant else text


def swizzle_call(swizzle: Swizzle, index: Text) -> Text:
    """The whole of an index through the swizzle."""
    if isinstance(swizzle.core, Rot):
        arguments = swizzle.core.n, swizzle.unit, swizzle.core.scale, swizzle.core.period
        return call(f"rotated<{', '.join(map(str, arguments))}>", index)
    return call(f"swizzled<{', '.join(map(str, swizzle.bits()))}>", index)


def _unchanged(indices: Indices, form: Offset, low: int, high: int, hoisted: frozenset[tuple[str, int]]) -> tuple[Offset, Offset]:
    """(what the swizzle moves, what can be added behind it); only terms that are not hoisted, which would be lost there."""
    above = Linear(tuple(t for t in form.terms if t[1] % high == 0 and t[0] not in hoisted))
    rest = Linear(tuple(t for t in form.terms if t not in above.terms), form.constant)
    below = Linear(tuple(t for t in rest.terms if abs(t[1]) < low and t[0] not in hoisted), rest.constant % low)
    left = Linear(tuple(t for t in rest.terms if t not in below.terms), rest.constant - below.constant)
    first, last = indices.range(below)
    if first < 0 or last >= low or indices.divisor(left) % low:
        return rest, above
    return left, Linear(above.terms + below.terms, below.constant)


def _are_disjoint(indices: Indices, first: Offset, second: Offset) -> bool:
    """Whether no bit can be set in both: every term has a range of bits of its own."""
    seen = 0
    for stride, high in [(s, indices.highs[a]) for a, s in (*first.terms, *second.terms)] + [(second.constant, 1)]:
        if stride < 0:
            return False
        bits = _bits(stride, high)
        if seen & bits:
            return False
        seen |= bits
    return True


def _bits(stride: int, high: int) -> int:
    """Bits that multiples of `stride`, up to `high` times it, may set."""
    if not stride * high:
        return 0
    lowest = stride & -stride
    return (1 << (stride * high).bit_length()) - lowest
