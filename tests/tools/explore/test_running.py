"""`explore` of functions with a running result: their loop is lifted, their serial loop written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.gpu import compile_cuda
from warploom.tools.cli import cli

FILE = """import warploom as wl
from warploom import f64, i64


@wl.jit
def total(X: i64["n"], Y: wl.out[i64["n"]]):
    Y[i] = Y[i - 1] + X[i]


@wl.jit
def bent(X: f64["n"], Y: wl.out[f64["n"]]):
    Y[i] = tanh(pad(Y, 0)[i - 1]) + X[i]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "running.py"
    path.write_text(FILE)
    return str(path)


def explored(*arguments: str) -> tuple[Result, dict[str, object]]:
    result = CliRunner().invoke(cli, ["explore", *arguments, "--json"])
    (line,) = lines_of(result.stdout)
    assert "Traceback" not in result.stderr
    return result, line


def test_the_loop_is_lifted(file: str) -> None:
    result, line = explored(f"{file}:total", "--target", "sm_90")
    assert (result.exit_code, line["status"], line["verdict"], line["kind"]) == (0, "solved", "proved", "scan")
    result, line = explored(f"{file}:bent", "--target", "sm_90", "--code", file.replace(".py", ".cu"))
    assert (result.exit_code, line["status"], line["verdict"]) == (3, "unknown", "unchecked")
    assert str(line["reason"]).endswith("conditions of running values, got tanh")
    assert not Path(file.replace(".py", ".cu")).exists()


def test_its_serial_loop_is_written_for_the_cpu(file: str, tmp_path: Path) -> None:
    code = tmp_path / "total.c"
    result, line = explored(f"{file}:total", "--target", "cpu", "--size", "n=100", "--code", str(code))
    assert (result.exit_code, line["verdict"], line["out"]) == (0, "proved", str(code))
    assert "< 100" in code.read_text()
    result, line = explored(f"{file}:total", "--target", "cpu", "--code", str(code))
    assert result.exit_code == 2 and "SIZES: expected the sizes n of 'total'" in str(line["reason"])


@pytest.mark.slow
def test_its_scan_is_written_for_gpus(file: str, tmp_path: Path) -> None:
    code = tmp_path / "total.cu"
    result, line = explored(f"{file}:total", "--target", "sm_90", "--code", str(code))
    assert (result.exit_code, line["verdict"], line["out"], "source" in line) == (0, "tested", str(code), False)
    text = code.read_text()
    assert text.startswith(
        "// The scan of this loop, whose lists and numbers are its arguments:\n//     def total(xs: list[int]):\n"
    )
    assert compile_cuda(text, "sm_90").spill_bytes == 0


def test_one_of_the_functions_is_named(file: str) -> None:
    for text, told in (
        (file, "SEVERAL_KERNELS: expected one function of .*, got total, bent"),
        (f"{file}:other", "UNKNOWN_TENSOR: expected a function of .*, got other"),
    ):
        result, line = explored(text, "--target", "sm_90")
        assert result.exit_code == 2 and re.search(told, str(line["reason"]))
        assert "Name one of total, bent, such as " in result.stderr
