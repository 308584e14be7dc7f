"""The reference values of approximate instructions against 60-digit decimals, their special values, and the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from ptx.simt.numerics import reference
from warploom.ptx.simt.numerics import approximation_of, bind


@pytest.fixture(autouse=True)
def _precise() -> Iterator[None]:
    with localcontext() as context:
        context.prec = 80
        yield


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _sine(x: Decimal) -> Decimal:
    term, total, place = x, x, 1
    while abs(term) > Decimal("1e-70"):
        term *= -x * x / ((place + 1) * (place + 2))
        total, place = total + term, place + 2
    return total


def _tanh(x: Decimal) -> Decimal:
    if abs(x) < Decimal("1e-12"):
        return x - x**3 / 3
    grown = (2 * x).exp()
    return (grown - 1) / (grown + 1)


EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "sin": _sine,
    "cos": lambda x: _sine(x + Decimal("1.57079632679489661923132169163975144209858469968755291048747229615390820314310449931")),
    "lg2": lambda x: x.ln() / Decimal(2).ln(),
    "ex2": lambda x: (x * Decimal(2).ln()).exp(),
    "tanh": _tanh,
    "rsqrt": lambda x: 1 / x.sqrt(),
}
RANGES = {"sin": 40.0, "cos": 40.0, "lg2": 1e6, "ex2": 100.0, "tanh": 6.0, "rsqrt": 1e8}


def _is_nearest(name: str, got: int, exact: Decimal) -> bool:
    """Within half a unit and a little: no neighbour is nearer by more than the little."""
    wanted = Fraction(exact)
    here = abs(reference.value(name, got) - wanted)
    unit = abs(reference.value(name, got + 1) - reference.value(name, got))
    return here <= unit * Fraction(500001, 1000000)


@pytest.mark.parametrize("opcode", list(EXACT))
@pytest.mark.parametrize("name", ["f32", "f16", "bf16"])
def test_reference_values_are_the_nearest(opcode: str, name: str) -> None:
    if name != "f32" and opcode not in ("ex2", "tanh"):
        return
    random = np.random.default_rng(1)
    span = min(RANGES[opcode], 12.0) if name == "f16" else RANGES[opcode]
    values = random.uniform(0, 1, 120) ** 3 * span
    if opcode not in ("lg2", "rsqrt"):
        values *= random.choice([-1, 1], 120)
    patterns = [reference.pack(name, int(x < 0), abs(Fraction(x))) for x in values.tolist()]
    patterns = [pattern for pattern in patterns if reference.unpack(name, pattern)[1]]
    bits = np.array(patterns, f"u{reference.FORMATS[name][0] // 8}")
    got = bind(opcode, ["approx", name]).evaluate(bits)
    for pattern, result in zip(patterns, got.tolist(), strict=True):
        assert _is_nearest(name, result, EXACT[opcode](_decimal(reference.value(name, pattern)))), hex(pattern)


INF, NEG_INF, NAN, ONE, NEG_ZERO, TINY = 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x3F800000, 0x80000000, 0x00000001
SPECIAL = [  # instruction, operand, result: the manual's tables
    ("sin.approx.f32", [INF, NEG_ZERO, 0, NAN], [NAN, NEG_ZERO, 0, NAN]),
    ("cos.approx.f32", [NEG_INF, NEG_ZERO, 0], [NAN, ONE, ONE]),
    ("sin.approx.ftz.f32", [TINY, NEG_ZERO | 1], [0, NEG_ZERO]),
    ("lg2.approx.f32", [0, NEG_ZERO, INF, NEG_INF, ONE, 0xBF800000, TINY], [NEG_INF, NEG_INF, INF, NAN, 0, NAN, 0xC3150000]),
    ("lg2.approx.ftz.f32", [TINY], [NEG_INF]),
    ("ex2.approx.f32", [NEG_INF, INF, 0, NEG_ZERO, 0xC3150000], [0, INF, ONE, ONE, TINY]),
    ("ex2.approx.ftz.f32", [0xC3150000, TINY], [0, ONE]),
    ("tanh.approx.f32", [INF, NEG_INF, NEG_ZERO, TINY], [ONE, 0xBF800000, NEG_ZERO, TINY]),
    ("rsqrt.approx.f32", [0, NEG_ZERO, INF, NEG_INF, 0xBF800000], [INF, NEG_INF, 0, NAN, NAN]),
    ("rsqrt.approx.ftz.f32", [TINY, NEG_ZERO | 1], [INF, NEG_INF]),
    ("rcp.approx.f32", [0, NEG_ZERO, INF, NEG_INF, TINY], [INF, NEG_INF, 0, NEG_ZERO, INF]),
    ("rcp.approx.ftz.f32", [TINY, 0x7F000001], [INF, 0]),
    ("sqrt.approx.f32", [0, NEG_ZERO, INF, NEG_INF, 0xBF800000], [0, NEG_ZERO, INF, NAN, NAN]),
    ("sqrt.approx.ftz.f32", [TINY, NEG_ZERO | 1], [0, NEG_ZERO]),
]


@pytest.mark.parametrize(("text", "operands", "wanted"), SPECIAL, ids=[row[0] for row in SPECIAL])
def test_special_values(text: str, operands: list[int], wanted: list[int]) -> None:
    opcode, *modifiers = text.split(".")
    assert bind(opcode, modifiers).evaluate(np.array(operands, np.uint32)).tolist() == wanted


def test_division_by_huge_numbers_is_zero_only_in_approx() -> None:
    a = np.array([ONE, INF, 0x7F000000, NAN], np.uint32)
    b = np.full(4, 0x7E800001, np.uint32)
    assert bind("div", ["approx", "f32"]).evaluate(a, b).tolist() == [0, NAN, 0, NAN]
    assert bind("div", ["full", "f32"]).evaluate(a, b).tolist()[2] == 0x3FFFFFFE
    assert bind("div", ["approx", "f32"]).evaluate(a, np.full(4, 0x7E800000, np.uint32)).tolist()[2] == 0x40000000


def test_double_approximations_use_the_upper_halves() -> None:
    a = np.array([0x4008000012345678, 0x0000000000000000, 0x7FF0000000000000, 0x0000000100000000], np.uint64)
    reciprocal = bind("rcp", ["approx", "ftz", "f64"]).evaluate(a)
    assert reciprocal.tolist() == [0x3FD5555500000000, 0x7FF0000000000000, 0, 0x7FF0000000000000]
    root = bind("rsqrt", ["approx", "ftz", "f64"]).evaluate(np.array([0x4010000000000000], np.uint64))
    assert root.tolist() == [0x3FE0000000000000]
    assert bind("rsqrt", ["approx", "f64"]).evaluate(np.array([0x4010000000000000], np.uint64)).tolist() == [0x3FE0000000000000]


def test_the_table_knows_what_is_approximate() -> None:
    for text in (
        "div.approx.ftz.f32",
        "div.full.f32",
        "sin.approx.f32",
        "ex2.approx.ftz.bf16x2",
        "tanh.approx.f16",
        "rcp.approx.ftz.f64",
    ):
        opcode, *modifiers = text.split(".")
        approximation = bind(opcode, modifiers).approximation
        assert approximation is not None and approximation.bound != "not stated"
    for text in ("div.rn.f32", "sqrt.rn.f64", "fma.rn.f32", "add.f32", "rcp.rz.f32"):
        opcode, *modifiers = text.split(".")
        assert approximation_of(opcode, modifiers) is None
