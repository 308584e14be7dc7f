"""`warploom lint FILE.py:KERNEL`: kernels of Triton, compiled without a device."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.tools.lint.command import lint_command

FILE = Path(__file__).parent / "triton_kernels.py"
LINES = FILE.read_text(encoding="utf-8").splitlines()
GIVEN = ("--arg", "zeros:f32:1000", "--arg", "random:f32:1000", "--arg", "random:f32:1000:1", "--arg", "i32:1000")
LAUNCH = ("--launch", "8", "64", "--const", "BLOCK=128")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def linted(kernel: str, *arguments: str) -> Result:
    return CliRunner().invoke(lint_command, [f"{FILE}:{kernel}", "--json", *arguments])


@pytest.mark.parametrize(("kernel", "rules"), [("add", []), ("unmasked", ["WL002"]), ("same_place", ["WL001"])])
def test_findings_stand_on_the_lines_of_the_module(kernel: str, rules: list[str]) -> None:
    result = linted(kernel, *LAUNCH, *GIVEN)
    *told, last = lines_of(result.stdout)
    found = [line for line in told if line["level"] != "note"]
    assert [line["id"] for line in found] == rules
    assert ("WL203" in [line["id"] for line in told]) == (kernel == "same_place")
    for line in found:
        assert f"# {line['id']}" in LINES[line["line"] - 1] and line["file"].endswith("triton_kernels.py")
    assert (result.exit_code, last["verdict"]) == ((1, "refuted") if rules else (0, "tested"))
    assert last["case"] == f"{FILE}:{kernel}"


@pytest.mark.parametrize(
    ("kernel", "arguments", "message"),
    [
        ("add", GIVEN, "expected --launch GRID BLOCK with 32 times num_warps"),
        ("add", ("--launch", "8", "48", *GIVEN), "got 48"),
        ("add", ("--launch", "8", "64", *GIVEN), "expected a constant for each of BLOCK, got none"),
        ("add", (*LAUNCH, "--const", "WIDTH=1", *GIVEN), "expected a constant for each of BLOCK, got BLOCK, WIDTH"),
        ("add", (*LAUNCH, "--const", "8", *GIVEN), "expected NAME=VALUE for --const"),
        ("add", (*LAUNCH, *GIVEN[:4]), "got none for parameters 2, 3"),
        ("tl", (*LAUNCH, *GIVEN), "expected a function"),
        ("nobody", (*LAUNCH, *GIVEN), "expected a function nobody"),
    ],
)
def test_bad_input(kernel: str, arguments: tuple[str, ...], message: str) -> None:
    result = linted(kernel, *arguments)
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 2 and message in line["reason"]


def test_what_triton_refuses_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(out):\n    tl.store(out, tl.nothing(3))\n"
    )
    result = CliRunner().invoke(lint_command, [f"{path}:k", "--json", "--launch", "1", "32", "--arg", "zeros:f32:4"])
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 2 and "TRITON_ERROR" in line["reason"]
