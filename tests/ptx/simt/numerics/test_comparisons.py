"""set and setp against Python's order of fractions."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest

from ptx.simt.numerics import reference
from warploom.core import UnsupportedError
from warploom.ptx.simt.numerics import COMPARISONS, bind, compare

ORDERS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}


def _number(name: str, bits: int) -> Fraction | float | None:
    sign, size = reference.unpack(name, bits)
    if size == reference.NAN:
        return None
    number: Fraction | float = float("inf") if size == reference.INF else size  # type: ignore[assignment]
    return -number if sign else number


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_floats(name: str) -> None:
    a, b = reference.samples(name, 300, 1), reference.samples(name, 300, 2)
    a[:60] = b[:60]
    pairs = [(_number(name, int(x)), _number(name, int(y))) for x, y in zip(a, b, strict=True)]
    for text in COMPARISONS - {"lo", "ls", "hi", "hs"}:

        def wanted(x: Fraction | float | None, y: Fraction | float | None, text=text) -> bool:
            unordered = x is None or y is None
            if text in ("num", "nan"):
                return unordered == (text == "nan")
            return text.endswith("u") if unordered else ORDERS[text[:2]](x, y)

        assert compare(text, name, a, b).tolist() == [wanted(x, y) for x, y in pairs], text


@pytest.mark.parametrize("name", ["s16", "u16", "b16", "s32", "u32", "b32", "s64", "u64", "b64"])
def test_integers(name: str) -> None:
    bits = int(name[1:])
    random = np.random.default_rng(4)
    column = [int.from_bytes(random.bytes(bits // 8), "little") >> int(random.integers(bits)) for _ in range(200)]
    column += [0, (1 << bits) - 1, 1 << (bits - 1)]
    a = np.array(column, f"u{bits // 8}")
    b = np.roll(a, 1)
    b[:50] = a[:50]

    def typed(number: int) -> int:
        return number - (1 << bits) if name[0] == "s" and number >> (bits - 1) else number

    for text in ("eq", "ne") if name[0] == "b" else tuple(ORDERS):
        expected = [ORDERS[text](typed(x), typed(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert compare(text, name, a, b).tolist() == expected
    if name[0] == "u":
        for text, plain in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
            assert np.array_equal(compare(text, name, a, b), compare(plain, name, a, b))
    with pytest.raises(UnsupportedError):
        compare("ltu", name, a, b)


def test_two_predicates_and_their_combination() -> None:
    a, b = np.array([1, 2, 3, 3], np.uint32), np.array([2, 2, 2, 4], np.uint32)
    c = np.array([True, True, False, False])
    p, q = bind("setp", ["lt", "s32"]).evaluate(a, b)
    assert p.tolist() == [True, False, False, True] and q.tolist() == [False, True, True, False]
    p, q = bind("setp", ["lt", "and", "s32"]).evaluate(a, b, c)
    assert p.tolist() == [True, False, False, False] and q.tolist() == [False, True, False, False]
    p, q = bind("setp", ["lt", "xor", "s32"]).evaluate(a, b, c)
    assert p.tolist() == [False, True, False, True] and q.tolist() == [True, False, True, False]
    p, q = bind("setp", ["lt", "or", "s32"]).evaluate(a, b, c)
    assert p.tolist() == [True, True, False, True] and q.tolist() == [True, True, True, False]


def test_packed_predicates_are_low_and_high() -> None:
    a, b = np.array([0x3C004000], np.uint32), np.array([0x40003C00], np.uint32)
    p, q = bind("setp", ["lt", "f16x2"]).evaluate(a, b)
    assert (p.tolist(), q.tolist()) == ([False], [True])
    p, q = bind("setp", ["lt", "and", "f16x2"]).evaluate(a, b, np.array([False]))
    assert (p.tolist(), q.tolist()) == ([False], [False])


def test_set_results() -> None:
    a, b = np.array([0x3F800000, 0x7FC00000], np.uint32), np.array([0x40000000, 0], np.uint32)
    assert bind("set", ["lt", "u32", "f32"]).evaluate(a, b).tolist() == [0xFFFFFFFF, 0]
    assert bind("set", ["ltu", "f32", "f32"]).evaluate(a, b).tolist() == [0x3F800000, 0x3F800000]
    assert bind("set", ["lt", "or", "s32", "f32"]).evaluate(a, b, np.array([False, True])).tolist() == [0xFFFFFFFF] * 2
    assert bind("set", ["lt", "bf16", "f32"]).evaluate(a, b).tolist() == [0x3F80, 0]
    x, y = np.array([0x3C004000], np.uint32), np.array([0x40003C00], np.uint32)
    assert bind("set", ["lt", "f16x2", "f16x2"]).evaluate(x, y).tolist() == [0x3C000000]
    assert bind("set", ["lt", "u32", "f16x2"]).evaluate(x, y).tolist() == [0xFFFF0000]
    assert bind("set", ["gt", "u16", "f16"]).evaluate(x.astype(np.uint16), y.astype(np.uint16)).tolist() == [0xFFFF]


def test_ftz_compares_subnormals_as_zeros() -> None:
    tiny, zero = np.array([1], np.uint32), np.array([0x80000000], np.uint32)
    assert not compare("eq", "f32", tiny, zero)[0]
    assert compare("eq", "f32", tiny, zero, ftz=True)[0]
    assert bind("setp", ["gt", "ftz", "f16"]).evaluate(tiny.astype(np.uint16), zero.astype(np.uint16))[0].tolist() == [False]
