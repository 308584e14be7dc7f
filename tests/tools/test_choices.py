"""`warploom choices` as a script sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.tools.cli import cli

LISTING = Path(__file__).parents[2] / "examples" / "papers" / "telamon" / "memory.choices"
TEXT = "set A: ...\nchoice enum k($a in A): value X: value Y: end\nkernel one: A = x end\n"
TEXT += "kernel none: A = y k(y) is X k(y) is Y end\n"


def call(*arguments: object) -> tuple[int, list[dict[str, object]]]:
    done = CliRunner().invoke(cli, ["choices", *map(str, arguments), "--json"])
    return done.exit_code, lines_of(done.stdout)


def test_a_listing() -> None:
    code, (line,) = call(LISTING, "--show", "2")
    assert (code, line["status"], line["verdict"]) == (0, "solved", "proved")
    assert (line["decisions"], line["open"], line["implementations"], line["complete"]) == (8, 5, 156, True)
    shown = line["shown"]
    assert isinstance(shown, list) and len(shown) == 2 and shown[0]["mem_space(a)"] == "GLOBAL"


def test_some_of_many() -> None:
    code, (line,) = call(LISTING, "--most", "5", "--show", "0")
    assert (code, line["verdict"], line["cases"], line["implementations"], line["complete"]) == (0, "tested", 5, 5, False)


def test_each_kernel_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "k.choices"
    path.write_text(TEXT)
    code, lines = call(path)
    assert code == 1 and [(line["case"], line["status"]) for line in lines] == [
        (f"{path}:one", "solved"),
        (f"{path}:none", "unsat"),
    ]
    assert call(path, "--kernel", "one")[0] == 0
    code, (line,) = call(path, "--kernel", "two")
    assert code == 2 and "(one, none), got two" in str(line["reason"])


def test_a_text_without_kernels_and_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "k.choices"
    path.write_text(TEXT[: TEXT.index("kernel")])
    code, (line,) = call(path)
    assert (code, line["choices"], line["verdict"]) == (0, ["k"], "unchecked")
    assert call(tmp_path / "none")[0] == 2


def test_a_wrong_implementation_is_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.tools.choices.command.broken", lambda *_: "a requirement")
    code, (line,) = call(LISTING)
    assert code == 3 and line["status"] == "error" and "a bug of Warploom" in str(line["reason"])
