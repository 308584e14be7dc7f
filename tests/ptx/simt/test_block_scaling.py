"""Products with scale factors (tcgen05.mma, mma.sync), elements of four and six bits, and tcgen05.cp, against scalar loops.

The loops follow the figures of PTX ISA 9.7.14.3, 9.7.14.5 and 9.7.16.10 digit by digit and share no code with the interpreter.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import UnsupportedError, UserError
from warploom.ptx import Launch, launch

from .test_tcgen05 import BYTES, TILE, WAIT, kept, names, run

RNG = np.random.default_rng(23)
SPLIT = {"e4m3": (4, 3), "e5m2": (5, 2), "e2m3": (2, 3), "e3m2": (3, 2), "e2m1": (2, 1), "ue4m3": (4, 3)}


def value(kind: str, bits: int) -> float:
    """One element, or one scale factor."""
    if kind == "ue8m0":
        return 2.0 ** (bits - 127)
    exponent_bits, mantissa_bits = SPLIT[kind]
    mantissa, exponent = bits % 2**mantissa_bits, bits >> mantissa_bits & (2**exponent_bits - 1)
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) & 1 else 1.0
    bias = 2 ** (exponent_bits - 1) - 1
    return sign * (mantissa / 2**mantissa_bits + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias)


def drawn(kind: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Bit patterns of finite elements."""
    bits = 1 + sum(SPLIT[kind])
    found = RNG.integers(0, 2**bits, shape).astype(np.uint8)
    mask = {"e5m2": 0xBB, "e4m3": 0xF7}.get(kind, 0xFF)
    return (found & mask).astype(np.uint8)


def packed(kind: str, elements: NDArray[np.uint8], *, is_dense: bool) -> NDArray[np.uint8]:
    """32 bytes of each row, as they lie in shared memory."""
    rows, deep = elements.shape
    if kind in ("e4m3", "e5m2"):
        return elements
    bits = 4 if kind == "e2m1" else 6
    out = np.zeros((rows, 32), np.uint8)
    for r in range(rows):
        for k in range(deep):
            place = k * 4 if is_dense else k // 16 * 128 + k % 16 * bits
            for bit in range(bits):
                out[r, (place + bit) // 8] |= (int(elements[r, k]) >> bit & 1) << (place + bit) % 8
    return out


def expected(
    a: NDArray[np.uint8], b: NDArray[np.uint8], types: tuple[str, str],
    scales: tuple[NDArray[np.uint8], NDArray[np.uint8]] | None, scale_type: str,
) -> NDArray[np.float64]:  # fmt: skip
    """[rows of a, rows of b]: sums over k of elements times the scale factors of their groups."""
    whole: list[NDArray[np.float64]] = []
    for number, (matrix, kind) in enumerate(zip((a, b), types, strict=True)):
        found = np.array([[value(kind, int(bits)) for bits in row] for row in matrix])
        if scales is not None:
            groups = scales[number].shape[1]
            for r in range(len(found)):
                for k in range(found.shape[1]):
                    found[r, k] *= value(scale_type, int(scales[number][r, k // (found.shape[1] // groups)]))
        whole.append(found)
    return whole[0] @ whole[1].T


# tensor memory

CODES = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
N = 16
A_AT, B_AT, SFA_AT, SFB_AT = 0, 4096, 8192, 8704
"""Bytes after the first of the tile, which lies at byte 1024."""


def descriptor(start: int, leading: int, stride: int) -> int:
    return (1024 + start) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46


def shared_image(a: NDArray[np.uint8], b: NDArray[np.uint8], words: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Rows in groups of eight, 16 bytes of each beside each other; scale factors as words of 32 lanes by four columns."""
    image = np.zeros(BYTES, np.uint8)
    for start, matrix in ((A_AT, a), (B_AT, b)):
        for r, row in enumerate(matrix):
            for byte in range(32):
                image[start + r // 8 * 256 + byte // 16 * 128 + r % 8 * 16 + byte % 16] = row[byte]
    for start, factors in zip((SFA_AT, SFB_AT), words, strict=True):
        for r, row in enumerate(factors):
            image[start + r % 32 * 16 + r // 32 * 4 :][:4] = row
    return image


def in_tensor_memory(
    kind: str, types: tuple[str, str], *, groups: int = 0, scale_type: str = "ue8m0", ids: tuple[int, int] = (0, 0),
    bits: int = 0, in_cells: bool = False, before: str = "", between: str = "", wait: str = WAIT, n: int = N,
) -> tuple[Launch, NDArray[np.float64]]:  # fmt: skip
    """One product of 128 rows and n columns; `bits` are set in the instruction descriptor besides."""
    is_dense = "mxf4" in kind and "f8" not in kind
    deep = 64 if is_dense else 32
    a, b = drawn(types[0], (128, deep)), drawn(types[1], (n, deep))
    low, high = (118, 136) if scale_type == "ue8m0" else (0x28, 0x48)
    words = [RNG.integers(low, high, (rows, 4)).astype(np.uint8) for rows in (128, n)]
    image = shared_image(packed(types[0], a, is_dense=is_dense), packed(types[1], b, is_dense=is_dense), words)
    codes = (1, 1) if is_dense else (CODES[types[0]], CODES[types[1]])
    code = codes[0] << 7 | codes[1] << 10 | n >> 3 << 17 | 8 << 24 | bits
    code |= ids[1] << 4 | (scale_type == "ue8m0") << 23 | ids[0] << 29 if groups else 1 << 4
    left = f"{descriptor(A_AT, 128, 256):#x}"
    put = ""
    if in_cells:
        held = a << 2 if types[0] == "e2m1" else a
        image = np.concatenate([image, held.reshape(-1)])
        put = f"mul.wide.u32 %rd4, %r1, 32; add.u64 %rd4, %rd1, %rd4; add.u64 %rd4, %rd4, {BYTES};\n"
        put += "".join(f"ld.global.u32 %d{i}, [%rd4+{4 * i}];\n" for i in range(8))
        put += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r3+48], {names(8)}; tcgen05.wait::st.sync.aligned; bar.sync 0;\n"
        left = "[%r2+48]"
    factors = ""
    if groups:
        for column, start in ((32, SFA_AT), (36, SFB_AT)):
            put += f"@%p2 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r2+{column}], {descriptor(start, 16, 128):#x};\n"
        factors = "[%r2+32], [%r2+36], "
    right = f"{descriptor(B_AT, 128, 256):#x}"
    product = f"mov.u32 %r10, {code:#x}; @%p2 tcgen05.mma.cta_group::1.{kind} [%r2], {left}, {right}, %r10, {factors}0;\n"
    load = f"tcgen05.ld.sync.aligned.32x32b.x{n}.b32 {names(n)}, [%r3]; tcgen05.wait::ld.sync.aligned;\n"
    ran = run(before + TILE + put + between + product + wait + load + kept(n), image=image, registers=max(n, 8))
    scales = None
    if groups:
        scales = words[0][:, ids[0] : ids[0] + groups], words[1][:, ids[1] : ids[1] + groups]
    return ran, expected(a, b, types, scales, scale_type)


def checked(ran: Launch, wanted: NDArray[np.float64]) -> None:
    assert (ran.status, ran.findings) == ("finished", ())
    found = ran.arrays[1].reshape(-1)[: wanted.size].view(np.float32).reshape(wanted.shape)
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("kind", "types", "groups", "scale_type", "ids"),
    [
        ("kind::mxf8f6f4.block_scale", ("e4m3", "e5m2"), 1, "ue8m0", (2, 1)),
        ("kind::mxf8f6f4.block_scale.block32", ("e2m3", "e2m1"), 1, "ue8m0", (0, 3)),
        ("kind::mxf8f6f4.block_scale.scale_vec::1X", ("e3m2", "e4m3"), 1, "ue8m0", (3, 0)),
        ("kind::mxf4.block_scale", ("e2m1", "e2m1"), 2, "ue8m0", (2, 0)),
        ("kind::mxf4nvf4.block_scale.scale_vec::2X", ("e2m1", "e2m1"), 2, "ue8m0", (0, 2)),
        ("kind::mxf4nvf4.block_scale.block16", ("e2m1", "e2m1"), 4, "ue4m3", (0, 0)),
        ("kind::mxf4nvf4.block_scale.scale_vec::4X", ("e2m1", "e2m1"), 4, "ue8m0", (0, 0)),
        ("kind::f8f6f4", ("e2m1", "e3m2"), 0, "ue8m0", (0, 0)),
    ],
)
def test_products_of_shared_memory(kind: str, types: tuple[str, str], groups: int, scale_type: str, ids: tuple[int, int]) -> None:
    checked(*in_tensor_memory(kind, types, groups=groups, scale_type=scale_type, ids=ids))


@pytest.mark.parametrize("types", [("e2m1", "e5m2"), ("e3m2", "e2m1"), ("e4m3", "e2m3")])
def test_products_whose_left_matrix_is_in_tensor_memory(types: tuple[str, str]) -> None:
    checked(*in_tensor_memory("kind::mxf8f6f4.block_scale", types, groups=1, ids=(1, 2), in_cells=True))


def test_signs_of_scaled_products() -> None:
    ran, wanted = in_tensor_memory("kind::mxf8f6f4.block_scale", ("e4m3", "e2m1"), groups=1, bits=1 << 14)
    checked(ran, -wanted)


@pytest.mark.parametrize(
    ("kind", "groups", "bits", "message"),
    [
        ("kind::mxf8f6f4.block_scale", 1, 4, "a sparse matrix or another depth"),
        ("kind::mxf8f6f4.block_scale", 1, 1 << 31, "a sparse matrix or another depth"),
        ("kind::mxf8f6f4.block_scale", 1, 1 << 24, "a sparse matrix or another depth"),
        ("kind::mxf8f6f4.block_scale", 1, 6 << 7, "types 6 and"),
        ("kind::mxf8f6f4.block_scale", 1, 1 << 28, "the shape 384 by 16"),
        ("kind::mxf8f6f4.block_scale", 1, 1 << 16, "elements of less than a byte along the rows"),
        ("kind::mxf4.block_scale", 2, 1 << 15, "elements of less than a byte along the rows"),
        ("kind::mxf4.block_scale", 2, 1 << 29, "scale factors from the bytes 1 and 0 on"),
        ("kind::f8f6f4", 0, 1 << 15, "elements of less than a byte along the rows"),
    ],
)
def test_instruction_descriptors_that_are_refused(kind: str, groups: int, bits: int, message: str) -> None:
    types = ("e4m3", "e2m1") if "f8" in kind else ("e2m1", "e2m1")
    types = ("e2m1", "e3m2") if kind == "kind::f8f6f4" else types
    ran, _ = in_tensor_memory(kind, types, groups=groups, bits=bits)
    assert ran.status == "fault" and message in ran.findings[0].message


@pytest.mark.parametrize("kind", ["kind::mxf4.block_scale", "kind::mxf4nvf4.block_scale.block32"])
def test_scale_factors_of_a_type_that_the_kind_lacks(kind: str) -> None:
    ran, _ = in_tensor_memory(kind, ("e2m1", "e2m1"), groups=2, scale_type="ue4m3")
    assert ran.status == "fault" and "scale factors of the type ue4m3" in ran.findings[0].message


def test_scale_factors_that_are_not_the_same_everywhere() -> None:
    """Each quarter of the lanes has a copy; a warp spoils its own."""
    spoilt = "setp.eq.u32 %p5, %r1, 40; mov.b32 %d0, 0;\n"
    spoilt += WAIT.replace("w:", "w0:").replace("bra w;", "bra w0;").replace("[bar]", "[bar2]")
    spoilt += "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3+32], {%r1}; bar.sync 0;\n"
    before = ".shared .align 8 .b64 bar2; @%p2 mbarrier.init.shared.b64 [bar2], 1;\n"
    ran, _ = in_tensor_memory("kind::mxf8f6f4.block_scale", ("e4m3", "e4m3"), groups=1, before=before, between=spoilt)
    assert ran.status == "fault" and "not the same in the four quarters" in ran.findings[0].message


# tcgen05.cp

FILLED = "".join(f"mov.b32 %d{i}, 0;\n" for i in range(8))
FILLED += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r3], {names(8)}; tcgen05.wait::st.sync.aligned; bar.sync 0;\n"
LOADED = f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {names(8)}, [%r3]; tcgen05.wait::ld.sync.aligned;\n" + kept(8)


def copied(shape: str, *, wait: str = WAIT, after: str = "") -> tuple[Launch, NDArray[np.uint8]]:
    image = RNG.integers(0, 256, BYTES).astype(np.uint8)
    copy = f"@%p2 tcgen05.cp.cta_group::1.{shape} [%r2], {descriptor(0, 128, 256):#x};\n"
    return run(TILE + FILLED + copy + after + wait + LOADED, image=image, registers=8), image


@pytest.mark.parametrize(
    ("shape", "wide", "source"),
    [
        ("128x256b", 32, lambda lane: lane),
        ("128x128b", 16, lambda lane: lane),
        ("64x128b.warpx2::02_13", 16, lambda lane: lane % 64),
        ("64x128b.warpx2::01_23", 16, lambda lane: lane // 64 * 32 + lane % 32),
        ("32x128b.warpx4", 16, lambda lane: lane % 32),
        ("warpx4.32x128b", 16, lambda lane: lane % 32),
    ],
)
def test_copies_lane_by_lane(shape: str, wide: int, source: Any) -> None:
    ran, image = copied(shape)
    assert (ran.status, ran.findings) == ("finished", ())
    found = np.ascontiguousarray(ran.arrays[1]).reshape(128, 8).view(np.uint8)
    for lane in range(128):
        row = source(lane)
        for byte in range(32):
            place = row // 8 * 256 + byte // 16 * 128 + row % 8 * 16 + byte % 16
            assert found[lane, byte] == (image[place] if byte < wide else 0)


@pytest.mark.parametrize(("form", "bits", "shift"), [("b6x16_p32", 6, 0), ("b4x16_p64", 4, 2)])
def test_copies_that_spread_small_elements(form: str, bits: int, shift: int) -> None:
    ran, image = copied(f"128x256b.b8x16.{form}")
    assert (ran.status, ran.findings) == ("finished", ())
    found = np.ascontiguousarray(ran.arrays[1]).reshape(128, 8).view(np.uint8)
    for lane in range(0, 128, 7):
        for k in range(32):
            start = lane // 8 * 256 + k // 16 * 128 + lane % 8 * 16
            whole = int.from_bytes(image[start : start + 16].tobytes(), "little")
            assert found[lane, k] == (whole >> k % 16 * bits & (2**bits - 1)) << shift


def test_who_does_not_wait_for_a_copy_is_told() -> None:
    ran, _ = copied("128x256b", wait="")
    assert {f.kind for f in ran.findings} == {"early_copy_read"}
    assert "tcgen05.cp" in (ran.findings[0].others[0][1].source or "")
    change = "bar.sync 0; mov.u32 %r9, tile; st.shared.u32 [%r9+16], %r1;\n"
    ran, _ = copied("128x256b", after=change)
    assert "shared_race" in {f.kind for f in ran.findings}


@pytest.mark.parametrize(("column", "message"), [(32, "under way"), (48, "may still read"), (56, "")])
def test_a_store_into_what_a_product_still_reads(column: int, message: str) -> None:
    """The scale factors of A, which a copy brings; A; what nobody uses."""
    stored = f"tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3+{column}], {{%r1}};\n"
    ran, _ = in_tensor_memory("kind::mxf8f6f4.block_scale", ("e4m3", "e4m3"), groups=1, in_cells=True, wait=stored + WAIT)
    assert {f.kind for f in ran.findings} == ({"early_copy_read"} if message else set[str]())
    assert all(message in f.message for f in ran.findings)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("tcgen05.cp.cta_group::1.4x256b [%r2], %rd1;", UnsupportedError),
        ("tcgen05.cp.cta_group::1.128x256b.b8x16.b3x16 [%r2], %rd1;", UnsupportedError),
        ("tcgen05.cp.cta_group::1.128x256b %r2, %rd1;", UserError),
        ("tcgen05.mma.cta_group::1.kind::mxf8f6f4 [%r2], %rd1, %rd2, %r1, 0;", UnsupportedError),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block16 [%r2], %rd1, %rd2, %r1, [%r2], [%r2], 0;", UnsupportedError),
        ("tcgen05.mma.cta_group::1.kind::f16.block_scale [%r2], %rd1, %rd2, %r1, [%r2], [%r2], 0;", UnsupportedError),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r2], %rd1, %rd2, %r1, %r2, [%r2], 0;", UserError),
    ],
)
def test_forms_that_are_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(text + "\n")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mov.u32 %r10, 0x100000; tcgen05.cp.cta_group::1.128x256b [%r10], 0x400000000000;\n", "a copy to lane 16"),
        ("tcgen05.cp.cta_group::1.128x256b [%r2+64], 0x400000000000;\n", "columns 64 to 71 of tensor memory"),
    ],
)
def test_copies_to_places_that_they_cannot_have(body: str, message: str) -> None:
    ran = run("@%p2 bra go;\nbra past;\ngo:\n" + body + "past:\n")
    assert ran.status == "fault" and message in ran.findings[0].message


def test_scale_factors_from_a_lane_that_they_cannot_have() -> None:
    product = f"mov.u32 %r10, {8 << 24 | 2 << 17 | 1 << 23:#x}; mov.u32 %r11, 0x100000;\n@!%p2 bra past;\n"
    product += f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r2], {descriptor(0, 128, 256):#x}, "
    ran = run(TILE + product + f"{descriptor(0, 128, 256):#x}, %r10, [%r11], [%r2], 0;\npast:\n", image=np.zeros(BYTES, np.uint8))
    assert ran.status == "fault" and "scale factors from lane 16 of tensor memory on" in ran.findings[0].message


# mma.sync

MMA = """.version 9.0
.target sm_120a
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 ps, .param .u64 pd) {
.reg .b32 %r<32>; .reg .b64 %rd<12>; .reg .b32 %a<4>, %b<2>, %c<4>, %d<4>, %s<2>;
ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pc]; ld.param.u64 %rd4, [ps]; ld.param.u64 %rd5, [pd];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd6, %r1, 16; mul.wide.u32 %rd7, %r1, 8;
add.u64 %rd1, %rd1, %rd6; add.u64 %rd2, %rd2, %rd7; add.u64 %rd3, %rd3, %rd6; add.u64 %rd4, %rd4, %rd7; add.u64 %rd5, %rd5, %rd6;
ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd1]; ld.global.v2.b32 {%b0, %b1}, [%rd2];
ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%rd3]; ld.global.v2.b32 {%s0, %s1}, [%rd4];
PRODUCT
st.global.v4.b32 [%rd5], {%d0, %d1, %d2, %d3};
ret;
}
"""
SCALED = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0"
SCALED_DENSE = "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
FACTORS = ", %s0, {0, 0}, %s1, {0, 0}"
MATRICES = "{%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3}"


def synchronous(
    kind: str,
    types: tuple[str, str],
    groups: int,
    scale_type: str,
    ids: tuple[int, int] = (0, 0),
    threads: tuple[int, int] = (0, 0),
) -> None:
    is_dense = "mxf4" in kind and "f8" not in kind
    deep = 64 if is_dense else 32
    each = deep // 8  # consecutive elements of a register
    a, b = drawn(types[0], (16, deep)), drawn(types[1], (8, deep))
    c = RNG.normal(size=(16, 8)).astype(np.float32)
    low, high = (118, 136) if scale_type == "ue8m0" else (0x28, 0x48)
    factors = RNG.integers(low, high, (32, 2, 4)).astype(np.uint8)  # lane, A or B, byte
    registers = np.zeros((32, 4, 4), np.uint8), np.zeros((32, 2, 4), np.uint8)
    for lane in range(32):
        group, place = lane // 4, lane % 4
        for number, (matrix, kind_of, out) in enumerate(zip((a, b), types, registers, strict=True)):
            for register in range(out.shape[1]):
                for inside in range(each):
                    row = group + (8 * (register % 2) if number == 0 else 0)
                    half = register // 2 if number == 0 else register
                    bits = int(matrix[row, place * each + inside + half * 4 * each])
                    if is_dense:
                        out[lane, register, inside // 2] |= bits << 4 * (inside % 2)
                    else:
                        out[lane, register, inside] = bits << 2 if kind_of == "e2m1" else bits
    addends = np.array([[c[lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2] for i in range(4)] for lane in range(32)])
    selectors = f", {{%s0}}, {{{ids[0]}, {threads[0]}}}, {{%s1}}, {{{ids[1]}, {threads[1]}}}" if groups else ""
    shape = "m16n8k64" if is_dense else "m16n8k32"
    tail = f".{scale_type}" if groups else ""
    product = f"mma.sync.aligned.{shape}.row.col.{kind}.f32.{types[0]}.{types[1]}.f32{tail} {MATRICES}{selectors};"
    arrays = [registers[0].reshape(-1), registers[1].reshape(-1), addends, factors.reshape(-1), np.zeros((32, 4), np.float32)]
    ran = launch(MMA.replace("PRODUCT", product), grid=1, block=32, args=arrays)
    assert (ran.status, ran.findings) == ("finished", ())
    scales = None
    if groups:
        rows = [factors[4 * (r % 8) + 2 * threads[0] + r // 8, 0, ids[0] : ids[0] + groups] for r in range(16)]
        columns = [factors[4 * n + threads[1], 1, ids[1] : ids[1] + groups] for n in range(8)]
        scales = np.array(rows), np.array(columns)
    wanted = expected(a, b, types, scales, scale_type) + c
    for lane in range(32):
        for i in range(4):
            exact = wanted[lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2]
            assert abs(float(ran.arrays[4][lane, i]) - exact) <= 1e-6 * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize(
    ("kind", "types", "groups", "scale_type", "ids", "threads"),
    [
        ("kind::mxf8f6f4.block_scale.scale_vec::1X", ("e4m3", "e5m2"), 1, "ue8m0", (2, 3), (1, 2)),
        ("kind::mxf8f6f4.block_scale", ("e2m1", "e3m2"), 1, "ue8m0", (0, 1), (0, 3)),
        ("kind::mxf8f6f4.block_scale", ("e2m3", "e2m1"), 1, "ue8m0", (1, 0), (1, 0)),
        ("kind::mxf4.block_scale.scale_vec::2X", ("e2m1", "e2m1"), 2, "ue8m0", (2, 0), (0, 1)),
        ("kind::mxf4nvf4.block_scale.scale_vec::4X", ("e2m1", "e2m1"), 4, "ue4m3", (0, 0), (1, 1)),
        ("kind::f8f6f4", ("e3m2", "e2m1"), 0, "ue8m0", (0, 0), (0, 0)),
    ],
)
def test_synchronous_products(
    kind: str, types: tuple[str, str], groups: int, scale_type: str, ids: tuple[int, int], threads: tuple[int, int]
) -> None:
    synchronous(kind, types, groups, scale_type, ids, threads)


@pytest.mark.parametrize(
    ("product", "error"),
    [
        (f"m16n8k32.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 {MATRICES}{FACTORS}", UnsupportedError),
        (f"m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m3.f32.ue8m0 {MATRICES}{FACTORS}", UnsupportedError),
        (f"m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue4m3 {MATRICES}{FACTORS}", UnsupportedError),
        (f"m16n8k32.row.col.kind::mxf8f6f4.block_scale.f16.e4m3.e4m3.f16.ue8m0 {MATRICES}{FACTORS}", UnsupportedError),
        (f"m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f16 {MATRICES}", UnsupportedError),
        (f"m16n8k32.row.col.kind::f16.f32.e4m3.e4m3.f32 {MATRICES}", UnsupportedError),
        (f"{SCALED} {MATRICES}, %s0, {{0, 2}}, %s1, {{0, 0}}", UnsupportedError),
        (f"{SCALED_DENSE} {MATRICES}, %s0, {{1, 0}}, %s1, {{0, 0}}", UnsupportedError),
        (f"{SCALED} {MATRICES}", UserError),
        (f"{SCALED} {MATRICES}, %s0, {{0, 0}}, %s1, {{0}}", UserError),
        ("m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 " + MATRICES.replace("{%b0, %b1}", "{%b0}"), UserError),
        (f"m8n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {MATRICES}", UnsupportedError),
    ],
)  # fmt: skip
def test_synchronous_forms_that_are_refused(product: str, error: type[Exception]) -> None:
    arrays = [np.zeros(512, np.uint8) for _ in range(5)]
    with pytest.raises(error):
        launch(MMA.replace("PRODUCT", f"mma.sync.aligned.{product};"), grid=1, block=32, args=arrays)


# cvt

CONVERT = """.version 9.0
.target sm_120a
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q) {
.reg .b32 %r<8>; .reg .b16 %h<4>; .reg .b8 %c<2>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 8; mul.wide.u32 %rd4, %r1, 4;
add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd4;
BODY
st.global.b32 [%rd2], %r2;
ret;
}
"""


@pytest.mark.parametrize("kind", ["e2m1", "e2m3", "e3m2"])
def test_small_elements_from_floats_and_back(kind: str) -> None:
    bits = 1 + sum(SPLIT[kind])
    every = sorted(value(kind, n) for n in range(2 ** (bits - 1)))
    middles = [(x + y) / 2 for x, y in itertools.pairwise(every)]
    numbers = [*every, *middles, *(m * 1.001 for m in middles), 1000.0, np.inf, np.nan, *RNG.normal(size=30)]
    pairs = np.array([[x, -y] for x, y in zip(numbers, reversed(numbers), strict=True)], np.float32)
    cut = "%c0" if kind == "e2m1" else "%h0"
    width = 8 if kind == "e2m1" else 16
    body = f"ld.global.v2.f32 {{%f0, %f1}}, [%rd1]; cvt.rn.satfinite.{kind}x2.f32 {cut}, %f0, %f1; cvt.u32.u{width} %r2, {cut};"
    ran = launch(CONVERT.replace("BODY", body), grid=1, block=len(pairs), args=[pairs, np.zeros(len(pairs), np.uint32)])
    apart = 4 if kind == "e2m1" else 8
    for (upper, lower), word in zip(pairs, ran.arrays[1], strict=True):
        for number, got in ((upper, int(word) >> apart), (lower, int(word) & (2**apart - 1))):
            if np.isnan(number):
                assert value(kind, got) == every[-1]
                continue
            best = min(abs(abs(float(number)) - x) for x in every) if np.isfinite(number) else None
            found = value(kind, got)
            assert np.signbit(found) == np.signbit(number)
            if best is None:
                assert abs(found) == every[-1]
            else:
                assert abs(abs(found) - abs(float(number))) == best
                nearest = [n for n in range(2 ** (bits - 1)) if abs(value(kind, n) - abs(float(number))) == best]
                assert len(nearest) == 1 or got % 2 == 0
    words = ran.arrays[1].astype(np.uint32)
    inputs = np.stack([words, words], axis=-1)
    take = f"ld.global.b32 %r3, [%rd1]; cvt.u{width}.u32 {cut}, %r3; cvt.rn.f16x2.{kind}x2 %r2, {cut};"
    back = launch(CONVERT.replace("BODY", take), grid=1, block=len(words), args=[inputs, np.zeros(len(words), np.uint32)])
    for word, halves in zip(words, back.arrays[1].view(np.float16).reshape(-1, 2), strict=True):
        assert halves[1] == value(kind, int(word) >> apart) and halves[0] == value(kind, int(word) & (2**apart - 1))


@pytest.mark.parametrize("name", ["cvt.rn.e2m1x2.f32", "cvt.rz.satfinite.e2m1x2.f32", "cvt.rz.satfinite.ue8m0x2.f32"])
def test_conversions_that_are_refused(name: str) -> None:
    cut = "%h0" if "ue8m0" in name else "%c0"
    body = f"ld.global.v2.f32 {{%f0, %f1}}, [%rd1]; {name} {cut}, %f0, %f1; mov.b32 %r2, 0;"
    with pytest.raises(UnsupportedError):
        launch(CONVERT.replace("BODY", body), grid=1, block=1, args=[np.zeros(2, np.float32), np.zeros(1, np.uint32)])
