"""The independent checker: methods, agreement with right kernels, refutation of wrong ones."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synth.kernels import CARRYLESS, CONV3, REVERSE, carryless, conv3, parse, reverse

import warploom as wl
from warploom.core import BY_NAME, UserError
from warploom.sketch import TermSpec
from warploom.synth.proof.check import check
from warploom.synth.proof.concrete import TYPED_BUILTINS, TypedInteger
from warploom.terms import Term, apply, atom


def test_reals_at_random_points_of_a_field():
    result = check(parse(CONV3), conv3, {"n": 70}, seed=1)
    assert (result.verdict, result.method, result.cases) == ("tested", "random field elements", 1)
    wrong = check(parse(CONV3, ("lane >= k", "lane > k")), conv3, {"n": 70}, seed=1)
    assert wrong.verdict == "refuted" and wrong.counterexample.startswith("y[0]: expected ")


def test_bitwise_kernels_exhaustively():
    result = check(parse(CARRYLESS), carryless, {}, seed=0)
    assert (result.verdict, result.method, result.cases) == ("tested", "all words of one bit", 256)
    assert check(parse(CARRYLESS, ("j <= thread_id", "j < thread_id")), carryless, {}).verdict == "refuted"


def test_words_of_too_many_bits_are_drawn(monkeypatch: pytest.MonkeyPatch):
    for most, method in ((8, "all words of one bit"), (7, "random machine numbers")):
        monkeypatch.setitem(check.__globals__, "_MOST_EXHAUSTIVE_RUNS", most)
        assert check(parse(CARRYLESS), carryless, {}).method == method


def test_movement_on_distinct_elements():
    assert check(parse(REVERSE), reverse, {}).method == "distinct elements"
    wrong = check(parse(REVERSE, ("7 - thread_id", "thread_id")), reverse, {})
    assert wrong.counterexample == "y[0]: expected 8, got 1"


def test_faults_of_the_run_refute():
    result = check(parse(REVERSE, ("    sync()\n", "")), reverse, {})
    assert result.verdict == "refuted" and result.diagnostics[0].code == "RACE"


SCALE = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def scale(x: Global[{t}, 4], y: Global[{t}, 4] | out):
    y[thread_id] = min(x[thread_id] * {t}({three}), {t}({three}) + x[thread_id])
"""


@pytest.mark.parametrize(("dtype", "three"), [("i32", "3"), ("u32", "3"), ("f32", "3.0"), ("f64", "3.0")])
def test_machine_numbers(dtype: str, three: str):
    def spec(x, y):
        for i in range(4):
            y[i] = min(3 * x[i], x[i] + 3)

    kernel = parse(SCALE.format(t=dtype, three=three))
    result = check(kernel, spec, {}, seed=3)
    assert (result.verdict, result.method, result.cases) == ("tested", "random machine numbers", 3)


def test_means_divide_in_the_field():
    text = "@kernel(block=(1, 1, 1), grid=(1, 1, 1), warp_size=1)\ndef k(x: Global[f32, 3], y: Global[f32, 1] | out):\n"
    kernel = parse(text + "    y[0] = x[0] / f32(3.0) + (x[1] + x[2]) / f32(3.0)\n")

    def mean(x, y):
        y[0] = (x[0] + x[1] + x[2]) / 3

    assert check(kernel, mean, {}).verdict == "tested"


def test_vectors():
    text = "@kernel(block=(2, 1, 1), grid=(1, 1, 1), warp_size=2)\ndef k(x: Global[int2, 2], y: Global[i32, 2] | out):\n"
    kernel = parse(text + "    y[thread_id] = x[thread_id].x + x[1 - thread_id].y\n")

    def spec(x, y):
        for i in range(2):
            y[i] = x[1 - i].y + x[i].x

    assert check(kernel, spec, {}).verdict == "tested"


MOVE = """
@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=8)
def move(x: Global[{t}, 8], y: Global[{t}, 8] | out):
    y[thread_id] = x[thread_id]
"""


@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_operators_of_the_spec_alone_choose_the_numbers(dtype: str):
    def absorbed(x, y):
        for i in range(8):
            y[i] = max(min(x[i], x[7 - i]), x[i])

    def absorbed_by_python(x, y):
        for i, least in enumerate([min(x[i], x[7 - i]) for i in range(8)]):
            y[i] = max(least, x[i])

    kernel = parse(MOVE.format(t=dtype))
    assert check(kernel, absorbed, {}).method == "random machine numbers"
    assert check(kernel, absorbed, {}).verdict == "tested"
    assert check(kernel, absorbed_by_python, {}).verdict == "tested"


def _narrow(spec):
    @wl.sketch(block=4)
    def kernel(x: wl.Global[wl.i8, 4], s: wl.Global[wl.i8, 4], y: wl.Global[wl.i32, 4]):
        i = wl.thread_id()
        y[i] = wl.cast(wl.i32, x[i]) + wl.cast(wl.i32, s[i])

    return check(kernel.kernel, spec, {})


def test_narrow_integers_are_computed_in_int():
    """NumPy's i8 + i8 is an i8; C's is an int."""

    def spec(x, s, y):
        for i in range(4):
            y[i] = x[i] + s[i]

    assert _narrow(spec).verdict == "tested"


def test_what_a_narrow_cell_holds_is_narrow():
    def spec(x, s, y):
        for i in range(4):
            x[i] = x[i] + s[i]
            y[i] = x[i]

    assert _narrow(spec).verdict == "refuted"


@pytest.mark.parametrize(
    ("op", "a", "b", "value", "dtype"),
    [
        ("__add__", (100, "i8"), (100, "i8"), 200, "i32"),
        ("__add__", (2**31 - 1, "i32"), 1, -(2**31), "i32"),
        ("__sub__", (0, "u32"), 1, 2**32 - 1, "u32"),
        ("__mul__", (-1, "i32"), (2, "u32"), 2**32 - 2, "u32"),
        ("__add__", (1, "i32"), 2**40, 2**40 + 1, "i64"),
        ("__truediv__", (-7, "i32"), 2, -3, "i32"),
        ("__truediv__", (-(2**31), "i32"), -1, -(2**31), "i32"),
        ("__rtruediv__", (2, "i32"), -7, -3, "i32"),
        ("__rshift__", (-1, "i32"), 40, -1, "i32"),
        ("__lshift__", (1, "i8"), 9, 512, "i32"),
        ("__invert__", (0, "u8"), None, -1, "i32"),
        ("__rand__", (255, "u8"), 511, 255, "i32"),
    ],
)
def test_typed_integers(op: str, a, b, value: int, dtype: str):
    """Values as gcc gives them."""
    numbers = [TypedInteger(n[0], BY_NAME[n[1]]) if isinstance(n, tuple) else n for n in (a, b) if n is not None]
    found = getattr(numbers[0], op)(*numbers[1:])
    assert (found.value, found.dtype.name) == (value, dtype)


def test_zero_divisors_are_drawn_anew():
    @wl.sketch(block=32)
    def kernel(x: wl.Global[wl.u8, 32], s: wl.Global[wl.u8, 32], y: wl.Global[wl.u8, 32]):
        i = wl.thread_id()
        y[i] = x[i] / s[i]

    def spec(x, s, y):
        for i in range(32):
            y[i] = x[i] / s[i]

    found = check(kernel.kernel, spec, {})
    assert (found.verdict, found.cases) == ("tested", 3)


def test_a_kernel_that_alone_divides_by_zero_is_refuted():
    @wl.sketch(block=4)
    def kernel(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
        i = wl.thread_id()
        y[i] = x[i] / (x[i] - x[i])

    def spec(x, y):
        for i in range(4):
            y[i] = x[i]

    found = check(kernel.kernel, spec, {})
    assert (found.verdict, [d.code for d in found.diagnostics]) == ("refuted", ["DIVISION_BY_ZERO"])


def test_the_greater_of_mixed_integers_has_their_common_type():
    largest, byte = TypedInteger(2**31 - 1, BY_NAME["i32"]), TypedInteger(1, BY_NAME["i64"])
    found = TYPED_BUILTINS["max"](largest, byte) + largest
    assert (found.value, found.dtype.name) == (2**32 - 2, "i64")
    assert TYPED_BUILTINS["min"](TypedInteger(-1, BY_NAME["i32"]), TypedInteger(5, BY_NAME["u32"])).value == 5


def test_inputs_outside_of_the_domain_are_no_cases():
    @wl.sketch(block=4)
    def kernel(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
        i = wl.thread_id()
        y[i] = x[i] / (x[i] - x[i])

    def spec(x, y):
        for i in range(4):
            y[i] = x[i] / (x[i] - x[i])

    assert check(kernel.kernel, spec, {}).cases == 0


def _terms(elements: list[Term]) -> np.ndarray:
    return np.array([*elements, None], dtype=object)[:-1]


def test_a_spec_of_terms_is_compared_with_a_run():
    backwards = TermSpec({"y": _terms([atom("x", (7 - i,)) for i in range(8)])})
    assert check(parse(REVERSE), backwards, {}).verdict == "tested"
    wrong = check(parse(REVERSE, ("7 - thread_id", "thread_id")), backwards, {})
    assert (wrong.verdict, wrong.diagnostics, wrong.counterexample[:6]) == ("refuted", (), "y[0]: ")
    racing = check(parse(REVERSE, ("    sync()\n", "")), backwards, {})
    assert (racing.verdict, [d.code for d in racing.diagnostics]) == ("refuted", ["RACE"])
    unknown = TermSpec({"y": _terms([apply("sqrt", atom("x", (i,))) for i in range(8)])})
    with pytest.raises(UserError, match="expected terms of y that have a value"):
        check(parse(REVERSE), unknown, {})


def test_faults_of_a_run_in_a_field_refute():
    """Blocks of one thread run one after the other: the sum is right, and every machine may store another one."""
    text = "@kernel(block=(1, 1, 1), grid=(2, 1, 1), warp_size=1)\ndef k(x: Global[f32, 2], y: Global[f32, 1] | out):\n"

    def total(x, y):
        y[0] = x[0] + x[1]

    found = check(parse(text + "    y[0] = x[0] + x[1]\n"), total, {})
    assert (found.method, found.verdict) == ("random field elements", "refuted")
    assert len(found.diagnostics) == 1 and found.counterexample == found.diagnostics[0].message


def test_a_spec_in_words_of_the_language_that_divides_by_zero_has_no_value_there():
    @wl.sketch(block=4)
    def kernel(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
        i = wl.thread_id()
        y[i] = x[i] / (x[i] - x[i])

    def spec(x, y):
        for i in range(4):
            y[i] = wl.cast(wl.i32, x[i]) / (x[i] - x[i])

    assert check(kernel.kernel, spec, {}).cases == 0


def test_floats_of_two_types_are_numbers_of_numpy():
    text = "@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=8)\ndef k(x: Global[f32, 8], y: Global[f64, 8] | out):\n"
    kernel = parse(text + "    y[thread_id] = cast(f64, x[thread_id]) / f64(4.0)\n")

    def quarter(x, y):
        for i in range(8):
            y[i] = min(x[i] / 4, 1e9)

    assert check(kernel, quarter, {}).verdict == "tested"


INFINITE = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def infinite(x: Global[f32, 4], y: Global[f32, 4] | out):
    y[thread_id] = min(x[thread_id], f32(1.0)) {more}
"""


def infinite(x, y):
    for i in range(4):
        y[i] = x[i] + float("inf")


def test_an_infinity_is_no_element_of_a_field():
    kernel = parse(INFINITE.format(more="+ f32(2.0)"), ("min(x[thread_id], f32(1.0)) + f32(2.0)", "x[thread_id] + f32(1e999)"))
    assert check(kernel, infinite, {}).method == "random machine numbers"
    plain = parse(INFINITE.format(more=""), ("min(x[thread_id], f32(1.0))", "x[thread_id] + f32(1.0)"))
    assert check(plain, infinite, {}).verdict == "refuted"  # the spec's alone


WIDE = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def wide(x: Global[i32, 4], y: Global[i32, 4] | out):
    y[thread_id] = cast(i32, cast(i64, x[thread_id]) & i64(4294967295) {shift} i64(4))
"""


def wide(x, y):
    for i in range(4):
        y[i] = (x[i] & 0xFFFFFFFF) >> 4


def test_numbers_of_more_bits_than_numpys():
    """NumPy raises OverflowError where C computes in 64 bits."""
    right = WIDE.replace(
        "cast(i64, x[thread_id]) & i64(4294967295) {shift} i64(4)", "(cast(i64, x[thread_id]) & i64(4294967295)) >> i64(4)"
    )
    assert check(parse(right), wide, {}).verdict == "tested"
    wrong = right.replace("(cast(i64, x[thread_id]) & i64(4294967295))", "cast(i64, x[thread_id])")
    assert check(parse(wrong), wide, {}).verdict == "refuted"
