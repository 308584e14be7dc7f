"""A budget that ends while every launch is looked at: the report names the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.core.limits import CPU_SPENT, LimitReachedError
from warploom.tools.cli import cli

KERNELS = Path(__file__).parents[2] / "ptx" / "launches" / "kernels.ptx"


def test_the_report_names_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: object) -> None:
        raise LimitReachedError(CPU_SPENT)

    monkeypatch.setattr("warploom.tools.lint.every_launch.races", spent)
    result = CliRunner().invoke(cli, ["lint", str(KERNELS), "--kernel", "axpy", "--every-launch", "--json"])
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["reason"]) == (3, "unknown", CPU_SPENT)
    assert line["case"].startswith(f"{KERNELS}:axpy")
