"""Triton's own kernels for sm_90 and sm_100 (wgmma, tcgen05, tensor copies, clusters) in the interpreter, against NumPy."""

# pyright: basic
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.ptx import Launch, TensorMap, launch
from warploom.ptx.simt.numerics.float_formats import decode, encode
from warploom.tools.lint.python_kernels import TritonKernel
from warploom.tools.lint.sources import Compilation

RNG = np.random.default_rng(17)
ARCHITECTURES = ("sm_90", "sm_100")
pytestmark = pytest.mark.slow


def run(
    name: str, arch: str, grid: tuple[int, ...], values: list[Any], constants: dict[str, Any], warps: int = 4, **options: Any
) -> tuple[Launch, str]:
    """The launch, and the PTX. Arrays of `values` keep their place in the launch's arrays unless descriptors stand before."""
    pytest.importorskip("triton")
    from tests.ptx.simt import triton_kernels

    kernel = TritonKernel(f"{triton_kernels.__file__}:{name}", getattr(triton_kernels, name))
    made = kernel.launchable(values, constants, Compilation(arch), 32 * warps, options)
    ran = launch(
        made.source.program, made.name, grid=made.grid(grid), block=32 * warps, args=made.arguments(grid),
        dynamic_shared_bytes=made.shared_bytes,
    )  # fmt: skip
    assert (ran.status, ran.findings) == ("finished", ())
    return ran, made.source.ptx


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_product_of_descriptors(arch: str) -> None:
    a, b = RNG.normal(size=(128, 128)).astype(np.float16), RNG.normal(size=(128, 64)).astype(np.float16)
    maps = [TensorMap(a, (64, 64)), TensorMap(b, (64, 64)), TensorMap(np.zeros((128, 64), np.float16), (64, 64))]
    ran, text = run("of_descriptors", arch, (2, 1), [*maps, np.int32(128)], {"M": 64, "N": 64, "K": 64}, num_stages=2)
    assert ("wgmma.mma_async" if arch == "sm_90" else "tcgen05.mma") in text and "cp.async.bulk.tensor" in text
    assert np.allclose(ran.arrays[10], a.astype(np.float64) @ b, atol=0.05)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_descriptors_made_in_the_kernel(arch: str) -> None:
    a, b = RNG.normal(size=(256, 128)).astype(np.float16), RNG.normal(size=(128, 128)).astype(np.float16)
    out = np.zeros((256, 128), np.float16)
    values = [a, b, out, *map(np.int32, (256, 128, 128))]
    ran, text = run("of_own_descriptors", arch, (2, 2), values, {"M": 128, "N": 64, "K": 64}, num_stages=3)
    assert "tensormap.replace" in text
    assert np.allclose(ran.arrays[2], a.astype(np.float64) @ b, atol=0.05)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["f16", "f32", "i8"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_products_of_pointers(arch: str, kind: str, turned: bool, warps: int) -> None:
    size, rows = 128, 64 * warps // 4
    if kind == "i8":
        a, b = (RNG.integers(-128, 128, (size, size)).astype(np.int8) for _ in range(2))
        wanted, out = a.astype(np.int64) @ b, np.zeros((size, size), np.int32)
    else:
        a, b = (RNG.normal(size=(size, size)).astype(np.float16 if kind == "f16" else np.float32) for _ in range(2))
        rounded = [decode("tf32", encode("f32", x.astype(np.float64))) if kind == "f32" else x.astype(np.float64) for x in (a, b)]
        wanted, out = rounded[0] @ rounded[1], np.zeros((size, size), np.float32)
    right = np.ascontiguousarray(b.T) if turned else b
    constants = {"M": rows, "N": 64, "K": 64, "TURNED": turned}
    ran, text = run("of_pointers", arch, (size // rows, 2), [a, right, out, size, size], constants, warps, num_stages=2)
    assert ("wgmma.mma_async" if arch == "sm_90" else "tcgen05.mma") in text
    assert np.allclose(ran.arrays[2], wanted, atol=1e-4)


@pytest.mark.parametrize("blocks", [2, 4])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_programs_that_are_clusters(arch: str, blocks: int) -> None:
    a, b = RNG.normal(size=(256, 128)).astype(np.float16), RNG.normal(size=(128, 128)).astype(np.float16)
    out = np.zeros((256, 128), np.float32)
    constants = {"M": 128, "N": 128, "K": 64, "TURNED": False}
    ran, text = run("of_pointers", arch, (2, 1), [a, b, out, 128, 128], constants, num_stages=2, num_ctas=blocks)
    assert "barrier.cluster.arrive" in text
    assert np.allclose(ran.arrays[2], a.astype(np.float64) @ b, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_attention(arch: str, causal: bool) -> None:
    length, deep = 256, 64
    q, k, v = (RNG.normal(size=(length, deep)).astype(np.float16) for _ in range(3))
    values = [q, k, v, np.zeros((length, deep), np.float16), length, np.float32(0.125 * np.log2(np.e))]
    ran, _ = run("attention", arch, (2,), values, {"M": 128, "N": 64, "D": deep, "CAUSAL": causal}, num_stages=2)
    scores = q.astype(np.float64) @ k.T * 0.125
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    assert np.allclose(ran.arrays[3], weights / weights.sum(1, keepdims=True) @ v, atol=2e-3)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_softmax_and_layer_norm(arch: str) -> None:
    from tests.ptx.corpus import triton_kernels

    x, weight, bias = RNG.normal(size=(4, 200)).astype(np.float32), *RNG.normal(size=(2, 200)).astype(np.float32)
    for name, values in (
        ("softmax", [x, np.zeros_like(x), 200, 200]),
        ("layer_norm", [x, weight, bias, np.zeros_like(x), 200, np.float32(1e-5)]),
    ):
        kernel = TritonKernel(f"{triton_kernels.__file__}:{name}", getattr(triton_kernels, name))
        made = kernel.launchable(values, {"BLOCK": 256}, Compilation(arch), 128)
        ran = launch(
            made.source.program, made.name, grid=4, block=128, args=made.arguments(4), dynamic_shared_bytes=made.shared_bytes
        )
        assert (ran.status, ran.findings) == ("finished", ())
        if name == "softmax":
            powers = np.exp(x - x.max(1, keepdims=True))
            assert np.allclose(ran.arrays[1], powers / powers.sum(1, keepdims=True), atol=1e-6)
        else:
            scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
            assert np.allclose(ran.arrays[3], scaled * weight + bias, atol=1e-4)
