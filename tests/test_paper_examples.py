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
