"""Sketches without a completion: which elements show it, what was tried, what to change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.synth.test_complete import GATHER, XFORM, _sketch, reverse, shuffled

from warploom.sketch import Sketch
from warploom.synth import complete
from warploom.synth.advice import advice
from warploom.tools.synth.command import synth


def twice(x, y):
    for i in range(8):
        y[i] = x[i]
        y[i + 8] = x[7 - i]


def three(x, y):
    for i in range(8):
        y[i] = x[i] + x[(i + 1) % 8] + x[(i + 2) % 8]


TWO_STORES = "y[thread_id] = x[hole('from', thread_id, 0)]\ny[thread_id + 8] = x[hole('from', thread_id, 0)]"


def test_the_element_that_no_lane_can_have_is_named() -> None:
    swapped = _sketch(
        "y[thread_id] = x[thread_id // 4 * 4 + hole('from', thread_id % 4, 0)]", reverse, XFORM.replace("n=8", "n=4")
    )
    found = complete(swapped).impossible
    assert found is not None and found.whatever
    assert found.elements == (("y[0]", "x[7]"),) and found.only == ("x[0]", "x[1]", "x[2]", "x[3]")
    assert found.text() == "y[0] = x[7] cannot be, whatever the holes become: what can come there is x[0], x[1], x[2], x[3]"


def test_two_places_that_want_different_values_of_one_hole_are_named() -> None:
    report = complete(_sketch(TWO_STORES, twice, XFORM, outputs=16))
    found = report.impossible
    assert found is not None and [name for name, _ in found.elements] == ["y[0]", "y[8]"]
    assert report.reason.endswith("from at t = 0, k = 0 is to be 0 for y[0] and 7 for y[8]")
    assert report.tried == () and report.advice == ()  # no other functions would help


def test_elements_that_no_function_of_the_grammar_gives_together_are_named() -> None:
    report = complete(_sketch(GATHER, shuffled, XFORM))
    found = report.impossible
    assert found is not None and not found.whatever and 1 < len(found.elements) < 8
    wanted = {(f"y[{i}]", f"x[{j}]") for i, j in enumerate((3, 1, 4, 0, 5, 7, 2, 6))}
    assert set(found.elements) <= wanted
    assert len(report.tried) == 3 and "exhausted" in report.tried[2]
    assert report.advice == ('from: wl.compose(t, 8, k, grammar="long") has unit, xor and cm2linear',)


def test_leaving_out_any_element_of_an_explanation_leaves_a_sketch_with_completions() -> None:
    report = complete(_sketch(GATHER, shuffled, XFORM))
    assert report.impossible is not None
    named = {int(name[2:-1]) for name, _ in report.impossible.elements}
    for left_out in named:

        def only(x, y, kept=named - {left_out}):
            for i, j in enumerate((3, 1, 4, 0, 5, 7, 2, 6)):
                if i in kept:
                    y[i] = x[j]

        assert complete(_partial(only)).status == "solved"


def _partial(spec) -> Sketch:
    guard = " or ".join(f"thread_id == {i}" for i in spec.__defaults__[0])
    return _sketch(f"if {guard}:\n    {GATHER}", spec, XFORM)


def test_a_sum_that_no_source_gives_is_named() -> None:
    report = complete(_sketch("y[thread_id] = x[hole('from', thread_id, 0)] + x[thread_id]", three, XFORM))
    assert report.impossible is not None and report.impossible.elements == (("y[0]", "x[0] + x[1] + x[2]"),)


def test_an_ended_search_says_what_was_open_and_what_to_change() -> None:
    report = complete(_sketch(GATHER, reverse, XFORM), budget_nodes=0)
    assert report.status == "unknown" and report.reason == "budget: nodes"
    assert report.tried[-1].startswith("space 1: ") and "then budget: nodes" in report.tried[-1]
    assert report.advice[0] == "more than --nodes 0"


CONDITIONAL = """
import warploom as wl
from warploom import i32

def spec(x, y):
    y[0] = x[0]
    for i in range(1, 8):
        y[i] = x[i - 1] + x[i]

@wl.sketch(spec=spec, block=8, warp_size=8)
def inside(x: wl.Global[i32, 8], y: wl.Global[i32, 8]):
    lane = wl.lane_id()
    y[lane] = x[lane] + (wl.shfl_up(x[lane], 1) if wl.cond(lane, name="has") else 0)

@wl.sketch(spec=spec, block=8, warp_size=8)
def before(x: wl.Global[i32, 8], y: wl.Global[i32, 8]):
    lane = wl.lane_id()
    got = wl.shfl_up(x[lane], 1)
    y[lane] = x[lane] + (got if wl.cond(lane, name="has") else 0)

@wl.sketch(spec=spec, block=8, warp_size=8)
def added(x: wl.Global[i32, 8], y: wl.Global[i32, 8]):
    a = wl.accumulator(i32, op="+")
    a.add(x[wl.lane_id()])
    a.add(wl.shfl_up(x[wl.lane_id()], 1), when=wl.cond(wl.lane_id(), name="has"))
    y[wl.lane_id()] = a.value()
"""


def test_a_shuffle_under_an_open_condition_is_pointed_at(tmp_path: Path) -> None:
    """Lane 0 adds nothing, but lane 1 wants its value."""
    file = tmp_path / "conditional.py"
    file.write_text(CONDITIONAL)
    lines = {}
    for name in ("inside", "before", "added"):
        run = CliRunner().invoke(synth, [f"{file}:{name}", "--json"])
        lines[name] = json.loads(run.stdout)
    assert lines["before"]["status"] == "solved"
    assert lines["inside"]["status"] == "unsat"
    (told,) = lines["inside"]["advice"]
    assert told.startswith("line 13: ") and told.endswith("only where has says so; assign what is shuffled before the condition")
    assert lines["added"]["status"] == "solved" or lines["added"]["advice"][0].startswith("line 25: ")


SIX = """
import warploom as wl
from warploom import i32

def spec(x, y):
    for i in range(8):
        for j in range(6):
            y[8 * j + i] = x[6 * i + j]

@wl.sketch(spec=spec, block=8, warp_size=8)
def six(x: wl.Global[i32, 48], y: wl.Global[i32, 48]):
    lane = wl.lane_id()
    a = wl.register(i32, 6)
    b = wl.register(i32, 6)
    c = wl.register(i32, 6)
    wl.global_to_register(x, a)
    for i in range(6):
        b[i] = wl.shfl(a[wl.xform(i, 6, lane, name="column")], wl.xform(lane, 8, i, name="row"))
    for i in range(6):
        c[i] = b[wl.xform(i, 6, lane, name="after")]
    wl.register_to_global(c, y)
"""


def test_the_command_tells_lines_and_a_page_tell_what_to_change(tmp_path: Path) -> None:
    file, page = tmp_path / "six.py", tmp_path / "six.html"
    file.write_text(SIX)
    run = CliRunner().invoke(synth, [str(file), "--json", "--html", str(page)])
    line = json.loads(run.stdout)
    assert run.exit_code == 1 and line["status"] == "unsat" and len(line["tried"]) == 3
    wanted = 'wl.compose(i, 6, lane, grammar="long") has unit, xor and cm2linear, which 6 and 8 with their common factor 2 need'
    assert f"column: {wanted}" in line["advice"]
    text = page.read_text()
    assert "what to change" in text and "which 6 and 8 with their common factor 2 need" in text and "<script" not in text
    people = CliRunner().invoke(synth, [str(file)]).stdout
    assert "  tried: space 3: " in people and f"  advice: column: {wanted}" in people


@pytest.mark.parametrize("count", [1, 4])
def test_nothing_is_explained_past_the_limit_of_runs(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.synth.search.impossible.MOST_RUNS", count)
    report = complete(_sketch(GATHER, shuffled, XFORM))
    assert report.status == "unsat" and report.impossible is None and "the simplest one fails" in report.reason


def test_budgets_are_named_as_they_were_given() -> None:
    told = advice((), (), "budget: CPU seconds", {"--budget": 5.98, "--nodes": 200, "--memory": None})
    assert told == ("more than --budget 6", "more than --nodes 200")
