"""The independent checker: methods, agreement with right kernels, refutation of wrong ones."""

from __future__ import annotations

import pytest

from warploom.synth.check import check

from .kernels import CARRYLESS, CONV3, REVERSE, carryless, conv3, parse, reverse


def test_reals_at_random_points_of_a_field():
    result = check(parse(CONV3), conv3, {"n": 70}, seed=1)
    assert (result.verdict, result.method, result.cases) == ("tested", "random field elements", 1)
    wrong = check(parse(CONV3, ("lane >= k", "lane > k")), conv3, {"n": 70}, seed=1)
    assert wrong.verdict == "refuted" and wrong.counterexample.startswith("y[0]: expected ")


def test_bitwise_kernels_exhaustively():
    result = check(parse(CARRYLESS), carryless, {}, seed=0)
    assert (result.verdict, result.method, result.cases) == ("tested", "all words of one bit", 256)
    assert check(parse(CARRYLESS, ("j <= thread_id", "j < thread_id")), carryless, {}).verdict == "refuted"


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


@pytest.mark.parametrize(("dtype", "three"), [("i32", "3"), ("u8", "3"), ("f32", "3.0"), ("f64", "3.0")])
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
