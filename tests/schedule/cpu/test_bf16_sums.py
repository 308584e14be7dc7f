"""Sums by `vdpbf16ps` and by `tdpbf16ps`, bit by bit: an emulation in whole numbers, vectors recorded on an Emerald Rapids, and
the processor at hand where it has the instruction."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.core import bf16x2
from warploom.core.compiler import build_library, find_compiler, machine_text
from warploom.schedule.cpu.helpers import Helpers
from warploom.schedule.cpu.tiles import SUPPORT, multiplied_in_tiles

SIGN, INFINITY, DIGITS = 0x80000000, 0x7F800000, 24
DEFAULT_NAN, QUIET = 0xFFC00000, 0x00400000
UNIT = 149
"""All numbers of f32 are whole multiples of 2^-149, and products of two of 2^-298."""


def summed(total: int, a: int, b: int) -> int:
    """Bits of `total` and the products of two pairs: the upper one is added first, each is rounded once."""
    upper = fused(total, a & 0xFFFF0000, b & 0xFFFF0000)
    return fused(upper, a << 16 & 0xFFFFFFFF, b << 16 & 0xFFFFFFFF)


def summed_in_tiles(total: int, a: Sequence[int], b: Sequence[int]) -> int:
    """Bits of `total` and the products of a row and a column of pairs: those of the lower ones and those of the upper ones are
    summed apart, then joined, then added to the total."""
    one = 0x3F800000
    lower = upper = 0
    for first, second in zip(a, b, strict=True):
        lower = fused(lower, first << 16 & 0xFFFFFFFF, second << 16 & 0xFFFFFFFF)
        upper = fused(upper, first & 0xFFFF0000, second & 0xFFFF0000)
    return fused(total, fused(lower, upper, one), one)


def fused(total: int, a: int, b: int) -> int:
    """Bits of total + a b to the nearest even; subnormal numbers count as 0, and so does a result that is one after rounding."""
    for number in (a, b, total):
        if number & ~SIGN > INFINITY:
            return number | QUIET
    total, a, b = (number & SIGN if number & INFINITY == 0 else number for number in (total, a, b))
    sign = (a ^ b) & SIGN
    if INFINITY in (a & ~SIGN, b & ~SIGN):
        is_undefined = 0 in (a & ~SIGN, b & ~SIGN) or total == sign ^ SIGN | INFINITY
        return DEFAULT_NAN if is_undefined else sign | INFINITY
    if total & ~SIGN == INFINITY:
        return total
    exact = (units(total) << UNIT) + units(a) * units(b)
    if exact == 0:
        return sign & total if 0 in (a & ~SIGN, b & ~SIGN) and total & ~SIGN == 0 else 0
    return rounded(abs(exact)) | (SIGN if exact < 0 else 0)


def units(bits: int) -> int:
    """A normal number or 0 in multiples of 2^-149."""
    exponent = bits >> 23 & 0xFF
    size = (bits & 0x7FFFFF | 0x800000) << exponent - 1 if exponent else 0
    return -size if bits & SIGN else size


def rounded(size: int) -> int:
    """Bits of so many 2^-298, as if exponents had no end; then 0 below 2^-126, and infinity from 2^128 on."""
    more = max(0, size.bit_length() - DIGITS)
    digits, rest = divmod(size, 1 << more)
    digits += 2 * rest + digits % 2 > 1 << more
    if digits << more < 1 << 2 * UNIT - 126:
        return 0
    if digits << more >= 1 << 2 * UNIT + 128:
        return INFINITY
    return int(struct.unpack("<I", struct.pack("<f", math.ldexp(digits, more - 2 * UNIT)))[0])


RECORDED = [
    ("upper product first", 0x4B800000, 0xBF803F80, 0x3F803F80, 0x4B800000),
    ("then the lower one", 0x4B800000, 0x3F80BF80, 0x3F803F80, 0x4B7FFFFF),
    ("a tie to even", 0x4B800000, 0x00003F80, 0x00003F80, 0x4B800000),
    ("a subnormal total", 0x007FFFFF, 0x00000000, 0x00000000, 0x00000000),
    ("a subnormal factor", 0x00000000, 0x007F0000, 0x7F000000, 0x00000000),
    ("a subnormal product", 0x00000000, 0x1F800000, 0x1F800000, 0x00000000),
    ("below the least normal number after rounding", 0x00800000, 0x9B010000, 0x18800000, 0x00000000),
    ("the least normal number by rounding", 0x00800000, 0x9B000000, 0x18800000, 0x00800000),
    ("beyond the largest number", 0x7F7FFFFF, 0x7F000000, 0x3F000000, 0x7F800000),
    ("infinity times subnormal", 0x3F800000, 0x7F800000, 0x00010000, 0xFFC00000),
    ("NaN of a factor", 0x7FA00001, 0x00007F81, 0x3F80FFC1, 0x7FC10000),
    ("opposite infinities", 0xFF800000, 0x7F800000, 0x3F800000, 0xFFC00000),
    ("zeros of both signs", 0x80000000, 0x80000000, 0x3F800000, 0x00000000),
    ("cancelled", 0xBF800000, 0x00003F80, 0x00003F80, 0x00000000),
]


@pytest.mark.parametrize(("total", "a", "b", "wanted"), [pytest.param(*row[1:], id=row[0]) for row in RECORDED])
def test_the_emulation_gives_what_was_recorded(total: int, a: int, b: int, wanted: int) -> None:
    assert f"{summed(total, a, b):#x}" == f"{wanted:#x}"


def numbers(seed: int, count: int) -> tuple[NDArray[np.uint32], ...]:
    """Totals and two pairs: of any bits, of like size, with results around the ends of the range of normal numbers."""
    chance = np.random.default_rng(seed)

    def drawn(low: int, high: int) -> NDArray[np.uint32]:
        bits = chance.integers(0, 1 << 32, count, dtype=np.uint32)
        return (bits & 0x807FFFFF | chance.integers(low, high, count, dtype=np.uint32) << 23).astype(np.uint32)

    def pairs(low: int, high: int) -> NDArray[np.uint32]:
        return (drawn(low, high) >> 16 | drawn(low, high) & 0xFFFF0000).astype(np.uint32)

    ranges = (((0, 256), (0, 256)), ((117, 137), (122, 132)), ((0, 4), (60, 68)), ((230, 255), (185, 195)), ((0, 20), (0, 3)))
    made = [(drawn(*of_totals), pairs(*of_pairs), pairs(*of_pairs)) for of_totals, of_pairs in ranges]
    return tuple(np.concatenate(part) for part in zip(*made, strict=True))


@pytest.mark.skipif("avx512_bf16" not in machine_text(), reason="no vdpbf16ps here")
@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_the_processor_gives_what_the_emulation_gives(lanes: int, tmp_path: Path) -> None:
    """Also with rounding towards zero asked for and subnormal numbers let through: the control register says nothing here."""
    helpers = Helpers()
    name = helpers.dot(bf16x2, bf16x2, lanes)
    v, w = f"f32x{lanes}", f"bf16x2x{lanes}"
    library = build_library(
        helpers.text()
        + f"""
#ifdef __AVX512BF16__
const int has_instruction = 1;
#else
const int has_instruction = 0;
#endif
void run(ptrdiff_t count, const {v}_any *total, const {w}_any *a, const {w}_any *b, {v}_any *made, unsigned control) {{
    const unsigned usual = _mm_getcsr();
    _mm_setcsr(control);
    for (ptrdiff_t n = 0; n < count; ++n) made[n] = {name}(total[n], a[n], b[n]);
    _mm_setcsr(usual);
}}
""",
        folder=tmp_path,
    )
    loaded = ctypes.CDLL(str(library))
    if not ctypes.c_int.in_dll(loaded, "has_instruction").value:
        pytest.skip("the compiler does not know the instruction")
    total, a, b = numbers(lanes, 512)
    wanted = [summed(*row) for row in zip(total.tolist(), a.tolist(), b.tolist(), strict=True)]
    for control in (0x1F80, 0x1F80 | 0x6000, 0x1F80 | 0x8040):
        made = np.zeros_like(total)
        pointers = (ctypes.c_void_p(x.ctypes.data) for x in (total, a, b, made))
        loaded.run(ctypes.c_ssize_t(total.size // lanes), *pointers, ctypes.c_uint(control))
        np.testing.assert_array_equal(made, np.array(wanted, np.uint32))


def test_tiles_sum_lower_and_upper_products_apart() -> None:
    """2^24 + 1 is no number: each of the ones alone is lost beside it."""
    large, one = 0x4B800000, 0x3F80
    assert summed_in_tiles(0, [large >> 16, one, one], [one, one, one]) == large
    assert summed_in_tiles(0, [large >> 16, one << 16, one << 16], [one, one << 16, one << 16]) == large + 1
    assert summed_in_tiles(large, [one, one], [one, one]) == large + 1


@pytest.mark.skipif("amx_bf16" not in multiplied_in_tiles(), reason="no tile registers here")
@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_tiles_give_what_the_emulation_gives(tmp_path: Path) -> None:
    """Any bits, like sizes, both ends of the range: the five sets of `numbers`."""
    library = build_library(
        Helpers().text()
        + SUPPORT
        + """
#include <immintrin.h>
void run(const void *total, const void *a, const void *b, void *made) {
    if (!tiles_allowed()) return;
    start_tiles();
    _tile_loadd(0, total, 64);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, made, 64);
    _tile_release();
}
""",
        flags=("-O1", "-mamx-tile", "-mamx-bf16"),
        folder=tmp_path,
    )
    run = ctypes.CDLL(str(library)).run
    for total, a, b in zip(*(part.reshape(5, 16, 16) for part in numbers(7, 256)), strict=True):
        made = np.zeros_like(total)
        run(*(ctypes.c_void_p(x.ctypes.data) for x in (total, a, b, made)))
        rows, columns = a.tolist(), b.T.tolist()
        wanted = [[summed_in_tiles(total[m, n].item(), rows[m], columns[n]) for n in range(16)] for m in range(16)]
        np.testing.assert_array_equal(_of_one_nan(made), _of_one_nan(np.array(wanted, np.uint32)))


def _of_one_nan(bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """All NaNs alike: either of two may come through."""
    return np.where(bits & ~np.uint32(SIGN) > INFINITY, np.uint32(DEFAULT_NAN), bits)
