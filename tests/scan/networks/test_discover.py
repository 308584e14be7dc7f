"""`warploom scan census`, `fewest`, `modules` and `layout` as a script sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.scan.networks import NAMED, census, enumeration, flaw, network_text, parse_network
from warploom.tools.cli import cli


def call(*arguments: object) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(cli, ["scan", *map(str, arguments), "--json"])
    (line,) = lines_of(done.stdout)
    return done.exit_code, line


def test_census() -> None:
    code, line = call("census", 8, 4)
    assert (code, line["verdict"], line["networks"], line["fewest"]) == (0, "proved", 138_574, 10)
    assert call("census", 8, 4, "--fan-out", 1)[1]["networks"] == 1908
    assert call("census", 8, 4, "--banks", 4)[1]["networks"] == 3376
    code, line = call("census", 8, 2)
    assert (code, line["networks"], line["fewest"]) == (0, 0, None)


def test_counts_beyond_a_word_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enumeration, "_EXACT", 0)
    assert census(6, 3).networks == 118


def test_fewest() -> None:
    code, line = call("fewest", 8, 4)
    assert (code, line["verdict"], line["size"], line["depth"]) == (0, "proved", 10, 4)
    net = parse_network("\n".join(line["picture"]))
    assert net.size == 10 and flaw(net) is None
    code, line = call("fewest", 8, 2)
    assert (code, line["status"]) == (1, "unsat") and "at least 3 steps" in line["reason"]


def test_fewest_that_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.tools.scan.discover.fewest", lambda *_: None)
    assert call("fewest", 8, 4)[0] == 3


def test_a_wrong_network_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.tools.scan.discover.flaw", lambda *_: "a flaw")
    code, line = call("fewest", 4, 2)
    assert (code, line["status"]) == (3, "error") and "a bug of Warploom" in line["reason"]


def test_modules(tmp_path: Path) -> None:
    code, line = call("modules", "--name", "brent-kung", "--name", "sklansky", "--grow", 64, "--show", 40)
    assert code == 0 and line["networks"] == 2 and line["shown"][0]["saved"] >= line["shown"][1]["saved"]
    scans = [m for m in line["shown"] if m["is_scan"]]
    assert scans and all(m["grown"]["composed"]["n"] == 64 for m in scans)
    picture = tmp_path / "p.txt"
    picture.write_text(network_text(NAMED["sklansky"](8)))
    assert call("modules", picture)[1]["networks"] == 1
    assert call("modules", "--all", 8, 3, "--least", 3)[1]["networks"] == census(8, 3).networks


def test_layout() -> None:
    code, line = call("layout", "--name", "brent-kung", "--n", 64, "--banks", 16, "--cost", "conflicts", "--family", "padding")
    assert (code, line["verdict"], line["before"]) == (0, "proved", 66) and line["conflicts"] <= 6
    assert list(line["families"]) == ["padding"]
    assert call("layout", "--name", "brent-kung", "--n", 64, "--banks", 16, "--in-place")[1]["before"] == 0
    assert "table" not in call("layout", "--name", "kogge-stone", "--n", 65)[1]["families"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("modules", "--all", 8, 5), "expected at most 5000 networks"),
        (("modules", "--all", 0, 5), "expected 1 to 15 columns"),
        (("modules", "--name", "no"), "no"),
        (("layout", "--name", "brent-kung", "--slots", 3), "expected room for the cells"),
    ],
)
def test_what_is_refused(arguments: tuple[object, ...], said: str) -> None:
    code, line = call(*arguments)
    assert code == 2 and said in line["reason"]


def test_large_and_backward_networks_are_not_mined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "p.txt"
    picture.write_text("*-o\n")
    code, line = call("modules", picture)
    assert code == 2 and "a backward one" in line["reason"]
    monkeypatch.setattr("warploom.tools.scan.discover.MOST_DOTS", 3)
    code, line = call("modules", "--name", "sklansky")
    assert code == 2 and "expected at most 3 operations" in line["reason"]


@pytest.mark.parametrize("arguments", [("modules",), ("layout",), ("layout", "p", "--name", "brent-kung"), ("census", 16, 4)])
def test_usage(arguments: tuple[object, ...]) -> None:
    assert CliRunner().invoke(cli, ["scan", *map(str, arguments)]).exit_code == 2
