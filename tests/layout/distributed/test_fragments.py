"""The table of fragments against the PTX interpreter's own: ldmatrix, stmatrix and mma move the elements that it names."""

from collections.abc import Callable

import numpy as np
import pytest

from warploom.core import UserError
from warploom.layout import map_of_text, tile
from warploom.layout.distributed import (
    Distributed,
    differing,
    distributed_of_array,
    distributed_of_function,
    distributed_of_text,
    fragment,
    sizes_of_text,
)
from warploom.ptx import launch

MMAS = (
    ("m16n8k16", "f16", "f32", "f16"), ("m16n8k8", "f16", "f32", "f16"), ("m16n8k8", "tf32", "f32", "f32"),
    ("m16n8k4", "tf32", "f32", "f32"), ("m16n8k32", "s8", "s32", "s8"), ("m16n8k16", "s8", "s32", "s8"),
    ("m8n8k16", "s8", "s32", "s8"), ("m8n8k4", "f64", "f64", "f64"),
)  # fmt: skip
"""Shape, type of A and B, type of C, name of our type."""


def named(text: str) -> Distributed:
    found = fragment(text)
    assert found is not None
    return found


def registers(values: np.ndarray, held: Distributed, kind: type) -> np.ndarray:
    """[registers, lanes] of the raw words that hold the matrix."""
    bits = 8 * np.dtype(kind).itemsize
    width = max(32, bits)
    raw = values.astype(kind).ravel()[held.elements[0]].reshape(32, -1)
    return np.ascontiguousarray(raw).view(np.uint64 if width == 64 else np.uint32).T.copy()


@pytest.mark.parametrize(("shape", "operand", "total", "ours"), MMAS)
def test_mma_multiplies_what_the_table_names(shape: str, operand: str, total: str, ours: str) -> None:
    a, b, c = (named(f"mma:{shape}:{name}:{kind}") for name, kind in (("A", _type(ours)), ("B", _type(ours)), ("D", total)))
    random = np.random.default_rng(0)
    kind = {"f16": np.float16, "f32": np.float32, "s8": np.int8, "f64": np.float64}[ours]
    sum_kind = {"f32": np.float32, "s32": np.int32, "f64": np.float64}[total]
    left, right = (random.integers(-4, 5, held.shape).astype(kind) for held in (a, b))
    words = [registers(left, a, kind), registers(right, b, kind)]
    wide = total == "f64"
    count = [len(words[0]), len(words[1]), c.elements.shape[2]]
    size, unit, letter = (8, "u64", "d") if wide else (4, "u32", "r")
    loads, names = "", []
    for which, number in enumerate(count[:2]):
        names.append([f"%{letter}{which}_{i}" for i in range(number)])
        for i, name in enumerate(names[which]):
            loads += f"    ld.global.{unit} {name}, [%p{which} + {i * 32 * size}];\n"
    names.append([f"%{letter}2_{i}" for i in range(count[2])])
    zeros = "".join(f"    mov.b{8 * size} {name}, 0;\n" for name in names[2])
    stores = "".join(f"    st.global.{unit} [%p2 + {i * 32 * size}], {name};\n" for i, name in enumerate(names[2]))
    declared = "".join(f"    .reg .b{8 * size} {name};\n" for group in names for name in group)
    pointers = "".join(
        f"    ld.param.u64 %g{i}, [p{i}];\n    cvta.to.global.u64 %g{i}, %g{i};\n    mad.wide.u32 %p{i}, %t, {size}, %g{i};\n"
        for i in range(3)
    )
    first, second, result = (f"{{{', '.join(group)}}}" for group in names)
    types = f"{total}.{operand}.{operand}.{total}"
    text = f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry f(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{{
    .reg .u32 %t;
    .reg .u64 %g<3>, %p<3>;
{declared}    mov.u32 %t, %tid.x;
{pointers}{loads}{zeros}    mma.sync.aligned.{shape}.row.col.{types} {result}, {first}, {second}, {result};
{stores}    ret;
}}
"""
    out = np.zeros(32 * count[2], dtype=np.uint64 if wide else np.uint32)
    ran = launch(text, grid=1, block=32, args=[words[0].ravel(), words[1].ravel(), out], checks=False)
    got = np.asarray(ran.arrays[2]).reshape(count[2], 32).view(sum_kind)
    expected = left.astype(np.float64) @ right.astype(np.float64)
    assert (got == expected.ravel()[c.elements[0, :, :, 0].T]).all()


def _type(ours: str) -> str:
    return {"s8": "i8", "f32": "tf32"}.get(ours, ours)


@pytest.mark.parametrize("name", ["ldmatrix", "ldmatrix.trans"])
def test_ldmatrix_gives_what_the_table_names(name: str) -> None:
    held = named(name)
    trans = ".trans" if name.endswith(".trans") else ""
    text = f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry f(.param .u64 a, .param .u64 b)
{{
    .shared .align 16 .b8 tile[512];
    .reg .u32 %r<12>;
    .reg .u64 %d<6>;
    ld.param.u64 %d0, [a];
    cvta.to.global.u64 %d0, %d0;
    ld.param.u64 %d1, [b];
    cvta.to.global.u64 %d1, %d1;
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d2, %r0, 16;
    add.u64 %d3, %d0, %d2;
    ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d3];
    mov.u32 %r1, tile;
    mad.lo.u32 %r2, %r0, 16, %r1;
    st.shared.v4.u32 [%r2], {{%r4, %r5, %r6, %r7}};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r8, %r9, %r10, %r11}}, [%r2];
    add.u64 %d4, %d1, %d2;
    st.global.v4.u32 [%d4], {{%r8, %r9, %r10, %r11}};
    ret;
}}
"""
    matrix = np.arange(256, dtype=np.uint16)
    out = np.zeros(128, dtype=np.uint32)
    ran = launch(text, grid=1, block=32, args=[matrix.view(np.uint32), out], checks=False)
    got = np.asarray(ran.arrays[1]).view(np.uint16).reshape(32, 4, 2)
    assert (got == held.elements[0]).all()


def test_every_element_of_a_matrix_is_held_once() -> None:
    for text in (
        "mma:m16n8k64:A:e2m1",
        "mma:m16n8k32:B:e4m3",
        "mma:m16n8k32:C:e4m3",
        "wgmma:m64n24:D:f32",
        "tcgen05:m128n64:D:f32",
    ):
        held = named(text)
        assert sorted(held.elements.ravel().tolist()) == list(range(int(np.prod(held.shape)))), text
    wgmma, warp = named("wgmma:m64n8:D:f32"), named("mma:m16n8k16:D:f32")
    assert (wgmma.elements[2] == warp.elements[0] + 32 * 8).all()
    assert named("tcgen05:m128n8:D:f32").elements[3, 5, 2, 0] == (3 * 32 + 5) * 8 + 2


def test_names_of_registers() -> None:
    def lane(text: str, number: int = 2, lanes: int = 4, regs: int = 2, bits: int = 32) -> list[int]:
        return distributed_of_text(text, lanes, regs, bits).elements[0, number].ravel().tolist()

    assert lane("striped") == lane("soa:4") == [2, 6]
    assert lane("blocked") == lane("aos:2") == lane("row") == [4, 5]
    assert lane("aos:3") == [6, 7]
    assert lane("striped", regs=1, bits=8) == [2, 6, 10, 14]
    assert lane("(4,2):(2,1)") == [4, 5]
    assert distributed_of_text("striped", 32, 2, 64).parts().shape == (32, 4, 1)


def test_a_differing_element() -> None:
    one, two = (distributed_of_text(text, 32, 2, 32) for text in ("striped", "blocked"))
    assert differing(one, one) is None
    assert differing(one, two) == {"warp": 0, "lane": 0, "register": 1, "slot": 0, "one": 32, "two": 1}


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda: distributed_of_text("stripes", 32, 2, 32), "got 'stripes'"),
        (lambda: distributed_of_text("aos:1", 32, 2, 32), "stride of at least 2"),
        (lambda: distributed_of_text("striped:7", 32, 2, 32), "without a stride"),
        (lambda: distributed_of_text("striped", 33, 2, 32), "1 to 32 lanes"),
        (lambda: distributed_of_text("striped", 32, 0, 32), "1 to 256 registers"),
        (lambda: distributed_of_text("striped", 32, 2, 12), "elements of 4, 8"),
        (lambda: fragment("mma:m16n8k16:A:f32"), "a shape of mma"),
        (lambda: fragment("scale:64x4"), "expected scale:128x4"),
        (lambda: fragment("mma:m16n8k5:C:f32"), "a shape of mma"),
        (lambda: fragment("mma:x"), "mma:SHAPE"),
        (lambda: fragment("wgmma:m64n7:D:f32"), "multiple of 8"),
        (lambda: fragment("tcgen05:m64n8:D:f32"), "tcgen05:m128"),
        (lambda: fragment("ldmatrix:x3"), "ldmatrix:x1"),
        (lambda: fragment("ldmatrix.trans.b8:x4"), "ldmatrix.trans.b8:x1, :x2"),
        (lambda: fragment("stmatrix.trans.b8:x3"), ":x4"),
    ],
)  # fmt: skip
def test_what_is_no_layout(read: Callable[[], object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read()


@pytest.mark.parametrize(
    ("name", "registers"),
    [("stmatrix.trans.b8:x1", 1), ("stmatrix.trans.b8:x2", 2), ("stmatrix.trans.b8", 4), ("ldmatrix.trans.b8:x1", 2)],
)
def test_matrices_of_bytes_are_those_of_cute(name: str, registers: int) -> None:
    """SM100_U8x4_STSM_T and so on: (thread, value) to bit."""
    held = fragment(name)
    atom = f"((4,8),(2,2,{registers})):((32,1),(16,8,128))"
    assert held is not None and held.shape == (8 * registers, 16)
    assert (held.elements == distributed_of_text(atom, 32, registers, 8).elements).all()


def test_functions_give_elements_or_coordinates() -> None:
    held = distributed_of_function("f", lambda lane, item: (item, lane) if lane else None, 4, 2, 32)
    assert (held.shape, held.axes) == ((2, 4), ("0", "1"))
    assert held.elements[0, :, :, 0].tolist() == [[-1, -1], [1, 5], [2, 6], [3, 7]]
    held = distributed_of_function("f", lambda warp, lane, register, slot: warp * 8 + lane * 2 + slot, 4, 1, 16, 2)
    assert held.elements[1, 3].tolist() == [[14, 15]] and held.axes == ("e",)


def test_parameters_with_defaults_are_left_to_these() -> None:
    plain = distributed_of_function("f", lambda lane, item, mask=1, by=2: (lane * by + item) ^ mask, 4, 2, 32)
    assert plain.elements[0, :, :, 0].tolist() == [[1, 0], [3, 2], [5, 4], [7, 6]]
    held = distributed_of_function("f", lambda warp, lane, register, slot=0: lane * 2 + register, 4, 2, 32)
    assert held.elements[0, :, :, 0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda lane: lane, "1 parameters"),
        (lambda lane, item: "x", "got 'x'"),
        (lambda lane, item: -1, "got -1"),
        (lambda lane, item: (lane, -1), "coordinates"),
        (lambda lane, item: (lane, item) if lane else lane, "equally many"),
        (lambda lane, item: (lane * 2000, item * 60000), "at most 65536"),
        (lambda lane, item: 1 // item, "ZeroDivisionError"),
    ],
)
def test_functions_that_give_no_layout(function: Callable[..., object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        distributed_of_function("f", function, 4, 2, 32)


def test_arrays_that_are_no_layout() -> None:
    for array, said in (
        (np.zeros((2, 2, 2), dtype=int), "integers"),
        (np.zeros((2, 2)), "integers"),
        (np.zeros((33, 1), dtype=int), "1 to 32 lanes"),
        (np.full((2, 2), 1 << 20), "elements from 0"),
        (np.zeros((1, 2, 2, 3), dtype=int), "expected 1 elements"),
        (np.zeros((2, 0), dtype=int), "1 to 65536 elements"),
    ):
        with pytest.raises(UserError, match=said):
            distributed_of_array(array, 32)


def test_scale_factors_that_lie_as_one_are_held_by_one_lane() -> None:
    place = scale_places(128, 4)
    held = named("scale:128x4").elements.reshape(32, 16)
    assert [place[divmod(int(e), 4)] for lane in held for e in lane] == list(range(512))


@pytest.mark.parametrize(("rows", "columns"), [(128, 4), (200, 7), (1, 1), (129, 5), (300, 30)])
def test_places_of_scale_factors(rows: int, columns: int) -> None:
    found = map_of_text("scale:128x4", tile(f"{rows}x{columns}:e8m0"))
    wanted = scale_places(rows, columns)
    assert found.table.tolist() == [wanted[r, c] for r in range(rows) for c in range(columns)]


def scale_places(rows: int, columns: int) -> dict[tuple[int, int], int]:
    """Block after block along k and then m; in each, four columns of a row, then rows 32 apart, then the next row."""
    order = np.ndindex(-(-rows // 128), -(-columns // 4), 32, 4, 4)
    return {(128 * m + 32 * group + row, 4 * k + c): at for at, (m, k, row, group, c) in enumerate(order)}


def test_bases_of_triton_say_what_the_accumulator_holds() -> None:
    bases = '{"register": [[0, 1], [8, 0]], "lane": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], "warp": [], "block": []}'
    held = distributed_of_text(bases, 32, 4, 32)
    assert (held.elements == named("mma:m16n8k8:D:f32").elements).all() and held.shape == (16, 8)


@pytest.mark.parametrize(
    ("bases", "reason"),
    [
        ('{"register": [[1]]', "expected"),
        ('{"register": [[1]], "lane": [[2]], "warp": [[4]]}', "of one warp"),
        ('{"register": [[1]], "lane": [[2, 0]]}', "as many coordinates"),
        ('{"register": [[1]], "lane": [[2]], "row": [[4]]}', "of one warp"),
        ('{"register": [[1], [2]], "lane": [[4]]}', "2 items and 2 lanes"),
        ('{"register": [], "lane": [' + "[1], " * 20000 + "[4]]}", "2 items and 2 lanes"),
        ('{"register": [[-1]], "lane": [[2]]}', "coordinates from 0"),
        ('{"register": [[60000, 0]], "lane": [[0, 60000]]}', "at most 65536"),
    ],
)
def test_bases_that_are_none(bases: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        distributed_of_text(bases, 2, 2, 32)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("(32,4):(1,32)", (32, 4)),
        ("Swizzle<2,0,3> o ((4,8),(2,3)):((2,8),(1,64))", (32, 6)),
        ('{"register": [[1], [2]], "lane": [[4]]}', (2, 4)),
        ("{'register': 7, 'lane': [[4]]}", None),
        ("((4,8),x):((2,8),1)", None),
        ("(32,4,2):(1,32,128)", None),
        ("striped", None),
    ],
)
def test_sizes_that_a_text_says(text: str, sizes: tuple[int, int] | None) -> None:
    assert sizes_of_text(text) == sizes
