"""Kernels of the kinds of Triton's tutorials in the interpreter, for three architectures, without a finding, against NumPy."""

# pyright: basic
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.ptx import TensorMap, launch
from warploom.ptx.simt.numerics.float_formats import decode, encode
from warploom.tools.lint.python_kernels import TritonKernel
from warploom.tools.lint.sources import Compilation

RNG = np.random.default_rng(29)
BOTH = pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
pytestmark = pytest.mark.slow
WIDTHS = {"f16": np.uint16, "bf16": np.uint16, "e4m3": np.uint8, "e5m2": np.uint8}


def run(
    name: str, arch: str, grid: int | tuple[int, ...], values: list[Any], constants: dict[str, Any], **options: Any
) -> Mapping[int, Any]:
    """The arrays after a launch in which nothing is found."""
    pytest.importorskip("triton")
    from tests.ptx.simt import triton_tutorials

    kernel = TritonKernel(f"{triton_tutorials.__file__}:{name}", getattr(triton_tutorials, name))
    values = [np.int32(value) if type(value) is int else value for value in values]
    made = kernel.launchable(values, constants, Compilation(arch), 128, options)
    ran = launch(
        made.source.program, made.name, grid=made.grid(grid), block=made.block(128), args=made.arguments(grid),
        dynamic_shared_bytes=made.shared_bytes, equal_stores_race=False,
    )  # fmt: skip
    assert (ran.status, ran.findings) == ("finished", ())
    return ran.arrays


def kind_of(name: str) -> Any:
    import triton.language as tl

    return {"f16": tl.float16, "bf16": tl.bfloat16, "e4m3": tl.float8e4nv, "e5m2": tl.float8e5, "u8": tl.uint8}[name]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def halves(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float16)


@BOTH
def test_elements_one_by_one(arch: str) -> None:
    x, y, out = floats(1000), floats(1000), np.zeros(1000, np.float32)
    for dependent in (False, True):
        found = run("vector_sum", arch, 4, [x, y, out, 1000], {"SIZE": 256, "DEPENDENT": dependent})
        assert np.array_equal(found[2], x + y)
    found = run("dropped", arch, 4, [x, out, 1000, np.float32(0.5), 7], {"SIZE": 256})[1]
    assert np.isin(found, [0.0]).mean() == pytest.approx(0.5, abs=0.1) and np.allclose(found[found != 0], 2 * x[found != 0])
    x = RNG.uniform(-1, 1, 1000).astype(np.float32)
    assert np.allclose(run("arc_sine", arch, 4, [x, out, 1000], {"SIZE": 256})[1], np.arcsin(x), atol=1e-6)


@BOTH
def test_rows(arch: str) -> None:
    x = floats(7, 100)
    powers = np.exp(x - x.max(1, keepdims=True))
    found = run("rows_softmax", arch, 3, [np.zeros_like(x), x, 100, 7, 100], {"SIZE": 128, "STAGES": 2})
    assert np.allclose(found[0], powers / powers.sum(1, keepdims=True), atol=1e-6)
    n = 200
    x, w, b, zeros = floats(8, n), floats(n), floats(n), np.zeros(8, np.float32)
    mean, scale = x.mean(1), 1 / np.sqrt(x.var(1) + 1e-5)
    normal = (x - mean[:, None]) * scale[:, None]
    found = run("norm_forward", arch, 8, [x, np.zeros_like(x), w, b, zeros, zeros, n, n, np.float32(1e-5)], {"SIZE": 128})
    assert np.allclose(found[1], normal * w + b, atol=1e-4)
    dy = floats(8, n)
    weighted = w * dy
    dx = (weighted - (normal * (normal * weighted).mean(1, keepdims=True) + weighted.mean(1, keepdims=True))) * scale[:, None]
    sums = np.zeros((4, n), np.float32)
    values = [np.zeros_like(x), dy, sums, sums.copy(), x, w, mean, scale, np.zeros(8, np.int32), n, n]
    found = run("norm_backward", arch, 8, values, {"GROUP": 4, "SIZE": 256})
    assert np.allclose(found[0], dx, atol=1e-4) and np.allclose(found[2].sum(0), (dy * normal).sum(0), atol=1e-4)


@BOTH
def test_products_and_groups_of_them(arch: str) -> None:
    a, b = halves(200, 100), halves(100, 72)
    total = a.astype(np.float64) @ b
    constants = {"KIND": kind_of("f16"), "M": 64, "N": 64, "K": 32, "GROUP": 2, "ACTIVATION": True}
    found = run("product", arch, 8, [a, b, np.zeros((200, 72), np.float32), 200, 72, 100], constants)
    assert np.allclose(found[2], np.where(total >= 0, total, 0.01 * total), atol=1e-2)
    sizes = np.array([[128, 64, 64], [64, 128, 128]], np.int32)
    a, b = halves(2, 128 * 128), halves(2, 128 * 128)
    c = np.zeros((2, 128 * 128), np.float16)
    places = np.array([[16384 * n] * 3 for n in range(2)], np.int32)
    found = run("grouped_products", arch, 2, [a, b, c, places, sizes, 2], {"M": 64, "N": 64, "K": 32})[2]
    for number, (m, n, k) in enumerate(sizes):
        left, right = a[number, : m * k].reshape(m, k), b[number, : k * n].reshape(k, n)
        assert np.allclose(found[number, : m * n].reshape(m, n), left.astype(np.float64) @ right, atol=5e-2)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("kind", ["f16", "e4m3"])
@BOTH
def test_persistent_products(arch: str, kind: str, flat: bool, special: bool) -> None:
    a, b = (encode(kind, RNG.normal(size=(256, 192))).astype(WIDTHS[kind]) for _ in range(2))
    wanted = decode(kind, a) @ decode(kind, b).T
    for parts, stages in ((1, 3), (2, 2)):
        constants = {"KIND": kind_of(kind), "M": 128, "N": 64, "K": 64, "GROUP": 1, "PARTS": parts}
        constants |= {"SPECIAL": special, "FLAT": flat}
        values = [a, b, np.zeros((256, 256), np.float16), 256, 256, 192]
        assert np.allclose(run("persistent_product", arch, 2, values, constants, num_stages=stages)[2], wanted, atol=5e-2)


@pytest.mark.parametrize(("kind", "causal", "special"), [
    ("f16", False, False), ("f16", True, False), ("f16", False, True), ("bf16", False, False), ("bf16", True, False),
    ("e5m2", False, False), ("e4m3", True, False),
])  # fmt: skip
@BOTH
def test_attention_forward(arch: str, kind: str, causal: bool, special: bool) -> None:
    heads, n, deep = 2, 256, 64
    q, k, v = (encode(kind, RNG.normal(size=(heads, n, deep))).astype(WIDTHS[kind]) for _ in range(3))
    exact = [decode(kind, x) for x in (q, k, v)]
    if WIDTHS[kind] == np.uint8:
        v = np.ascontiguousarray(v.reshape(heads * n, deep).T)
    out, sums, _ = attended(*exact, causal)
    values = [q, k, v, np.zeros((heads, n, deep), np.float16), np.zeros((heads, n), np.float32), heads, n]
    constants = {"KIND": kind_of(kind), "M": 128, "N": 64, "D": deep, "CAUSAL": causal, "SPECIAL": special}
    found = run("attention_forward", arch, (2, heads), [*values, np.float32(0.125 * np.log2(np.e))], constants, num_stages=3)
    assert np.allclose(found[3], out, atol={"f16": 2e-3, "bf16": 2e-2, "e5m2": 0.3, "e4m3": 0.2}[kind])
    assert np.allclose(found[4], sums, atol=1e-3)


def attended(q: Any, k: Any, v: Any, causal: bool) -> tuple[Any, Any, Any]:
    """Attention, the binary logarithms of the sums of powers, and the weights."""
    scores = np.einsum("hid,hjd->hij", q, k) * 0.125
    if causal:
        scores = np.where(np.tri(scores.shape[1], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    total = powers.sum(-1, keepdims=True)
    return powers / total @ v, (np.log2(total) + scores.max(-1, keepdims=True) / np.log(2))[..., 0], powers / total


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
@BOTH
def test_attention_backward(arch: str, causal: bool, stages: int) -> None:
    heads, n, deep = 2, 256, 64
    q, k, v, do = (halves(heads, n, deep) for _ in range(4))
    out, sums, weights = attended(*(x.astype(np.float64) for x in (q, k, v)), causal)
    delta = (out * do).sum(-1)
    values = [out.astype(np.float16), do, np.zeros((heads, n), np.float32), n]
    found = run("attention_deltas", arch, (4, heads), values, {"M": 64, "D": deep})
    assert np.allclose(found[2], delta, atol=2e-2)
    changes = weights * (do @ np.swapaxes(v, 1, 2).astype(np.float64) - delta[..., None]) * 0.125
    wanted = changes @ k, np.swapaxes(changes, 1, 2) @ q, np.swapaxes(weights, 1, 2) @ do
    zeros = [np.zeros((heads, n, deep), np.float32) for _ in range(3)]
    values = [q, k, v, do, *zeros, sums.astype(np.float32), delta.astype(np.float32), n, np.float32(0.125)]
    constants = {"N": 64, "STEP": 32, "D": deep, "CAUSAL": causal}
    found = run("attention_backward", arch, (4, heads), values, constants, num_stages=stages)
    assert all(np.allclose(found[4 + number], one, atol=1e-2) for number, one in enumerate(wanted))


# scale factors

HALVES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def scaled(rows: int, k: int, kind: str, group: int) -> tuple[Any, Any, Any]:
    """Elements as bytes, scale factors as bytes [rows, groups], and the product of both."""
    small = kind == "e2m1"
    raw = RNG.integers(0, 256, (rows, k // 2 if small else k)).astype(np.uint8)
    raw = raw if small else raw & 0xBB
    values = np.stack([HALVES[raw & 15], HALVES[raw >> 4]], -1).reshape(rows, k) if small else decode(kind, raw)
    low, high = (120, 134) if group == 32 else (0x20, 0x50)
    factors = RNG.integers(low, high, (rows, k // group)).astype(np.uint8)
    exact = 2.0 ** (factors.astype(np.float64) - 127) if group == 32 else decode("e4m3", factors)
    return raw, factors, values * exact.repeat(group, 1)


CASES = [("e4m3", "e4m3", 32), ("e5m2", "e4m3", 32), ("e4m3", "e2m1", 32), ("e2m1", "e2m1", 32), ("e2m1", "e2m1", 16)]


@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize(("a_kind", "b_kind", "group"), CASES)
def test_scaled_products(arch: str, a_kind: str, b_kind: str, group: int) -> None:
    m, n, k = 128, 128, 128
    (a, a_scale, left), (b, b_scale, right) = scaled(m, k, a_kind, group), scaled(n, k, b_kind, group)
    constants = scales_of(a_kind, b_kind, group) | {"SCALE_KIND": kind_of("u8" if group == 32 else "e4m3"), "K": 128, "STAGES": 1}
    found = run("scaled_product", arch, (1, 1), [a, a_scale, b, b_scale, np.zeros((m, n), np.float32), m, n, k], constants)[4]
    wanted = left @ right.T
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def scales_of(a_kind: str, b_kind: str, group: int) -> dict[str, Any]:
    packs = {"A_PACK": 1 + (a_kind == "e2m1"), "B_PACK": 1 + (b_kind == "e2m1")}
    return {"A_KIND": a_kind, "B_KIND": b_kind, "VECTOR": group, "M": 128, "N": 128, **packs}


@pytest.mark.parametrize(("a_kind", "b_kind", "group"), CASES)
def test_scaled_products_of_descriptors(a_kind: str, b_kind: str, group: int) -> None:
    m, n, k, step = 128, 128, 256, 128 if group == 32 else 256
    (a, a_scale, left), (b, b_scale, right) = scaled(m, k, a_kind, group), scaled(n, k, b_kind, group)

    def tiles(factors: Any) -> TensorMap:
        rows, groups = factors.shape
        whole = factors.reshape(rows // 128, 4, 32, groups // 4, 4).transpose(0, 3, 2, 1, 4)
        array = np.ascontiguousarray(whole).reshape(1, rows // 128, groups // 4, 2, 256)
        return TensorMap(array, (1, 1, step // group // 4, 2, 256))

    constants = scales_of(a_kind, b_kind, group) | {"K": step, "STAGES": 2}
    packs = constants["A_PACK"], constants["B_PACK"]
    maps = [TensorMap(a, (128, step // packs[0])), tiles(a_scale), TensorMap(b, (128, step // packs[1])), tiles(b_scale)]
    out = np.zeros((m, n), np.float32)
    arrays = run("scaled_described", "sm_100", (1, 1), [*maps, TensorMap(out, (128, 128)), k], constants)
    found = next(array for array in arrays.values() if array.shape == out.shape and array.dtype == out.dtype)
    wanted = left @ right.T
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def test_rows_by_their_numbers() -> None:
    x = floats(64, 32)
    rows = RNG.permutation(64)[:16].astype(np.int32)
    found = run("gathered_rows", "sm_100", 1, [x, rows, np.zeros_like(x), 64], {"SIZE": 16, "N": 32})[2]
    wanted = np.zeros_like(x)
    wanted[rows] = x[rows] + 1
    assert np.array_equal(found, wanted)
