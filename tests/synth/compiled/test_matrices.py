"""mma.sync in proofs: every element of a product where the layouts of fragments say, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.synth.compiled.programs import HEAD, proved

from warploom.core import BY_NAME, DType, UnsupportedError
from warploom.layout.distributed.fragments import fragment
from warploom.synth.compiled import ArrayArgument, CompiledProof

# shape, type of A and B in PTX and here, type of C and D in PTX and here
HALF = ("m16n8k16", "f16", "f16", "f32", "f32")
BYTE = ("m16n8k32", "s8", "i8", "s32", "i32")
F8 = ("m16n8k32", "e4m3", "e4m3", "f32", "f32")
TF32 = ("m16n8k8", "tf32", "tf32", "f32", "f32")
KINDS = [
    ("m16n8k8", "f16", "f16", "f32", "f32"), ("m8n8k16", "u8", "u8", "s32", "i32"), ("m8n8k4", "f64", "f64", "f64", "f64"),
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in (
        HALF, BYTE, F8, ("m16n8k16", "e5m2", "e5m2", "f32", "f32"), TF32,
        ("m16n8k4", "tf32", "tf32", "f32", "f32"), ("m16n8k8", "bf16", "bf16", "f32", "f32"),
        ("m16n8k16", "s8", "i8", "s32", "i32"),
        ("m16n8k16", "f64", "f64", "f64", "f64"),
    )),
]  # fmt: skip


def held(kind: tuple[str, ...], operand: str) -> np.ndarray[Any, Any]:
    """[rows, columns]: the place of each element where lanes store what they hold, one after the other."""
    shape, ptx, _, total, _ = kind
    layout = fragment(f"mma:{shape}:{operand}:{ptx if operand in 'AB' else total}")
    assert layout is not None
    places = np.empty(layout.elements.size, np.int64)
    places[layout.elements.reshape(-1)] = np.arange(layout.elements.size)
    return places.reshape(layout.shape)


def types(kind: tuple[str, ...]) -> tuple[DType, DType]:
    return BY_NAME[kind[2]], BY_NAME[kind[4]]


def kernel(kind: tuple[str, ...]) -> str:
    """Each lane loads its registers of A, B and C one after the other, and stores those of D."""
    shape, ptx, _, total, _ = kind
    bits = 64 if ptx == "f64" else 32
    letter = "d" if bits == 64 else "r"
    narrow, wide = types(kind)
    counts = {
        n: held(kind, {"a": "A", "b": "B", "c": "D"}[n]).size * (narrow if n in "ab" else wide).bits // (32 * bits) for n in "abc"
    }
    lines: list[str] = []
    lists: dict[str, str] = {}
    number = 1
    for at, name in enumerate("abc", 2):
        lines.append(f"mad.wide.u32 %rd{at}, %r90, {counts[name] * bits // 8}, %rd{at};")
        registers = [f"%{letter}{number + k}" for k in range(counts[name])]
        number += counts[name]
        lines += [f"ld.global.b{bits} {r}, [%rd{at}+{k * bits // 8}];" for k, r in enumerate(registers)]
        lists[name] = "{" + ", ".join(registers) + "}"
    sums = [f"%{letter}{number + k}" for k in range(counts["c"])]
    found = "{" + ", ".join(sums) + "}"
    multiply = f"mma.sync.aligned.{shape}.row.col.{total}.{ptx}.{ptx}.{total}"
    factors = range(1, 1 + counts["a"] + counts["b"])
    lines += [f"cvt.rna.tf32.f32 %r{k}, %r{k};" for k in factors] if ptx == "tf32" else []
    lines.append(f"{multiply} {found}, {lists['a']}, {lists['b']}, {lists['c']};")
    lines.append(f"mad.wide.u32 %rd1, %r90, {counts['c'] * bits // 8}, %rd1;")
    lines += [f"st.global.b{bits} [%rd1+{k * bits // 8}], {r};" for k, r in enumerate(sums)]
    parameters = ", ".join(f".param .u64 {name}" for name in ("out", "a", "b", "c"))
    loads = [f"ld.param.u64 %rd{k}, [{name}];" for k, name in enumerate(("out", "a", "b", "c"), 1)]
    registers = ".reg .pred %p<4>; .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .f64 %d<40>;"
    body = "\n\t".join([registers, *loads, "mov.u32 %r90, %tid.x;", *lines, "ret;"])
    return f"{HEAD}.visible .entry k({parameters})\n{{\n\t{body}\n}}\n"


def judged(kind: tuple[str, ...], text: str, threads: int = 32) -> CompiledProof:
    narrow, wide = types(kind)
    a_at, b_at, c_at = (held(kind, name) for name in ("A", "B", "D"))

    def spec(out: Any, a: Any, b: Any, c: Any) -> None:
        for i in range(a_at.shape[0]):
            for j in range(8):
                total = c[int(c_at[i, j])]
                for k in range(a_at.shape[1]):
                    total = total + a[int(a_at[i, k])] * b[int(b_at[k, j])]
                out[int(c_at[i, j])] = total

    sizes = (("out", wide, c_at), ("a", narrow, a_at), ("b", narrow, b_at), ("c", wide, c_at))
    arguments = tuple(ArrayArgument(name, dtype, (places.size,)) for name, dtype, places in sizes)
    return proved(text, spec, arguments, 1, threads)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def test_products_are_where_the_fragments_say(kind: tuple[str, ...]) -> None:
    proof = judged(kind, kernel(kind))
    assert proof.verdict == "proved"
    assert ("mma.sync: its sums taken as sums of reals" in proof.domain) == (kind[3] != "s32")


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (HALF, "{%r1, %r2, %r3, %r4}", "{%r2, %r1, %r3, %r4}"),
        (HALF, "{%r5, %r6}", "{%r6, %r5}"),
        (HALF, "[%rd1+4], %r12", "[%rd1+4], %r11"),
        (HALF, "ld.global.b32 %r5, [%rd3+0];", "ld.global.b32 %r5, [%rd3+0]; and.b32 %r5, %r5, 65535;"),
        *(
            pytest.param(*bug, marks=pytest.mark.slow)
            for bug in (
                (HALF, "{%r1, %r2, %r3, %r4}", "{%r1, %r3, %r2, %r4}"),
                (HALF, "{%r5, %r6}", "{%r1, %r6}"),
                (HALF, "{%r7, %r8, %r9, %r10};", "{%r8, %r7, %r9, %r10};"),
                (HALF, "{%r11, %r12, %r13, %r14}, {", "{%r11, %r12, %r14, %r13}, {"),
                (HALF, "%r90, 8, %rd3", "%r90, 16, %rd3"),
                (HALF, "f32.f16.f16.f32", "f32.bf16.bf16.f32"),
                (HALF, "mov.u32 %r90, %tid.x;", "mov.u32 %r90, %tid.x; xor.b32 %r90, %r90, 1;"),
                (BYTE, "{%r1, %r2, %r3, %r4}", "{%r1, %r2, %r4, %r3}"),
                (TF32, "{%r1, %r2, %r3, %r4}", "{%r1, %r3, %r2, %r4}"),
                (TF32, "{%r5, %r6}", "{%r6, %r5}"),
                (F8, "{%r5, %r6}", "{%r6, %r5}"),
                (F8, "f32.e4m3.e4m3.f32", "f32.e5m2.e4m3.f32"),
                (BYTE, "{%r5, %r6}", "{%r6, %r5}"),
                (BYTE, "s32.s8.s8.s32", "s32.u8.s8.s32"),
                (BYTE, "s32.s8.s8.s32", "s32.s8.u8.s32"),
                (BYTE, "ld.global.b32 %r5, [%rd3+0];", "ld.global.b32 %r5, [%rd3+0]; prmt.b32 %r5, %r5, 0, 0x3201;"),
            )
        ),
    ],
)
def test_wrong_fragments_are_never_proved(kind: tuple[str, ...], old: str, new: str) -> None:
    text = kernel(kind)
    assert text.count(old) == 1
    assert judged(kind, text.replace(old, new)).verdict == ("unchecked" if "bf16" in new or "e5m2" in new else "refuted")


def test_a_warp_without_some_lanes_is_refuted() -> None:
    proof = judged(HALF, kernel(HALF), 31)
    assert proof.fault is not None and "lane 31 is missing" in proof.reason
    left = kernel(HALF).replace("mov.u32 %r90, %tid.x;", "mov.u32 %r90, %tid.x;\n\tsetp.eq.u32 %p1, %r90, 7;\n\t@%p1 exit;")
    proof = judged(HALF, left)
    assert proof.fault is not None and "lane 7 is missing" in proof.reason


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (BYTE, "row.col.s32", "row.col.satfinite.s32"),
        (HALF, "m16n8k16.row.col.f32.f16.f16.f32", "m16n8k8.row.col.f32.f16.f16.f32"),
        (HALF, "row.col.f32.f16.f16.f32", "row.col.f16.f16.f16.f16"),
        (HALF, "row.col.f32.f16.f16.f32", "row.col.f32.f16.bf16.f32"),
        (HALF, "m16n8k16.row.col.f32.f16.f16.f32", "m16n8k8.row.col.f32.tf32.tf32.f32"),
        (TF32, "cvt.rna.tf32.f32 %r3, %r3;", ""),
        (TF32, "cvt.rna.tf32.f32 %r3, %r3;", "mov.b32 %r3, 1065353217;"),
    ],
)
def test_what_is_not_followed_is_said(kind: tuple[str, ...], old: str, new: str) -> None:
    with pytest.raises(UnsupportedError, match="mma"):
        judged(kind, kernel(kind).replace(old, new))
