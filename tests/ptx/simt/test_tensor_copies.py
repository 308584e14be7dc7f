"""Tensor maps and cp.async.bulk.tensor: boxes against loops over their elements, swizzles also against the layout package."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import UnsupportedError, UserError
from warploom.layout import map_of_text, tile
from warploom.layout.cute import canonical
from warploom.ptx import Launch, TensorMap, launch

from .written import HEADER, REGISTERS

BYTES = 4096
LOAD = """.shared .align 1024 .b8 tile[{bytes}]; .shared .align 8 .b64 bar;
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; ld.param.u64 %rd1, [out]; mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;
@%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {bytes};
@%p1 prefetch.tensormap [%rd2];
@%p1 cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [%rd2, {at}];
@%p1 cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%rd2, {at}], [bar];
w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;
l: setp.ge.u32 %p3, %r1, {bytes}; @%p3 bra e;
mov.u32 %r2, tile; add.u32 %r2, %r2, %r1; ld.shared.u8 %h1, [%r2]; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd1, %rd3;
st.global.u8 [%rd3], %h1; add.u32 %r1, %r1, 32; bra l;
e: ret;
"""
STORE = """.shared .align 1024 .b8 tile[{bytes}];
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; ld.param.u64 %rd1, [out]; mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;
l: setp.ge.u32 %p3, %r1, {bytes}; @%p3 bra e;
mov.u32 %r2, tile; add.u32 %r2, %r2, %r1; cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd1, %rd3; ld.global.u8 %h1, [%rd3];
st.shared.u8 [%r2], %h1; add.u32 %r1, %r1, 32; bra l;
e: fence.proxy.async.shared::cta; bar.sync 0;
@%p1 cp{reduce}.async.bulk.tensor.{rank}d.global.shared::cta{operation}.tile.bulk_group [%rd2, {at}], [tile];
@%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
ret;
"""


def text_of(body: str) -> str:
    return f"{HEADER}.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {{\n{REGISTERS}\n{body}}}\n"


def copied(
    given: TensorMap, at: tuple[int, ...], content: NDArray[np.uint8] | None = None, operation: str = "", body: str = ""
) -> Launch:
    """Loads a box (its bytes are argument 1 then), or stores one of `content`. at: outermost first."""
    rank = len(given.box)
    steps = given.steps or (1,) * rank
    size = given.array.dtype.itemsize * int(np.prod([-(-n // s) for n, s in zip(given.box, steps, strict=True)]))
    body = body or (LOAD if content is None else STORE)
    text = body.format(
        rank=rank, at="{" + ", ".join(map(str, reversed(at))) + "}", bytes=size, reduce=".reduce" if operation else "",
        operation=f".{operation}" if operation else "",
    )  # fmt: skip
    out = np.zeros(size, np.uint8) if content is None else content
    return launch(text_of(text), grid=1, block=32, args=[given, out], limit=2_000_000)


def mixed(place: int, swizzle: str) -> int:
    """A byte of shared memory, bit by bit: bits 4 to 6 change with bits 7 to 9, as far as the mode mixes them."""
    bits = {"none": 0, "32B": 1, "64B": 2, "128B": 3}[swizzle]
    for bit in range(bits):
        if place >> (7 + bit) & 1:
            place ^= 1 << (4 + bit)
    return place


def boxed(given: TensorMap, at: tuple[int, ...]) -> Any:
    """For each element of the box, in the order of shared memory: its bytes there, and its index in the array or None."""
    shape = given.shape or given.array.shape
    steps = given.steps or (1,) * len(shape)
    size = given.array.dtype.itemsize
    ranges = [range(0, extent, step) for extent, step in zip(given.box, steps, strict=True)]
    for number, inside in enumerate(itertools.product(*ranges)):
        index = tuple(first + offset for first, offset in zip(at, inside, strict=True))
        is_there = all(0 <= i < n for i, n in zip(index, shape, strict=True))
        yield mixed(number * size, given.swizzle), index if is_there else None


RNG = np.random.default_rng(3)
CASES = [
    ("f4", (64,), (16,), (8,), "none", "zero", None),
    ("f2", (20, 40), (8, 64), (-3, 8), "128B", "zero", None),
    ("u1", (16, 64), (8, 32), (12, 48), "32B", "zero", None),
    ("f4", (12, 5, 16), (4, 2, 16), (10, 4, 4), "64B", "nan", None),
    ("i4", (3, 4, 5, 8), (2, 3, 2, 4), (-1, 2, 4, 2), "none", "zero", None),
    ("f8", (2, 3, 2, 3, 4), (1, 2, 2, 2, 4), (1, 2, 0, 2, 2), "32B", "nan", None),
    ("f2", (10, 64), (8, 32), (1, 4), "none", "zero", (2, 2)),
]


def array_of(kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    if kind[0] == "f":
        return RNG.normal(size=shape).astype(kind)
    return RNG.integers(1, 100, shape).astype(kind)


@pytest.mark.parametrize(("kind", "shape", "box", "at", "swizzle", "fill", "steps"), CASES)
def test_loads_and_stores_by_element(
    kind: str, shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], swizzle: Any, fill: Any,
    steps: tuple[int, ...] | None,
) -> None:  # fmt: skip
    array = array_of(kind, shape)
    given = TensorMap(array, box, swizzle=swizzle, fill=fill, steps=steps)
    ran = copied(given, at)
    assert (ran.status, ran.findings) == ("finished", ())
    size = array.dtype.itemsize
    held = ran.arrays[1]
    content = np.zeros(len(held), np.uint8)
    wanted = array.copy()
    for place, index in boxed(given, at):
        found = held[place : place + size].view(array.dtype)[0]
        if index is None:
            assert np.isnan(found) if fill == "nan" else found == 0
            content[place : place + size] = 77
        else:
            assert found == array[index]
            new = array_of(kind, (1,))
            content[place : place + size] = new.view(np.uint8)
            wanted[index] = new[0]
    back = copied(given, at, content)
    assert (back.status, back.findings) == ("finished", ())
    assert (back.arrays[0] == wanted).all()


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_swizzles_are_those_of_the_layout_package(swizzle: Any) -> None:
    columns = {"none": 8, "32B": 16, "64B": 32, "128B": 64}[swizzle]
    array = RNG.integers(1, 1 << 16, (16, columns)).astype(np.uint16)
    held = copied(TensorMap(array, (16, columns), swizzle=swizzle), (0, 0)).arrays[1].view(np.uint16)
    there = tile(f"16x{columns}:f16")
    text = canonical(f"tma:SWIZZLE_{swizzle.upper()}", there)
    assert text is not None
    assert (held[map_of_text(text, there).table].reshape(array.shape) == array).all()


@pytest.mark.parametrize(
    ("operation", "kind", "element", "expected"),
    [
        ("add", "f4", "", lambda a, b: a + b),
        ("min", "i4", "", np.minimum),
        ("max", "u4", "", np.maximum),
        ("xor", "u8", "", np.bitwise_xor),
        ("add", "f2", "", lambda a, b: a + b),
    ],
)
def test_reductions(operation: str, kind: str, element: str, expected: Any) -> None:
    array, more = array_of(kind, (4, 16)), array_of(kind, (4, 16))
    ran = copied(TensorMap(array, (4, 16), element=element), (0, 0), more.reshape(-1).view(np.uint8), operation)
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[0] == expected(array, more)).all()


def test_reductions_that_a_type_does_not_have() -> None:
    for kind, operation in (("u1", "add"), ("f4", "and"), ("f4", "inc")):
        array = array_of(kind, (4, 16))
        given, content = TensorMap(array, (4, 16)), array.reshape(-1).view(np.uint8)
        if operation == "and":  # bits of floats have one
            assert copied(given, (0, 0), content, operation).status == "finished"
            continue
        with pytest.raises(UnsupportedError):
            copied(given, (0, 0), content, operation)


def test_a_map_behind_a_pointer_and_a_part_of_an_array() -> None:
    array = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)
    given = TensorMap(array, (4, 8), shape=(10, 12), strides=(128, 4))
    text = text_of(LOAD.format(rank=2, at="{4, 8}", bytes=128)).replace(".param .align 64 .b8 map[128]", ".param .u64 map")
    text = text.replace("mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;", "ld.param.u64 %rd2, [map];")
    ran = launch(text, grid=1, block=32, args=[given, np.zeros(128, np.uint8)])
    found = ran.arrays[1].view(np.float32).reshape(4, 8)
    assert (found[:2] == array[16:20:2, 4:12]).all() and (found[2:] == 0).all()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"box": (8, 8, 8)}, "as many in the box"),
        ({"box": (8, 257)}, "a box of 1 to 256"),
        ({"box": (8, 64), "shape": (0, 128)}, "extents of at least 1"),
        ({"box": (8, 64), "steps": (1, 9)}, "steps of 1 to 8"),
        ({"box": (8, 64), "strides": (264, 2)}, "strides that are multiples of 16 bytes"),
        ({"box": (8, 64), "strides": (256, 4)}, "the last of one element"),
        ({"box": (8, 64), "shape": (65, 128)}, "a tensor inside of the array's 16384 bytes"),
        ({"box": (8, 64), "swizzle": "256B"}, "a swizzle none, 32B, 64B or 128B"),
        ({"box": (8, 64), "fill": "one"}, "the fill zero, or nan of floats"),
        ({"box": (8, 64), "fill": "nan", "element": "u16"}, "the fill zero, or nan of floats"),
        ({"box": (8, 64), "element": "f32"}, "a C-contiguous array of elements among"),
        ({"box": (8, 12)}, "rows of a box in multiples of 16 bytes"),
        ({"box": (8, 64), "swizzle": "64B"}, "rows of a box in multiples of 16 bytes, at most 64 with the swizzle 64B"),
    ],
)
def test_maps_that_there_are_not(settings: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError) as caught:
        TensorMap(np.zeros((64, 128), np.float16), **settings)
    assert caught.value.diagnostics[0].code == "TENSOR_MAP" and expected in str(caught.value)


GIVEN = TensorMap(np.arange(16 * 64, dtype=np.float32).reshape(16, 64), (8, 32), swizzle="128B")


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ("[tile], [%rd2", "[tile+64], [%rd2", "misaligned", "a box at byte 64 of shared memory, not a multiple of 128"),
        ("[tile], [%rd2", "[tile+128], [%rd2", "out_of_bounds", "a box of 1024 bytes at byte 128 of shared memory, which has"),
        ("mbarrier::complete_tx::bytes [tile], [%rd2", "mbarrier::complete_tx::bytes [tile], [%rd2+8", "misaligned",
         "not a multiple of 64"),
    ],
)  # fmt: skip
def test_faults_of_copies(old: str, new: str, kind: str, message: str) -> None:
    assert old in LOAD
    ran = copied(GIVEN, (0, 0), body=LOAD.replace(old, new))
    (found,) = ran.findings
    assert (ran.status, found.kind) == ("fault", kind) and message in found.message


def test_who_does_not_wait_and_who_races_is_told() -> None:
    kinds = {f.kind for f in copied(GIVEN, (0, 0), body=LOAD.replace("@!%p2 bra w;", "")).findings}
    assert not kinds  # the copy is there at once: only who tests nothing at all is told
    never = LOAD.replace("w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;", "")
    assert {f.kind for f in copied(GIVEN, (0, 0), body=never).findings} == {"early_copy_read", "shared_race"}
    unordered = STORE.replace("bar.sync 0;\n@%p1 cp", "\n@%p1 cp")
    content = np.zeros(1024, np.uint8)
    assert {f.kind for f in copied(GIVEN, (0, 0), content, body=unordered).findings} == {"shared_race"}


def test_a_map_that_says_more_than_the_memory_has() -> None:
    text = text_of(LOAD.format(rank=2, at="{0, 12}", bytes=1024))
    wrong = bytearray(GIVEN.encoded(1 << 40))
    with pytest.raises(UserError, match="tensor map"):
        launch(text, grid=1, block=32, args=[bytes(128), np.zeros(1024, np.uint8)])
    ran = launch(text, grid=1, block=32, args=[bytes(wrong), np.zeros(1024, np.uint8)])
    assert [f.kind for f in ran.findings] == ["out_of_bounds"] and "outside of every array" in ran.findings[0].message
    with pytest.raises(UserError, match="2 coordinates, as the tensor map has"):
        launch(text_of(LOAD.format(rank=3, at="{0, 0, 0}", bytes=1024)), grid=1, block=32, args=[GIVEN, np.zeros(1024, np.uint8)])
    with pytest.raises(UserError, match="a tensor map"):
        launch(text.replace(".param .align 64 .b8 map[128]", ".param .b32 map"), grid=1, block=32, args=[GIVEN, GIVEN.array])


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (".global.tile.mbarrier", ".global.im2col.mbarrier", UnsupportedError),
        (".global.tile.mbarrier", ".global.tile::gather4.mbarrier", UserError),
        ("complete_tx::bytes [tile]", "complete_tx::bytes.cta_group::2 [tile]", UnsupportedError),
        ("[tile], [%rd2, {at}]", "[tile], [%rd2]", UserError),
        ("[tile], [%rd2, {at}]", "[tile], [%rd2, {{0}}]", UserError),
    ],
)
def test_other_forms_are_refused(old: str, new: str, error: type[Exception]) -> None:
    assert old in LOAD
    with pytest.raises(error):
        copied(GIVEN, (0, 0), body=LOAD.replace(old, new))


def test_wrong_numbers_of_coordinates_and_dimensions_are_named() -> None:
    with pytest.raises(UserError, match="2 coordinates and an address in shared memory"):
        copied(GIVEN, (0, 0), body=LOAD.replace("[tile], [%rd2, {at}]", "[tile], [%rd2, {{0}}]"))
    wrong = BUILD.replace("box_dim.shared::cta.b1024.b32 [made], 0,", "box_dim.shared::cta.b1024.b32 [made], 5,")
    with pytest.raises(UserError, match="a dimension of a tensor map"):
        built(wrong)


BUILD = """.shared .align 128 .b8 made[128]; .shared .align 1024 .b8 tile[1024]; .shared .align 8 .b64 bar;
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; ld.param.u64 %rd1, [out]; ld.param.u64 %rd4, [data]; ld.param.u64 %rd2, [scratch];
mad.lo.u32 %r2, %r1, 4, made; st.shared.u32 [%r2], 0; bar.warp.sync -1;
mov.u32 %r3, 32; mov.u32 %r4, 64; mov.u32 %r5, 1; mov.u64 %rd5, 256;
@%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [made], %rd4;
@%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [made], 1;
@%p1 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [made], 0, %r3;
@%p1 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [made], 1, 8;
@%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [made], 0, %r4;
@%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [made], 1, 16;
@%p1 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [made], 0, %rd5;
@%p1 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [made], 0, %r5;
@%p1 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [made], 1, %r5;
@%p1 tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [made], 7;
@%p1 tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [made], 3;
bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [made], 128;
fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;
"""


def built(body: str = BUILD) -> Launch:
    rest = LOAD.format(rank=2, at="{32, 4}", bytes=1024).partition("bar.sync 0;")[2]
    text = f"{body}@%p1 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;{rest}"
    head = ".param .u64 data, .param .u64 out, .param .u64 scratch"
    text = f"{HEADER}.visible .entry k({head}) {{\n{REGISTERS}\n{text}}}\n"
    return launch(text, grid=1, block=32, args=[GIVEN.array, np.zeros(1024, np.uint8), np.zeros(256, np.uint8)])


def test_a_map_that_the_kernel_builds() -> None:
    ran = built()
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[1] == copied(GIVEN, (4, 32)).arrays[1]).all()


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("box_dim.shared::cta.b1024.b32 [made], 0,", "box_dim.shared::cta.b1024.b32 [made], 5,", UserError),
        ("box_dim.shared::cta.b1024.b32 [made], 0,", "box_dim.shared::cta.b1024.b32 [made], %r1,", UserError),
        ("tile.rank.shared::cta", "im2col.rank.shared::cta", UnsupportedError),
        ("tile.rank.shared::cta.b1024.b32 [made]", "tile.rank.shared::cta.b1024.b32 made", UserError),
        ("tensormap::generic.release.gpu.sync", "tensormap::generic.acquire.gpu.sync", UnsupportedError),
        ("[%rd2], [made], 128", "[%rd2], [made], 64", UserError),
        ("swizzle_mode.shared::cta.b1024.b32 [made], 3", "swizzle_mode.shared::cta.b1024.b32 [made], 4", UserError),
        ("elemtype.shared::cta.b1024.b32 [made], 7", "elemtype.shared::cta.b1024.b32 [made], 15", UserError),
        ("element_stride.shared::cta.b1024.b32 [made], 1, %r5", "element_stride.shared::cta.b1024.b32 [made], 1, 0", UserError),
    ],
)
def test_maps_that_kernels_build_wrongly(old: str, new: str, error: type[Exception]) -> None:
    assert old in BUILD
    with pytest.raises(error):
        built(BUILD.replace(old, new))


GATHER = LOAD.replace(
    "tensor.{rank}d.shared::cta.global.tile.mbarrier", "tensor.2d.tile::gather4.shared::cta.global.mbarrier"
).replace("@%p1 cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [%rd2, {at}];\n", "")
SCATTER = STORE.replace(
    "cp{reduce}.async.bulk.tensor.{rank}d.global.shared::cta{operation}.tile.bulk_group",
    "cp.async.bulk.tensor.2d.tile::scatter4.global.shared::cta.bulk_group",
)


def by_rows(given: TensorMap, column: int, rows: tuple[int, ...], content: NDArray[np.uint8] | None = None) -> Launch:
    """Four rows of a box of one row each; `content`: what is stored there."""
    size = 4 * given.box[1] * given.array.dtype.itemsize
    at = "{" + ", ".join(map(str, (column, *rows))) + "}"
    text = (GATHER if content is None else SCATTER).format(rank=2, at=at, bytes=size)
    out = np.zeros(size, np.uint8) if content is None else content
    return launch(text_of(text), grid=1, block=32, args=[given, out], limit=2_000_000)


@pytest.mark.parametrize("swizzle", ["none", "32B", "128B"])
def test_rows_by_their_numbers(swizzle: Any) -> None:
    """Rows and columns beyond the tensor give zeros, and take nothing."""
    array = np.arange(1, 9 * 40 + 1, dtype=np.uint16).reshape(9, 40)
    width = 16 if swizzle != "128B" else 64
    given = TensorMap(array, (1, width), swizzle=swizzle)
    for column, rows in ((8, (7, 2, 2, 0)), (32, (8, 9, -1, 3))):
        ran = by_rows(given, column, rows)
        assert (ran.status, ran.findings) == ("finished", ())
        found = ran.arrays[1]
        stored_bytes = np.arange(1000, 1000 + 4 * width, dtype=np.uint16).view(np.uint8)
        wanted = array.copy()
        for number, row in enumerate(rows):
            for inside in range(width):
                place = mixed(2 * (number * width + inside), swizzle)
                is_there = 0 <= row < 9 and column + inside < 40
                got = int(found[place]) | int(found[place + 1]) << 8
                assert got == (array[row, column + inside] if is_there else 0)
                if is_there and rows.count(row) == 1:
                    wanted[row, column + inside] = int(stored_bytes[place]) | int(stored_bytes[place + 1]) << 8
        stored = by_rows(TensorMap(array.copy(), (1, width), swizzle=swizzle), column, rows, stored_bytes)
        once = [row for row in range(9) if rows.count(row) < 2]
        assert (stored.arrays[0][once] == wanted[once]).all()


def test_rows_by_their_numbers_are_refused() -> None:
    array = np.zeros((8, 16), np.uint16)
    with pytest.raises(UserError, match="a tensor map whose box has one row"):
        by_rows(TensorMap(array, (2, 16)), 0, (0, 1, 2, 3))
    with pytest.raises(UserError, match="5 coordinates"):
        by_rows(TensorMap(array, (1, 16)), 0, (0, 1, 2))
    wrong = GATHER.replace("2d.tile::gather4", "3d.tile::gather4").format(rank=2, at="{0, 0, 0, 0, 0}", bytes=128)
    with pytest.raises(UnsupportedError):
        launch(text_of(wrong), grid=1, block=32, args=[TensorMap(array, (1, 16)), np.zeros(128, np.uint8)])
    with pytest.raises(UserError, match="3 coordinates, as the tensor map has"):
        by_rows(TensorMap(array.reshape(8, 2, 8), (1, 2, 8)), 0, (0, 1, 2, 3))


@pytest.mark.parametrize(("element", "apart"), [("b4x16", 8), ("b4x16_p64", 16)])
def test_elements_of_four_bits(element: str, apart: int) -> None:
    """Sixteen elements come in eight bytes, which zeros may follow."""
    array = np.random.default_rng(3).integers(0, 256, (6, 32)).astype(np.uint8)
    given = TensorMap(array, (4, 32), element=element)
    size = 4 * 2 * apart
    load = LOAD.replace("_, [bar], {bytes}", "_, [bar], 64")  # what follows the elements is not counted
    ran = launch(
        text_of(load.format(rank=2, at="{32, 3}", bytes=size)), grid=1, block=32, args=[given, np.zeros(size, np.uint8)],
        limit=2_000_000,
    )  # fmt: skip
    assert ran.status == "finished"
    for row in range(4):
        for byte in range(16):
            place = row * 2 * apart + byte // 8 * apart + byte % 8
            assert ran.arrays[1][place] == (array[3 + row, 16 + byte] if 3 + row < 6 else 0)
    unread = {f.kind for f in ran.findings}
    assert unread == ({"uninitialised_shared"} if apart == 16 else set[str]())  # the kernel reads what follows, too
    late = launch(text_of(load.format(rank=2, at="{8, 0}", bytes=size)), grid=1, block=32, args=[given, np.zeros(size, np.uint8)])
    assert late.status == "fault" and "element 8 of a row, not a multiple of 16" in late.findings[0].message
    with pytest.raises(UserError, match="whole groups of 16 elements"):
        TensorMap(array, (4, 40), element=element)


def test_both_words_of_long_elements_are_on_their_way() -> None:
    """A read of the second half of an element of eight bytes before the wait."""
    given = TensorMap(np.zeros((2, 4), np.float64), (2, 4))
    early = LOAD.replace("w: mbarrier", "ld.shared.u32 %r5, [tile+4];\nw: mbarrier").format(rank=2, at="{0, 0}", bytes=64)
    ran = launch(text_of(early), grid=1, block=32, args=[given, np.zeros(64, np.uint8)], limit=2_000_000)
    assert "early_copy_read" in {f.kind for f in ran.findings}
