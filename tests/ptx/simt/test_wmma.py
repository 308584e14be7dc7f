"""wmma.load, wmma.mma, wmma.store against products of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import UnsupportedError, UserError
from warploom.ptx.simt import Launch, launch

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{"""
DTYPES = {
    "f16": np.float16, "f32": np.float32, "tf32": np.float32, "u8": np.uint8, "s8": np.int8, "s32": np.int32, "f64": np.float64,
}  # fmt: skip
REGISTERS = {"f16": 8, "f32": 8, "s32": 8}
BITS = {"f64": ".f64"}


def _vector(letter: str, count: int) -> str:
    return "{" + ", ".join(f"%{letter}{n}" for n in range(count)) + "}"


def kernel(shape: str, types: tuple[str, str, str, str], counts: tuple[int, int, int, int], layouts: str, strides: str) -> str:
    """Types, numbers of registers of D, A, B, C; layouts of A, B and C; their strides as texts with commas."""
    d_type, a_type, b_type, c_type = types
    named = (d_type, c_type) if a_type == "f16" else types
    a_layout, b_layout, c_layout = layouts.split()
    a, b, c = (f", {n}" if n != "-" else "" for n in strides.split())
    declared = "".join(
        f".reg {BITS.get(t, '.b32')} %{letter}<{n}>;\n" for letter, t, n in zip("dabc", types, counts, strict=True)
    )
    pointers = "".join(f"ld.param.u64 %p{n}, [{name}];\n" for n, name in enumerate("abcd"))
    d_regs, a_regs, b_regs, c_regs = (_vector(letter, n) for letter, n in zip("dabc", counts, strict=True))
    rounding = ".rn" if a_type == "f64" else ""
    return f"""{HEAD}
{declared}.reg .u64 %p<4>;
{pointers}wmma.load.a.sync.aligned.{a_layout}.{shape}.global.{a_type} {a_regs}, [%p0]{a};
wmma.load.b.sync.aligned.{b_layout}.{shape}.global.{b_type} {b_regs}, [%p1]{b};
wmma.load.c.sync.aligned.{c_layout}.{shape}.{c_type} {c_regs}, [%p2]{c};
wmma.mma.sync.aligned.{a_layout}.{b_layout}.{shape}.{".".join(named)}{rounding} {d_regs}, {a_regs}, {b_regs}, {c_regs};
wmma.store.d.sync.aligned.{c_layout}.{shape}.{d_type} [%p3], {d_regs}{c};
ret;
}}"""


def run(text: str, *arrays: NDArray[Any], block: int = 32) -> Launch:
    return launch(text, grid=1, block=block, args=list(arrays))


def whole(rows: int, columns: int, type_name: str) -> NDArray[Any]:
    """Small whole numbers, whose products and sums are exact in every type."""
    low = 0 if type_name == "u8" else -4
    return np.random.default_rng(rows + columns).integers(low, 5, (rows, columns)).astype(DTYPES[type_name])


@pytest.mark.parametrize(
    ("shape", "types", "counts"),
    [
        ("m16n16k16", ("f32", "f16", "f16", "f32"), (8, 8, 8, 8)),
        ("m8n32k16", ("f16", "f16", "f16", "f32"), (4, 8, 8, 8)),
        ("m32n8k16", ("f16", "f16", "f16", "f16"), (4, 8, 8, 4)),
        ("m16n16k16", ("s32", "u8", "u8", "s32"), (8, 2, 2, 8)),
        ("m8n32k16", ("s32", "s8", "s8", "s32"), (8, 1, 4, 8)),
        ("m16n16k8", ("f32", "tf32", "tf32", "f32"), (8, 4, 4, 8)),
        ("m8n8k4", ("f64", "f64", "f64", "f64"), (2, 1, 1, 2)),
    ],
)
@pytest.mark.parametrize("layouts", ["row col row", "col row col"])
def test_products(shape: str, types: tuple[str, str, str, str], counts: tuple[int, int, int, int], layouts: str) -> None:
    m, n, k = (int(part) for part in shape.replace("m", "").replace("n", " ").replace("k", " ").split())
    a, b, c = whole(m, k, types[1]), whole(k, n, types[2]), whole(m, n, types[3])
    stored = [x if layout == "row" else x.T for x, layout in zip((a, b, c), layouts.split(), strict=True)]
    strides = " ".join(str(x.shape[1]) for x in stored)
    out = np.zeros(stored[2].shape, DTYPES[types[0]])
    done = run(kernel(shape, types, counts, layouts, strides), *map(np.ascontiguousarray, stored), out)
    assert done.status == "finished" and not done.findings
    found = done.arrays[3] if layouts.endswith("row") else done.arrays[3].T
    assert (found == a.astype(np.float64) @ b.astype(np.float64) + c).all()


F16 = ("m16n16k16", ("f32", "f16", "f16", "f32"), (8, 8, 8, 8))


def test_rows_lie_apart_by_the_stride_and_packed_without_one() -> None:
    a, b, c = whole(16, 16, "f16"), whole(16, 16, "f16"), whole(16, 16, "f32")
    apart = np.zeros((16, 24), np.float16)
    apart[:, :16] = a
    done = run(kernel(*F16, "row row row", "24 - -"), apart, b, c, np.zeros_like(c))
    assert (done.arrays[3] == a.astype(np.float32) @ b.astype(np.float32) + c).all()


def test_mistakes_are_met() -> None:
    a, b, c = whole(16, 16, "f16"), whole(16, 16, "f16"), whole(16, 16, "f32")
    text = kernel(*F16, "row row row", "16 16 16")
    (found,) = run(text, a[:15], b, c, np.zeros_like(c)).findings
    assert found.kind == "out_of_bounds" and found.span.line == 15
    (found, *_) = run(text, a, b, c, np.zeros_like(c), block=64).findings
    assert found.kind == "global_race" and found.span.line == 19
    (found, *_) = run(text, a, b, c, np.zeros_like(c), block=16).findings
    assert found.kind == "shuffle_inactive" and "needs all 32 lanes" in found.message
    (found,) = run(
        text.replace("[%p3]", "[kept]").replace(".visible", ".const .align 4 .b8 kept[1024];\n.visible", 1), a, b, c, c
    ).findings
    assert found.kind == "read_only"


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("{%a0, ", "{", UserError, "expected 8 registers"),
        ("row.m16n16k16.global.f16 {%a0", "row.m16n16k32.global.f16 {%a0", UnsupportedError, "m16n16k32"),
        ("m16n16k16.global.f16 {%a0", "m16n16k16.global.s4 {%a0", UnsupportedError, "of .s4"),
        ("global.f16 {%a0", "const.f16 {%a0", UnsupportedError, "wmma.load.a"),
        ("m16n16k16.f32.f32", "m16n16k16.f32.s32", UnsupportedError, r"wmma.mma.m16n16k16.f32.f16.f16.s32"),
        ("m16n16k16.f32.f32", "m16n16k16.f32.f32.satfinite", UnsupportedError, "satfinite"),
        ("load.a.sync.aligned.row", "load.a.sync.aligned.up", UnsupportedError, "wmma.load.a.sync.aligned.up"),
        ("[%p0], 16", "%p0, 16", UserError, "expected an address in brackets"),
    ],
)
def test_other_forms_are_refused(old: str, new: str, error: type[Exception], message: str) -> None:
    a, b, c = whole(16, 16, "f16"), whole(16, 16, "f16"), whole(16, 16, "f32")
    text = kernel(*F16, "row row row", "16 16 16")
    assert old in text
    with pytest.raises(error, match=message):
        run(text.replace(old, new, 1), a, b, c, np.zeros_like(c))
