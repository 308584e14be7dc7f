"""Vectors over a constant: bit by bit what NumPy's division gives, whether by fused steps or not."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from warploom.core import f32
from warploom.core.compiler import KERNEL_FLAGS
from warploom.ctext import is_divisor
from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.cpu import c_source, compile_nest, find_compiler
from warploom.schedule.nest import Argument, Builder, Kind, Nest

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
COUNT = 1 << 16
EXTREME = [0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38, -3.4028235e38, np.inf, -np.inf, np.nan, 9.0, 3e-44]


def numbers() -> np.ndarray:
    """Every kind of float: random bits, subnormal numbers, the largest, infinities and NaN, and neighbours of multiples."""
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 32, COUNT, np.uint32)
    bits[: COUNT // 4] &= 0x807FFFFF
    bits[COUNT // 4 : COUNT // 2] |= 0x7F000000
    x = bits.view(np.float32)
    x[-COUNT // 4 :] = rng.integers(-(1 << 24), 1 << 24, COUNT // 4)
    x[: len(EXTREME)] = EXTREME
    return x


def over(divisor: float, lanes: int, *, is_turned: bool = False) -> Nest:
    """B = A / divisor, or divisor / A."""
    b = Builder("over")
    source, target = b.buffer("A", COUNT), b.buffer("B", COUNT, Role.OUTPUT)
    x, y = (b.value(name, vector=lanes) for name in ("x", "y"))
    with b.loop("i", Kind.BLOCK, COUNT // lanes) as i, b.loop("v", Kind.VECTOR, lanes) as v:
        b.load(b.ref(x, v), source, i * lanes + v)
        pair: list[Argument] = [b.ref(x, v), Constant(divisor)]
        b.compute(b.ref(y, v), Operator.DIV, *(reversed(pair) if is_turned else pair))
        b.store(target, i * lanes + v, b.ref(y, v))
    return b.nest()


def result(nest: Nest, *flags: str) -> np.ndarray:
    y = np.empty(COUNT, np.float32)
    compile_nest(nest, flags=(*KERNEL_FLAGS, *flags)).run([numbers(), y])
    return y


@pytest.mark.parametrize(
    ("divisor", "lanes"),
    [(3.0, 4), (3.0, 8), (3.0, 16), (9.0, 8), (1001.0, 8), (float((1 << 22) - 1), 8), (float((1 << 22) + 1), 8), (6.0, 8)],
)
def test_every_bit_is_that_of_a_division(divisor: float, lanes: int) -> None:
    with np.errstate(all="ignore"):
        expected = numbers() / np.float32(divisor)
    np.testing.assert_array_equal(result(over(divisor, lanes)).view(np.uint32), expected.view(np.uint32))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="an option for x86")
def test_machines_without_fused_steps_divide() -> None:
    expected = result(over(3.0, 1))
    np.testing.assert_array_equal(result(over(3.0, 8), "-mno-fma").view(np.uint32), expected.view(np.uint32))


def test_which_divisions_are_printed_as_steps() -> None:
    assert "divided_f32x8_by_3(x)" in c_source(over(3.0, 8)).text
    assert "fmadd" not in c_source(over(3.0, 2)).text, "no instructions for two lanes"
    for nest in (over(3.0, 1), over(6.0, 8), over(1.0, 8), over(-3.0, 8), over(3.0, 8, is_turned=True)):
        assert "divided" not in c_source(nest).text
    assert not any(is_divisor(f32, number) for number in (1.0, 2.0, 2.5, 4194305.0, float("inf"), float("nan")))
