"""Rewritten files assemble for sm_70, which CUDA 13 no longer knows; needs the extra `volta`."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.kernels.kernelgen import KERNELGEN, cuda_source
from warploom.ptx.shuffle import ShuffleOptions, apply_all, shuffle
from warploom.ptx.syntax import parse


def old_ptxas() -> Path | None:
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    paths = (Path(folder) / "cuda_nvcc" / "bin" / "ptxas" for folder in folders)
    return next((path for path in paths if path.is_file()), None)


@pytest.mark.skipif(old_ptxas() is None, reason="needs the extra `volta` (ptxas of CUDA 12.9)")
@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
@pytest.mark.parametrize("name", ["gaussblur", "whispering"])
@pytest.mark.parametrize("shape", ["guarded", "grid-stride", "tiled"])
def test_it_assembles(name: str, shape: str, tmp_path: Path) -> None:
    text = compile_to_ptx(cuda_source(KERNELGEN[name], shape), "sm_75")  # type: ignore[arg-type]
    rewritten = shuffle(parse(text), ShuffleOptions(policy=apply_all, max_rows=3)).text
    path = tmp_path / "kernel.ptx"
    path.write_text(rewritten.replace(".version 9.0", ".version 8.8").replace(".target sm_75", ".target sm_70"))
    command = [str(old_ptxas()), "-arch=sm_70", str(path), "-o", str(path.with_suffix(".cubin"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "shfl.sync" in path.read_text()
