"""Nests compiled and run, against NumPy and against the interpreter of nests."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.schedule.nest.interpreter import interpret

from warploom.schedule.backbone import Role
from warploom.schedule.cpu import c_source, compile_nest, find_compiler
from warploom.schedule.nest import Nest

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
SCRIPT = Path(__file__).parents[3] / "benchmarks" / "cpu_nests.py"


def program() -> ModuleType:
    if "cpu_nests" not in sys.modules:
        spec = importlib.util.spec_from_file_location("cpu_nests", SCRIPT)
        assert spec is not None and spec.loader is not None
        sys.modules["cpu_nests"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["cpu_nests"])
    return sys.modules["cpu_nests"]


nests = program()

CASES: dict[str, Nest] = {
    "matmul": nests.matmul(8, 32, 6, 4, 2, 16),
    "matmul edges": nests.matmul(9, 37, 6, 4, 2, 8),
    "matmul packed": nests.matmul(9, 21, 6, 4, 1, 8, does_pack_a=True, does_pack_b=True, k_unroll=2),
    "matmul by rows": nests.matmul(9, 21, 6, 4, 1, 8, does_pack_a=True, does_pack_b=True, m_outer=True),
    "matmul batched": nests.matmul(5, 7, 4, 2, 1, 4, batch=3),
    "matvec": nests.matvec(9, 45, 4, 2, 8),
    "gesummv": nests.matvec(6, 64, 3, 2, 16, matrices=2),
    "transposed": nests.transposed_matvec(11, 45, 2, 16, 4),
    "stencil": nests.stencil(9, 4, 2),
    "axpy": nests.axpy(517, 16, 2, 128),
    "triad": nests.axpy(517, 8, 2, 64, is_triad=True, cache=nests.Cache.NONE),
    "softmax": nests.softmax(3, 45, 8, 2),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_agrees_with_the_interpreter(name: str, threads: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    nest = CASES[name]
    rng = np.random.default_rng(7)
    compiled = compile_nest(nest)
    arrays = [rng.standard_normal(b.elements).astype(np.float32) for b in compiled.buffers]
    parameters = dict.fromkeys(compiled.parameters, 0.75)
    given = {b.name: a.copy() for b, a in zip(compiled.buffers, arrays, strict=True)}
    expected = interpret(nest, given, parameters)
    compiled.run(arrays, parameters, threads)
    for buffer, array in zip(compiled.buffers, arrays, strict=True):
        if buffer.role is Role.OUTPUT:
            np.testing.assert_allclose(array, expected[buffer.name], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", CASES)
def test_nests_that_travelled_to_a_worker_print_alike(name: str) -> None:
    assert c_source(pickle.loads(pickle.dumps(CASES[name]))) == c_source(CASES[name])
