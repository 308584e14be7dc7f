"""The files under examples/papers run: each is in a paper's own notation."""

from __future__ import annotations

from pathlib import Path

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
        ("segmented_operator.py:F --spec sums --unique", ("return (f2(v1, v2), True)",)),
    ],
)
def test_templates(target: str, completed: tuple[str, ...]) -> None:
    name, *options = target.split()
    done = CliRunner().invoke(cli, ["scan", "template", f"{PAPERS / 'scans' / name}", *options])
    assert done.exit_code == 0 and "solved, proved over integers" in done.output, done.output
    assert any(text in done.output for text in completed)


@pytest.mark.parametrize("name", ["segmented_sums", "sums", "enrichment", "greatest_segment"])
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
