"""`lint --html`: what costs which line, a race as two threads, lanes by banks; every launch; and `--watch`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom.tools.lint import watch
from warploom.tools.lint.command import lint_command

HERE = Path(__file__).parent
RACE = ("--kernel", "missing_barrier", "--launch", "1", "64", "--arg", "zeros:f32:64", "--arg", "random:f32:64")
SLOW = ("--kernel", "unpadded", "--launch", "1", "32,32", "--arg", "zeros:f32:1024", "--arg", "random:f32:1024")


def page(tmp_path: Path, *arguments: str) -> str:
    """Without its style."""
    out = tmp_path / "k.html"
    CliRunner().invoke(lint_command, [os.path.relpath(HERE / "kernels.ptx"), *arguments, "--html", str(out)])
    text = out.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text and "max-width: 500px" in text and "<script" not in text
    return text.partition("</style>")[2]


def test_a_race_is_two_threads_side_by_side(
    tmp_path: Path, golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE.parents[2])
    found = page(tmp_path, *RACE)
    golden(HERE / "race.html", found)
    sides = re.findall(r"<div><b>(.*?)</b>", found)
    assert sides == ["block 0,0,0, thread 0,0,0", "thread 63,0,0: the write"]


class _Places(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.named: set[str] = set()
        self.linked: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.named.add(str(given["id"]))
        if tag == "a":
            self.linked.add(str(given["href"]).removeprefix("#"))
        if tag not in ("meta", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.open.pop() == tag


def test_links_lead_to_lines_and_elements_are_closed(tmp_path: Path) -> None:
    read = _Places()
    read.feed(page(tmp_path, *RACE).partition("</head>")[2].rpartition("</html>")[0])
    assert read.linked and read.linked <= read.named and read.open == []


def test_conflicts_are_lanes_by_banks(tmp_path: Path) -> None:
    found = page(tmp_path, *SLOW)
    asked = re.findall(r"<title>lane (\d+), bank (\d+), word (\d+)</title>", found)
    assert {(int(lane), int(bank)) for lane, bank, _ in asked} == {(lane, 0) for lane in range(32)}
    assert len({word for _, _, word in asked}) == 32
    assert '<rect class="worst" x="30"' in found and ">1,024</td>" in found


def test_every_launch_has_ranges(tmp_path: Path) -> None:
    found = page(tmp_path, "--kernel", "missing_barrier_clean", "--every-launch", "--assume", "blockDim.x == 64")
    assert "solved, proved over blockDim.x == 64" in found and ">4 for 4</td>" in found and ">1 for 1</td>" in found


def test_a_file_without_a_launch_has_a_page(tmp_path: Path) -> None:
    assert "<p>None.</p>" in page(tmp_path, "--kernel", "unpadded")


def test_it_runs_again_after_a_change_until_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "k.ptx"
    file.write_text("one")
    commands: list[tuple[str, ...]] = []
    pauses = iter([None, lambda: file.write_text("another"), file.unlink, None])

    def run(command: tuple[str, ...]) -> int:
        commands.append(command)
        return len(commands)

    def sleep(_: float) -> None:
        try:
            change = next(pauses)
        except StopIteration:
            raise KeyboardInterrupt from None
        if change:
            change()

    monkeypatch.setattr(watch, "run", run)
    monkeypatch.setattr(watch.time, "sleep", sleep)
    result = CliRunner().invoke(lint_command, ["--json", str(file), "--watch", "--kernel", "a b"])
    assert result.exit_code == 3
    assert commands == [("lint", "--json", str(file), "--kernel", "a b")] * 3


@pytest.mark.parametrize("option", ["--html", "--write-baseline"])
def test_the_source_is_never_written(tmp_path: Path, option: str) -> None:
    source = tmp_path / "k.ptx"
    source.write_text((HERE / "kernels.ptx").read_text())
    result = CliRunner().invoke(lint_command, [str(source), option, str(tmp_path / "." / "k.ptx")])
    assert result.exit_code == 2 and "expected another file to write than the source" in result.output
    assert source.read_text() == (HERE / "kernels.ptx").read_text()
