"""`warploom bench ablations`: a line per case and configuration, right answers, budgets that end as unknown."""

from __future__ import annotations

import json

from click.testing import CliRunner
from tests.tools.contract import check, lines_of

from warploom.synth.dataflow import CONFIGURATIONS
from warploom.synth.search.ablation import WITHOUT
from warploom.tools.bench import ablations as ablation_bench
from warploom.tools.cli import cli
from warploom.tools.command.lines import encode, plain_line
from warploom.tools.command.usage import Stopwatch


def test_every_idea_has_lines() -> None:
    names = ablation_bench.select(None, None)
    assert len(set(names)) == len(names)
    assert {name for case, name in names if case.startswith("sf/")} == set(CONFIGURATIONS)
    assert {name for case, name in names if case == "mult32-reg"} == {"full", "smt", *ablation_bench.SPACES, *WITHOUT}
    assert {name for case, name in names if case == "mult64-reg"} == {"full", *ablation_bench.SPACES}


def test_programs() -> None:
    result = CliRunner().invoke(cli, ["bench", "ablations", "--case", "sf/hvx-gaussian", "--json", "--configuration", "[fo]*"])
    lines = lines_of(result.stdout)
    assert result.exit_code == 0
    assert [line["configuration"] for line in lines] == ["full", "one-location"]
    assert {(line["solutions"], line["verdict"], line["as_expected"]) for line in lines} == {(4, "proved", True)}
    visited = {line["configuration"]: line["visited"] for line in lines}
    assert visited["full"] * 100 < visited["one-location"]


def test_sketches() -> None:
    names = ("full", *ablation_bench.SPACES, *WITHOUT, "smt")
    lines = {n: ablation_bench.measure("aos-sum-crc-1", n, 20.0, 0, Stopwatch(), lambda _: None) for n in names}
    assert {(line["status"], line["verdict"], line["accumulates"]) for line in lines.values()} == {("solved", "proved", 1)}
    for line in lines.values():
        check(json.loads(encode(line)))


def test_a_spent_budget() -> None:
    arguments = ["bench", "ablations", "--case", "sf/l3/trove-crc-5", "--configuration", "one-location", "--budget", "500ms"]
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    (line,) = lines_of(result.stdout)
    assert (line["status"], line["configuration"], line["budget_s"]) == ("unknown", "one-location", 0.5)
    assert line["reason"].startswith("budget") and line["ineffectiveness"] is None
    assert line["as_expected"] and result.exit_code == 0


def test_a_wrong_count_is_not_expected() -> None:
    line = plain_line("sf/hvx-gaussian", "solved", Stopwatch().read(), verdict="proved", solutions=3)
    assert not ablation_bench.judged(line)["as_expected"]
    assert ablation_bench.judged(line | {"solutions": 4})["as_expected"]


def test_wrong_names() -> None:
    assert CliRunner().invoke(cli, ["bench", "ablations", "--case", "nothing"]).exit_code == 2
    result = CliRunner().invoke(cli, ["bench-ablation", "sf/trove-8x3", "naive-1"])
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 2 and "expected a configuration of sf/trove-8x3" in line["reason"]
