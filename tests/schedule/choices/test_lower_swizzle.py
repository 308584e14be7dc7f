"""Permutations of shared tiles: chosen by counted conflicts, checked by the PTX interpreter's counts."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.schedule.cuda import nests
from tests.schedule.cuda.test_kernels import checked

from warploom.gpu import toolchain_available
from warploom.ir.swizzle import Rot, Xor
from warploom.schedule.choices.lower_swizzle import bank_conflicts, swizzled
from warploom.schedule.nest import Swizzle, text, verify

with_toolchain = pytest.mark.skipif(not toolchain_available(), reason="the CUDA compiler (extra cuda) is not installed")

SWIZZLES = [
    nests.xor_of_bits(3, 2, 4), *(Swizzle(Xor(n, p), u) for n in (4, 32) for p in (1, 8) for u in (1, 2)),
    *(Swizzle(Rot(n, scale, p), u) for n in (3, 24) for scale, p in ((1, 0), (5, 2), (0, 4)) for u in (1, 4) if scale < n),
]  # fmt: skip


@pytest.mark.parametrize("swizzle", SWIZZLES, ids=str)
def test_swizzles_permute_whole_rows(swizzle: Swizzle) -> None:
    places = np.arange(12 * swizzle.row)
    moved = swizzle.of(places)
    assert sorted(moved) == list(places)
    assert (moved // swizzle.row == places // swizzle.row).all()
    assert (moved % swizzle.unit == places % swizzle.unit).all()
    assert not list(swizzle.faults(12 * swizzle.row)) and list(swizzle.faults(12 * swizzle.row + 1))


def test_an_xor_is_its_bits() -> None:
    for count, base, shift in itertools.product(range(1, 4), range(3), range(3, 6)):
        swizzle = nests.xor_of_bits(count, base, shift)
        places = np.arange(1 << 10)
        assert swizzle.bits() == (count, base, shift)
        assert (swizzle.of(places) == places ^ (((places >> (base + shift)) & ((1 << count) - 1)) << base)).all()


@with_toolchain
@pytest.mark.parametrize(("n", "edge"), [(64, 32), (64, 16), (64, 8), (72, 24), (80, 40), (144, 48)])
def test_transposed_tiles(n: int, edge: int) -> None:
    case = nests.transpose(n, None, edge)
    tile = len(case.nest.buffers) - 1
    better = replace(case, nest=swizzled(case.nest, tile))
    if edge in (8, 16, 32):
        assert bank_conflicts(case.nest) > 1 and bank_conflicts(better.nest) == 1
    assert not list(verify(better.nest))
    assert "swizzled" in text(better.nest)
    _, before = checked(case)
    _, after = checked(better)
    assert before.counts is not None and after.counts is not None
    counts = after.counts
    if edge in (8, 16, 32):
        # Whole rows of threads in each warp: no conflicts at all.
        assert counts.shared_load_wavefronts == counts.shared_load_requests
        assert counts.shared_store_wavefronts == counts.shared_store_requests
    total = counts.shared_load_wavefronts + counts.shared_store_wavefronts
    assert total < before.counts.shared_load_wavefronts + before.counts.shared_store_wavefronts


@with_toolchain
def test_rotated_tiles_are_read_as_they_were_written() -> None:
    for swizzle in (Swizzle(Rot(32, 1), 1), Swizzle(Rot(8, 3, 2), 4), Swizzle(Rot(16, 0, 2), 2)):
        checked(nests.transpose(64, swizzle))


def test_what_has_no_conflicts_stays() -> None:
    case = nests.transpose(swizzle=None)
    tile = len(case.nest.buffers) - 1
    assert swizzled(swizzled(case.nest, tile), tile) == swizzled(case.nest, tile)
    assert swizzled(case.nest, 0) == case.nest
