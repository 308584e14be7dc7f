"""tcgen05: tensor memory's loads and stores lane by lane, products against NumPy, and what is found or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import UnsupportedError, UserError
from warploom.layout.distributed.fragments import fragment
from warploom.ptx import Launch, launch
from warploom.ptx.simt.descriptors import Descriptor, places
from warploom.ptx.simt.numerics.float_formats import decode, encode

from .test_wgmma import bytes_of, elements_of, numbers

HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"
ALLOCATE = """.shared .align 8 .b32 where; .shared .align 8 .b64 bar;
mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; setp.eq.u32 %p2, %r1, 0; ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [out];
@%p2 mbarrier.init.shared.b64 [bar], 1;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], COLUMNS;
@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; bar.sync 0; ld.shared.u32 %r2, [where];
shr.u32 %r3, %r1, 5; shl.b32 %r3, %r3, 21; add.u32 %r3, %r3, %r2;
"""
"""%r2: the columns; %r3: those of the warp's own lanes."""
FREE = "bar.sync 0; @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, COLUMNS;\n"


def run(
    body: str, *, image: NDArray[Any] | None = None, registers: int = 4, columns: int = 64, block: int = 128, free: str = FREE
) -> Launch:
    image = np.zeros(4, np.uint32) if image is None else image
    declared = f".reg .b32 %r<40>, %d<{max(registers, 4)}>; .reg .b64 %rd<9>; .reg .pred %p<8>;\n"
    text = f"{HEADER}.visible .entry k(.param .u64 image, .param .u64 out) {{\n{declared}{ALLOCATE}{body}{free}ret;\n}}\n"
    out = np.zeros((block, registers), np.uint32)
    return launch(text.replace("COLUMNS", str(columns)), grid=1, block=block, args=[image, out], limit=3_000_000)


def kept(registers: int) -> str:
    address = f"mul.wide.u32 %rd4, %r1, {4 * registers}; add.u64 %rd4, %rd2, %rd4;\n"
    return address + "".join(f"st.global.u32 [%rd4+{4 * i}], %d{i};\n" for i in range(registers))


def given(registers: int) -> str:
    address = f"mul.wide.u32 %rd4, %r1, {4 * registers}; add.u64 %rd4, %rd1, %rd4;\n"
    return address + "".join(f"ld.global.u32 %d{i}, [%rd4+{4 * i}];\n" for i in range(registers))


def names(registers: int) -> str:
    return "{" + ", ".join(f"%d{i}" for i in range(registers)) + "}"


ONE_ROW = given(16) + f"tcgen05.st.sync.aligned.32x32b.x16.b32 [%r3], {names(16)}; tcgen05.wait::st.sync.aligned;\n"
"""Each lane's sixteen columns from its row of the image."""


def lane_and_column(shape: str, thread: int, register: int) -> tuple[int, int]:
    """From CuTe's traits of the copy atoms of sm_100, as digits of thread and register."""
    match shape:
        case "32x32b":
            return thread, register
        case "16x64b":
            return thread // 4 + (8 if thread & 1 else 0), (1 if thread & 2 else 0) + 2 * register
        case "16x128b":
            return thread // 4 + (8 if register & 1 else 0), thread % 4 + 4 * (register // 2)
        case "16x256b":
            return thread // 4 + (8 if register & 2 else 0), 2 * (thread % 4) + register % 2 + 8 * (register // 4)
        case _:
            return thread % 16, register + (8 if thread >= 16 else 0)


@pytest.mark.parametrize(
    ("shape", "number", "registers"),
    [("32x32b", 8, 8), ("16x64b", 8, 8), ("16x128b", 4, 8), ("16x256b", 2, 8), ("16x32bx2", 8, 8), ("32x32b", 1, 1)],
)
def test_loads_and_stores_lane_by_lane(shape: str, number: int, registers: int) -> None:
    image = np.arange(128 * 16, dtype=np.uint32).reshape(128, 16)
    split = ", 8" if shape == "16x32bx2" else ""
    load = f"tcgen05.ld.sync.aligned.{shape}.x{number}.b32 {names(registers)}, [%r3]{split}; tcgen05.wait::ld.sync.aligned;\n"
    ran = run(ONE_ROW + load + kept(registers), image=image, registers=max(registers, 16))
    assert (ran.status, ran.findings) == ("finished", ())
    flat = ran.arrays[1].reshape(-1)[: 128 * registers].reshape(128, registers)
    for thread in range(128):
        for register in range(registers):
            lane, column = lane_and_column(shape, thread % 32, register)
            assert flat[thread, register] == image[thread // 32 * 32 + lane, column]
    back = given(registers) + f"tcgen05.st.sync.aligned.{shape}.x{number}.b32 [%r3]{split}, {names(registers)};\n"
    again = f"tcgen05.ld.sync.aligned.{shape}.x{number}.b32 {names(registers)}, [%r3]{split};\n"
    ran = run(back + again + kept(registers), image=image, registers=registers)
    assert (ran.arrays[1].reshape(-1) == image.reshape(-1)[: 128 * registers]).all()


def test_the_lower_half_of_a_warps_lanes_and_packed_halves() -> None:
    image = np.arange(128 * 16, dtype=np.uint32).reshape(128, 16)
    load = "add.u32 %r4, %r3, 0x100000; tcgen05.ld.sync.aligned.16x64b.x1.b32 {%d0}, [%r4];\n"
    ran = run(ONE_ROW + load + kept(1), image=image, registers=16)
    rows = [thread // 32 * 32 + 16 + lane_and_column("16x64b", thread % 32, 0)[0] for thread in range(128)]
    columns = [lane_and_column("16x64b", thread % 32, 0)[1] for thread in range(128)]
    assert (ran.arrays[1].reshape(-1)[:128] == image[rows, columns]).all()
    packed = f"tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {names(4)}, [%r3];\n"
    ran = run(ONE_ROW + packed + kept(4), image=image, registers=16)
    wanted = image[:, :8:2] & 0xFFFF | image[:, 1:8:2] << 16
    assert (ran.arrays[1].reshape(-1)[:512].reshape(128, 4) == wanted).all()
    put = given(4) + f"tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%r3], {names(4)};\n"
    ran = run(put + packed + kept(4), image=image)
    assert (ran.arrays[1].reshape(-1) == image.reshape(-1)[:512]).all()


def test_the_accumulator_is_that_of_the_layout_package() -> None:
    theirs = fragment("tcgen05:m128n16:D:f32")
    assert theirs is not None
    image = np.arange(128 * 16, dtype=np.uint32).reshape(128, 16)
    load = f"tcgen05.ld.sync.aligned.32x32b.x16.b32 {names(16)}, [%r3];\n"
    ran = run(ONE_ROW + load + kept(16), image=image, registers=16)
    assert (ran.arrays[1].reshape(4, 32, 16) == theirs.elements[..., 0]).all()


BYTES = 32768
TILE = f""".shared .align 1024 .b8 tile[{BYTES}]; mov.u32 %r5, %r1;
l: setp.ge.u32 %p3, %r5, {BYTES // 4}; @%p3 bra e; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd1, %rd3;
ld.global.u32 %r6, [%rd3]; mad.lo.u32 %r7, %r5, 4, tile; st.shared.u32 [%r7], %r6; add.u32 %r5, %r5, 128; bra l;
e: fence.proxy.async.shared::cta; bar.sync 0;
"""
WAIT = (
    "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
    "w: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra w; tcgen05.fence::after_thread_sync;\n"
)


def instruction(m: int, n: int, numbers_of: tuple[int, int, int], turned: tuple[int, int], negated: tuple[int, int]) -> int:
    """The instruction descriptor of (sum, A, B)."""
    total, a, b = numbers_of
    fields = ((total, 4), (a, 7), (b, 10), (negated[0], 13), (negated[1], 14), (turned[0], 15), (turned[1], 16), (n >> 3, 17))
    return sum(value << bit for value, bit in (*fields, (m >> 4, 24)))


def word(found: Descriptor, mode: int) -> int:
    return found.start >> 4 | found.leading >> 4 << 16 | found.stride >> 4 << 32 | 1 << 46 | mode << 61


class Matrix:
    """A matrix in atoms of 128 bytes, which begin at `tile` + start in a block whose shared memory the kernel describes."""

    def __init__(self, elements: NDArray[Any], start: int, *, is_mn_major: bool) -> None:
        rows, deep = elements.shape
        far = 1024 * (deep // 8)
        one = Descriptor(start, far, 1024, 3)
        self.word = word(one, 2)
        self.places = places(one, rows, deep, elements.dtype.itemsize, is_mn_major=is_mn_major)
        self.elements = elements

    def write(self, memory: NDArray[np.uint8]) -> None:
        memory.view(self.elements.dtype)[self.places // self.elements.dtype.itemsize] = self.elements


def multiplied(
    m: int, n: int, kind: str, types: tuple[str, str], code: int, *, turned: tuple[int, int] = (0, 0), body: str = "",
    in_cells: bool = False, adds: str = "0", wait: str = WAIT, target: str = "%r2", old: str = "", cells: str = "", mode: int = 0,
) -> tuple[Launch, NDArray[Any], NDArray[Any]]:  # fmt: skip
    """A and B in shared memory at bytes 1024 (after the block's other variables) and 17408; D's lanes as rows of registers."""
    deep = 32 // {"f16": 2, "bf16": 2, "tf32": 4}.get(types[0], 1)
    a = Matrix(elements_of(types[0], (m, deep)), 1024, is_mn_major=bool(turned[0]))
    b = Matrix(elements_of(types[1], (n, deep)), 17408, is_mn_major=bool(turned[1]))
    memory = np.zeros(BYTES + 1024, np.uint8)
    a.write(memory)
    b.write(memory)
    image = memory[1024:]
    left = f"{a.word | mode:#x}"
    put = ""
    if in_cells:
        rows = np.zeros((128, 8), np.uint32)
        lanes = np.arange(m) if m == 128 else np.arange(m) // 16 * 32 + np.arange(m) % 16
        rows[lanes] = a.elements.view(np.uint32)
        image = np.concatenate([image, rows.reshape(-1).view(np.uint8)])
        put = f"mul.wide.u32 %rd4, %r1, 32; add.u64 %rd4, %rd1, %rd4; add.u64 %rd4, %rd4, {BYTES};\n"
        put += "".join(f"ld.global.u32 %d{i}, [%rd4+{4 * i}];\n" for i in range(8))
        put += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r3+32], {names(8)}; tcgen05.wait::st.sync.aligned; bar.sync 0;\n"
        left = f"[{cells or target}+32]"
    mma = f"mov.u32 %r10, {code:#x}; @%p2 tcgen05.mma.cta_group::1.{kind} [{target}], {left}, {b.word:#x}, %r10, {adds};\n"
    load = f"tcgen05.ld.sync.aligned.32x32b.x{n}.b32 {names(n)}, [%r3]; tcgen05.wait::ld.sync.aligned;\n"
    ran = run(body + TILE + put + old + mma + wait + load + kept(n), image=image, registers=max(n, 8))
    return ran, numbers(types[0], a.elements), numbers(types[1], b.elements)


def result(ran: Launch, m: int, n: int, dtype: Any) -> NDArray[Any]:
    assert (ran.status, ran.findings) == ("finished", ())
    found = ran.arrays[1].reshape(-1)[: 128 * n].view(dtype).reshape(128, n)
    return found if m == 128 else found.reshape(4, 32, n)[:, :16].reshape(64, n)


@pytest.mark.parametrize(
    ("m", "n", "kind", "types", "codes", "turned", "in_cells"),
    [
        (128, 16, "kind::f16", ("f16", "f16"), (1, 0, 0), (0, 0), False),
        (64, 8, "kind::f16", ("bf16", "f16"), (1, 1, 0), (1, 0), False),
        (128, 16, "kind::f16", ("f16", "bf16"), (1, 0, 1), (0, 1), True),
        (64, 8, "kind::f16", ("f16", "f16"), (1, 0, 0), (0, 0), True),
        (128, 16, "kind::tf32", ("tf32", "tf32"), (1, 2, 2), (0, 0), False),
        (128, 16, "kind::f8f6f4", ("e4m3", "e5m2"), (1, 0, 1), (0, 0), False),
        (64, 16, "kind::i8", ("s8", "u8"), (2, 1, 0), (0, 0), False),
    ],
)
def test_products(
    m: int, n: int, kind: str, types: tuple[str, str], codes: tuple[int, int, int], turned: tuple[int, int], in_cells: bool
) -> None:
    ran, a, b = multiplied(m, n, kind, types, instruction(m, n, codes, turned, (0, 0)), turned=turned, in_cells=in_cells)
    found = result(ran, m, n, np.int32 if codes[0] == 2 else np.float32)
    assert np.allclose(found, a @ b.T, rtol=1e-6, atol=1e-5)


def test_signs_sums_and_halves() -> None:
    ran, a, b = multiplied(128, 16, "kind::f16", ("f16", "f16"), instruction(128, 16, (1, 0, 0), (0, 0), (1, 0)))
    assert np.allclose(result(ran, 128, 16, np.float32), -(a @ b.T), atol=1e-5)
    old = "".join(f"mov.b32 %d{i}, 0f3F800000;\n" for i in range(16))
    old += f"tcgen05.st.sync.aligned.32x32b.x16.b32 [%r3], {names(16)}; tcgen05.wait::st.sync.aligned; bar.sync 0;\n"
    code = instruction(128, 16, (1, 0, 0), (0, 0), (0, 0))
    ran, a, b = multiplied(128, 16, "kind::f16", ("f16", "f16"), code, old=old, adds="1")
    assert np.allclose(result(ran, 128, 16, np.float32), 1 + a @ b.T, atol=1e-5)
    ran, a, b = multiplied(128, 16, "kind::f16", ("f16", "f16"), instruction(128, 16, (0, 0, 0), (0, 0), (0, 0)))
    bits = result(ran, 128, 16, np.uint32)
    assert np.allclose(decode("f16", bits.astype(np.uint16)), a @ b.T, rtol=1e-3, atol=1e-2)
    assert (encode("f16", np.array([1.0])) == 0x3C00).all() and not (bits >> 16).any()


def test_atoms_are_those_of_the_layout_package() -> None:
    theirs = bytes_of("SW128", 128, 64, 2)
    found = places(Descriptor(32, 16, 1024, 3), 128, 16, 2, is_mn_major=False)
    assert (found == theirs[:, 16:32]).all()


CODE = instruction(128, 16, (1, 0, 0), (0, 0), (0, 0))


def test_who_does_not_wait_is_told() -> None:
    ran, _, _ = multiplied(128, 16, "kind::f16", ("f16", "f16"), CODE, wait="")
    assert {f.kind for f in ran.findings} == {"early_copy_read"}
    committed = WAIT.partition("w:")[0]
    ran, _, _ = multiplied(128, 16, "kind::f16", ("f16", "f16"), CODE, wait=committed)
    (found,) = ran.findings
    assert found.kind == "early_copy_read" and found.others[0][1].source is not None
    assert "tcgen05.mma" in found.others[0][1].source and "columns 0 to 15 of tensor memory" in found.message


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (CODE | 4, "with a sparse matrix or a shift"),
        (CODE | 3 << 4, "with types 0 and 0, of the sum 3"),
        (CODE & ~(63 << 17) | 3 << 17, "with the shape 128 by 24"),
        (CODE & ~(31 << 24) | 2 << 24, "with the shape 32 by 16"),
        (CODE | 1 << 3, "with saturation of floats"),
    ],
)
def test_instruction_descriptors_that_are_refused(code: int, message: str) -> None:
    ran, _, _ = multiplied(128, 16, "kind::f16", ("f16", "f16"), code)
    assert ran.status == "fault" and message in ran.findings[0].message


def test_elements_of_32_bits_along_the_rows_are_refused() -> None:
    ran, _, _ = multiplied(128, 16, "kind::tf32", ("tf32", "tf32"), instruction(128, 16, (1, 2, 2), (1, 0), (0, 0)))
    assert "with elements of 32 bits along the rows" in ran.findings[0].message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%r3+64];\n", "columns 64 to 64 of tensor memory"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%r2];\n", "of which this warp reaches 32 to 63"),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%r3+0x100000];\n", "lanes from 16 on of tensor memory"),
        ("@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 48;\n", "an allocation of 48 columns"),
        ("@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 512;\n", "where the block holds too many"),
        ("@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;\n", "32 columns from 0x0 on are freed"),
    ],
)
def test_faults_of_tensor_memory(body: str, message: str) -> None:
    ran = run(body)
    assert ran.status == "fault" and message in ran.findings[0].message


def test_what_nobody_frees_is_told() -> None:
    ran = run("", free="")
    assert ran.status == "fault" and "64 columns of tensor memory that nobody frees" in ran.findings[0].message
    assert ran.findings[0].span.source is not None and "tcgen05.alloc" in ran.findings[0].span.source


@pytest.mark.parametrize(("lane", "in_cells"), [(16, False), (0x20, True)])
def test_products_from_a_lane_that_they_cannot_have(lane: int, in_cells: bool) -> None:
    old = f"add.u32 %r11, %r2, {lane << 16:#x};\n"
    ran, _, _ = multiplied(128, 16, "kind::f16", ("f16", "f16"), CODE, old=old, target="%r11", in_cells=in_cells)
    assert ran.status == "fault" and f"a product from lane {lane} of tensor memory on" in ran.findings[0].message


def test_matrices_from_a_lane_that_they_cannot_have() -> None:
    old = "add.u32 %r11, %r2, 0x200000;\n"
    ran, _, _ = multiplied(128, 16, "kind::f16", ("f16", "f16"), CODE, old=old, cells="%r11", in_cells=True)
    assert ran.status == "fault" and "a matrix from lane 32 of tensor memory on" in ran.findings[0].message


@pytest.mark.parametrize(
    ("mode", "message"), [(1 << 52, "with an absolute leading offset"), (1 << 61, "with the swizzle mode 3")]
)
def test_matrix_descriptors_that_are_refused(mode: int, message: str) -> None:
    ran, _, _ = multiplied(128, 16, "kind::f16", ("f16", "f16"), CODE, mode=mode)
    assert ran.status == "fault" and message in ran.findings[0].message


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [where], 32;", UnsupportedError),
        ("tcgen05.ld.sync.aligned.16x512b.x1.b32 {%d0}, [%r3];", UnsupportedError),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%r3], 4;", UnsupportedError),
        ("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%d0}, [%r3];", UnsupportedError),
        ("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%d0}, [%r3], %r1;", UserError),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%d0}, [%r3];", UserError),
        ("tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%d0};", UserError),
        ("tcgen05.mma.cta_group::2.kind::f16 [%r2], %rd1, %rd2, %r1, 0;", UnsupportedError),
        ("tcgen05.mma.cta_group::1.kind::mxf8f6f4 [%r2], %rd1, %rd2, %r1, 0;", UnsupportedError),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd1, %rd2, %r1, {%r1, %r1, %r1, %r1}, 0;", UnsupportedError),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd1, %rd2, %r1, 0, 1;", UnsupportedError),
        ("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [bar];", UnsupportedError),
        ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar], %r1;", UserError),
        ("tcgen05.cp.cta_group::2.128x256b [%r2], %rd1;", UnsupportedError),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 %r1, 32;", UserError),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, %r3;", UserError),
        ("tcgen05.shift.cta_group::1.down [%r2];", UnsupportedError),
    ],
)
def test_forms_that_are_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(text + "\n")


def test_an_arrival_that_nobody_expects() -> None:
    ran = run("@%p2 mbarrier.init.shared.b64 [bar], 0;\n" + WAIT.partition("w:")[0])
    assert ran.status == "fault" and "an arrival at an mbarrier that waits for 0" in ran.findings[0].message
