"""Results, errors and files of the functions of the API."""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.api import loops
from tests.synth.compiled.test_symbols import text as text_with

import warploom as wl
from warploom import api
from warploom.scan.reading.source import module_of
from warploom.sketch import load
from warploom.tools.command.lines import broken_rules

BLUR = Path("examples/ptx/blur.ptx")
BLUR_ARGS = {0: "f32[100]", 1: "f32[100]", 2: "i32:100"}
MODULE = """\
def total(xs: list[int]) -> int:
    t = 0
    for x in xs:
        t += x
    return t
"""


def code_of(error: pytest.ExceptionInfo[wl.UserError]) -> str:
    return error.value.diagnostics[0].code


def loaded(path: Path) -> ModuleType:
    made = importlib.util.spec_from_file_location(f"made_{path.stem}", path)
    assert made is not None and made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def conv1d() -> api.Completed:
    (sketch,) = load("examples/conv1d_8_lanes.py")
    return wl.complete(sketch)


@pytest.fixture(scope="module")
def solved() -> api.Solved:
    return wl.solve(Path("examples/dataflow/transpose_8x3.swflow"))


# ---------------------------------------------------------------- results


def test_a_completed_sketch(conv1d: api.Completed) -> None:
    assert (conv1d.status, conv1d.verdict, conv1d.reason) == ("solved", "proved", "")
    assert conv1d.holes == conv1d.line["holes"] == conv1d.solutions[0]
    assert conv1d.report is not None and conv1d.completions == conv1d.report.completions
    assert conv1d.domain.startswith("real sums reordered") and conv1d.lift == conv1d.report.lift
    assert "__shfl_sync" in conv1d.cuda
    assert not broken_rules(conv1d.line)


def test_the_completed_kernel_runs(conv1d: api.Completed) -> None:
    n = conv1d.sketch.complete_at["n"]
    x, w = np.arange(n + 2, dtype=np.float32), np.ones(3, np.float32)
    found = conv1d.run({"x": x, "w": w}, {"n": n})
    assert found.arrays["y"].tolist() == np.correlate(x, w, mode="valid").tolist()


def test_files_by_their_suffix(conv1d: api.Completed, tmp_path: Path) -> None:
    assert conv1d.suffixes == (".json", ".html", ".ir", ".cu", ".ptx", ".svg", ".kernel")
    starts = {".json": "{", ".kernel": "{", ".html": "<!", ".ir": "@kernel", ".cu": "", ".svg": "<svg"}
    for suffix, start in starts.items():
        text = conv1d.save(tmp_path / f"it{suffix}").read_text(encoding="utf-8")
        assert text.lstrip().startswith(start) and text
    assert json.loads((tmp_path / "it.json").read_text()) == conv1d.line
    assert conv1d.cuda == (tmp_path / "it.cu").read_text()


@pytest.mark.parametrize("name", ["it.png", "it", "it.c"])
def test_another_suffix_is_refused_with_the_list(conv1d: api.Completed, tmp_path: Path, name: str) -> None:
    with pytest.raises(wl.UserError) as error:
        conv1d.save(tmp_path / name)
    assert code_of(error) == "UNKNOWN_FORM" and all(s in str(error.value) for s in conv1d.suffixes)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(conv1d: api.Completed, tmp_path: Path) -> None:
    with pytest.raises(wl.UserError) as error:
        conv1d.save(tmp_path / "none" / "it.json")
    assert code_of(error) == "NOT_WRITTEN"


def test_notebooks_show_a_table_and_escape(solved: api.Solved) -> None:
    assert "<table>" in solved._repr_html_() and "proved" in solved._repr_html_()  # pyright: ignore[reportPrivateUsage]
    hostile = api.Result(line=solved.line | {"case": "<script>", "reason": "<b>"})
    text = hostile._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script>" not in text and "&lt;b&gt;" in text


def test_notebooks_without_html_show_the_picture(conv1d: api.Completed) -> None:
    picture = conv1d._repr_svg_()  # pyright: ignore[reportPrivateUsage]
    assert picture is None or picture.startswith("<svg")
    small = wl.complete(load("examples/conv1d_8_lanes.py")[0])
    shown = small._repr_svg_()  # pyright: ignore[reportPrivateUsage]
    assert shown is not None and shown.startswith("<svg") and shown in small._repr_html_()  # pyright: ignore[reportPrivateUsage]
    impossible = api.Completed(line=small.line, report=None, sketch=small.sketch)
    assert impossible._repr_svg_() is None  # pyright: ignore[reportPrivateUsage]


def test_repr_is_one_short_line(conv1d: api.Completed) -> None:
    assert repr(conv1d).startswith("<Completed conv1d: solved, proved over") and "\n" not in repr(conv1d)


def test_a_solved_program(solved: api.Solved) -> None:
    assert (solved.status, solved.cost, solved.count, solved.complete) == ("solved", 13, 1, True)
    assert solved.solutions == (solved.holes,) and set(solved.holes) == {"s1", "s2", "s3"}
    assert wl.solve(solved.program, goal="first").holes == solved.holes


def test_a_program_without_a_solution() -> None:
    found = wl.solve(UNSOLVABLE)
    assert (found.status, found.count, found.solutions, found.holes) == ("unsat", 0, (), {})
    assert found.suffixes == (".json", ".html")


UNSOLVABLE = Path("examples/dataflow/transpose_8x3.swflow").read_text().replace("s3: [8, 3] = ?row(s2)\n", "").replace(
    "s2: [8, 3] = ?col(s1)", "s2: [8, 3] = ?row(s1)"
)  # fmt: skip


def test_a_lifted_loop(tmp_path: Path) -> None:
    found = wl.lift(loops.total)
    assert (found.status, found.verdict, found.kind) == ("solved", "proved", "reduction")
    assert found.fields == ("t: int",) and "def operator(a, b)" in found.operator and found.identity == "0"
    assert "3 * x" in found.element.replace("x * 3", "3 * x")
    module = loaded(found.save(tmp_path / "it.py"))
    assert module.operator(module.lift(2), module.lift(5)) == 21


def test_a_lifted_loop_is_emitted(tmp_path: Path) -> None:
    found = wl.lift(loops.total).emit("numpy")
    assert (found.status, found.verdict, found.suffixes) == ("solved", "tested", (".json", ".html", ".py"))
    assert loaded(found.save(tmp_path / "it.py")).total([1, 2, 3]) == 18


def test_blocks_of_one_warp_are_emitted() -> None:
    assert wl.lift(loops.total).emit("cuda", threads=32, items=1, check=False).status == "solved"


def test_a_sketch_is_explored_in_any_order_and_again() -> None:
    small: dict[str, object] = {"outputs": 1, "warps": 1}
    found = wl.explore("conv1d-3", target="sm_80", search="best-first", order=["weight", "lane"], fixed=small)
    assert (found.status, found.verdict) == ("solved", "proved")
    again = wl.explore("conv1d-3", target="sm_80", order="reverse", fixed=found.decisions)
    assert again.decisions == found.decisions and again.line["nodes"] < found.line["nodes"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"order": ["lana"]}, "got 'lana'"),
        ({"fixed": {"outputs": 2.5}}, "got 2.5"),
        ({"search": "depth"}, "as search, got 'depth'"),
    ],
)
def test_a_wrong_request_for_a_sketch_is_named(asked: dict[str, object], words: str) -> None:
    with pytest.raises(wl.UserError, match=words):
        wl.explore("conv1d-3", **asked)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["budget_s", "nodes", "threads"])
def test_a_wrong_number_is_named(name: str) -> None:
    with pytest.raises(wl.UserError, match=f"as {name}, got -1"):
        wl.explore("axpy", **{name: -1})


def test_an_operator_that_is_not_associative() -> None:
    found = wl.check_operator(loops.difference)
    assert (found.status, found.verdict) == ("refused", "refuted") and found.counterexample["left"] != found.counterexample[
        "right"
    ]
    assert found.fixed is None and wl.check_operator(loops.larger).verdict == "proved"
    fixed = wl.check_operator(loops.difference, fix=True).fixed
    assert fixed is not None and fixed["verdict"] == "proved" and "difference(difference(x0, x1), x2)" in fixed["computes"]


def test_a_function_inside_a_function_is_read() -> None:
    assert wl.lift(loops.inner()).verdict == "proved"


def test_ptx_is_proved_from_text_and_file() -> None:
    spec = loaded(Path("examples/ptx/blur_spec.py")).blur
    for ptx in (BLUR, BLUR.read_text(), str(BLUR)):
        assert wl.prove_ptx(ptx, spec, grid=2, block=(64,), args=BLUR_ARGS).verdict == "proved"
    wrong = wl.prove_ptx(BLUR.read_text().replace("0f3DCCCCCD", "0f3ECCCCCD"), spec, grid=2, block=64, args=BLUR_ARGS)
    assert (wrong.status, wrong.verdict) == ("refused", "refuted") and wrong.differing


def test_shuffles_are_put_in(tmp_path: Path) -> None:
    found = wl.shuffle_ptx(BLUR, policy="all")
    assert (found.loads, found.applied) == (5, 4) and "4 of 5" in found.summary
    assert found.save(tmp_path / "it.ptx").read_text() == found.text and "shfl.sync" in found.text


def test_ptx_runs() -> None:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    found = wl.run_ptx(BLUR, [x, y, 100], grid=2, block=64, counts=True)
    assert found.status == "solved" and found.counts is not None and set(found.arrays) == {0, 1}


def test_a_kernel_is_explored(tmp_path: Path) -> None:
    found = wl.explore("axpy", sizes={"n": 4096}, target="sm_90", nodes=2, budget_s=60)
    assert found.status == "solved" and found.time_ms is not None and found.time_is == "modelled"
    assert found.bound_ms is not None and found.bound_ms <= found.time_ms
    assert found.sizes == {"n": 4096} and found.decisions and "__global__" in found.code
    assert found.suffixes == (".json", ".html", ".cu", ".kernel")
    assert found.save(tmp_path / "it.cu").read_text() == found.code
    assert "<svg" in found.save(tmp_path / "it.html").read_text()


# ---------------------------------------------------------------- stopped, refused


def test_an_interruption_is_a_result() -> None:
    def stop(_: str) -> None:
        raise KeyboardInterrupt

    found = wl.lift(loops.total, progress=stop)
    assert (found.status, found.verdict, found.reason) == ("unknown", "unchecked", "interrupted")
    assert (found.operator, found.fields, found.suffixes) == ("", (), (".json", ".html"))
    with pytest.raises(wl.UserError) as error:
        found.emit("numpy")
    assert code_of(error) == "NO_ANSWER"
    with pytest.raises(wl.UserError) as error:
        _ = found.source
    assert code_of(error) == "NO_ANSWER"


def test_a_budget_ends_the_work() -> None:
    (sketch,) = load("examples/conv1d_8_lanes.py")
    found = wl.complete(sketch, budget_nodes=0)
    assert found.status == "unknown" and "budget" in found.reason and found.kernel is None
    for use in (lambda: found.cuda, lambda: found.run({})):
        with pytest.raises(wl.UserError) as error:
            use()
        assert code_of(error) == "NO_ANSWER"


def test_a_text_that_is_no_longer_what_runs(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MODULE)
    function = loaded(path).total
    path.write_text(MODULE.replace("t += x", "t -= x"))
    with pytest.raises(wl.UserError) as error:
        wl.lift(function)
    assert code_of(error) == "SOURCE_CHANGED"


def test_a_notebook_runs_the_statements_of_a_cell_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "cell.py"
    path.write_text(text := "import math\n\n\ndef least(a: float, b: float) -> float:\n    return math.fmod(a, 1) + b\n")
    scope: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        exec(compile(ast.Module([statement], []), str(path), "exec"), scope)
    assert module_of(scope["least"]).written == text


def test_a_helper_whose_text_is_no_longer_what_runs(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    text = MODULE.replace("t += x", "t = plus(t, x)") + "\n\ndef plus(a: int, b: int) -> int:\n    return a + b\n"
    path.write_text(text)
    function = loaded(path).total
    assert wl.lift(function).verdict == "proved"
    path.write_text(text.replace("a + b", "a - b"))
    with pytest.raises(wl.UserError) as error:
        wl.lift(function)
    assert code_of(error) == "SOURCE_CHANGED"


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("NOT_A_FUNCTION", lambda: wl.lift(len)),
        ("SOURCE_UNAVAILABLE", lambda: wl.lift(eval("lambda xs: xs"))),
        ("OPTION", lambda: wl.lift(loops.total, style="sideways")),  # type: ignore[arg-type]
        ("OPTION", lambda: wl.lift(loops.total).emit("fortran")),  # type: ignore[arg-type]
        ("NOT_A_SKETCH", lambda: wl.complete(len)),  # type: ignore[arg-type]
        ("BUDGET", lambda: wl.lift(loops.total, budget_s=-1)),
        ("BUDGET", lambda: wl.lift(loops.total, budget_s=float("nan"))),
        ("GOAL", lambda: wl.solve("a = b", goal="worst")),  # type: ignore[arg-type]
        ("OPTION", lambda: wl.explore("axpy", search="luck")),  # type: ignore[arg-type]
        ("OPTION", lambda: wl.explore("axpy", budget_s=0)),
        ("OPTION", lambda: wl.explore("axpy", threads=0)),
        ("BAD_THREADS", lambda: wl.lift(loops.total).emit("cuda", threads=31)),
        ("SIZES", lambda: wl.explore("axpy", sizes={"n": 1 << 50})),
        ("SIZES", lambda: wl.explore("axpy", sizes={"n": 1.5})),  # type: ignore[dict-item]
        ("UNKNOWN_KERNEL", lambda: wl.explore("nothing")),
        ("LAUNCH_SHAPE", lambda: wl.run_ptx(BLUR, [], grid=0, block=1)),
        ("LAUNCH_SHAPE", lambda: wl.prove_ptx(BLUR, len, grid=(1, 1, 1, 1), block=1)),
        ("SPEC_NOT_FOUND", lambda: wl.prove_ptx(BLUR, 3, grid=1, block=1)),  # type: ignore[arg-type]
        ("OPTION", lambda: wl.shuffle_ptx(BLUR, policy="some")),  # type: ignore[arg-type]
        ("OPTION", lambda: wl.shuffle_ptx(BLUR, max_delta=32)),
        ("OPTION", lambda: wl.shuffle_ptx(BLUR, assume=("noalias", "noalas"))),  # type: ignore[arg-type]
        ("OPTION", lambda: wl.shuffle_ptx(BLUR, arch="hopper")),
        ("SPACE", lambda: wl.complete(load("examples/conv1d_8_lanes.py")[0], space=4)),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_wrong_requests(code: str, call: object) -> None:
    assert callable(call)
    with pytest.raises(wl.UserError) as error:
        call()
    assert code_of(error) == code


def test_only_sub_packages_do_not_take_the_place_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    function = wl.solve
    for name in ("solve", "another"):
        monkeypatch.setattr(wl, name, 3, raising=False)
        assert getattr(wl, name) == 3
    monkeypatch.undo()
    setattr(wl, "solve", ModuleType("solve"))  # noqa: B010
    assert wl.solve is function


def test_variables_of_a_module_are_told_by_name() -> None:
    def spec(out, a, taps):  # type: ignore[no-untyped-def]
        for i in range(4):
            out[i] = a[i] * taps[1]

    found = wl.prove_ptx(
        text_with(".const .align 4 .b8 taps[8];"), spec, grid=1, block=4, args={0: "f32[4]", 1: "f32[4]"},
        symbols={"taps": "f32[2]"},
    )  # fmt: skip
    assert found.verdict == "proved"


def test_layouts_of_functions_and_arrays() -> None:
    found = wl.layout("32x32:f32", ["rows", lambda warp, lane, step: (lane, step) if step < 32 else None], emit="cute")
    assert found.optimal and found.code == "Swizzle<5,0,5> o (32,32):(32,1)"
    assert list(found.wavefronts.values()) == list(found.least.values()) == [32, 32]
    place = np.arange(1024).reshape(32, 32)
    checked = wl.check_layout(place, "32x32:f32", ["columns"], equal=lambda r, c: r * 32 + c)
    assert checked.line["equal"] is True and not checked.optimal
    assert checked.better == "r * 32 + (c ^ r)"
    assert broken_rules(checked.line) == []
    with pytest.raises(wl.UserError, match="integers"):
        wl.check_layout(np.zeros((2, 2)), "32x32:f32", ["rows"])  # type: ignore[arg-type]
    with pytest.raises(wl.UserError, match="at least one access"):
        wl.layout("32x32:f32", [])


def test_exchange_gives_counts_and_code() -> None:
    found = wl.exchange("striped", "blocked", regs=3, emit="python")
    assert (found.via, found.shuffles, found.selects, found.permutes, found.wavefronts) == ("shuffle", 3, 6, 0, 0)
    assert (found.least_shuffles, found.least_wavefronts, found.renaming, found.equal) == (3, 6, {}, False)
    assert [entry["via"] for entry in found.pareto] == ["shuffle", "shared"]
    assert "3 shuffles" in found.explain() and broken_rules(found.line) == []
    names: dict[str, object] = {}
    exec(found.code, names)
    moved = names["exchange"]
    assert callable(moved) and (moved(np.arange(96).reshape(3, 32)).T.ravel() == np.arange(96)).all()
    assert wl.exchange(np.arange(64).reshape(32, 2), lambda lane, item: 2 * lane + item).equal


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda: wl.layout("8x8:f32", ["rows"], room="all"), "OPTION"),  # type: ignore[arg-type]
        (lambda: wl.layout("8x8:f32", ["rows"], room=-1), "OPTION"),
        (lambda: wl.layout("8x8:f32", ["rows"], room=2.5), "OPTION"),  # type: ignore[arg-type]
        (lambda: wl.layout("8x8:f32", ["rows"], emit="c"), "EMIT"),  # type: ignore[arg-type]
        (lambda: wl.exchange("striped", "blocked", lanes=32, regs=2, emit="c"), "EMIT"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_word_is_refused_and_shown_without_a_place(ask: Callable[[], object], code: str) -> None:
    with pytest.raises(wl.UserError) as error:
        ask()
    assert str(error.value).startswith(f"error[{code}]: expected ")
