"""`warploom bench layout`: bars that fail when they are missed, peers counted by their rules, cases of many questions."""

from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.gpu import toolchain_available
from warploom.layout import access, tile
from warploom.tools.bench import layout_cases, layouts
from warploom.tools.bench.layout_peers import cub, of_maps, trove
from warploom.tools.cli import cli


def test_rows_have_names_of_their_own_and_bars() -> None:
    names = [row.name for row in layouts.rows()]
    assert len(set(names)) == len(names) and all(row.bar and row.seconds for row in layouts.rows())


def test_a_case_meets_its_bar_beside_its_peers() -> None:
    result = CliRunner().invoke(cli, ["bench", "layout", "--case", "swizzle-3-3-4", "--json"])
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (line["verdict"], line["as_expected"], line["missed"], line["total"]) == ("proved", True, [], 16)
    assert line["peers"]["row-major"] == {"wavefronts": 128} and line["bar"] == {"optimal": True, "seconds": 1.0}


def test_missed_bars_are_said() -> None:
    line = {"case": "odd/40x28", "status": "solved", "verdict": "proved", "seconds": 2.0}
    line |= {"wavefronts": {"rows@any": 300, "blocks:4x8": 33}, "extra_words": 1, "optimal": None}
    found = layouts.judged(line)
    assert (found["missed"], found["in_time"], found["as_expected"]) == (["optimal", "total", "extra_words"], False, False)
    line = {"case": "random/8", "status": "solved", "verdict": "proved", "seconds": 2.0, "most_seconds": 0.1}
    assert layouts.judged(line | {"found": 8, "no_linear": 2})["missed"] == []
    assert layouts.judged(line | {"found": 8, "no_linear": 1})["missed"] == ["answered"]
    assert not layouts.judged({"case": "random/8", "status": "unknown", "verdict": "unchecked", "seconds": 0})["as_expected"]


def test_cub_and_trove_take_what_was_counted_in_their_machine_code() -> None:
    loads = {registers: cub(registers)["wavefronts"] - registers for registers in (2, 6, 7, 8, 12, 16, 24, 32)}
    assert loads == {2: 2, 6: 6, 7: 7, 8: 16, 12: 12, 16: 64, 24: 48, 32: 256}
    assert [trove(registers)["selects"] for registers in (2, 3, 5, 8, 12, 20, 32)] == [4, 6, 15, 48, 72, 140, 320]


def test_peers_are_maps_that_fit() -> None:
    for text, names in (("33x20:f32", []), ("32x16:f16", ["cute SW32", "cute INTER"])):
        given = tile(text)
        assert list(of_maps(given, [access("rows", given)])) == ["row-major", "padded", *names]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("least/named", {"pairs": 8, "fewer_than_registers": 6}), ("least/random", {"pairs": 2}),
        ("random/12", {"sets": 1, "found": 1, "no_linear": 0}), ("tma", {"without": []}),
    ],
)  # fmt: skip
def test_cases_of_many_questions(name: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for constant, value in (("_MOST_REGISTERS", 2), ("_LANES", 3), ("RANDOM_PAIRS", 2), ("SEEDS", 1)):
        monkeypatch.setattr(layout_cases, constant, value)
    monkeypatch.setattr(layout_cases, "STRUCTURES", (2,))
    (line,) = lines_of(CliRunner().invoke(cli, ["bench-layout", name]).stdout)
    assert line["verdict"] == "proved" and fields.items() <= line.items()


@pytest.mark.skipif(not toolchain_available(), reason="no CUDA compiler")
def test_instructions_of_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_cases, "_LANES", 4)
    (line,) = lines_of(CliRunner().invoke(cli, ["bench-layout", "square/sass"]).stdout)
    assert line["programs"] and all(sass > shuffles + selects for shuffles, selects, sass in line["programs"])
