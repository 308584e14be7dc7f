"""CUDA's mathematical functions, as NVRTC compiles them, stay within the errors that CUDA documents.

Their code leans on fused multiply-adds, exact remainders, bit tricks and wide integer products: one wrong rounding shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.ptx.simt import launch

Function = Callable[..., float]
# name, expression of x and y, Python's value, documented maximal error in ulp (for double plus 1: the reference has its own)
FUNCTIONS: list[tuple[str, str, Function, float]] = [
    ("sin_f32", "sinf(x)", lambda x, y: math.sin(x), 2),
    ("sin_large_f32", "sinf(x * 1e6f)", lambda x, y: math.sin(float(np.float32(x) * np.float32(1e6))), 2),
    ("pow_f32", "powf(fabsf(x), y)", lambda x, y: math.pow(abs(x), y), 4),
    ("exp_f32", "expf(x)", lambda x, y: math.exp(x), 2),
    ("log_f32", "logf(fabsf(x))", lambda x, y: math.log(abs(x)), 1),
    ("erf_f32", "erff(x)", lambda x, y: math.erf(x), 2),
    ("tanh_f32", "tanhf(x)", lambda x, y: math.tanh(x), 2),
    ("atan2_f32", "atan2f(x, y)", lambda x, y: math.atan2(x, y), 3),
    ("fmod_f32", "fmodf(x, y)", lambda x, y: math.fmod(x, y), 0),
    ("sin_f64", "sin(x)", lambda x, y: math.sin(x), 3),
    ("exp_f64", "exp(x)", lambda x, y: math.exp(x), 2),
    ("log_f64", "log(fabs(x))", lambda x, y: math.log(abs(x)), 2),
    ("pow_f64", "pow(fabs(x), y)", lambda x, y: math.pow(abs(x), y), 3),
    ("tanh_f64", "tanh(x)", lambda x, y: math.tanh(x), 3),
    ("fmod_f64", "fmod(x, y)", lambda x, y: math.fmod(x, y), 0),
    ("div_f64", "x / y", lambda x, y: x / y, 0),
]
COUNT = 512


@cache
def _ptx() -> str:
    def kernel(name: str, element: str, expression: str) -> str:
        return (
            f'extern "C" __global__ void {name}({element} *out, const {element} *a, const {element} *b) {{'
            f"int i = blockIdx.x * blockDim.x + threadIdx.x; {element} x = a[i], y = b[i]; (void)y; out[i] = {expression}; }}\n"
        )

    text = "".join(kernel(name, "float" if name.endswith("f32") else "double", code) for name, code, _, _ in FUNCTIONS)
    divide = kernel("divide_s64", "long long", "x / (y | 1) + x % (y | 1)")
    return compile_to_ptx(text + divide + kernel("high_s64", "long long", "__mul64hi(x, y)"), "sm_90")


def _run(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not toolchain_available():
        pytest.skip("needs NVRTC: install the extra `cuda`")
    result = launch(_ptx(), name, grid=COUNT // 128, block=128, args=[np.zeros_like(a), a, b])
    assert result.status == "finished" and not result.findings
    return result.arrays[0]


@pytest.mark.parametrize(
    ("name", "reference", "bound"), [(n, f, u) for n, _, f, u in FUNCTIONS], ids=[row[0] for row in FUNCTIONS]
)
def test_mathematical_functions(name: str, reference: Function, bound: float) -> None:
    element = np.float32 if name.endswith("f32") else np.float64
    random = np.random.default_rng(1)
    a = (random.standard_normal(COUNT) * np.exp2(random.integers(-8, 6, COUNT))).astype(element)
    b = (random.standard_normal(COUNT) * 4).astype(element)
    got = _run(name, a, b)
    wanted = np.array([reference(float(x), float(y)) for x, y in zip(a, b, strict=True)])
    inside = np.abs(wanted) < float(np.finfo(element).max)
    unit = np.spacing(np.abs(wanted[inside]).astype(element)).astype(np.float64)
    assert (
        np.abs(got[inside] - wanted[inside]).max(initial=0) == 0 or (np.abs(got[inside] - wanted[inside]) / unit).max() <= bound
    )
    assert np.isinf(got[~inside]).all()


def test_long_division_and_products() -> None:
    random = np.random.default_rng(2)
    a = random.integers(-(2**63), 2**63 - 1, COUNT)
    b = random.integers(-(2**63), 2**63 - 1, COUNT) >> random.integers(0, 63, COUNT)

    def divide(x: int, y: int) -> int:
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return quotient + x - quotient * y

    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert [(divide(x, y | 1) - int(z)) % 2**64 for (x, y), z in zip(pairs, _run("divide_s64", a, b), strict=True)] == [0] * COUNT
    assert [x * y >> 64 for x, y in pairs] == _run("high_s64", a, b).tolist()
