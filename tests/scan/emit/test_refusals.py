"""A value that no target can hold is refused, at its place, before anything is printed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom.tools.scan.emit import emit_command

NOTHING = "def f(xs: list[int]) -> int:\n    t = 7\n    for x in xs:\n        t = 7\n    return t\n"
LARGE = "def f(xs: list[int]) -> int:\n    best = {n}\n    for x in xs:\n        best = min(best, x)\n    return best\n"


def ended(tmp_path: Path, text: str, *options: str) -> tuple[int, str]:
    path = tmp_path / "loop.py"
    path.write_text(text)
    result = CliRunner().invoke(emit_command, [f"{path}:f", "--no-check", "--json", *options])
    return result.exit_code, str(json.loads(result.stdout).get("reason", ""))


@pytest.mark.parametrize("target", ["numpy", "cuda", "numba", "triton", "cub"])
def test_an_operator_without_fields(tmp_path: Path, target: str) -> None:
    code, reason = ended(tmp_path, NOTHING, "--target", target)
    assert code == 2 and "loop.py:1" in reason and "carries nothing" in reason


@pytest.mark.parametrize(
    ("target", "kind", "number"),
    [("numpy", "int32", 2**63), ("cuda", "int32", 2**31), ("cuda", "int64", 2**63), ("numba", "int32", 2**31)],
)
def test_constants_beyond_the_type(tmp_path: Path, target: str, kind: str, number: int) -> None:
    code, reason = ended(tmp_path, LARGE.format(n=number), "--target", target, "--type", kind)
    assert code == 2 and "loop.py:1" in reason and f"the constant {number}" in reason
    assert ended(tmp_path, LARGE.format(n=number - 1), "--target", target, "--type", kind)[0] == 0


@pytest.mark.parametrize(
    ("option", "target", "what"),
    [("--by-key", "numpy", "NumPy, got a scan by key"), ("--backward", "jax", "JAX, got a backward scan"),
     ("--segmented", "polars", "Polars, got a segmented (heads) scan")],
)  # fmt: skip
def test_other_scans_are_for_cuda(tmp_path: Path, option: str, target: str, what: str) -> None:
    code, reason = ended(tmp_path, LARGE.format(n=0), "--target", target, option)
    assert code == 2 and "loop.py:1" in reason and what in reason
    said = CliRunner().invoke(emit_command, [f"{tmp_path / 'loop.py'}:f", "--target", target, option]).stderr
    assert "--target cuda" in said and ("by_key(keys, xs)" in said) == (option != "--backward")
