"""Specs given as arrays of terms: the paper's Figure 2, any value, wrong arrays."""

from __future__ import annotations

import numpy as np
import pytest

import warploom as wl
from warploom import f32, i32
from warploom.core import UserError
from warploom.synth.complete import complete
from warploom.synth.problem import EngineName

LANES, K = 4, 3


def figure_2(spec, given):
    @wl.sketch(spec=spec, given=given, block=LANES, warp_size=LANES)
    def conv(inp: wl.Global[f32, 2, LANES], w: wl.Constant[f32, K], out: wl.Global[f32, LANES]):
        tid = wl.lane_id()
        mine = wl.register(f32, 2)
        for r in range(2):
            mine[r] = inp[r, tid]
        acc = wl.accumulator(f32, op="+", inner="*")
        for k in range(K):
            sent = mine[wl.part(2, tid, k, name="local")]
            got = wl.shfl(sent, wl.xform(tid, LANES, k, name="lane"), LANES)
            acc.add(w[wl.xform(k, K, tid, name="weight")], got)
        out[tid] = acc.value()

    return conv


def condition():
    x, w = wl.symbols("v", (LANES + K - 1,)), wl.symbols("w", (K,))
    return [sum((w[k] * x[i + k] for k in range(1, K)), w[0] * x[i]) for i in range(LANES)], [
        [x[0], x[1], x[2], x[3]],
        [x[4], x[5], 0, 0],
    ]


@pytest.mark.parametrize("engine", ["propagation", "smt"])
def test_figure_2(engine: EngineName):
    out, inp = condition()
    report = complete(figure_2({"out": out}, {"inp": inp}), engine=engine)
    assert (report.status, report.verdict, report.domain) == ("solved", "proved", "real sums reordered")
    assert report.completions[0].accumulates == 1 and report.cases == 3


def test_padding_is_needed():
    @wl.sketch(
        spec={"y": [wl.symbols("x", (4,))[1], wl.symbols("x", (4,))[2], 0, None]},
        given={"x": [*wl.symbols("x", (4,))[:3], 0]},
        block=4,
        warp_size=4,
    )
    def shift(x: wl.Global[i32, 4], y: wl.Global[i32, 4]):
        lane = wl.lane_id()
        y[lane] = x[(lane + wl.const(0, 1, 2, name="by")) % 4]

    report = wl.complete(shift)
    assert (report.status, report.verdict) == ("solved", "proved")
    assert report.holes["by"] == "1"


@pytest.mark.parametrize(
    ("spec", "given", "message"),
    [
        ({"out": np.zeros(3)}, None, "expected terms of shape (4,) for out, got (3,)"),
        (lambda out: None, {"inp": np.zeros((2, 4))}, "expected `given` beside a spec of terms, got a function"),
        ({}, None, "expected terms for output out, got none"),
        ({"out": np.zeros(4), "z": [1]}, None, "expected an output of the sketch (out), got 'z'"),
        ({"out": np.zeros(4)}, {"out": np.zeros(4)}, "expected an input of the sketch (inp, w), got 'out'"),
        ({"out": ["a", 1, 2, 3]}, None, "expected an array of terms, numbers or None for out, got an element of type str"),
    ],
)
def test_wrong_arrays(spec, given, message: str):
    with pytest.raises(UserError) as caught:
        complete(figure_2(spec, given))
    assert message in [d.message for d in caught.value.diagnostics]
    assert {d.code for d in caught.value.diagnostics} == {"SPEC_TERMS"}


def test_a_shift_past_the_width_is_refused():
    x = wl.symbols("x", (4,))

    @wl.sketch(spec={"y": [e >> 32 for e in x]}, block=4)
    def shifted(x: wl.Global[i32, 4], y: wl.Global[i32, 4]):
        y[wl.thread_id()] = x[wl.thread_id()] >> 31

    with pytest.raises(UserError, match="shift by 0 to 31 bits"):
        complete(shifted)


def test_quotients_of_symbols_of_floats():
    v = wl.symbols("v", (4,))

    @wl.sketch(spec={"y": [e / 3 for e in v]}, given={"x": v}, block=4)
    def thirds(x: wl.Global[f32, 4], y: wl.Global[f32, 4]):
        y[wl.thread_id()] = x[wl.thread_id()] / 3

    assert complete(thirds).verdict == "proved"
