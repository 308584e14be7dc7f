"""The command line from the outside: streams that fail, usage errors, lines that break the contract, the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.core.starting import MAIN, ROOT, is_command, without_current_folder
from warploom.tools.bench import case as bench
from warploom.tools.cli import cli
from warploom.tools.command.lines import broken_rules, encode, plain_line
from warploom.tools.command.output import BrokenLineError, Output, kept
from warploom.tools.command.usage import Stopwatch

GOOD = plain_line("a", "solved", Stopwatch().read())


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(bench.own_command(*arguments), stderr=subprocess.PIPE, **options)


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--nonsense"), ("synth",), ("synth", "conv1d-3", "--space", "9"), ("nonsense",),
        ("solve", "a", "--workers", "2", "--cluster", "b"), ("scan", "network"), ("bench", "synth", "--budget", "3x"),
        ("ptx", "run"), ("explore", "axpy", "--threads", "0"), ("bench",),
    ],
)  # fmt: skip
def test_usage_errors_are_lines_too(arguments: tuple[str, ...]) -> None:
    result = call(*arguments, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["case"]) == (2, "error", " ".join(arguments))
    assert "Usage:" in result.stderr
    people = call(*arguments)
    assert people.exit_code == 2 and people.stdout == ""


@pytest.mark.parametrize("case", ["gone", "closed"])
def test_messages_that_nobody_can_read_change_nothing(case: str) -> None:
    """click would end with 1 where the reader of standard error has gone, and print to standard output where it is closed."""
    given = bench.own_command("list", "--nonsense")
    if case == "gone":
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run(given, stdout=subprocess.PIPE, stderr=writer, check=False)
        os.close(writer)
    else:
        shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *given]
        ended = subprocess.run(shell, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert (ended.returncode, ended.stdout) == (2, b"")


def test_a_word_behind_the_dashes_is_no_option() -> None:
    assert call("list", "--", "--json").stdout == ""


def test_programs_and_pictures_are_shown_as_lines(tmp_path: Path) -> None:
    (program,) = lines_of(call("solve", "sf/l1/trove-crc-3", "--show", "--json").stdout)
    (picture,) = lines_of(call("scan", "network", "--name", "bk3", "--show", "--json").stdout)
    assert program["text"] and picture["picture"]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"status": "fine", "reason": "a"}, "status 'fine'"),
        ({"verdict": "true"}, "verdict 'true'"),
        ({"status": "unknown"}, "not solved, and no `reason`"),
        ({"verdict": "proved"}, "proved, and no `domain`"),
        ({"verdict": "tested"}, "tested, and no `cases`"),
        ({"status": "error", "reason": "a", "verdict": "proved", "domain": "integers"}, "an error that is proved"),
        ({"status": "refused", "reason": "a", "verdict": "proved", "domain": "integers"}, "refused and proved"),
        ({"optimal_in": 3}, "optimal, and no `objective`"),
        ({"kernel": {"shuffles": 3}}, "counts, and not what was `counted`"),
        ({"gflops": [{"least": float("nan")}]}, "a number that is not finite"),
    ],
)
def test_rules_of_lines(monkeypatch: pytest.MonkeyPatch, change: dict[str, object], rule: str) -> None:
    line = GOOD | change
    assert broken_rules(line) == [rule]
    with pytest.raises(BrokenLineError):
        kept(line)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    honest = kept(line)
    assert broken_rules(honest) == [] and (honest["status"], honest["verdict"]) == ("error", "unchecked")
    assert rule in str(honest["reason"])


def test_a_line_that_keeps_the_rules_stays_as_it_is() -> None:
    good = GOOD | {"verdict": "tested", "cases": 3, "optimal_in": 1, "objective": ["cost"], "kernel": {"shuffles": 1}}
    assert broken_rules(good | {"counted": "model"}) == broken_rules(good | {"kernel": {"shuffles": 1, "counted": "sass"}}) == []
    assert broken_rules({k: v for k, v in GOOD.items() if k != "wall_s"}) == ["no `wall_s`"]
    assert kept(GOOD) is GOOD


def test_every_writer_of_lines_keeps_the_rules() -> None:
    bad, output = GOOD | {"verdict": "proved"}, Output(as_json=True)
    from warploom.tools.command.outcome import Outcome

    for write in (lambda: output.outcome(Outcome(bad, 0)), lambda: output.row(bad, {}), lambda: output.listed(bad, "")):
        with pytest.raises(BrokenLineError):
            write()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "nonsense"])
def test_a_line_in_any_encoding(encoding: str) -> None:
    text = encode({"case": "é×\udcff"}, encoding)
    assert text.isascii() and lines_of(encode(GOOD | {"case": "é×\udcff"}, encoding))[0]["case"] == "é×\udcff"
    assert encode({"case": "é"}, "latin-1") == '{"case": "é"}'


def test_standard_output_that_is_full() -> None:
    with open("/dev/full", "wb") as full:
        process = start("list", stdout=full)
        error = process.communicate()[1]
    assert process.returncode == 2
    assert error == b"expected to write to standard output, got: No space left on device\n"


def test_a_printed_file_on_a_full_standard_output_is_no_internal_error(tmp_path: Path) -> None:
    (tmp_path / "a.ptx").write_text(".version 7.8\n.target sm_80\n.address_size 64\n" + 2000 * ".global .u32 v;\n")
    with open("/dev/full", "wb") as full:
        process = start("ptx", "fmt", "--exact", str(tmp_path / "a.ptx"), stdout=full)
        error = process.communicate()[1]
    assert (process.returncode, error) == (2, b"expected to write to standard output, got: No space left on device\n")


@pytest.mark.parametrize("arguments", [("list", "--json"), ("--version",)])
def test_a_reader_that_has_gone(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*arguments, stdout=writing)
    os.close(writing)
    assert process.communicate()[1] == b""
    assert process.returncode == 0


def test_a_closed_standard_output() -> None:
    command = f'exec {sys.executable} -P -c "$0" list >&-'
    done = subprocess.run(["/bin/sh", "-c", command, MAIN], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, b"expected a standard output, got a closed one\n")


def test_ascii_only(tmp_path: Path) -> None:
    path = tmp_path / "ä.py"
    path.write_text("x = 1\n")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = bench.own_command("synth", str(path), "--json")
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    (line,) = lines_of(done.stdout.decode("ascii"))
    assert (done.returncode, line["status"]) == (2, "error")
    assert b"NO_SKETCH" in done.stderr and b"Traceback" not in done.stderr


SHADOWS = ("json", "multiprocessing", "pickle", "numpy", "click", "tempfile")


@pytest.mark.parametrize("way", ["module", "bench", "workers"])
def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, way: str) -> None:
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(f"open('ran-{name}', 'w')\n")
    command = {
        "module": [sys.executable, "-m", "warploom", "--version"],
        "bench": bench.own_command("bench", "synth", "--case", "sf/l1/trove-crc-3", "--json"),
        "workers": [sys.executable, "-P", "-c", WORKERS],
    }[way]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("ran-*")) == []


WORKERS = """
from warploom.solve import process_executor
with process_executor(1) as workers:
    assert workers.submit(abs, -3).result() == 3
"""


def test_the_search_path_of_the_command() -> None:
    assert without_current_folder(["/a", "/b"], "/a") == ["/b"]
    assert without_current_folder(["", "/b"], "/a") == ["/b"]
    assert without_current_folder(["/b", "/a"], "/a") == ["/b", "/a"]
    assert without_current_folder([ROOT, "/b"], ROOT) == [ROOT, "/b"]
    assert is_command(["warploom", "--version"], ["python", "-P", "-c", MAIN, "list"])
    assert not is_command(["-c", "list"], ["python", "-P", "-c", "pass", MAIN[:-1]])
