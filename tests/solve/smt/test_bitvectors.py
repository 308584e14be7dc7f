"""Bit vectors: known identities are proved, known differences have a witness."""

import pytest

from warploom.solve import BitVectors, Sat, Unknown, Unsat

BUDGET = 2_000_000


def test_identities_of_mixed_widths() -> None:
    v = BitVectors()
    x = v.symbol("x", 32)
    low = v.extended(v.bits(x, 0, 5), 32, is_signed=False)
    masked = v.apply("and", x, v.constant(31, 32))
    differ = v.apply("xor", v.apply("eq", low, masked), v.constant(1, 1))
    assert isinstance(v.check([differ], BUDGET), Unsat)


def test_sign_extension_distributes_only_without_overflow() -> None:
    v = BitVectors()
    x = v.symbol("x", 32)
    inside = v.extended(v.apply("add", x, v.constant(1, 32)), 64, is_signed=True)
    outside = v.apply("add", v.extended(x, 64, is_signed=True), v.constant(1, 64))
    differ = v.apply("xor", v.apply("eq", inside, outside), v.constant(1, 1))
    answer = v.check([differ], BUDGET)
    assert isinstance(answer, Sat)
    assert answer.model["x"] == 2**31 - 1
    bounded = v.apply("slt", x, v.constant(1000, 32))
    assert isinstance(v.check([differ, bounded], BUDGET), Unsat)


@pytest.mark.parametrize(("x", "y"), [(7, 3), (200, 100), (1, 255)])
def test_operations_on_constants(x: int, y: int) -> None:
    v = BitVectors()
    a, b = v.constant(x, 8), v.constant(y, 8)
    signed = [n - 256 if n > 127 else n for n in (x, y)]
    quotient = abs(signed[0]) // abs(signed[1]) * (1 if signed[0] * signed[1] >= 0 else -1)
    expected = {
        "add": x + y, "mul": x * y, "and": x & y, "or": x | y, "xor": x ^ y, "udiv": x // y, "sdiv": quotient,
        "shl": x << y if y < 8 else 0, "lshr": x >> y, "ashr": signed[0] >> min(y, 8),
    }  # fmt: skip
    for operation, value in expected.items():
        same = v.apply("eq", v.apply(operation, a, b), v.constant(value, 8))
        assert isinstance(v.check([v.apply("xor", same, v.constant(1, 1))], BUDGET), Unsat), operation
    less = {"ult": x < y, "slt": signed[0] < signed[1]}
    for operation, holds in less.items():
        found = v.check([v.apply(operation, a, b)], BUDGET)
        assert isinstance(found, Sat if holds else Unsat), operation


def test_too_small_a_budget_is_unknown() -> None:
    v = BitVectors()
    x, y = v.symbol("x", 64), v.symbol("y", 64)
    product = v.apply("eq", v.apply("mul", x, y), v.constant((2**31 - 1) * (2**61 - 1), 64))
    bounds = [v.apply("ult", v.constant(1, 64), n) for n in (x, y)]
    odd = [v.apply("ult", n, v.constant(2**62, 64)) for n in (x, y)]
    assert isinstance(v.check([product, *bounds, *odd], 10), Unknown)
