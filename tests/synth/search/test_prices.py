"""Open indices of shared memory: what they cost, that no completion costs less, and what `wl.require` rules out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import warploom as wl
from warploom.core import UserError, to_numpy
from warploom.ir import IndexConst, fill, run
from warploom.ir.swizzle import function_set
from warploom.sketch import Sketch
from warploom.synth import complete
from warploom.synth.counted import counted_accesses
from warploom.synth.problem import Problem
from warploom.synth.search.engine import Engine

f32, f64 = wl.f32, wl.f64


def blocks_of(x, y):
    for k in range(8):
        for t in range(32):
            y[k, t] = x[t // 4, k * 4 + t % 4]


@wl.device(shared_holes=True)
def place(r, c):
    return wl.bits(32, r, c, name="place")


@wl.sketch(spec=blocks_of, block=32)
def blocks(x: wl.Global[f32, 8, 32], y: wl.Global[f32, 8, 32]):
    """Stored by rows, read in blocks of 8 x 4."""
    t = wl.lane_id()
    tile = wl.shared(f32, 8, 32)
    for r in range(8):
        tile[r, place(r, t)] = x[r, t]
    wl.sync()
    for k in range(8):
        y[k, t] = tile[t // 4, place(t // 4, k * 4 + t % 4)]


def columns_of(x, y):
    for c in range(4):
        for t in range(32):
            y[c, t] = x[t, c]


@wl.sketch(spec=columns_of, block=32)
def padded(x: wl.Global[f32, 32, 4], y: wl.Global[f32, 4, 32]):
    """One word of padding would do, but the hole has only even ones."""
    t = wl.lane_id()
    tile = wl.shared(f32, 32 * 8)
    pad = wl.const(0, 2, 4, name="pad")
    wl.require(wl.conflict_free(tile))
    for k in range(4):
        tile[(k * 8 + t // 4) * (4 + pad) + t % 4] = x[k * 8 + t // 4, t % 4]
    wl.sync()
    for c in range(4):
        y[c, t] = tile[t * (4 + pad) + c]


def _wavefronts(sketch: Sketch, holes) -> int:
    kernel = fill(sketch.kernel, holes)
    param = kernel.params[0]
    x = np.zeros([e.value for e in param.shape], to_numpy(param.dtype))
    return run(kernel, {"x": x}, {}).counts.shared_wavefronts


def test_the_answer_has_the_fewest_wavefronts_of_all_completions():
    report = complete(blocks)
    assert report.status == "solved"
    assert report.verdict == "proved"
    assert report.objective == ("accumulates", "wavefronts")
    assert report.optimal_in == 3
    assert report.completions[0].prices == (16,)
    assert _wavefronts(blocks, report.completions[0].holes) == 16
    everything = complete(blocks, space=1, all_solutions=True).completions
    counted = [_wavefronts(blocks, c.holes) for c in everything]
    assert counted == [c.prices[0] for c in everything]
    assert max(counted) == 72  # row-major blocks meet in four banks eight times


def test_the_least_that_holes_can_reach_is_found_where_it_is_above_the_bound():
    free = replace(padded, requires=())
    report = complete(free)
    counts = {pad: _wavefronts(free, {"pad": IndexConst(pad)}) for pad in (0, 2, 4)}
    assert report.completions[0].prices == (min(counts.values()),)
    assert counts[2] == min(counts.values())
    assert counts[2] > 4 + 4  # what the elements need wherever they lie
    assert report.optimal_in == 3  # all spaces were covered


def test_a_requirement_that_no_completion_meets_is_unsat():
    report = complete(padded)
    assert report.status == "unsat"
    assert "free of bank conflicts, as line" in report.reason
    assert complete(replace(padded, requires=())).status == "solved"


def test_accesses_without_holes_have_to_meet_a_requirement_too():
    @wl.sketch(spec=columns_of, block=32)
    def plain(x: wl.Global[f32, 32, 4], y: wl.Global[f32, 4, 32]):
        t = wl.lane_id()
        tile = wl.shared(f32, 32, 4)
        wl.require(wl.conflict_free(tile))
        for k in range(4):
            tile[k * 8 + t // 4, t % 4] = x[k * 8 + t // 4, t % 4]
        wl.sync()
        for c in range(4):
            y[c, t] = tile[t, c]

    assert complete(plain).status == "unsat"
    assert complete(replace(plain, requires=())).status == "solved"


@wl.sketch(spec=columns_of, block=32)
def wide(x: wl.Global[f64, 32, 4], y: wl.Global[f64, 4, 32]):
    """Lanes of 8 bytes go by half warps."""
    t = wl.lane_id()
    tile = wl.shared(f64, 32 * 8)
    pad = wl.const(0, 1, 2, name="pad")
    for k in range(4):
        tile[t * (4 + pad) + k] = x[t, k]
    wl.sync()
    for c in range(4):
        y[c, t] = tile[t * (4 + pad) + c]


@pytest.mark.parametrize("sketch", [blocks, wide], ids=lambda s: s.name)
def test_bounds_of_functions_are_what_the_interpreter_counts(sketch):
    problem = Problem(sketch)
    problem.prepare()
    engine = problem.engine()
    assert isinstance(engine, Engine)
    assert engine.prices is not None
    (use,) = engine.network.holes
    functions = function_set(use.hole, use.points, 1).matching(np.ones((len(use.points), use.values), np.bool_))
    assert functions is not None
    few = functions.select(np.arange(0, len(functions), max(1, len(functions) // 12)))
    bounds, _ = engine.prices.of_functions(engine.free, 0, few, None)
    counted = [_wavefronts(sketch, {use.hole.name: few.expr(j)}) for j in range(len(few))]
    assert bounds[:, 0].tolist() == counted
    assert engine.prices.least <= (min(counted),)
    for j in range(len(few)):  # with half of the points decided the bound is below, and with all of them it is the count
        candidate = engine.free.copy()
        for points in (np.arange(0, len(use.points), 2), np.arange(len(use.points))):
            candidate.allowed[0][points] = False
            candidate.allowed[0][points, few.tables[j][points]] = True
            (bound,) = engine.prices.bound(candidate)
            assert bound <= counted[j]
        assert bound == counted[j]


def test_wide_elements_are_required_to_be_without_conflict_by_half_warps():
    required = replace(wide, requires=padded.requires)
    holes = complete(required).completions[0].holes
    assert holes["pad"] == IndexConst(1)
    assert _wavefronts(wide, holes) == 2 * 4 + 2 * 4


def test_shuffles_count_where_shared_memory_is_open_and_those_that_move_nothing_do_not():
    def spec(x, y):
        for t in range(32):
            y[t] = x[t]

    @wl.sketch(spec=spec, block=32)
    def shuffled(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        t = wl.lane_id()
        tile = wl.shared(f32, 32)
        turned = wl.shfl(x[t], (t + wl.const(1, 0, name="turn")) % 32)
        tile[(t + wl.const(31, 0, 1, name="back")) % 32] = turned
        wl.sync()
        y[t] = tile[t]

    report = complete(shuffled)
    assert report.objective == ("accumulates", "wavefronts", "shuffles")
    assert report.completions[0].prices == (1, 0)
    assert report.completions[0].holes["turn"] == IndexConst(0)


def test_the_second_engine_refuses_what_it_does_not_know():
    with pytest.raises(UserError) as caught:
        complete(padded, engine="smt")
    assert caught.value.diagnostics[0].code == "REQUIRE_ENGINE"


def test_accesses_are_counted_one_by_one_where_there_is_shared_memory():
    report = complete(blocks)
    assert [(a.what, a.array, a.units, a.least) for a in report.accesses] == [
        ("load", "x", 32, 32),
        ("store", "tile", 8, 8),
        ("load", "tile", 8, 8),
        ("store", "y", 32, 32),
    ]


def test_the_objective_is_named_in_parts():
    def spec(x, y):
        for i in range(64):
            y[i] = x[i]

    @wl.sketch(spec=spec, block=32)
    def copied(x: wl.Global[f32, 64], y: wl.Global[f32, 64]):
        t = wl.lane_id()
        for k in range(2):
            at = wl.choose(2 * t + k, t + 32 * k, name="at")
            y[at] = x[at]

    assert complete(copied).objective == ("accumulates",)
    fewest = complete(copied, objective="accumulates, sectors, index")
    assert fewest.objective == ("accumulates", "sectors")
    assert fewest.completions[0].prices == (2 * 2 * 4,)
    for wrong in ("wavefronts", "accumulates, banks", "accumulates, sectors, sectors", ""):
        with pytest.raises(UserError) as caught:
            complete(copied, objective=wrong)
        assert caught.value.diagnostics[0].code == "OBJECTIVE"
    with pytest.raises(UserError, match="for the engine smt"):
        complete(copied, objective="accumulates, sectors", engine="smt")


def test_registers_that_lanes_take_from_at_once_are_an_objective():
    """Against the interpreter, which counts every access of every completion by itself."""

    def spec(x, y):
        for r in range(4):
            for t in range(32):
                y[r, t] = x[r, t]

    @wl.sketch(spec=spec, block=64)
    def kept(x: wl.Global[f32, 4, 32], y: wl.Global[f32, 4, 32]):
        t = wl.lane_id()
        held = wl.register(f32, 4)
        if wl.thread_id() < 32:
            for r in range(4):
                held[wl.choose((r + t) % 4, r ^ (t & 1), (r + 1 + t // 32) % 4, name="at")] = x[r, t]
            for r in range(4):
                y[r, t] = held[wl.choose((r + t) % 4, r ^ (t & 1), (r + 1) % 4, name="back")]

    best = complete(kept, objective="accumulates, registers, index")
    assert best.objective == ("accumulates", "registers") and best.optimal_in == 3
    assert best.completions[0].prices == (8,)
    every = complete(kept, all_solutions=True, objective="accumulates, registers, index").completions
    assert [c.prices for c in every] == [(8,), (16,), (32,)]
    for completion in every:
        found = counted_accesses(fill(kept.kernel, completion.holes), {}, with_registers=True)
        assert {a.unit for a in found} == {"registers"}
        assert (sum(a.units for a in found),) == completion.prices and sum(a.least for a in found) == 8


def test_only_whole_shared_arrays_can_be_required_to_be_without_conflict():
    def spec(x, y):
        for t in range(32):
            y[t] = x[t]

    def sketches():
        @wl.sketch(spec=spec, block=32)
        def of_global(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
            wl.require(wl.conflict_free(x))
            y[wl.lane_id()] = x[wl.lane_id()]

    with pytest.raises(UserError, match=r"a whole array made by wl\.shared, got an array of global memory"):
        sketches()

    def conditions():
        @wl.sketch(spec=spec, block=32)
        def of_a_condition(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
            wl.require(wl.lane_id() < 3)
            y[wl.lane_id()] = x[wl.lane_id()]

    with pytest.raises(UserError, match=r"expected wl.conflict_free\(array\), got a condition"):
        conditions()

    def nested():
        @wl.sketch(spec=spec, block=32)
        def as_a_value(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
            tile = wl.shared(f32, 32)
            wl.require(wl.require(wl.conflict_free(tile)))
            y[wl.lane_id()] = x[wl.lane_id()]

    with pytest.raises(UserError, match="is a statement"):
        nested()
