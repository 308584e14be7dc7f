"""wgmma: fragments and matrices in shared memory as the layout package has them, products against NumPy, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import UnsupportedError, UserError
from warploom.layout import map_of_text, tile
from warploom.layout.cute import canonical
from warploom.layout.distributed.fragments import fragment
from warploom.ptx import Launch, launch
from warploom.ptx.simt import numerics
from warploom.ptx.simt.descriptors import Descriptor, places
from warploom.ptx.simt.numerics.float_formats import decode, encode

from .written import HEADER

RNG = np.random.default_rng(11)
SWIZZLES = {"INTER": 0, "SW32": 1, "SW64": 2, "SW128": 3}
MODES = {"INTER": 0, "SW32": 3, "SW64": 2, "SW128": 1}


@pytest.mark.parametrize("columns", [8, 64, 256])
def test_the_accumulator_is_that_of_the_layout_package(columns: int) -> None:
    theirs = fragment(f"wgmma:m64n{columns}:D:f32")
    assert theirs is not None
    ours = numerics.accumulator(columns, "f32")
    elements = ours.rows * columns + ours.columns
    for warp in range(4):
        assert (theirs.elements[warp, :, :, 0] == elements + warp * 16 * columns).all()


def bytes_of(atoms: str, rows: int, deep: int, size: int) -> NDArray[np.int64]:
    """[rows, deep]: bytes of each element of a matrix that lies in these atoms, by the layout package."""
    there = tile(f"{rows}x{deep}:b{8 * size}")
    text = canonical(atoms, there)
    assert text is not None
    return map_of_text(text, there).table.reshape(rows, deep) * size


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("atom", SWIZZLES)
def test_matrices_along_k_are_those_of_the_layout_package(atom: str, size: int) -> None:
    line = 16 << SWIZZLES[atom]
    deep = max(32, line) // size
    theirs = bytes_of(atom, 64, deep, size)
    for start in range(0, max(32, line), 32):
        if atom == "INTER":
            ours = Descriptor(0, 64 * 16, 128, 0)
        else:
            ours = Descriptor(start, 16, 8 * line, SWIZZLES[atom])
        found = places(ours, 64, 32 // size, size, is_mn_major=False)
        assert (found == theirs[:, start // size : (start + 32) // size]).all()


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("atom", SWIZZLES)
def test_matrices_along_the_rows_are_those_of_the_layout_package(atom: str, size: int) -> None:
    line = 16 << SWIZZLES[atom]
    rows, deep = 128, 32 // size
    theirs = bytes_of(f"{atom}:mn", rows, deep, size)
    wide = line // size
    groups = deep // 8 * 8 * line  # atoms along k lie behind each other, then the next ones along the rows
    steps = int(theirs[wide, 0] ^ theirs[0, 0]) if wide < rows else 0
    apart = int(theirs[0, 8] - theirs[0, 0])
    assert {steps, apart} <= {groups, 8 * line, 0, rows // wide * 8 * line}
    ours = Descriptor(0, apart, steps, 0) if atom == "INTER" else Descriptor(0, steps, apart, SWIZZLES[atom])
    assert (places(ours, rows, deep, size, is_mn_major=True) == theirs).all()


def word(found: Descriptor, mode: int) -> int:
    return found.start >> 4 | found.leading >> 4 << 16 | found.stride >> 4 << 32 | mode << 62


class Matrix:
    """A matrix in one mode: its bytes in shared memory, and its descriptor."""

    def __init__(self, elements: NDArray[Any], atom: str, start: int, *, is_mn_major: bool) -> None:
        rows, deep = elements.shape
        size = elements.dtype.itemsize
        line = 16 << SWIZZLES[atom]
        if is_mn_major:
            far = 8 * line * (deep // 8)
            one = Descriptor(start, 8 * line, far, 0) if atom == "INTER" else Descriptor(start, far, 8 * line, SWIZZLES[atom])
        elif atom == "INTER":
            one = Descriptor(start, 128, 256, 0)
        else:
            one = Descriptor(start, 16, 8 * line, SWIZZLES[atom])
        self.word = word(one, MODES[atom])
        self.places = places(one, rows, deep, size, is_mn_major=is_mn_major)
        self.elements = elements

    def write(self, memory: NDArray[np.uint8]) -> None:
        size = self.elements.dtype.itemsize
        memory.view(self.elements.dtype)[self.places // size] = self.elements


BYTES = 24576
FILL = f""".shared .align 1024 .b8 tile[{BYTES}];
mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [out]; mov.u32 %r2, %r1;
l: setp.ge.u32 %p1, %r2, {BYTES // 4}; @%p1 bra e; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd3, %rd1, %rd3;
ld.global.u32 %r3, [%rd3]; mad.lo.u32 %r4, %r2, 4, tile; st.shared.u32 [%r4], %r3; add.u32 %r2, %r2, 128; bra l;
e: fence.proxy.async.shared::cta; bar.sync 0; wgmma.fence.sync.aligned;
"""
WAIT = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"


def product(
    n: int, types: tuple[str, str, str], left: str, right: str, rest: str, image: NDArray[np.uint8], *, before: str = "",
    block: int = 128, old: str = "",
) -> Launch:  # fmt: skip
    """The registers of D of each thread: [128, registers]."""
    d_type, a_type, b_type = types
    registers = n // 4 if d_type == "f16" else n // 2
    deep = 32 * 8 // numerics.scalar_type(a_type).bits
    names = ", ".join(f"%d{i}" for i in range(registers))
    body = f".reg .b32 %r<10>, %d<{registers}>, %a<4>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n{FILL}{before}{old}"
    body += f"wgmma.mma_async.sync.aligned.m64n{n}k{deep}.{d_type}.{a_type}.{b_type} {{{names}}}, {left}, {right}{rest};\n{WAIT}"
    body += f"mul.wide.u32 %rd4, %r1, {4 * registers}; add.u64 %rd4, %rd2, %rd4;\n"
    body += "".join(f"st.global.u32 [%rd4+{4 * i}], %d{i};\n" for i in range(registers))
    text = f"{HEADER}.visible .entry k(.param .u64 image, .param .u64 out) {{\n{body}ret;\n}}\n"
    return launch(text, grid=1, block=block, args=[image, np.zeros((128, registers), np.uint32)])


def elements_of(name: str, shape: tuple[int, int]) -> NDArray[Any]:
    if name in ("s8", "u8"):
        return RNG.integers(0, 256, shape).astype(np.uint8)
    return encode("f32" if name == "tf32" else name, RNG.normal(size=shape))


def numbers(name: str, bits: NDArray[Any]) -> NDArray[np.float64]:
    if name in ("s8", "u8"):
        return bits.view(np.int8 if name == "s8" else np.uint8).astype(np.float64)
    return decode(name, bits)


def whole(ran: Launch, n: int, d_type: str) -> NDArray[Any]:
    """D from the registers of all threads, by the layout package's table."""
    assert (ran.status, ran.findings) == ("finished", ())
    bits = {"f16": 16, "f32": 32, "s32": 32}[d_type]
    theirs = fragment(f"wgmma:m64n{n}:D:{'f16' if bits == 16 else 'f32'}")
    assert theirs is not None
    kept = ran.arrays[1].reshape(-1).view({"f16": np.float16, "f32": np.float32, "s32": np.int32}[d_type])
    found = np.zeros(64 * n, kept.dtype)
    found[theirs.elements.reshape(-1)] = kept
    return found.reshape(64, n)


@pytest.mark.parametrize(
    ("n", "types", "atoms", "turned", "signs"),
    [
        (8, ("f32", "f16", "f16"), ("SW128", "SW128"), (0, 0), (1, 1)),
        (64, ("f16", "f16", "f16"), ("SW64", "SW32"), (0, 1), (1, -1)),
        (128, ("f32", "bf16", "bf16"), ("SW128", "SW64"), (1, 1), (-1, 1)),
        (16, ("f32", "f16", "f16"), ("INTER", "INTER"), (1, 0), (-1, -1)),
        (16, ("f32", "f16", "f16"), ("SW32", "INTER"), (1, 1), (1, 1)),
        (24, ("f32", "tf32", "tf32"), ("SW32", "INTER"), None, (1, -1)),
        (8, ("f32", "e4m3", "e5m2"), ("SW128", "SW64"), None, (1, 1)),
        (48, ("s32", "s8", "u8"), ("SW64", "SW128"), None, None),
    ],
)
def test_products(
    n: int, types: tuple[str, str, str], atoms: tuple[str, str], turned: tuple[int, int] | None, signs: tuple[int, int] | None
) -> None:
    d_type, a_type, b_type = types
    deep = 32 * 8 // numerics.scalar_type(a_type).bits
    a = Matrix(elements_of(a_type, (64, deep)), atoms[0], 0, is_mn_major=bool(turned and turned[0]))
    b = Matrix(elements_of(b_type, (n, deep)), atoms[1], 8192, is_mn_major=bool(turned and turned[1]))
    image = np.zeros(BYTES, np.uint8)
    a.write(image)
    b.write(image)
    rest = ", 0" + "".join(f", {s}" for s in (*(signs or ()), *(turned or ())))
    ran = product(n, types, f"{a.word:#x}", f"{b.word:#x}", rest, image)
    sign = 1 if signs is None else signs[0] * signs[1]
    wanted = sign * (numbers(a_type, a.elements) @ numbers(b_type, b.elements).T)
    found = whole(ran, n, d_type)
    assert np.allclose(found, wanted, rtol=1e-3 if d_type == "f16" else 1e-6, atol=1e-2 if d_type == "f16" else 1e-5)


@pytest.mark.parametrize("scale", ["0", "1", "%p2"])
def test_a_from_registers_and_sums(scale: str) -> None:
    held = fragment("mma:m16n8k16:A:f16")
    assert held is not None
    left = elements_of("f16", (16, 16))
    b = Matrix(elements_of("f16", (8, 16)), "SW128", 0, is_mn_major=False)
    image = np.zeros(BYTES, np.uint8)
    b.write(image)
    words = left.reshape(-1)[held.elements[0]].astype(np.uint32)  # every warp has the same sixteen rows
    packed = words[..., 0] | words[..., 1] << 16
    image.view(np.uint32)[2048 : 2048 + 128] = packed.reshape(-1)
    before = "and.b32 %r5, %r1, 31; mad.lo.u32 %r5, %r5, 16, tile; ld.shared.v4.u32 {%a0, %a1, %a2, %a3}, [%r5+8192];\n"
    before += "setp.lt.u32 %p2, %r1, 64; wgmma.fence.sync.aligned;\n"
    old = "".join(f"mov.b32 %d{i}, 0f40000000;\n" for i in range(4)) if scale != "0" else ""
    ran = product(
        8, ("f32", "f16", "f16"), "{%a0, %a1, %a2, %a3}", f"{b.word:#x}", f", {scale}, 1, 1, 0", image, before=before, old=old
    )
    wanted = np.tile(decode("f16", left) @ decode("f16", b.elements).T, (4, 1))
    if scale != "0":
        wanted[: 64 if scale == "1" else 32] += 2
    assert np.allclose(whole(ran, 8, "f32"), wanted, atol=1e-5)


IMAGE = np.zeros(BYTES, np.uint8)
GOOD = word(Descriptor(0, 16, 1024, 3), 1)


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (GOOD | 1 << 49, "with the base offset 1, which the interpreter does not know"),
        (word(Descriptor(BYTES - 1024, 16, 1024, 3), 1), "a matrix of 64 by 16 elements from byte 23552 of shared memory"),
    ],
)
def test_faults(left: int, message: str) -> None:
    ran = product(8, ("f32", "f16", "f16"), f"{left:#x}", f"{GOOD:#x}", ", 0, 1, 1, 0, 0", IMAGE)
    assert ran.status == "fault" and message in ran.findings[0].message


def test_half_a_warp_and_races_are_told() -> None:
    ran = product(8, ("f32", "f16", "f16"), f"{GOOD:#x}", f"{GOOD:#x}", ", 0, 1, 1, 0, 0", IMAGE, block=112)
    assert {f.kind for f in ran.findings} >= {"shuffle_inactive"}
    late = "st.shared.u32 [tile+64], %r1;\n"
    ran = product(8, ("f32", "f16", "f16"), f"{GOOD:#x}", f"{GOOD:#x}", ", 0, 1, 1, 0, 0", IMAGE, before=late)
    assert {f.kind for f in ran.findings} == {"shared_race"}


@pytest.mark.parametrize(
    ("n", "types", "rest", "error"),
    [
        (12, ("f32", "f16", "f16"), ", 0, 1, 1, 0, 0", UnsupportedError),
        (40, ("s32", "s8", "s8"), ", 0", UnsupportedError),
        (8, ("f16", "bf16", "bf16"), ", 0, 1, 1, 0, 0", UnsupportedError),
        (8, ("f32", "f16", "bf16"), ", 0, 1, 1, 0, 0", UnsupportedError),
        (8, ("f32", "f16", "f16"), ", 0, 1, 1, 0", UserError),
        (8, ("f32", "f16", "f16"), ", 0, 2, 1, 0, 0", UserError),
        (8, ("f32", "f16", "f16"), ", 0, 1, 1, 0, %r1", UserError),
        (8, ("f32", "tf32", "tf32"), ", 0, 1, 1, 0, 0", UserError),
    ],
)
def test_forms_that_are_refused(n: int, types: tuple[str, str, str], rest: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        product(n, types, f"{GOOD:#x}", f"{GOOD:#x}", rest, IMAGE)


def test_wrong_numbers_of_registers_are_refused() -> None:
    with pytest.raises(UserError, match="4 registers for A"):
        product(8, ("f32", "f16", "f16"), "{%a0, %a1}", f"{GOOD:#x}", ", 0, 1, 1, 0", IMAGE)
    multiply = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1}, 0, 0, 0, 1, 1, 0, 0;"
    text = f"{HEADER}.visible .entry k() {{\n.reg .b32 %d<4>;\n{multiply}\nret;\n}}\n"
    with pytest.raises(UserError, match="4 registers for D"):
        launch(text, grid=1, block=128, args=[])
