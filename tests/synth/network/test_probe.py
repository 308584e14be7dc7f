"""Probing completions with random numbers: what it refutes is wrong, what it passes may still be."""

import numpy as np

import warploom as wl
from warploom import f32, u32
from warploom.ir.swizzle import function_set
from warploom.synth import kernel_algebra
from warploom.synth.network.lower import lower
from warploom.synth.network.probe import make_probe
from warploom.synth.proof.symbolic import run_spec


def cancelling(lanes: int) -> wl.Sketch:
    def spec(x, y):
        for t in range(lanes):
            y[t] = x[t] ^ x[(t + 1) % lanes]

    @wl.sketch(spec=spec, block=lanes, warp_size=lanes)
    def pairs(x: wl.Global[u32, lanes], y: wl.Global[u32, lanes]):
        lane = wl.lane_id()
        v = x[lane]
        out = wl.accumulator(u32, op="^")
        for k in range(4):
            got = wl.shfl(v, wl.xform(lane, lanes, k, name="from"), lanes)
            out.add(got, when=wl.cond(k, lane, name="use"))
        y[lane] = out.value()

    return pairs


def test_passes_exactly_the_right_completions() -> None:
    def spec(x, y):
        for t in range(8):
            y[t] = max(x[t], x[(t + 3) % 8]) * x[t]

    @wl.sketch(spec=spec, block=8, warp_size=8)
    def product(x: wl.Global[f32, 8], y: wl.Global[f32, 8]):
        lane = wl.lane_id()
        v = x[lane]
        y[lane] = max(v, wl.shfl(v, wl.xform(lane, 8, 0, name="from"), 8)) * v

    network = lower(product.kernel, {})
    expected = run_spec(product.spec, product.kernel, {})
    wanted = list(zip(network.outputs["y"].tolist(), expected.outputs["y"].tolist(), strict=True))
    probe = make_probe(network, wanted, kernel_algebra(product))
    assert probe is not None
    use = network.holes[0]
    functions = function_set(use.hole, use.points, 1).matching(np.ones((len(use.points), 8), bool))
    assert functions is not None
    passed = [tuple(t) for t in functions.tables.tolist() if probe.matches([np.array(t, np.int16)])]
    assert passed == [tuple(int(p[0] + 3) % 8 for p in use.points)]


def test_terms_that_may_cancel_are_found_by_counting_first() -> None:
    report = wl.complete(cancelling(32))
    assert (report.status, report.verdict, report.completions[0].accumulates) == ("solved", "proved", 1)


def test_an_output_is_told_once_its_own_holes_are_decided() -> None:
    def spec(x, y):
        for t in range(4):
            y[t] = x[(t + 1) % 4]
            y[4 + t] = x[(t + 2) % 4]

    @wl.sketch(spec=spec, block=4, warp_size=4)
    def two(x: wl.Global[u32, 4], y: wl.Global[u32, 8]):
        lane = wl.lane_id()
        v = x[lane]
        y[lane] = wl.shfl(v, wl.xform(lane, 4, 0, name="first"), 4)
        y[lane + 4] = wl.shfl(v, wl.xform(lane, 4, 0, name="second"), 4)

    network = lower(two.kernel, {})
    expected = run_spec(two.spec, two.kernel, {})
    wanted = list(zip(network.outputs["y"].tolist(), expected.outputs["y"].tolist(), strict=True))
    probe = make_probe(network, wanted, kernel_algebra(two))
    assert probe is not None and [use.hole.name for use in network.holes] == ["first", "second"]
    assert probe.told(0, [1]).tolist() == [True] * 4 + [False] * 4
    assert probe.told(1, [0]).tolist() == [False] * 4 + [True] * 4
    use = network.holes[0]
    functions = function_set(use.hole, use.points, 1).matching(np.ones((len(use.points), 4), bool))
    assert functions is not None
    empty = [np.zeros(len(u.points), np.int16) for u in network.holes]
    kept = functions.tables[probe.surviving(empty, 0, functions.tables, probe.told(0, [1]))]
    assert kept.tolist() == [[1, 2, 3, 0]]
    assert not probe.surviving(empty, 0, functions.tables).any()
