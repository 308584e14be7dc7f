"""Lines out of a journal claim what can be checked again, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import check, lines_of

from warploom.tools.bench import together
from warploom.tools.cli import cli
from warploom.tools.command.kept_lines import replayed
from warploom.tools.command.lines import plain_line
from warploom.tools.command.usage import Stopwatch

TRANSPOSE = ["rot(3)(k=j, cr=1)(i)", "rot(3)(k=i, cr=2)(j)", "(cm2linear(3, 3)(k=i) o rot(3)(k=i, cr=2))(j)"]


def line(case: str, **fields: object) -> dict[str, Any]:
    return plain_line(case, "solved", Stopwatch().read(), verdict="proved", domain="integers", **fields)


@pytest.fixture(scope="module")
def conv() -> dict[str, Any]:
    (found,) = lines_of(CliRunner().invoke(cli, ["synth", "conv1d-3", "--json"]).stdout)
    return found


def test_a_sketch_is_proved_again(conv: dict[str, Any]) -> None:
    found = replayed(conv)
    assert found is not None
    check(found)
    assert (found["verdict"], found["domain"], found["executed"]) == ("proved", conv["domain"], conv["executed"])
    assert (found["optimal_in"], found["recorded"]["optimal_in"], found["from_journal"]) == (None, 3, True)


@pytest.mark.parametrize(
    "change",
    [
        {"holes": {"row": "0 if lane >= k else 1", "lane": "(lane + k) % 32", "weight": "0"}},
        {"holes": {"row": "0 if lane >= k else 1", "lane": "(lane + k) % 32"}},
        {"holes": {"row": "0 if lane >= k else 1", "lane": "open('ran')", "weight": "k"}},
        {"holes": {"row": "nobody", "lane": "(lane + k) % 32", "weight": "k"}},
        {"holes": {"row": "1 // 0", "lane": "(lane + k) % 32", "weight": "k"}},
        {"holes": {"row": "(", "lane": "", "weight": 3}},
        {"holes": []},
        {"holes": None},
        {"accumulates": 0},
        {"case": "conv2d-3"},
        {"case": "nothing"},
    ],
)
def test_a_changed_sketch_is_a_miss(conv: dict[str, Any], change: dict[str, object]) -> None:
    assert replayed(conv | change) is None


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"}, {"status": "error", "reason": "crash", "verdict": "unchecked"}, {"domain": ""}, {"seconds": "1"},
        {"peak_mb": -1}, {"wall_s": True}, {"case": 7}, {"verdict": None}, {"optimal_in": 3},
    ],
)  # fmt: skip
def test_what_is_no_line_is_a_miss(change: dict[str, object]) -> None:
    assert replayed(line("a") | change) is None
    assert replayed({"status": "solved"}) is None


def test_a_transpose_is_followed_again() -> None:
    good = line("wall/crc-3", kind="crc", m=3, n=3, composition=TRANSPOSE, optimal=True)
    found = replayed(good)
    assert found is not None and (found["verdict"], found["recorded"]) == ("proved", {"optimal": True})
    for change in ({"composition": TRANSPOSE[:2]}, {"composition": "all"}, {"m": "3"}, {"kind": None}, {"case": "wall/crc-4"}):
        assert replayed(good | change) is None


def test_what_cannot_be_checked_again_is_not_claimed() -> None:
    found = replayed(line("scan/sum", operator="lambda a, b: a - b"))
    assert found is not None
    check(found)
    assert (found["verdict"], found["recorded"], "domain" in found) == (
        "unchecked", {"verdict": "proved", "domain": "integers"}, False,
    )  # fmt: skip
    given_up = plain_line("a", "unknown", Stopwatch().read(), reason="budget")
    assert replayed(given_up) == {**given_up, "from_journal": True}


def test_a_journal_that_was_changed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, conv: dict[str, Any]) -> None:
    ran: list[str] = []
    monkeypatch.setattr(together, "run_case", lambda case: ran.append(case.name) or conv)
    path = tmp_path / "journal"
    command = ["bench", "synth", "--case", "conv1d-3", "--json", "--journal", str(path)]
    for run in range(2):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0 and lines_of(result.stdout)[0]["as_expected"]
        assert len(ran) == 1, run
    row = json.loads(path.read_text())
    for change in ({"holes": {}}, {"case": "conv1d-9"}, {"bar": 7, "accumulates": "1"}):
        path.write_text(json.dumps({"key": row["key"], "value": row["value"] | change}) + "\n")
        result = CliRunner().invoke(cli, command)
        assert lines_of(result.stdout)[0]["as_expected"] and "from_journal" not in lines_of(result.stdout)[0]
    path.write_text(json.dumps({"key": row["key"], "value": "solved, proved"}) + "\n")
    CliRunner().invoke(cli, command)
    assert len(ran) == 5
