"""`WARPLOOM_RUN=1`, the mark `warploom` and kernels of CuPy: launches of other packages in the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.tools.lint.checked import KernelError, launch_checked
from warploom.tools.lint.drop_in import activate, activated, arrays, hooks, numba_launches
from warploom.tools.lint.drop_in.changes import Changes

HERE = Path(__file__).parent
NUMBA = """
import warploom
import numpy as np
from numba import cuda

@cuda.jit
def scaled(out, data, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = data[i] * factor

@cuda.jit("void(float32[:], float32[:], float32)")
def typed(out, data, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = data[i] + factor

@cuda.jit
def reversed_wrongly(out):
    tile = cuda.shared.array(64, np.float32)
    tile[cuda.threadIdx.x] = cuda.threadIdx.x
    out[cuda.threadIdx.x] = tile[63 - cuda.threadIdx.x]

data = cuda.to_device(np.arange(100, dtype=np.float32))
out = cuda.device_array_like(data)
scaled[2, 64](out, data, 2.0)
cuda.synchronize()
assert out.copy_to_host().tolist() == [2.0 * n for n in range(100)]
typed.forall(100)(out, data, 0.1)
assert out.copy_to_host()[3] == np.float32(3) + np.float32(0.1)
host = np.zeros(64, np.float32)
try:
    reversed_wrongly[1, 64](host)
except AssertionError as error:
    print(error)
"""


def test_triton_runs_here_and_its_mistakes_are_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    triton = pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    from tests.tools.lint.drop_in_kernels import add, column

    run = triton.runtime.jit.JITFunction.run
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    rows, picked = np.arange(64, dtype=np.float32).reshape(8, 8), np.zeros(8, np.float32)
    with activated():
        assert triton.runtime.driver.active.get_current_target().arch == 90
        add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, x, out, 1000)
        column[(1,)](rows[:, 3], None, picked, 8, 8, BLOCK=8)
        assert picked.tolist() == rows[:, 3].tolist()
        column[(1,)](rows[:, 3], rows[0], picked, 8, 8, BLOCK=8)
        with pytest.raises(KernelError, match="WL002 out-of-bounds"):
            column[1](rows[:, 3], None, picked, 8, 9, BLOCK=16)
    assert add.best_config.kwargs == {"BLOCK": 64} and out.tolist() == (2 * x).tolist()
    assert picked.tolist() == (rows[:, 3] + rows[0]).tolist()
    assert triton.runtime.jit.JITFunction.run is run


def test_arrays_that_do_not_begin_at_multiples_of_16_bytes_are_compiled_for_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    from tests.tools.lint.drop_in_kernels import add

    data, out = np.arange(1025, dtype=np.float32), np.zeros(1024, np.float32)
    with activated():
        add[(16,)](data[1:], data[:-1], out, 1024)
    assert out.tolist() == (data[1:] + data[:-1]).tolist()


class _Tensor:
    """A tensor on the CPU, as far as launches look at it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def detach(self) -> _Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return self.array


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 2])
def test_descriptors_and_clusters_of_triton(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, blocks: int) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    from tests.ptx.simt.triton_kernels import of_descriptors, of_pointers
    from triton.tools.tensor_descriptor import TensorDescriptor

    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(128, 128)).astype(np.float16), rng.normal(size=(128, 64)).astype(np.float16)
    out = np.zeros((128, 64), np.float16 if blocks == 1 else np.float32)
    with activated():
        if blocks == 1:
            given = [TensorDescriptor(_Tensor(m), list(m.shape), [m.shape[1], 1], [64, 64]) for m in (a, b, out)]
            of_descriptors[(2, 1)](*given, 128, M=64, N=64, K=64)
        else:
            of_pointers[(1, 1)](a, b, out, 64, 128, M=128, N=64, K=64, TURNED=False, num_ctas=2)
    assert np.allclose(out, a.astype(np.float64) @ b, atol=0.05)


def test_what_changes_is_taken_back() -> None:
    owner = SimpleNamespace(kept=1)
    changes = Changes()
    changes.put(owner, "kept", 2)
    changes.put(owner, "new", 3)
    assert (owner.kept, owner.new) == (2, 3)
    changes.undo()
    assert vars(owner) == {"kept": 1}


def test_a_module_is_changed_when_it_is_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "launches_of_a_package.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(hooks, "CHANGED", {"launches_of_a_package": lambda module, changes: changes.put(module, "value", 2)})
    with activated():
        activate()
        with activated():
            import launches_of_a_package as package  # type: ignore[import-not-found]
        assert package.value == 2 and hooks.is_active()
    assert package.value == 1 and not hooks.is_active()
    monkeypatch.delitem(sys.modules, "launches_of_a_package")


def test_arrays_of_the_device() -> None:
    array = numba_launches._to_device(np.arange(4))
    assert array.copy_to_host().tolist() == [0, 1, 2, 3] and type(array.copy_to_host()) is np.ndarray
    into = np.zeros(4, int)
    array.copy_to_device(np.array([4, 3, 2, 1]))
    assert array.copy_to_host(into) is into and into.tolist() == [4, 3, 2, 1]
    assert numba_launches._to_device(into, to=array) is array


def test_tensors_are_read_where_they_lie() -> None:
    class Tensor:
        def __init__(self, data: np.ndarray) -> None:
            self.data = data

        def data_ptr(self) -> int:
            return 0

        def detach(self) -> Tensor:
            return self

        def numpy(self) -> np.ndarray:
            if self.data.dtype == np.float64:
                raise TypeError("can't convert cuda:0 device type tensor to numpy")
            return self.data

    data = np.zeros(3, np.float32)
    assert arrays.as_array(Tensor(data), "x") is data
    with pytest.raises(UserError, match=r"expected a tensor on the CPU .* for x, got Tensor: can't convert cuda:0"):
        arrays.as_array(Tensor(np.zeros(3)), "x")
    columns = np.arange(12).reshape(3, 4)[:, 1:3]
    assert arrays.without_gaps(columns).tolist() == list(range(1, 11))
    with pytest.raises(UserError, match=r"expected an array whose axes run forwards"):
        arrays.without_gaps(columns[::-1])


class RawKernel:
    """The fields that `cupy.RawKernel` keeps of its arguments."""

    def __init__(self, code: str | None, name: str, options: tuple[str, ...] = ()) -> None:
        self.code, self.name, self.options = code, name, options


RawKernel.__module__ = "cupy._core.raw"


@pytest.mark.skipif(not toolchain_available(), reason="needs the cuda extra")
def test_kernels_of_cupy() -> None:
    text = 'extern "C" __global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n LATE) x[i] *= 2; }\n'
    x: Any = np.arange(8, dtype=np.float32)
    launch_checked(RawKernel(text, "twice", ("-DLATE=",)), 1, 32, x, 8)
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    with pytest.raises(KernelError, match=r"<RawKernel>:1.*WL002"):
        launch_checked(RawKernel(text, "twice", ("-DLATE=+1",)), 1, 32, x, 8)
    with pytest.raises(UserError, match="expected a RawKernel with its text"):
        launch_checked(RawKernel(None, "twice"), 1, 32, x, 8)


@pytest.mark.slow
def test_numba_in_a_program_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    pytest.importorskip("numba_cuda")
    (tmp_path / "program.py").write_text(NUMBA)
    environment = os.environ | {"WARPLOOM_RUN": "1"}
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"], capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "program.py:22" in done.stdout and "WL001 data-race" in done.stdout


@pytest.mark.slow
def test_the_mark(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    text = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numpy as np
import pytest
from drop_in_kernels import column

@pytest.mark.warploom
def test_marked():
    rows, out = np.ones((8, 8), np.float32), np.zeros(8, np.float32)
    column[(1,)](rows, None, out, 8, 8, BLOCK=8)
    assert out.tolist() == [1.0] * 8

def test_unmarked():
    with pytest.raises(Exception, match="(?i)driver"):
        column[(1,)](np.ones(8, np.float32), None, np.ones(8, np.float32), 8, 8, BLOCK=8)
"""
    (tmp_path / "test_it.py").write_text(text)
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout
