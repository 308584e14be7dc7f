"""`warploom ptx shuffle`: the file, the lines, the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.ptx.shuffle.kernels import arguments, kernel
from tests.ptx.shuffle.same import differences

from warploom.gpu import toolchain_available
from warploom.tools.ptx.shuffle import shuffle_command

TWO = kernel("ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;")


def _run(folder: Path, text: str, *options: str) -> Result:
    given = folder / "in.ptx"
    given.write_bytes(text.encode("utf-8", "surrogateescape"))
    return CliRunner().invoke(shuffle_command, [str(given), "-o", str(folder / "out.ptx"), *options])


def test_writes_file_line_and_report(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = _run(tmp_path, TWO, "--policy", "all", "--report", str(report), "--json")
    assert result.exit_code == 0, result.output
    (line,) = [json.loads(text) for text in result.stdout.splitlines()]
    assert line["case"].endswith("in.ptx:k")
    assert (line["v"], line["status"], line["verdict"], line["loads"], line["applied"]) == (1, "solved", "unchecked", 2, 1)
    whole = json.loads(report.read_text())
    (only,) = whole["kernels"]
    assert only["candidates"][0]["delta"] == 1
    assert {"loads", "applied", "predicted_gain", "registers", "seconds"} <= set(only)
    if toolchain_available():
        assert set(only["registers"]) == {"before", "after"}
    new = (tmp_path / "out.ptx").read_text()
    assert "shfl.sync" in new
    assert not differences(TWO, new, (2, 1, 1), (48, 1, 1), arguments((48, 1, 1)))


def test_says_what_it_did_to_people(tmp_path: Path) -> None:
    result = _run(tmp_path, TWO, "--policy", "all")
    assert result.exit_code == 0
    assert "2 loads: 1 by a shuffle, 0 by reuse; 1 applied" in result.output
    assert "lane +1" in result.output


@pytest.mark.parametrize("options", [("--policy", "none"), ("--max-delta", "0", "--policy", "all")])
def test_leaves_the_file_alone(tmp_path: Path, options: tuple[str, ...]) -> None:
    text = "// caf\udce9\n" + TWO
    result = _run(tmp_path, text, *options)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out.ptx").read_bytes() == (tmp_path / "in.ptx").read_bytes()


@pytest.mark.parametrize(
    "options", [("--variant", "no-load"), ("--variant", "no-corner"), ("--mode", "cache"), ("--assume", "nsw")]
)
def test_options_reach_the_pass(tmp_path: Path, options: tuple[str, ...]) -> None:
    result = _run(tmp_path, TWO, "--policy", "all", "--json", *options)
    assert result.exit_code == 0, result.output
    line = json.loads(result.stdout)
    new = (tmp_path / "out.ptx").read_text()
    match options:
        case ("--variant", name):
            assert (line["variant"], line["is_valid"]) == (name, False)
            assert new.startswith("// INVALID")
        case ("--mode", _):
            assert "selp" in new
        case _:
            assert line["candidates"][0]["assumed"]


def test_bad_input_is_located(tmp_path: Path) -> None:
    result = _run(tmp_path, TWO.replace("ld.global.f32 %f2, [%rd5+4];", "ld.global.f32 %f2, [%rd5+4;"))
    assert result.exit_code == 2
    assert "in.ptx:42:" in result.output
    missing = CliRunner().invoke(shuffle_command, [str(tmp_path / "none.ptx"), "-o", str(tmp_path / "x")])
    assert missing.exit_code == 2
    assert "expected a PTX file" in missing.output
