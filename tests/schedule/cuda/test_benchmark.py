"""benchmarks/gpu/schedule.py, as far as it can be tested without a GPU."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from warploom.gpu import device_available, toolchain_available
from warploom.schedule.cuda import Options, compile_kernel, cuda_kernel

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "gpu" / "schedule.py"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    folder = str(PROGRAM.parent)
    sys.path[:0] = [] if folder in sys.path else [folder]  # as where it is a program
    spec = importlib.util.spec_from_file_location("schedule_benchmark", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
@pytest.mark.parametrize("case", ["matmul-256-256-32"])
def test_hand_written_kernels_compile(program: ModuleType, case: str) -> None:
    entry = program.hand_written()[case]()
    assert entry.peer in program.PEERS
    compiled = compile_kernel(cuda_kernel(entry.nests[0], Options(arch="sm_90")))
    assert (compiled.local_bytes, compiled.spill_bytes) == (0, 0)


@pytest.mark.skipif(device_available(), reason="would time them all")
def test_without_a_device_it_says_so(program: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main([]) == 3
    assert "no CUDA device" in capsys.readouterr().err


def test_words_that_are_no_case(program: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"expected a case .*matmul.* or a file of lines, got mat"):
        list(program.entries(["mat"], "sm_90"))


def test_errors_are_relative(program: ModuleType) -> None:
    assert program.error(np.float32([1, 2]), np.float32([1, 4])) == 0.5


def test_decisions_of_a_stage(program: ModuleType) -> None:
    decisions = {"a/size(n.1)": "4", "b/size(n.1)": "8"}
    assert program.decisions_of("b", decisions, is_only=False) == {"size(n.1)": "8"}
    assert program.decisions_of("b", {"size(n.1)": "2"}, is_only=True) == {"size(n.1)": "2"}
