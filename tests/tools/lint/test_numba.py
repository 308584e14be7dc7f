"""`warploom lint FILE.py:KERNEL`: kernels of Numba, compiled without a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.core import UserError
from warploom.tools.lint.checked import KernelError, launch_checked
from warploom.tools.lint.command import lint_command
from warploom.tools.ptx.specs import load_spec

pytest.importorskip("numba.cuda")
FILE = Path(__file__).parent / "numba_kernels.py"
LINES = FILE.read_text(encoding="utf-8").splitlines()
TWO = ("--launch", "2", "64", "--arg", "zeros:f32:100", "--arg", "random:f32:100")


def linted(kernel: str, *arguments: str) -> Result:
    return CliRunner().invoke(lint_command, [f"{FILE}:{kernel}", "--json", *arguments])


@pytest.mark.parametrize(
    ("kernel", "arguments", "rules"),
    [
        ("scale", (*TWO, "--arg", "i32:100"), []),
        ("unguarded", (*TWO, "--arg", "i32:100"), ["WL002"]),
        ("turned", ("--launch", "1", "64", "--arg", "zeros:f32:64", "--arg", "random:f32:64"), ["WL001"]),
    ],
)
def test_findings_stand_on_the_lines_of_the_module(kernel: str, arguments: tuple[str, ...], rules: list[str]) -> None:
    result = linted(kernel, *arguments)
    *found, last = lines_of(result.stdout)
    assert [line["id"] for line in found if line["level"] == "error"] == rules
    for line in found:
        assert f"# {line['id']}" in LINES[line["line"] - 1] and line["file"].endswith("numba_kernels.py")
    assert (result.exit_code, last["verdict"]) == ((1, "refuted") if rules else (0, "tested"))


def test_messages_count_the_arguments_of_the_function() -> None:
    found, *_ = lines_of(linted("unguarded", *TWO, "--arg", "i32:100").stdout)
    assert "of argument 1," in found["message"], found["message"]


@pytest.mark.parametrize(
    ("kernel", "arguments", "message"),
    [
        ("scale", (), "expected --launch GRID BLOCK, got none"),
        ("scale", TWO, "got none for parameter 2"),
        ("scale", (*TWO, "--arg", "i32:100", "--const", "N=1"), "expected --const for a Triton kernel"),
        ("wrong", ("--launch", "1", "1", "--arg", "zeros:f32:1", "--arg", "zeros:f32:1"), "Numba refuses the kernel"),
        ("scale", ("--every-launch",), "got a kernel of a Python module"),
    ],
)
def test_bad_input(kernel: str, arguments: tuple[str, ...], message: str) -> None:
    result = linted(kernel, *arguments)
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 2 and message in line["reason"], line


def test_the_fixture_runs_kernels_and_says_what_is_wrong() -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    launch_checked(load_spec(f"{FILE}:scale"), 1, 64, out, x, np.int32(64))
    np.testing.assert_array_equal(out, 2 * x)
    with pytest.raises(UserError, match="expected arrays without gaps"):
        launch_checked(load_spec(f"{FILE}:scale"), 1, 64, out, np.zeros(128, np.float32)[::2], np.int32(64))
    with pytest.raises(KernelError, match="data-race"):
        launch_checked(load_spec(f"{FILE}:turned"), 1, 64, out, x)
