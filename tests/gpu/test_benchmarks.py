"""The programs of benchmarks/gpu, as far as they can be tested without a GPU: their sources compile."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from warploom.gpu import compile_cuda, toolchain_available

FOLDER = Path(__file__).parents[2] / "benchmarks" / "gpu"

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_microbenchmark_compiles_without_local_memory() -> None:
    latencies = program("latencies")
    sources = [latencies.chain_source(*parts) for parts in latencies.CHAINS.values()]
    for source in (*sources, *map(latencies.rate_source, latencies.RATES.values())):
        assert compile_cuda(source).local_bytes == 0


def test_the_stencils_have_all_their_cases() -> None:
    shuffles = program("shuffles")
    assert {case.partition("/")[0] for case, _, _ in shuffles.cases([])} == set(shuffles.SUITES)
    assert [case for case, _, _ in shuffles.cases(["kernelgen/jac*"])] == ["kernelgen/jacobi"]
