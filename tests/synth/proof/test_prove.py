"""Proof at given sizes: verdicts, domains, counterexamples."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synth.kernels import CARRYLESS, CONV3, REVERSE, carryless, conv3, parse, reverse

from warploom.core import BY_NAME, f32, i32, u32
from warploom.sketch import TermSpec
from warploom.synth.proof.prove import prove
from warploom.terms import FormTooLargeError, Normaliser, algebra_for, atom

REAL, INT, XOR = algebra_for(f32), algebra_for(i32), algebra_for(u32)


@pytest.mark.parametrize("n", [0, 1, 31, 64, 100])
def test_convolution(n: int):
    proof = prove(parse(CONV3), conv3, {"n": n}, REAL)
    assert (proof.verdict, proof.counterexample, proof.diagnostics) == ("proved", "", ())
    if n:
        assert (proof.domain, proof.accumulates, proof.executed) == ("real sums reordered", 1, 3)


def test_wrong_lane_gives_the_first_differing_element():
    proof = prove(parse(CONV3, ("0 if lane >= k else 1", "0 if lane > k else 1")), conv3, {"n": 64}, REAL)
    assert proof.verdict == "refuted"
    assert proof.counterexample.startswith("y[0]: expected w[0]*x[0] + w[1]*x[1] + w[2]*x[2], got w[0]*x[32] + ")
    assert proof.differing > 1


def test_same_operations_in_another_order_need_an_algebra():
    def backwards(x, w, y, n):
        for i in range(n):
            for k in (2, 1, 0):
                y[i] += w[k] * x[i + k]

    kernel = parse(CONV3)
    assert prove(kernel, backwards, {"n": 64}, REAL).verdict == "proved"
    assert prove(kernel, backwards, {"n": 64}, algebra_for(f32, "commutative")).verdict == "proved"
    assert prove(kernel, backwards, {"n": 64}, algebra_for(f32, "syntactic")).verdict == "refuted"


def test_moved_elements_and_xor():
    proof = prove(parse(REVERSE), reverse, {}, INT)
    assert (proof.verdict, proof.domain) == ("proved", "elements moved unchanged")
    proof = prove(parse(CARRYLESS), carryless, {}, XOR)
    assert (proof.verdict, proof.domain) == ("proved", "xor/and ring")


def test_faults_of_the_run_refute():
    proof = prove(parse(REVERSE, ("    sync()\n", "")), reverse, {}, INT)
    assert proof.verdict == "refuted" and [d.code for d in proof.diagnostics] == ["RACE"]


def test_never_written_element():
    kernel = parse(REVERSE, ("    y[thread_id] =", "    if thread_id < 7:\n        y[thread_id] ="))
    assert prove(kernel, reverse, {}, INT).counterexample == "y[7]: expected x[0], got an element that is never written"

    def first_seven(x, y):
        for i in range(7):
            y[i] = x[7 - i]

    assert prove(kernel, first_seven, {}, INT).verdict == "proved"


def test_post_condition_as_terms():
    wanted = np.array([atom("x", (7 - i,)) for i in range(8)], dtype=object)
    assert prove(parse(REVERSE), TermSpec({"y": wanted}), {}, INT).verdict == "proved"
    wanted[3] = None
    assert prove(parse(REVERSE), TermSpec({"y": wanted}), {}, INT).verdict == "proved"
    wanted[3] = atom("x", (0,))
    assert prove(parse(REVERSE), TermSpec({"y": wanted}), {}, INT).counterexample == "y[3]: expected x[0], got x[4]"


def test_equal_by_no_law_and_not_told_apart_is_unchecked():
    text = "@kernel(block=(1, 1, 1), grid=(1, 1, 1), warp_size=1)\ndef k(x: Global[i32, 2], y: Global[i32, 1] | out):\n"
    kernel = parse(text + "    y[0] = (x[0] ^ x[1]) + i32(2) * (x[0] & x[1])\n")

    def add(x, y):
        y[0] = x[0] + x[1]

    proof = prove(kernel, add, {}, INT)
    assert proof.verdict == "unchecked" and proof.reason.startswith("no law of the algebra (int32 wrap, xor/and ring)")


CAST = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[{x}, 4], y: Global[{y}, 4] | out):
    y[thread_id] = {value}
"""


@pytest.mark.parametrize(
    ("x", "y", "value", "verdict"),
    [
        ("i32", "i32", "cast(i32, cast(u32, x[thread_id]))", "proved"),
        ("i32", "i32", "cast(i32, cast(i64, x[thread_id]))", "proved"),
        ("f32", "f32", "cast(f32, cast(f64, x[thread_id]))", "proved"),
        ("i32", "i32", "cast(i32, cast(i8, x[thread_id]))", "refuted"),
        ("i32", "i32", "cast(i32, cast(f32, x[thread_id]))", "refuted"),
        ("f32", "f32", "cast(f32, cast(f16, x[thread_id]))", "refuted"),
        ("f32", "f32", "cast(f32, cast(bf16, x[thread_id]))", "unchecked"),
        ("i8", "i32", "cast(i32, cast(u8, x[thread_id]))", "refuted"),
        ("u8", "i32", "cast(i32, x[thread_id]) & i32(255)", "unchecked"),
        ("u32", "u32", "(x[thread_id] | u32(0)) / u32(1)", "unchecked"),
    ],
)
def test_conversions_and_what_no_law_decides(x: str, y: str, value: str, verdict: str):
    def copy(x, y):
        for i in range(4):
            y[i] = x[i]

    kernel = parse(CAST.format(x=x, y=y, value=value))
    assert prove(kernel, copy, {}, algebra_for(BY_NAME[y])).verdict == verdict


PAIRS = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def pairs(x: Global[float2, 4], y: Global[float2, 4] | out):
    v: float2 = x[thread_id]
    y[thread_id] = pack(float2, v.x, v.y)
"""


@pytest.mark.parametrize(("got", "verdict"), [("v.x, v.y", "proved"), ("v.x, v.x", "refuted"), ("v.y, v.y", "refuted")])
def test_every_component_of_a_vector_counts(got: str, verdict: str):
    def same(x, y):
        for i in range(4):
            y[i] = x[i]

    assert prove(parse(PAIRS, ("v.x, v.y", got)), same, {}, REAL).verdict == verdict


def test_terms_too_large_to_compare_are_unchecked(monkeypatch: pytest.MonkeyPatch):
    def too_large(*_):
        raise FormTooLargeError("too many terms")

    monkeypatch.setattr(Normaliser, "canonical", too_large)

    def backwards(x, w, y, n):
        for i in range(n):
            for k in (2, 1, 0):
                y[i] += w[k] * x[i + k]

    proof = prove(parse(CONV3), backwards, {"n": 3}, REAL)
    assert (proof.verdict, proof.reason) == ("unchecked", "too many terms")


def test_nothing_is_concluded_from_operations_that_have_no_value():
    kernel = parse(REVERSE.replace("i32", "f32"), ("= tile[7 - thread_id]", "= f32(0.0) * tile[7 - thread_id]"))
    assert prove(kernel, lambda x, y: _zeros(x, y, lambda a: a * 0), {}, REAL).verdict == "proved"
    for function in (lambda a: a / (a - a) * 0, lambda a: a * float("inf") * 0, lambda a: (a + float("inf")) * 0):
        proof = prove(kernel, lambda x, y, f=function: _zeros(x, y, f), {}, REAL)
        assert proof.verdict == "unchecked" and "have a value for some data" in proof.reason


def _zeros(x, y, function):
    for i in range(len(y)):
        y[i] = function(x[i])
