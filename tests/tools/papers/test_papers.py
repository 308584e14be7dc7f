"""`warploom paper`: rows have a case or a reason, ours is judged by the paper's number, runs are shared and resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import check, lines_of

from warploom.core import UserError
from warploom.synth.transposes import table_cost
from warploom.tools.bench import together
from warploom.tools.bench.case import ALL_SPENT, Case
from warploom.tools.cli import cli
from warploom.tools.command.lines import plain_line
from warploom.tools.command.usage import Usage
from warploom.tools.papers import sources
from warploom.tools.papers.command import select
from warploom.tools.papers.document import document, recorded
from warploom.tools.papers.judge import case_of, judged
from warploom.tools.papers.page import page
from warploom.tools.papers.rows import PAPERS, Row, Run, items
from warploom.tools.papers.rows import lines_of as lines_of_data
from warploom.tools.papers.sources import rows_of
from warploom.tools.papers.summaries import paths_of, summarised

RECORDS = Path("benchmarks/results")
FIELDS = {"paper", "item", "row", "theirs", "authors_tool", "ours", "ratio", "unit", "counted", "compared"}


def raw(name: str, status: Any = "solved", **fields: Any) -> dict[str, Any]:
    """A line as a benchmark prints it."""
    usage = Usage(2.0, 3.0, 50.0)
    if status != "solved":
        return plain_line(name, status, usage, reason="the space was exhausted", **fields)
    return plain_line(name, status, usage, verdict="proved", domain="integers", **fields)


RUN = Run(Case("c", ("bench-scan", "c"), 9.0))


def row(**changes: Any) -> Row:
    return replace(Row(paper="scans", item="table-1", name="r", unit="s", theirs=4.0, run=RUN), **changes)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_has_rows_and_every_row_a_case_or_a_reason(paper: str) -> None:
    rows = rows_of(paper)
    assert len({found.label for found in rows}) == len(rows)
    assert {found.item for found in rows} == {item.name for item in items() if item.paper == paper}
    for found in rows:
        assert (found.run is None) == bool(found.reason)
        # A bar without a number would hold nothing.
        assert found.run is None or found.better == "" or found.peer is not None or found.note
        line = case_of(found)
        if isinstance(line, dict):
            check(line)
            assert line.keys() >= FIELDS
    assert any(found.is_quick for found in rows)


@pytest.mark.parametrize(
    ("label", "line", "ours"),
    [
        ("swizzle-inventor/table-1/1D conv reg, space 1", {"seconds": 2.0}, 2.0),
        ("swizzleflow/figure-13/sf/l3/1d-conv", {"seconds": 0.1}, 273.0),
        ("swizzleflow/figure-11/sf/hvx-gaussian", {"ineffectiveness": 1.0}, 1.0),
        ("ptxasw/table-2/gaussblur, shuffles", {"candidates": 20}, 20),
        ("scans/table-1/MSS operator", {"seconds": 2.0}, 2.0),
        ("telamon/table-3/matmul-1024, share kept", {"kept_share": 0.0144, "paper": {"nodes": 161980}}, 0.0144),
        ("telamon/section-5.5/direct order", {"direct": {"factor": 91.0}}, 91.0),
    ],
)
def test_a_row_of_each_paper_reads_its_number_from_the_benchmarks_line(label: str, line: dict[str, Any], ours: float) -> None:
    (found,) = select(None, None, label, is_quick=False)
    assert found.run is not None
    done = judged(found, raw(found.run.case.name) | line)
    check(done)
    assert done.keys() >= FIELDS
    assert (done["case"], done["ours"], done["as_expected"]) == (label, ours, True)
    assert done["compared"] in ("better", "equal")
    assert judged(found, done) == done


@pytest.mark.parametrize(
    ("asked", "line", "compared", "expected"),
    [
        (row(), raw("c"), "better", True),
        (row(theirs=2.0), raw("c"), "equal", True),
        (row(theirs=1.0), raw("c"), "worse", False),
        (row(theirs=1.0, floor=2.0), raw("c"), "equal", True),
        (row(theirs=1.6, rounded_to=1.0), raw("c"), "equal", True),
        (row(theirs=1.5, rounded_to=1.0), raw("c"), "worse", False),
        (row(theirs=1.0, better="more"), raw("c"), "better", True),
        (row(theirs=4.0, better="more"), raw("c"), "worse", False),
        (row(theirs=1.0, better=""), raw("c"), "no bar", True),
        (row(theirs=None, authors_tool=1.0), raw("c"), "worse", False),
        # The paper's row says that there is a solution, ours that there is none.
        (row(), raw("c", "unsat"), "worse", False),
        (row(run=replace(RUN, expected="unsat")), raw("c", "unsat"), "better", True),
        (row(run=replace(RUN, expected="unsat")), raw("c"), "worse", False),
        (row(better=""), raw("c", "error"), "no bar", False),
        (row(run=replace(RUN, field="none")), raw("c"), "worse", False),
    ],
)
def test_ours_is_judged_by_their_number(asked: Row, line: dict[str, Any], compared: str, expected: bool) -> None:
    done = judged(asked, line)
    assert (done["compared"], done["as_expected"]) == (compared, expected)


def test_a_row_that_ended_otherwise_or_not_at_all_has_no_number() -> None:
    assert judged(row(), raw("c", "unsat"))["ours"] is None
    assert judged(row(better=""), raw("c", "unknown"))["ours"] is None
    assert judged(row(better=""), raw("c", "unsat"))["ours"] == 2.0


def of_all(summary: Any, values: list[float], **changes: Any) -> dict[str, Any]:
    """The line of a row about these numbers of other rows."""
    rows = [row(name=f"r{n}, TTS") for n in range(len(values))]
    lines = [judged(r, raw("c")) | {"ours": value} for r, value in zip(rows, values, strict=True)]
    about = row(name="all", run=None, reason="needs all rows", summary=summary, of="TTS", **changes)
    found = summarised(about, [row(name="other"), *rows, about], lines)
    check(found)
    return found


@pytest.mark.parametrize(
    ("summary", "values", "ours", "compared"),
    [
        ("median", [1.0, 9.0, 2.0], 2.0, "better"),
        ("greatest", [1.0, 9.0, 2.0], 9.0, "worse"),
        ("like an oracle", [1.0, 1.04, 1.06, 27.6], 50.0, "worse"),
    ],
)
def test_a_row_about_others(summary: Any, values: list[float], ours: float, compared: str) -> None:
    line = of_all(summary, values)
    assert (line["ours"], line["compared"], line["as_expected"]) == (ours, compared, compared != "worse")


def test_a_row_about_others_needs_them_all() -> None:
    line = of_all("median", [1.0, None, 2.0])  # pyright: ignore[reportArgumentType]
    assert (line["status"], line["ours"]) == ("unknown", None)
    assert "2 of 3" in line["reason"]


def test_paths_are_the_ways_to_fill_the_holes() -> None:
    assert paths_of("sf/l1/trove-cr_sum-1") == 32
    assert paths_of("sf/l1/trove-rcr-1") == 32 * 32
    asked = [r for r in rows_of("swizzleflow") if r.item == "figure-11"]
    ran = [r for r in asked if r.run is not None]
    lines = [judged(r, raw("c", visited=1, ineffectiveness=1.0)) | {"ran": "sf/l1/trove-cr_sum-1", "visited": 8} for r in ran]
    line = summarised(next(r for r in asked if r.summary == "avoided"), asked, lines)
    assert (line["ours"], line["compared"]) == (75.0, "worse")


def test_rows_about_others_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = invoke(monkeypatch, "swizzle-inventor", "table-1", "--json")
    lines = lines_of(result.stdout)
    assert [line["row"] for line in lines[-2:]] == ["median TTS of all kernels", "greatest TTS of all kernels"]
    assert [line["ours"] for line in lines[-2:]] == [2.0, 2.0]
    result, _ = invoke(monkeypatch, "swizzle-inventor", "table-1", "--quick", "--json")
    assert not any("all kernels" in line["row"] for line in lines_of(result.stdout))


def table_3(sizes: range) -> None:
    prices = {line["m"]: line["theirs"] for line in lines_of_data("swizzle-inventor") if line["item"] == "table-3"}
    assert prices.keys() > {5, 12, 32}
    assert {m: price for m, price in prices.items() if m in sizes} == {m: table_cost(m, 32) for m in sizes if m in prices}


def test_prices_of_table_3_are_computed() -> None:
    table_3(range(3, 8))


@pytest.mark.slow
def test_all_prices_of_table_3_are_computed() -> None:
    table_3(range(1, 65))


def test_a_gpu_is_told() -> None:
    asked = row(better="", run=replace(RUN, on_gpu="speedup"))
    assert "on_gpu" not in judged(asked, raw("c"))
    assert judged(asked, raw("c", speedup=1.5))["on_gpu"] == 1.5


def invoke(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Any, list[tuple[str, ...]]]:
    """The command with benchmark cases that end at once, and the arguments of those that were run."""
    ran: list[tuple[str, ...]] = []

    def run_case(case: Case) -> dict[str, Any]:
        ran.append(case.arguments)
        return raw(case.name, candidates=48, loads=67, mean_delta=2.0, analysis_s=0.1) | dict(case.labels)

    monkeypatch.setattr(together, "run_case", run_case)
    return CliRunner().invoke(cli, ["paper", *arguments]), ran


def test_rows_of_one_case_run_it_once_and_a_journal_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = ("ptxasw", "table-2", "--case", "tricubic,*", "--json", "--journal", str(tmp_path / "j"))
    result, ran = invoke(monkeypatch, *asked)
    lines = lines_of(result.stdout)
    assert [line["ours"] for line in lines] == [48, 67, 2.0, 0.1]
    assert (result.exit_code, len(ran)) == (0, 1)
    # One line for each run, as it begins; rows of a run that is shared or kept have none.
    assert result.stderr.startswith("1 of 4: ptxasw/table-2/tricubic, shuffles\n4 of 4 cases")
    result, ran = invoke(monkeypatch, *asked)
    assert (result.exit_code, ran) == (0, [])
    assert " of 4: " not in result.stderr
    again = lines_of(result.stdout)
    assert [line["ours"] for line in again] == [48, 67, 2.0, 0.1]
    # Nothing is proved again that the journal has as proved.
    assert {line["verdict"] for line in again} == {"unchecked"}


def test_a_spent_budget_ends_the_run_and_the_journal_goes_on_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    began: list[str] = []

    def run_case(case: Case) -> dict[str, Any]:
        began.append(case.name)
        line = raw(case.name) | dict(case.labels)
        # The budget ends within the second case.
        return line | {"status": "unknown", "verdict": "unchecked", "reason": ALL_SPENT} if len(began) == 2 else line

    monkeypatch.setattr(together, "run_case", run_case)
    monkeypatch.setattr(together.limits, "left_s", lambda: 0.0 if len(began) == 2 else 1.0)
    asked = ["paper", "scans", "table-1", "--json", "--budget", "1s", "--journal", str(tmp_path / "j")]
    result = CliRunner().invoke(cli, asked)
    lines = lines_of(result.stdout)
    assert (result.exit_code, began) == (3, [line["case"] for line in lines[:2]])
    assert len(lines) == len([r for r in rows_of("scans") if r.item == "table-1"])
    assert lines[0]["compared"] != "no bar"
    for line in lines[1:]:
        assert line.keys() >= FIELDS
        assert (line["reason"], line["compared"], line["as_expected"], line["ours"]) == (ALL_SPENT, "no bar", False, None)
    monkeypatch.setattr(together.limits, "left_s", lambda: 1.0)
    CliRunner().invoke(cli, asked)
    assert began[2:] == [line["case"] for line in lines[1:]]


def test_rows_that_cannot_run_here_say_so_and_do_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, ran = invoke(monkeypatch, "ptxasw", "table-1", "--json")
    assert (result.exit_code, ran) == (0, [])
    assert {line["status"] for line in lines_of(result.stdout)} == {"unknown"}
    assert "12 cannot be run here" in result.stderr


def test_quick_and_html(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, ran = invoke(monkeypatch, "scans", "table-1", "--quick", "--html", str(tmp_path / "p.html"))
    assert (result.exit_code, len(ran)) == (0, 3)
    text = (tmp_path / "p.html").read_text()
    assert text.count("<svg") == 1
    assert "MSS operator" in text


def test_texts_on_the_page_are_escaped() -> None:
    line = judged(row(name="<b>", unit='"&', note="<i>"), raw("c"))
    assert "<b>" not in page([line])
    assert "<i>" not in page([line])


def test_the_list_names_all_items() -> None:
    result = CliRunner().invoke(cli, ["paper", "--json"])
    assert [(line["paper"], line["item"]) for line in lines_of(result.stdout)] == [(i.paper, i.name) for i in items()]


@pytest.mark.parametrize(
    ("arguments", "got"), [(["scan"], "scans"), (["scans", "table-9"], "table-1"), (["scans", "--case", "x"], "scans/")]
)
def test_unknown_names(arguments: list[str], got: str) -> None:
    result = CliRunner().invoke(cli, ["paper", *arguments])
    assert result.exit_code == 2
    assert got in result.stderr


def test_one_row_end_to_end() -> None:
    result = CliRunner().invoke(cli, ["paper", "scans", "table-1", "--case", "seg* operator", "--json"])
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["verdict"], line["compared"], line["theirs"]) == (0, "proved", "better", 1)


def test_the_document_is_that_of_the_records(golden: Callable[[Path, str], None]) -> None:
    golden(Path("docs/papers.md"), document(recorded(RECORDS)))


def test_records_are_of_rows_that_there_are() -> None:
    labels = {found.label for paper in PAPERS for found in rows_of(paper)}
    records = recorded(RECORDS)
    assert records.keys() <= labels
    for line in records.values():
        check(line)


def test_an_interruption_leaves_a_line_for_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(case: Case) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(together, "run_case", stop)
    result = CliRunner().invoke(cli, ["paper", "swizzle-inventor", "figure-10", "--json"])
    lines = lines_of(result.stdout)
    assert result.exit_code == 130
    assert [line["reason"].partition(" ")[0] for line in lines] == ["interrupted"] * 3 + ["needs"] * 4


def test_listings_are_files_of_the_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [r for paper in PAPERS for r in sources.listings(paper)]
    assert all(r.run is not None for r in rows) and {r.paper for r in rows} == set(PAPERS)
    monkeypatch.setattr(sources, "LISTINGS", tmp_path)
    for paper in PAPERS:
        for found in sources.listings(paper):
            assert found.run is None and "examples/papers of the repository" in found.reason


def test_a_missing_item_lists_all_items_of_the_paper() -> None:
    with pytest.raises(UserError) as caught:
        select("swizzle-inventor", "table-9", None, is_quick=False)
    fix = caught.value.diagnostics[0].fix
    assert all(item.name in fix for item in items() if item.paper == "swizzle-inventor")
