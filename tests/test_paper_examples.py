"""The files under examples/papers run: each is in a paper's own notation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from warploom.tools.cli import cli

PAPERS = Path(__file__).parents[1] / "examples" / "papers"


@pytest.mark.parametrize("path", sorted(PAPERS.glob("swizzleflow/*.swflow")), ids=lambda p: p.stem)
def test_swizzleflow(path: Path) -> None:
    done = CliRunner().invoke(cli, ["solve", str(path), "--first", "--no-cache"])
    assert done.exit_code == 0 and "solved, proved" in done.output, done.output


@pytest.mark.parametrize(
    ("target", "completed"),
    [
        ("factoring.py:main", ("(x - -1) * (x - 3)", "(x - 3) * (x - -1)")),
        ("segmented_operator.py:F --spec sums --unique", ("return (f2(v1, v2), 1)",)),
    ],
)
def test_templates(target: str, completed: tuple[str, ...]) -> None:
    name, *options = target.split()
    done = CliRunner().invoke(cli, ["scan", "template", f"{PAPERS / 'scans' / name}", *options])
    assert done.exit_code == 0 and "solved, proved over integers" in done.output, done.output
    assert any(text in done.output for text in completed)


@pytest.mark.parametrize("name", ["SerialSegmentedScan", "segmented_sums", "sums", "enrichment", "greatest_segment"])
def test_serial_programs(name: str) -> None:
    done = CliRunner().invoke(cli, ["scan", "lift", f"{PAPERS / 'scans' / 'serial_programs.py'}:{name}"])
    assert done.exit_code == 0 and "solved, proved over integers" in done.output, done.output


@pytest.mark.parametrize("path", sorted(PAPERS.glob("telamon/*.choices")), ids=lambda p: p.stem)
def test_choices(path: Path) -> None:
    done = CliRunner().invoke(cli, ["choices", str(path)])
    assert done.exit_code == 0 and "solved, proved" in done.output, done.output


@pytest.mark.parametrize("path", sorted(PAPERS.glob("swizzle-inventor/*.matrix")), ids=lambda p: p.stem)
def test_matrix_programs(path: Path) -> None:
    done = CliRunner().invoke(cli, ["synth", str(path)])
    assert done.exit_code == 0 and "solved, proved" in done.output, done.output


def ptx(command: str, name: str, *options: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["ptx", command, str(PAPERS / "ptxasw" / name), *options, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])


def test_ptx_addition(tmp_path: Path) -> None:
    flags = np.array([1, 0] * 32, dtype=np.uint32)
    np.save(tmp_path / "f.npy", flags)
    given = ["0=zeros:f32:64", "1=arange:f32:64", "2=ones:f32:64", f"3={tmp_path / 'f.npy'}"]
    ptx("run", "addition.ptx", "--grid", "2", "--block", "32", *(w for g in given for w in ("--arg", g)), "--out", str(tmp_path))
    assert np.array_equal(np.load(tmp_path / "0.npy"), (np.arange(64, dtype=np.float32) + 1) * flags)


def test_ptx_shuffles(tmp_path: Path) -> None:
    options = ["--grid", "1", "--block", "32", "--arg", "0=zeros:u32:128", "--arg", "1=u32:3", "--out", str(tmp_path)]
    ptx("run", "shuffles.ptx", *options)
    lane = np.arange(32)
    wanted = [np.where(lane < 3, lane, lane - 3), np.where(lane > 28, lane, lane + 3), lane ^ 3, np.full(32, 3)]
    assert np.array_equal(np.load(tmp_path / "0.npy").reshape(32, 4).T, wanted)


def test_ptx_jacobi(tmp_path: Path) -> None:
    """Six of nine loads, as the paper's Table 2 has it; Listing 6 covers one by the lane 2 places before."""
    line = ptx("shuffle", "jacobi.ptx", "-o", str(tmp_path / "j.ptx"), "--policy", "all")
    assert (line["loads"], line["shuffles"]) == (9, 6)
    text = (tmp_path / "j.ptx").read_text()
    assert text.count("shfl.sync.up.b32") == 6 and "activemask.b32" in text
    done = CliRunner().invoke(cli, ["ptx", "trace", str(PAPERS / "ptxasw" / "jacobi.ptx")])
    assert done.output.count("LD: ") == 9 and done.output.count("ST: ") == 1
