"""Divisions by constants: where fused steps stand for one, they give the float nearest to the quotient, bit by bit."""

from fractions import Fraction

import numpy as np
import pytest
from tests.gpu.kernels import TID
from tests.gpu.test_cuda_source import small

from warploom.core import f32
from warploom.gpu import cuda_source, read_back
from warploom.gpu.cvalues import Value, fused
from warploom.ir import Arith, Read, Store, ValueConst

RNG = np.random.default_rng(9)
EXTREME = [0.0, -0.0, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38, -3.4028235e38, np.inf, -np.inf, np.nan, 9.0, 3e-44]


def floats(count: int) -> np.ndarray:
    return np.concatenate([np.array(EXTREME, np.float32), RNG.integers(0, 1 << 32, count, np.uint32).view(np.float32)])


def printed(divisor: float) -> str:
    return cuda_source(small(Store("y", (TID,), Arith("/", (Read("x", (TID,)), ValueConst(divisor, f32)))), dtype=f32)).text


@pytest.mark.parametrize("divisor", [3, 9, 25, (1 << 22) - 1])
def test_the_steps_round_as_a_division_does(divisor: int) -> None:
    def value(data: object) -> Value:
        return Value("f32", np.asarray(data, np.float32))

    x, by, share = floats(20_000), np.float32(divisor), np.float32(1 / divisor)
    with np.errstate(all="ignore"):
        first = x * share
        excess = np.fmax(fused(value(first), value(by), value(-x)).data, np.float32(-3.4028235e38))
        found, expected = fused(value(-excess), value(share), value(first)).data, x / by
    same = (found.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(found) & np.isnan(expected))
    assert same.all(), x[~same]


def test_a_fused_sum_is_rounded_once() -> None:
    a, b, c = (np.float32(v) for v in (1 + 2**-12, 1 + 2**-12, 2**-60))
    for addend in (c, -c, np.float32(-1), np.float32(2**24)):
        got = fused(*(Value("f32", np.array([v], np.float32)) for v in (a, b, addend))).data[0]
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(addend))
        beside = [np.nextafter(got, np.float32(way)) for way in (-np.inf, np.inf)]
        assert all(abs(Fraction(float(got)) - exact) <= abs(Fraction(float(v)) - exact) for v in beside)


def test_which_divisions_are_printed_so() -> None:
    assert "divided_by_9(x[thread])" in printed(9.0)
    for divisor in (6.0, 1.0, 2.5, 3.0 * (1 << 22), -3.0):
        assert "divided_by" not in printed(divisor)


def test_a_wrong_share_is_read_back_as_wrong() -> None:
    kernel = small(Store("y", (TID,), Arith("/", (Read("x", (TID,)), ValueConst(9.0, f32)))), dtype=f32)
    text = cuda_source(kernel).text
    assert read_back(text, kernel).ok
    assert not read_back(text.replace("9.0f, -a", "7.0f, -a"), kernel).ok
