"""mma layouts against the manual's formulas, written out per shape, and products against fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from ptx.simt.numerics import reference
from warploom.core import UnsupportedError
from warploom.ptx.simt.numerics import fragment, gather, matrix_access, mma, movmatrix, scatter

Place = Callable[[int, int, int], tuple[int, int]]
"""(groupID, threadID_in_group, element) -> (row, column), as the manual prints them."""


def _c(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


LAYOUTS: list[tuple[str, str, str, int, Place]] = [
    ("a", "m16n8k16", "f16", 8, lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0))),
    ("b", "m16n8k16", "f16", 4, lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g)),
    ("a", "m16n8k8", "bf16", 4, lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1))),
    ("b", "m16n8k8", "bf16", 2, lambda g, t, i: (t * 2 + i, g)),
    ("a", "m16n8k4", "tf32", 2, lambda g, t, i: (g if i == 0 else g + 8, t)),
    ("b", "m16n8k4", "tf32", 1, lambda g, t, i: (t, g)),
    ("a", "m16n8k8", "tf32", 4, lambda g, t, i: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4)),
    ("b", "m16n8k8", "tf32", 2, lambda g, t, i: (t if i == 0 else t + 4, g)),
    ("a", "m16n8k16", "s8", 8, lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3))),
    ("b", "m16n8k16", "s8", 4, lambda g, t, i: (t * 4 + i, g)),
    ("a", "m16n8k32", "u8", 16, lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0))),
    ("b", "m16n8k32", "u8", 8, lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g)),
    ("a", "m8n8k16", "s8", 4, lambda g, t, i: (g, t * 4 + i)),
    ("b", "m8n8k16", "s8", 4, lambda g, t, i: (t * 4 + i, g)),
    ("c", "m8n8k16", "s32", 2, lambda g, t, i: (g, t * 2 + i)),
    ("a", "m8n8k4", "f64", 1, lambda g, t, i: (g, t)),
    ("b", "m8n8k4", "f64", 1, lambda g, t, i: (t, g)),
    ("c", "m8n8k4", "f64", 2, lambda g, t, i: (g, t * 2 + i)),
    ("a", "m16n8k16", "f64", 8, lambda g, t, i: (g if i % 2 == 0 else g + 8, i * 2 + t if i % 2 == 0 else i * 2 - 2 + t)),
    ("b", "m16n8k16", "f64", 4, lambda g, t, i: (t + 4 * i, g)),
    ("c", "m16n8k16", "f32", 4, _c),
    ("d", "m16n8k8", "f16", 4, _c),
    ("c", "m16n8k32", "s32", 4, _c),
]


@pytest.mark.parametrize(
    ("matrix", "shape", "name", "elements", "place"), LAYOUTS, ids=[f"{r[0]}.{r[1]}.{r[2]}" for r in LAYOUTS]
)
def test_layouts(matrix: str, shape: str, name: str, elements: int, place: Place) -> None:
    layout = fragment(matrix, shape, name)  # type: ignore[arg-type]
    assert layout.rows.shape == layout.columns.shape == (32, elements)
    assert layout.registers * layout.per_register == elements
    got = [(int(layout.rows[lane, i]), int(layout.columns[lane, i])) for lane in range(32) for i in range(elements)]
    assert got == [place(lane >> 2, lane % 4, i) for lane in range(32) for i in range(elements)]
    assert len(set(got)) == layout.shape[0] * layout.shape[1] == len(got)


def test_registers_hold_elements_lowest_first() -> None:
    layout = fragment("a", "m16n8k16", "f16")
    matrix = np.arange(256, dtype=np.uint16).reshape(1, 16, 16)
    registers = scatter(layout, matrix)
    assert registers.shape == (1, 32, 4) and registers.dtype == np.uint32
    # Lane 5 is group 1, place 1: row 1, columns 2 and 3; then row 9; then columns 10 and 11.
    assert [divmod(int(x), 1 << 16) for x in registers[0, 5]] == [(19, 18), (147, 146), (27, 26), (155, 154)]
    assert np.array_equal(gather(layout, registers), matrix)


FLOAT_CASES = [
    ("m16n8k8", "f16", "f16"), ("m16n8k16", "f16", "f32"), ("m16n8k16", "bf16", "f32"), ("m16n8k8", "bf16", "f32"),
    ("m16n8k4", "tf32", "f32"), ("m16n8k8", "tf32", "f32"), ("m16n8k32", "e4m3", "f32"), ("m16n8k32", "e5m2", "f16"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "name", "total"), FLOAT_CASES)
def test_products_of_small_integers_are_exact(shape: str, name: str, total: str) -> None:
    random = np.random.default_rng(1)
    sizes = {matrix: fragment(matrix, shape, name if matrix in "ab" else total).shape for matrix in ("a", "b", "c")}  # type: ignore[arg-type]
    values = {matrix: random.integers(-4, 5, (2, *size)) for matrix, size in sizes.items()}
    registers = {}
    for matrix, numbers in values.items():
        kind = name if matrix in "ab" else total
        word = f"u{reference.FORMATS[kind][0] // 8}"
        bits = np.vectorize(lambda x, kind=kind: reference.pack(kind, int(x < 0), Fraction(abs(int(x)))))(numbers).astype(word)
        registers[matrix] = scatter(fragment(matrix, shape, kind), bits)  # type: ignore[arg-type]
    result = mma(shape, total, name, name, total, registers["a"], registers["b"], registers["c"])
    got = gather(fragment("d", shape, total), result)
    wanted = np.einsum("wik,wkj->wij", values["a"], values["b"]) + values["c"]
    assert all(reference.value(total, int(x)) == int(y) for x, y in zip(got.ravel(), wanted.ravel(), strict=True))


def test_float_sums_are_rounded_once_from_double_precision() -> None:
    shape = "m16n8k16"
    a, b = reference.samples("f16", 256, 2).reshape(1, 16, 16), reference.samples("f16", 128, 3).reshape(1, 16, 8)
    a, b = (np.where((x & 0x7C00) == 0x7C00, np.uint16(0x3C01), x) for x in (a, b))
    c = reference.samples("f32", 128, 4).reshape(1, 16, 8)
    c = np.where((c & np.uint32(0x7F800000)) == 0x7F800000, np.uint32(0x40490FDB), c)
    registers = [scatter(fragment(m, shape, t), x) for m, t, x in (("a", "f16", a), ("b", "f16", b), ("c", "f32", c))]  # type: ignore[arg-type]
    got = gather(fragment("d", shape, "f32"), mma(shape, "f32", "f16", "f16", "f32", *registers))
    for row in range(16):
        for column in range(8):
            terms = [reference.value("f16", int(a[0, row, k])) * reference.value("f16", int(b[0, k, column])) for k in range(16)]
            terms.append(reference.value("f32", int(c[0, row, column])))
            exact, size = sum(terms), sum(abs(term) for term in terms)
            here = reference.value("f32", int(got[0, row, column]))
            unit = abs(reference.value("f32", int(got[0, row, column]) ^ 1) - here)
            assert abs(here - exact) <= unit / 2 + size / 2**48


@pytest.mark.parametrize(
    ("shape", "left", "right"),
    [("m16n8k32", "s8", "s8"), ("m16n8k32", "u8", "s8"), ("m16n8k16", "s8", "u8"), ("m8n8k16", "u8", "u8")],
)
@pytest.mark.parametrize("satfinite", [False, True])
def test_integer_products(shape: str, left: str, right: str, satfinite: bool) -> None:
    random = np.random.default_rng(5)
    a = random.integers(0, 256, (3, *fragment("a", shape, left).shape)).astype(np.uint8)
    b = random.integers(0, 256, (3, *fragment("b", shape, right).shape)).astype(np.uint8)
    c = random.integers(0, 2**32, (3, *fragment("c", shape, "s32").shape), dtype=np.uint32)
    c[0] = 0x7FFFFF00
    registers = [
        scatter(fragment("a", shape, left), a),
        scatter(fragment("b", shape, right), b),
        scatter(fragment("c", shape, "s32"), c),
    ]
    result = gather(fragment("d", shape, "s32"), mma(shape, "s32", left, right, "s32", *registers, satfinite=satfinite))
    for warp in range(3):
        for row in range(a.shape[1]):
            for column in range(8):
                x = [int(v) - (256 if left == "s8" and v > 127 else 0) for v in a[warp, row]]
                y = [int(v) - (256 if right == "s8" and v > 127 else 0) for v in b[warp, :, column]]
                total = int(c[warp, row, column])
                total += sum(p * q for p, q in zip(x, y, strict=True)) - (total >> 31 << 32)
                total = max(-(2**31), min(2**31 - 1, total)) if satfinite else total
                assert int(result[warp, row, column]) == total & 0xFFFFFFFF


def test_double_products_are_fused_chains() -> None:
    shape = "m8n8k4"
    a, b, c = (
        reference.samples("f64", 64, seed)[:size].reshape(1, *dims)
        for seed, size, dims in ((6, 32, (8, 4)), (7, 32, (4, 8)), (8, 64, (8, 8)))
    )
    registers = [scatter(fragment(m, shape, "f64"), x) for m, x in (("a", a), ("b", b), ("c", c))]  # type: ignore[arg-type]
    got = gather(fragment("d", shape, "f64"), mma(shape, "f64", "f64", "f64", "f64", *registers))
    for row in range(8):
        for column in range(8):
            total = int(c[0, row, column])
            for k in range(4):
                total = reference.fma("f64", int(a[0, row, k]), int(b[0, k, column]), total, "rn")
            here = int(got[0, row, column])
            both_nan = {reference.unpack("f64", bits)[1] for bits in (total, here)} == {reference.NAN}
            assert here == total or both_nan


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_loads(count: int, transposed: bool) -> None:
    access = matrix_access(count, transposed)  # type: ignore[arg-type]
    for register in range(count):
        for lane in range(32):
            for half in range(2):
                row, column = lane // 4, 2 * (lane % 4) + half
                if transposed:
                    row, column = column, row
                assert access.address_lane[register, lane, half] == 8 * register + row
                assert access.offset_bytes[register, lane, half] == 2 * column


def test_matrix_loads_feed_the_products() -> None:
    """ldmatrix.x4 on a row-major 16 x 16 tile, lanes 0 to 15 on its left half, gives the A fragment of m16n8k16."""
    tile = np.arange(256, dtype=np.uint16).reshape(16, 16)
    access = matrix_access(4, False)
    address = np.array([(lane % 16) * 32 + 16 * (lane // 16) for lane in range(32)])
    words = tile.ravel()[(address[access.address_lane] + access.offset_bytes) // 2]
    registers = (words[..., 0].astype(np.uint32) | (words[..., 1].astype(np.uint32) << np.uint32(16))).T[None]
    assert np.array_equal(gather(fragment("a", "m16n8k16", "f16"), registers)[0], tile)


def test_movmatrix_transposes() -> None:
    tile = np.arange(64, dtype=np.uint16).reshape(8, 8)
    lanes = [int(tile[lane // 4, 2 * (lane % 4)]) | int(tile[lane // 4, 2 * (lane % 4) + 1]) << 16 for lane in range(32)]
    moved = movmatrix(np.array([lanes], np.uint32))[0]
    assert [int(x) for x in moved] == [
        int(tile[2 * (lane % 4), lane // 4]) | int(tile[2 * (lane % 4) + 1, lane // 4]) << 16 for lane in range(32)
    ]


def test_unknown_shapes_and_types_are_refused() -> None:
    registers = np.zeros((1, 32, 4), np.uint32)
    for shape, left, right, total in (
        ("m16n8k64", "s8", "s8", "s32"),
        ("m16n8k16", "f16", "bf16", "f32"),
        ("m16n8k16", "bf16", "bf16", "f16"),
    ):
        with pytest.raises(UnsupportedError):
            mma(shape, total, left, right, total, registers, registers, registers)
    with pytest.raises(UnsupportedError, match="registers"):
        mma("m16n8k8", "f32", "f16", "f16", "f32", registers, registers, registers)
