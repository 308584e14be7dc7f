"""`warploom explore`: its line and exit code for every kind of request, right and wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.core.limits import OUT_OF_MEMORY, current
from warploom.tools.cli import cli
from warploom.tools.explore import choices as explore_choices
from warploom.tools.explore import command as explore_command
from warploom.tools.explore.command import _how, _summary

AXPY = ("axpy", "--size", "n=40", "--target", "sm_80")
FILE = '''"""Kernels."""
from __future__ import annotations
from warploom import f16, f32
from warploom.schedule.frontend import out, tensor

@tensor
def one(A: f32["m"], B: out[f32["m"]]):
    B[i] = A[i] * 2

@tensor
def half(A: f16["m"], B: out[f16["m"]]):
    B[i] = A[i] * 3
'''


def explored(*arguments: str) -> tuple[Result, dict[str, object]]:
    result = CliRunner().invoke(cli, ["explore", *arguments, "--json"])
    (line,) = lines_of(result.stdout)
    assert "Traceback" not in result.stderr
    return result, line


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("axpyy",), "UNKNOWN_KERNEL"),
        (("axpy", "--size", "n=0"), "SIZES"),
        (("axpy", "--size", "n=²"), "SIZES"),
        (("axpy", "--size", "n=99999999999999999999"), "SIZES"),
        (("axpy", "--size", "n=4", "--size", "n=5"), "SIZES"),
        (("axpy", "--size", "q=4"), "UNKNOWN_SIZE"),
        (("axpy", "--size", "n"), "OPTION"),
        (("matmul", "--target", "sm_80", "--size", f"m={2**40},n={2**40}"), "SIZES"),
        (("axpy", "--target", "sm_99"), "UNKNOWN_TARGET"),
        ((*AXPY, "--order", ""), "OPTION"),
        ((*AXPY, "--order", "size,foo"), "CHOICE"),
        ((*AXPY, "--set", "dim_kind(mad.n0)=LOOP", "--set", "dim_kind(mad.n0)=BLOCK"), "OPTION"),
        ((*AXPY, "--set", "dim_kind(nothing)=LOOP"), "CHOICE"),
        ((*AXPY, "--set", "order(mad, store_z)=AFTER"), "REFUTED"),
        ((*AXPY, "--replay", "/no/such/file"), "NOT_READ"),
        ((*AXPY, "--replay", "/no/such/file", "--set", "size(n0)=2"), "OPTION"),
        ((*AXPY, "--journal", "/dev/null/folder"), "JOURNAL_UNUSABLE"),
        (("no_such_file.py",), "FILE_NOT_FOUND"),
        (("conv2d-3", "--estimate-size"), "OPTION"),
        (("conv2d-3", "--space", "paper"), "OPTION"),
        (("conv2d-3", "--journal", "folder"), "OPTION"),
        (("conv2d-3", "--cluster", "tcp://nowhere:1"), "OPTION"),
        (("axpy", "--target", "cpu", "--space", "paper"), "OPTION"),
        (("conv1d-3", "--set", "lana=k"), "UNKNOWN_CHOICE"),
        (("conv1d-3", "--set", "lane=j"), "UNKNOWN_VALUE"),
        (("conv1d-3", "--order", "lana"), "UNKNOWN_CHOICE"),
        (("mult16", "--choices"), "UNKNOWN_TUNABLE"),
        ((*AXPY, "--code", "-"), "NOT_WRITTEN"),
    ],
)
def test_wrong_requests(arguments: tuple[str, ...], code: str) -> None:
    result, line = explored(*arguments)
    assert result.exit_code == 2 and line["status"] == "error"
    assert f"{code}: " in str(line["reason"])


def test_a_file_as_journal_is_told_of_replay(tmp_path: Path) -> None:
    (tmp_path / "line.json").write_text("{}")
    result = CliRunner().invoke(cli, ["explore", "matmul", "--journal", str(tmp_path / "line.json")])
    assert result.exit_code == 2 and "--replay" in result.stderr


def test_the_space_of_the_paper() -> None:
    """Its outermost dimensions have a size known at run time: no threads."""
    kinds: list[list[str]] = []
    for space in ("paper", "full"):
        _, line = explored("axpy", "--size", "n=64", "--target", "k4000", "--space", space, "--choices")
        assert (line.get("features") == "paper") == (space == "paper")
        choices = line["choices"]
        assert isinstance(choices, dict)
        kinds.append(choices["dim_kind(mad.n0)"])
    assert "THREAD" not in kinds[0] and "THREAD" in kinds[1]


def test_an_implementation_of_the_paper_is_tested_at_a_small_size(tmp_path: Path) -> None:
    _, line = explored("axpy", "--size", "n=4096", "--target", "k4000", "--space", "paper", "--nodes", "3")
    assert line["verdict"] in ("tested", "proved") and line["features"] == "paper"
    path = tmp_path / "line.json"
    path.write_text(json.dumps(line))
    result, refused = explored("axpy", "--size", "n=4096", "--target", "k4000", "--replay", str(path))
    assert result.exit_code == 2 and "got those of the paper's" in str(refused["reason"])


def test_types_that_are_not_served_are_refused_where_they_are(file: str) -> None:
    result, line = explored(f"{file}:half", "--size", "m=40", "--target", "sm_80")
    assert result.exit_code == 2
    assert f"{file}:12:" in str(line["reason"]) and "CUDA_TYPE" in str(line["reason"])


@pytest.mark.parametrize(("arch", "message"), [("sm_80", "warps multiply e4m3 (sm_89, sm_90,"), ("cpu", "a type that C has")])
def test_factors_that_a_target_does_not_multiply_are_refused_where_they_are(arch: str, message: str) -> None:
    result, line = explored("matmul_e4m3", "--target", arch)
    assert result.exit_code == 2
    assert "dense.py:" in str(line["reason"]) and message in str(line["reason"])


def test_results_of_a_type_of_factors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "narrow.py"
    path.write_text(
        "import warploom as wl\nfrom warploom.core import e4m3, f32\n\n\n"
        '@wl.tensor\ndef narrow(X: f32["n"], Y: wl.out[e4m3["n"]]):\n    Y[i] = e4m3(X[i])\n'
    )
    result, line = explored(f"{path}:narrow", "--size", "n=64", "--target", "sm_89")
    assert result.exit_code == 2 and "expected Y of a type that kernels write, got e4m3" in str(line["reason"])


def test_the_memory_limit_is_in_force_and_ends_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int | None] = []

    def run(kernel: str) -> None:
        found.append(current().memory_bytes)
        raise MemoryError

    monkeypatch.setattr(explore_command, "explored", run)
    result, line = explored("axpy", "--memory", "300G")
    assert found == [300 << 30] and result.exit_code == 3
    assert line["status"] == "unknown" and line["reason"] == OUT_OF_MEMORY


def test_several_functions(file: str) -> None:
    result, line = explored(file, "--size", "m=40", "--target", "sm_80")
    assert result.exit_code == 2 and "one, half" in str(line["reason"])


@pytest.mark.parametrize("search", ["refine", "mcts", "uct", "best-first"])
def test_line_and_replay(search: str, tmp_path: Path) -> None:
    result, line = explored(*AXPY, "--search", search, "--nodes", "150", "--budget", "600m")
    assert result.exit_code == 0 and line["status"] == "solved" and line["time_is"] == "modelled"
    kept = tmp_path / "line.json"
    kept.write_text(json.dumps(line))
    again, replayed = explored(*AXPY, "--replay", str(kept))
    assert again.exit_code == 0
    assert replayed["bound_ms"] == line["bound_ms"] and replayed["decisions"] == line["decisions"]
    kept.write_text(json.dumps({"size(n0)": "1"}))
    partial, refused = explored(*AXPY, "--replay", str(kept))
    assert partial.exit_code == 2 and "UNDECIDED" in str(refused["reason"])
    kept.write_text("[]\n")
    wrong, refused = explored(*AXPY, "--replay", str(kept))
    assert wrong.exit_code == 2 and "REPLAY" in str(refused["reason"])


def test_replay_of_other_requests(tmp_path: Path) -> None:
    _, line = explored(*AXPY, "--nodes", "20")
    kept = tmp_path / "line.json"
    kept.write_text(json.dumps(line, indent=1))
    file = ("--replay", str(kept))
    for arguments, words in (
        (("dot", "--size", "n=40", "--target", "sm_80", *file), "expected decisions of dot, got those of axpy"),
        (("axpy", "--target", "sm_80", *file), "got those at n=40"),
        (("axpy", "--size", "n=40", *file), "expected decisions for cpu, got those for sm_80"),
        (("axpy", "--size", "n=2", "--target", "sm_80", *file), "hold here (the decisions are of n=40, judged at n=2), got: "),
    ):
        result, refused = explored(*arguments)
        assert result.exit_code == 2 and refused["status"] == "error"
        assert "REPLAY: " in str(refused["reason"]) and words in str(refused["reason"])
        assert "fix: " in result.stderr
    result, held = explored("axpy", "--size", "n=40", "--target", "sm_90", *file)
    assert result.exit_code == 0 and held["time_is"] == "modelled"
    assert str(held["note"]).startswith("the decisions are of sm_80, judged on sm_90")


def test_a_listing_of_choices_ends_with_its_budget() -> None:
    result, line = explored(*AXPY, "--choices", "--budget", "1ms")
    assert (result.exit_code, line["status"]) == (3, "unknown")
    assert line["reason"] == "budget: wall seconds, before all choices were listed"


def test_choices_are_listed_and_can_be_set() -> None:
    result, line = explored(*AXPY, "--choices")
    assert result.exit_code == 0 and line["status"] == "solved"
    choices = line["choices"]
    assert isinstance(choices, dict)
    assert {name.partition("(")[0] for name in choices} >= {"size", "dim_kind", "order", "cache"}
    name = next(n for n in choices if n.startswith("size("))
    _, less = explored(*AXPY, "--choices", "--set", f"{name}={choices[name][0]}")
    fewer = less["choices"]
    assert isinstance(fewer, dict)
    assert name not in fewer and all(set(values) <= set(choices[n]) for n, values in fewer.items() if n in choices)
    people = CliRunner().invoke(cli, ["explore", *AXPY, "--choices"])
    assert f"  {name} " in people.stdout
    for set_by_hand in [(n, values[-1]) for n, values in choices.items()][:: len(choices) // 3]:
        asked, decided = explored(*AXPY, "--choices", "--set", "=".join(set_by_hand))
        assert asked.exit_code == 0 and set_by_hand[0] not in decided["choices"]  # type: ignore[operator]


def test_choices_of_several_stages_and_of_sketches() -> None:
    _, line = explored("atax", "--size", "m=8,n=8", "--target", "sm_80", "--choices")
    choices = line["choices"]
    assert isinstance(choices, dict)
    assert {name.partition("/")[0] for name in choices} == {"atax_Ax", "atax_y"}
    name, values = next(iter(choices.items()))
    result, _ = explored(
        "atax", "--size", "m=8,n=8", "--target", "sm_80", "--estimate-size", "--budget", "0.1s", "--set", f"{name}={values[0]}"
    )
    assert result.exit_code == 0
    _, sketch = explored("conv2d-3", "--choices", "--set", "warps=4")
    assert sketch["choices"] == {
        "outputs": ["1x1", "2x1", "4x1", "4x2", "4x4", "8x1"],
        "warp_shape": ["1x32", "2x16", "4x8", "8x4"],
        "placed": ["runs", "apart"],
    }


SMALL = ("conv1d-3", "--set", "outputs=1", "--set", "warps=1", "--target", "sm_80")


def test_holes_of_a_sketch_are_choices() -> None:
    _, line = explored(*SMALL, "--choices")
    assert line["choices"] == {
        "row": ["0 if lane >= k else 1", "0 if lane + k > 1 else 1"],
        "lane": ["(lane + k) % 32", "(lane - k + 2) % 32"],
        "weight": ["k", "2 - k"],
    }
    _, more = explored("conv1d-3", "--set", "outputs=1", "--set", "lane=(k + lane) % 32", "--choices")
    assert more["choices"] == {"warps": ["1", "2", "4", "8"]}
    _, less = explored("conv1d-3", "--set", "outputs=1", "--choices")
    assert less["holes_at"] == {"outputs": 1, "warps": 4, "placed": "apart"}
    result, found = explored(*SMALL, "--set", "weight=2 - k", "--order", "lane")
    assert (result.exit_code, found["verdict"], found["complete"]) == (0, "proved", True)
    assert found["decisions"] == {
        "outputs": 1, "warps": 1, "placed": "apart",
        "row": "0 if lane + k > 1 else 1", "lane": "(lane - k + 2) % 32", "weight": "2 - k",
    }  # fmt: skip


def test_decisions_on_holes_that_leave_nothing() -> None:
    result, line = explored(*SMALL, "--set", "weight=2 - k", "--set", "lane=(lane + k) % 32")
    assert (result.exit_code, line["status"]) == (1, "unsat")
    assert "no completion holds what was decided" in str(line["reason"])


def test_a_sketch_is_replayed(tmp_path: Path) -> None:
    _, line = explored(*SMALL, "--set", "weight=2 - k")
    kept, code, page = tmp_path / "line.json", tmp_path / "k.cu", tmp_path / "k.html"
    kept.write_text(json.dumps(line))
    files = ("--code", str(code), "--html", str(page))
    result, again = explored("conv1d-3", "--target", "sm_80", "--replay", str(kept), *files)
    assert (result.exit_code, again["verdict"]) == (0, "proved") and "nodes" not in again
    assert all(again[name] == line[name] for name in ("kernel", "decisions", "time_ms", "bound_ms", "sizes", "arch"))
    assert "__global__" in code.read_text() and "<svg" in page.read_text()
    result, moved = explored("conv1d-3", "--target", "sm_90", "--size", "n=1000", "--replay", str(kept))
    assert result.exit_code == 0 and moved["decisions"] == line["decisions"]
    assert moved["note"] == "the decisions are of sm_80, judged on sm_90; the decisions are of n=16777216, judged at n=1000"


DECIDED: dict[str, object] = {"outputs": 1, "warps": 1, "row": "0 if lane >= k else 1", "lane": "(lane + k) % 32", "weight": "k"}


@pytest.mark.parametrize(
    ("kernel", "changed", "fields", "words"),
    [
        ("conv1d-5", {}, {"kernel": "conv1d-3"}, "expected decisions of conv1d-5, got those of conv1d-3"),
        ("conv1d-3", {}, {"arch": "sm_80"}, "expected decisions for sm_90, got those for sm_80"),
        ("conv1d-3", {}, {"sizes": {"n": 40}}, "expected decisions at n=16777216, got those at n=40"),
        ("conv1d-3", {"lane": None}, {}, "texts"),
        ("conv1d-3", {"outputs": True}, {}, "texts"),
        ("conv1d-3", {"outputs": [1, "x"]}, {}, "texts"),
        ("conv1d-3", {"outputs": 3}, {}, "hold here, got: expected one of 1, 2, 4, 8 for outputs, got '3'"),
        ("conv1d-3", {"other": 3}, {}, "hold here, got: expected a parameter or a hole of conv1d-3"),
        ("conv1d-3", {"lane": "j"}, {}, "hold here, got: "),
    ],
)
def test_a_sketch_is_not_replayed(
    kernel: str, changed: dict[str, object], fields: dict[str, object], words: str, tmp_path: Path
) -> None:
    kept = tmp_path / "line.json"
    kept.write_text(json.dumps({"v": 1, **fields, "decisions": DECIDED | changed}))
    result, line = explored(kernel, "--replay", str(kept))
    assert result.exit_code == 2 and "REPLAY: " in str(line["reason"]) and words in str(line["reason"])


def test_a_replayed_sketch_has_all_decisions_and_a_kernel(tmp_path: Path) -> None:
    kept = tmp_path / "decisions.json"
    kept.write_text(json.dumps({name: value for name, value in DECIDED.items() if name != "row"}))
    result, line = explored("conv1d-3", "--replay", str(kept))
    assert result.exit_code == 2 and "got none for 'row'" in str(line["reason"])
    kept.write_text(json.dumps(DECIDED | {"weight": "2 - k"}))
    result, line = explored("conv1d-3", "--replay", str(kept))
    assert (result.exit_code, line["status"]) == (1, "unsat")
    assert "no completion holds what was decided" in str(line["reason"])


def test_the_smallest_budget_gives_a_kernel_of_each_stage() -> None:
    result, line = explored("atax", "--size", "m=8,n=8", "--target", "sm_80", "--nodes", "1")
    assert result.exit_code == 0 and line["ended"] == "budget: nodes"
    decisions = line["decisions"]
    assert isinstance(decisions, dict)
    assert {name.partition("/")[0] for name in decisions} == {"atax_Ax", "atax_y"}


def test_listed_choices_come_first_and_all_are_decided() -> None:
    result, line = explored(*AXPY, "--order", "cache", "--nodes", "300", "--search", "mcts")
    assert result.exit_code == 0
    decisions = line["decisions"]
    assert isinstance(decisions, dict)
    names = [name.partition("(")[0] for name in decisions]
    assert names[0] == "warps"  # which a search takes as it is
    assert names[1] == "cache" and len(set(names)) > 2


def test_journals_with_damage_are_resumed_and_others_refused(tmp_path: Path) -> None:
    asked = (*AXPY, "--nodes", "80", "--journal", str(tmp_path / "runs"))
    _, line = explored(*asked)
    assert line["evaluated"] and not line["resumed"]
    kept = tmp_path / "runs" / "axpy.jsonl"
    whole = kept.read_bytes()
    kept.write_bytes(whole + b"no entry\n\xff\xfe\n" + whole[:100])
    again, resumed = explored(*asked)
    assert again.exit_code == 0 and resumed["resumed"] == line["evaluated"] and resumed["time_ms"] == line["time_ms"]
    assert again.stderr.count("JOURNAL_DAMAGED") == 2
    kept.write_bytes(whole[:-40])
    _, cut = explored(*asked)
    assert cut["status"] == "solved" and cut["resumed"] == whole.count(b"\n") - 1
    kept.write_bytes(re.sub(rb'"key": ".', b'"key": "x', whole))
    _, other = explored(*asked)
    assert other["status"] == "solved" and other["resumed"] == 0
    result, another = explored("dot", "--size", "n=40", "--target", "sm_80", "--nodes", "40", "--journal", str(tmp_path / "runs"))
    assert result.exit_code == 0 and another["resumed"] == 0
    kept.write_text("hello\n")
    refused, error = explored(*asked)
    assert refused.exit_code == 2 and "JOURNAL_UNUSABLE" in str(error["reason"])


def test_sizes_beyond_memory_need_none_where_nothing_runs() -> None:
    result, _ = explored("axpy", "--size", f"n={2**40}", "--target", "sm_80", "--nodes", "100")
    assert result.exit_code == 0


def test_a_modelled_time_names_its_machine() -> None:
    assert _how({"time_is": "modelled", "arch": "sm_90"}) == "modelled for sm_90"
    assert _how({"time_is": "modelled"}) == "modelled"


def test_only_a_measured_time_is_blamed_on_a_busy_machine() -> None:
    line: dict[str, object] = {"time_ms": 1.0, "bound_ms": 0.1, "time_over_bound": 10.0}
    measured = {**line, "runs": 3, "spread": 0.1}
    assert ["busy" in text for made in (line, measured) for text in _summary(made) if "times its bound" in text] == [False, True]


def test_people_read_how_it_compares_with_the_plain_loop_and_the_note() -> None:
    line: dict[str, object] = {"time_ms": 1.0, "bound_ms": 0.5, "kind": "found", "plain_ms": 4.0, "time_over_plain": 0.25}
    assert "  4 times as fast as the plain loop (4.0 ms)" in list(_summary(line))
    plain = {**line, "kind": "plain", "time_over_plain": 1.0, "note": "the plain loop, since it is faster"}
    assert list(_summary(plain))[1:] == ["  note: the plain loop, since it is faster"]


def test_a_file_is_run_once(tmp_path: Path) -> None:
    path, runs = tmp_path / "kernels.py", tmp_path / "runs"
    path.write_text(f"{FILE}\nwith open({str(runs)!r}, 'a') as runs:\n    runs.write('x')\n")
    result, _ = explored(f"{path}:one", "--size", "m=8", "--target", "sm_80", "--choices")
    assert result.exit_code == 0 and runs.read_text() == "x"


def test_people_read_for_which_sizes_it_is_tested_and_proved() -> None:
    one: dict[str, object] = {"multiple_of": 64, "up_to": 4096, "tested": [0, 64]}
    line: dict[str, object] = {"run_time": {"m": one, "n": {"multiple_of": 1}}, "cases": 7, "tested_at": {"k": 3}}
    proof: dict[str, object] = {"verdict": "proved", "reason": "too many"}
    assert list(_summary({**line, "proved_at": {"k": 2, "m": 4}, "proof": proof})) == [
        "  m: every multiple of 64 up to 4096; tested at 0, 64",
        "  n: every value",
        "  7 elements compared with the function at k=3",
        "  proved at k=2, m=4, not at the sizes asked for: too many",
    ]
    assert list(_summary({"cases": 7})) == ["  7 elements compared with the function"]
    assert list(_summary({"proof_reason": "late"})) == ["  not proved: late"]


def test_values_that_were_not_tried_are_listed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    _, every = explored(*AXPY, "--choices")
    assert "untried" not in every
    monkeypatch.setattr(explore_choices, "MOST_WORK", 1)
    result, line = explored(*AXPY, "--choices")
    assert (result.exit_code, line["status"], line["ended"]) == (0, "solved", "budget: propagations")
    values = line["choices"]
    assert isinstance(values, dict)
    assert 0 < line["untried"] <= sum(map(len, values.values()))  # type: ignore[operator]
    assert all(set(known) <= set(values[name]) for name, known in every["choices"].items())  # type: ignore[union-attr]


def test_an_interrupted_listing_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explore_choices, "find_possible", interrupted)
    result, line = explored(*AXPY, "--choices")
    assert (result.exit_code, line["status"], line["ended"]) == (0, "solved", "interrupted") and line["untried"]
