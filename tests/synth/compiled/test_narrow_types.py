"""Completed kernels on narrow, wide and mixed types: the compiler computes in other widths than the spec."""

import pytest

import warploom as wl
from warploom import bf16, f16, f32, i8, i32, i64, u8
from warploom.gpu import toolchain_available
from warploom.synth.compiled import prove_compiled

n = wl.size("n")
GRID = {"block": 32, "grid": wl.ceil_div(n, 32), "complete_at": {"n": 32}}


def sum_spec(x, y, n):
    for i in range(n):
        y[i] = x[i] * 2 + x[i + 1]


@wl.sketch(spec=sum_spec, **GRID)
def halves(x: wl.Global[f16, n + 1], y: wl.Global[f16, n]):
    i = wl.global_id()
    if i < n:
        y[i] = x[i] * 2 + x[i + 1]


@wl.sketch(spec=sum_spec, **GRID)
def brain_halves(x: wl.Global[bf16, n + 1], y: wl.Global[bf16, n]):
    i = wl.global_id()
    if i < n:
        y[i] = x[i] * 2 + x[i + 1]


@wl.sketch(spec=sum_spec, **GRID)
def byte_sums(x: wl.Global[u8, n + 1], y: wl.Global[u8, n]):
    i = wl.global_id()
    if i < n:
        y[i] = x[i] * 2 + x[i + 1]


def copy_spec(x, y, n):
    for i in range(n):
        y[i] = x[i]


@wl.sketch(spec=copy_spec, **GRID)
def byte_copy(x: wl.Global[i8, n], y: wl.Global[i8, n]):
    i = wl.global_id()
    if i < n:
        y[i] = x[i]


@wl.sketch(spec=sum_spec, **GRID)
def signed_byte_sums(x: wl.Global[i8, n + 1], y: wl.Global[i8, n]):
    i = wl.global_id()
    if i < n:
        y[i] = x[i] * 2 + x[i + 1]


def largest_spec(x, y, n):
    for i in range(n):
        y[i] = min(max(x[i], x[i + 1]), 100) >> 2


@wl.sketch(spec=largest_spec, **GRID)
def largest_signed(x: wl.Global[i8, n + 1], y: wl.Global[i8, n]):
    i = wl.global_id()
    if i < n:
        y[i] = min(max(x[i], x[i + 1]), 100) >> 2


def unsigned_spec(x, y, n):
    for i in range(n):
        y[i] = max(x[i], x[i + 1]) >> 2


@wl.sketch(spec=unsigned_spec, **GRID)
def largest_unsigned(x: wl.Global[u8, n + 1], y: wl.Global[u8, n]):
    i = wl.global_id()
    if i < n:
        y[i] = max(x[i], x[i + 1]) >> 2


def scaled_spec(x, y, n):
    for i in range(n):
        y[i] = wl.cast(f32, x[i]) * 0.1


@wl.sketch(spec=scaled_spec, **GRID)
def scaled(x: wl.Global[i32, n], y: wl.Global[f32, n]):
    i = wl.global_id()
    if i < n:
        y[i] = wl.cast(f32, x[i]) * 0.1


def wide_spec(x, y, n):
    for i in range(n):
        y[i] = wl.cast(i64, x[i]) * wl.cast(i64, x[i + 1]) + 7


@wl.sketch(spec=wide_spec, **GRID)
def wide_products(x: wl.Global[i32, n + 1], y: wl.Global[i64, n]):
    i = wl.global_id()
    if i < n:
        y[i] = wl.cast(i64, x[i]) * wl.cast(i64, x[i + 1]) + 7


circle = wl.operator("circle", lambda a, b: a + b + a * b, identity=0)


def circle_spec(x, y, n):
    for i in range(n):
        y[i] = circle(x[i], x[i + 1])


@wl.sketch(spec=circle_spec, **GRID)
def own_operator(x: wl.Global[i32, n + 1], y: wl.Global[i32, n]):
    total = wl.accumulator(i32, op=circle)
    i = wl.global_id()
    if i < n:
        total.add(x[i])
        total.add(x[i + 1])
        y[i] = total.value()


@pytest.mark.parametrize(
    ("sketch", "domain"),
    [
        (halves, "real sums reordered"),
        (brain_halves, "real sums reordered"),
        (byte_sums, "uint8 wrap"),
        (byte_copy, "elements moved unchanged"),
        (signed_byte_sums, "int8 wrap"),
        (largest_signed, "min and max of ordered values"),
        (largest_unsigned, "min and max of ordered values"),
        (scaled, "real sums reordered"),
        (wide_products, "int64 wrap"),
        (own_operator, "int32 wrap"),
    ],
    ids=lambda value: value.name if isinstance(value, wl.Sketch) else "",
)
def test_proved(sketch: wl.Sketch, domain: str) -> None:
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    proof = prove_compiled(sketch, {}, instances=({"n": 33},))
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert domain in proof.domain


def test_other_sign_is_not_proved() -> None:
    """The same PTX against a spec that means another order of the words."""
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    from warploom.gpu import compile_to_ptx, cuda_source

    signed = compile_to_ptx(cuda_source(largest_signed.kernel).text).replace("largest_signed", "largest_unsigned")
    assert prove_compiled(largest_unsigned, {}, instances=({"n": 33},), ptx=signed).verdict != "proved"
