"""Numbers bit by bit: what is said of them holds of the numbers that Python computes."""

from __future__ import annotations

import random

import pytest

from warploom import scan
from warploom.scan.operators import bit_maps
from warploom.scan.operators import expression as ex
from warploom.scan.operators.bits import columns_of, equal_bits, fits
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.lifting import lift
from warploom.scan.operators.printing import compiled

A, B = (ex.variable(n, Sort("int", bits=3)) for n in "ab")
X = ex.variable("x", ex.INT)


def some(choose: random.Random, depth: int) -> Expr:
    """An expression over A, B and X."""
    if depth == 0:
        return choose.choice([A, B, X, ex.constant(choose.randrange(-2, 9))])
    one, other = some(choose, depth - 1), some(choose, depth - 1)
    match choose.randrange(8):
        case 0:
            return ex.bitwise("bitxor", one, other)
        case 1:
            return ex.bitwise("bitand", one, other)
        case 2:
            return ex.bitwise("bitor", one, other)
        case 3:
            return ex.multiply(one, ex.constant(choose.choice([-1, 2, 3, 4])))
        case 4:
            return ex.floor_quotient(one, 2)
        case 5:
            return ex.remainder(one, choose.choice([2, 4, 8, 3]))
        case 6:
            return ex.select(ex.at_least(one, other), other, ex.ONE)
        case _:
            return ex.add(one, ex.constant(choose.randrange(3)))


PLACES = [(a, b, x) for a in range(8) for b in range(8) for x in (-9, -1, 0, 1, 2, 5, 12)]


def test_what_is_equal_bit_by_bit_is_equal() -> None:
    choose = random.Random(4)
    said = 0
    for _ in range(200):
        one, other = some(choose, 2), some(choose, 2)
        values = [compiled([A, B, X], [one, other])(*p) for p in PLACES]
        if equal_bits(one, other):
            said += 1
            assert all(v == w for v, w in values), (one, other)
        width = next((n for n in range(8) if fits(one, n)), None)
        if width is not None:
            assert all(0 <= v < 1 << width for v, _ in values)
        columns = columns_of(one, A)
        if columns is not None and fits(one, 8):
            run = compiled([A, B, X], [one])
            for a, b, x in PLACES[::5]:
                expected = run(0, b, x)[0]
                for n, column in enumerate(columns):
                    expected = int(expected) ^ (column if a >> n & 1 else 0)
                assert run(a, b, x)[0] == expected
    assert said


def bit(value: Expr, place: int) -> Expr:
    return ex.at_least(ex.bitwise("bitand", value, ex.constant(1 << place)), ex.ONE)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (ex.bitwise("bitxor", A, ex.bitwise("bitxor", A, B)), B, True),
        (ex.bitwise("bitand", A, ex.floor_quotient(A, 2)), ex.ZERO, False),  # two bits of one variable
        (ex.select(bit(A, 0), ex.select(bit(A, 1), ex.ONE, ex.ZERO), ex.ZERO), ex.ZERO, False),
        (ex.select(bit(A, 0), B, ex.ZERO), ex.select(bit(A, 0), ex.bitwise("bitxor", B, ex.constant(4)), ex.ZERO), False),
        (ex.bitwise("bitor", A, B), ex.bitwise("bitxor", ex.bitwise("bitxor", A, B), ex.bitwise("bitand", A, B)), True),
        (ex.bitwise("bitand", X, ex.floor_quotient(X, 2)), ex.ZERO, False),
    ],
)
def test_equal_bits(left: Expr, right: Expr, expected: bool) -> None:
    assert equal_bits(left, right) is expected


def verdict(step: str, start: str = "0", annotation: str = "list[int]") -> str:
    text = f"def f(xs: {annotation}):\n    s = {start}\n    for x in xs:\n        s = {step}\n    return s\n"
    module = scan.parse_module(text)
    return lift(scan.read_loop(module, "f"), scan.user_function(module, "f")).verdict


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("((s << 1) & 0xff) ^ (7 if s & 0x80 else 0) ^ (x & 0xff)", "proved"),
        ("((s << 3) | (s >> 5)) & 0xff ^ (x & 3)", "proved"),
        ("((s << 1) & 0xff) ^ (7 if s & 0xc0 else 0) ^ (x & 0xff)", "unchecked"),  # no sum of single bits
        ("((s << 1) & 0xff) ^ (s & x & 0xff)", "unchecked"),  # the element says what the bits change
        ("(s * 3 & 0xff) ^ (x & 0xff)", "unchecked"),
    ],
)
def test_registers(step: str, expected: str) -> None:
    assert verdict(step) == expected


def test_a_register_that_starts_wide_is_not_narrow() -> None:
    assert verdict("(s >> 1) ^ (x & 7)", "0x1ff") == "proved"
    loop = scan.read_loop(
        scan.parse_module("def f(xs: list[int]):\n    s = 0\n    for x in xs:\n        s = (s >> 1) ^ x\n    return s\n"), "f"
    )
    assert bit_maps.narrowed(loop).states[0].variable.sort.bits is None
