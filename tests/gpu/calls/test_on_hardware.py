"""Calls on a GPU (marker `gpu`): each package's tensors, on a stream of its own."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.gpu.calls.test_sketch_calls import CALLS, X

FILE = Path(__file__).parents[3] / "benchmarks" / "gpu" / "calls.py"


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calls", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.gpu
@pytest.mark.parametrize("case", ["numpy", "torch", "cupy", "jax", "numba"])
def test_tensors_of_a_package(case: str) -> None:
    line = program().compared(case, dry=False)
    if line["same"] is None:
        pytest.skip(line["reason"])
    assert line["same"], line


@pytest.mark.gpu
def test_a_graph_of_pytorch_holds_a_call() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.from_numpy(X).cuda(), torch.zeros(len(X), device="cuda")
    CALLS((x, y), {})  # compiled and loaded before the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        CALLS((x, y), {})
    x.copy_(torch.from_numpy(X + 1))
    graph.replay()
    np.testing.assert_array_equal(y.cpu().numpy(), (X + 1) * 3)


def test_the_benchmark_runs_dry(capsys: pytest.CaptureFixture[str]) -> None:
    assert program().main(["--dry-run", "--json"]) == 0
    assert capsys.readouterr().out.count('"same": true') == 5
    assert program().main(["numpyro"]) == 2
