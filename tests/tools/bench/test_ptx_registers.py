"""Registers that shuffles add to the paper's kernels, as ptxas counts them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from tests.tools.contract import check, lines_of

from warploom.gpu import toolchain_available
from warploom.kernels.kernelgen import KERNELGEN, SUMMARIES
from warploom.tools.bench import ptx_registers
from warploom.tools.bench.ptx_stalls import CODES
from warploom.tools.cli import cli

needs_ptxas = pytest.mark.skipif(not toolchain_available(), reason="needs ptxas")


def test_the_codes_are_those_of_the_paper() -> None:
    assert all(summary.registers.keys() == CODES.keys() for summary in SUMMARIES.values())


def test_kernels_without_shuffles_keep_their_registers() -> None:
    found = ptx_registers.mean({"jacobi": {"PTXASW": 8, "NO LOAD": -16, "NO CORNER": 0}})
    assert found == {"PTXASW": 8 / len(KERNELGEN), "NO LOAD": -16 / len(KERNELGEN), "NO CORNER": 0.0}


@needs_ptxas
def test_registers_of_two_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptx_registers, "KERNELGEN", {name: KERNELGEN[name] for name in ("jacobi", "vecadd")})
    (line,) = lines_of(CliRunner().invoke(cli, ["bench-ptx-registers"]).stdout)
    check(line)
    assert line["kernels"].keys() == {"jacobi"}
    # Without the loads there are fewer registers, with corners more than without.
    assert line["kernels"]["jacobi"]["NO LOAD"] < line["kernels"]["jacobi"]["NO CORNER"] < line["kernels"]["jacobi"]["PTXASW"]
    assert line["added"]["NO LOAD"] < 0
