"""Warp-wide operations against the manual's definitions, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

from ptx.simt.numerics import reference
from warploom.core import UnsupportedError
from warploom.ptx.simt.numerics import (
    activemask,
    ballot,
    elect,
    lane_mask,
    mask_lanes,
    match_all,
    match_any,
    redux,
    shfl,
    vote,
)

WARPS = 24


def _warps(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    """Values with repetitions, active lanes and member masks; the first warps full."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 2**32, (WARPS, 32), dtype=np.uint32) >> random.integers(0, 32, (WARPS, 32)).astype(np.uint32)
    active = random.random((WARPS, 32)) < random.random((WARPS, 1))
    members = random.integers(0, 2**32, WARPS, dtype=np.uint32)
    active[:3], members[:5] = True, 0xFFFFFFFF
    active[:, 7] = True
    members |= np.uint32(1 << 7)
    return random, values, active, members


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffle(mode: str) -> None:
    random, values, active, members = _warps(1)
    for uniform in (False, True):
        shape = () if uniform else (WARPS, 32)
        for _ in range(20):
            b = random.integers(0, 80, shape).astype(np.uint32)
            segment = random.choice([0, 16, 24, 28, 30, 31], shape).astype(np.uint32)
            clamp = random.choice([0, 31, 3, 7, 12], shape).astype(np.uint32)
            c = np.asarray((segment << np.uint32(8)) | clamp)
            result = shfl(mode, values, np.asarray(b), c, active, members)  # type: ignore[arg-type]
            all_b, all_c = np.broadcast_to(b, (WARPS, 32)), np.broadcast_to(c, (WARPS, 32))
            for warp in range(WARPS):
                for lane in range(32):
                    offset, bound = int(all_b[warp, lane]) & 31, int(all_c[warp, lane]) & 31
                    mask = int(all_c[warp, lane]) >> 8 & 31
                    top, bottom = (lane & mask) | (bound & ~mask & 31), lane & mask
                    j = {"up": lane - offset, "down": lane + offset, "bfly": lane ^ offset}.get(
                        mode, bottom | (offset & ~mask & 31)
                    )
                    inside = j >= top if mode == "up" else j <= top
                    j = j if inside else lane
                    assert result.in_range[warp, lane] == inside
                    assert result.source[warp, lane] == j
                    assert result.value[warp, lane] == values[warp, j]
                    gives = active[warp, j] and int(members[warp]) >> j & 1
                    assert result.undefined[warp, lane] == (active[warp, lane] and not gives)


def test_old_shuffle_has_no_member_mask() -> None:
    values = np.arange(32, dtype=np.uint32)[None]
    active = np.ones((1, 32), np.bool_)
    active[0, 20:] = False
    result = shfl("down", values, np.array(1, np.uint32), np.array(0x1F, np.uint32), active)
    assert result.value[0, :31].tolist() == list(range(1, 32))
    assert result.undefined[0].tolist() == [lane == 19 for lane in range(32)]


def test_votes() -> None:
    random, _, active, members = _warps(2)
    flags = random.random((WARPS, 32)) < np.repeat(random.choice([0.0, 0.5, 1.0], WARPS), 32).reshape(WARPS, 32)
    results = {mode: vote(mode, flags, active, members) for mode in ("all", "any", "uni")}  # type: ignore[arg-type]
    masks = ballot(flags, active, members)
    for warp in range(WARPS):
        voting = [lane for lane in range(32) if active[warp, lane] and int(members[warp]) >> lane & 1]
        ones = [bool(flags[warp, lane]) for lane in voting]
        assert bool(results["all"][warp]) == all(ones)
        assert bool(results["any"][warp]) == any(ones)
        assert bool(results["uni"][warp]) == (len(set(ones)) <= 1)
        assert int(masks[warp]) == sum(1 << lane for lane in voting if flags[warp, lane])


@pytest.mark.parametrize("width", [32, 64])
def test_matches(width: int) -> None:
    random, _, active, members = _warps(3)
    values = random.integers(0, 4, (WARPS, 32)).astype(f"u{width // 8}") << np.dtype(f"u{width // 8}").type(width - 2)
    values[4:8] = values[4:8, :1]
    anyone = match_any(values, active, members)
    mask, agreed = match_all(values, active, members)
    for warp in range(WARPS):
        voting = [lane for lane in range(32) if active[warp, lane] and int(members[warp]) >> lane & 1]
        for lane in voting:
            assert int(anyone[warp, lane]) == sum(1 << other for other in voting if values[warp, other] == values[warp, lane])
        same = len({int(values[warp, lane]) for lane in voting}) <= 1
        assert bool(agreed[warp]) == same
        assert int(mask[warp]) == (sum(1 << lane for lane in voting) if same else 0)


def test_integer_reductions() -> None:
    _, values, active, members = _warps(4)
    values[::3] |= np.uint32(1 << 31)
    for warp_results, name, operator in (
        (redux(operator, name, values, active, members), name, operator)
        for name, operators in (("u32", ("add", "min", "max")), ("s32", ("add", "min", "max")), ("b32", ("and", "or", "xor")))
        for operator in operators
    ):
        for warp in range(WARPS):
            column = [int(values[warp, lane]) for lane in range(32) if active[warp, lane] and int(members[warp]) >> lane & 1]
            if name == "s32":
                column = [number - (number >> 31 << 32) for number in column]
            wanted = column[0]
            for number in column[1:]:
                wanted = {
                    "add": lambda x, y: x + y, "min": min, "max": max, "and": lambda x, y: x & y,
                    "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
                }[operator](wanted, number)  # fmt: skip
            assert int(warp_results[warp]) == wanted & 0xFFFFFFFF, (name, operator)


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("absolute", [False, True])
def test_float_reductions(nan: bool, absolute: bool) -> None:
    random, _, active, members = _warps(5)
    values = reference.samples("f32", WARPS * 32, 6).reshape(WARPS, 32)
    values[::2] = np.where((values[::2] & 0x7F800000) == 0x7F800000, np.uint32(0x3F800000), values[::2])
    values[3] = 0x7FC00001
    del random
    for operator in ("min", "max"):
        result = redux(operator, "f32", values, active, members, absolute=absolute, nan=nan)
        for warp in range(WARPS):
            column = [int(values[warp, lane]) for lane in range(32) if active[warp, lane] and int(members[warp]) >> lane & 1]
            column = [bits & 0x7FFFFFFF if absolute else bits for bits in column]
            numbers = [bits for bits in column if bits & 0x7FFFFFFF <= 0x7F800000]
            if not numbers or (nan and len(numbers) < len(column)):
                wanted = 0x7FFFFFFF
            else:
                pick = min if operator == "min" else max
                wanted = pick(numbers, key=lambda bits: -(bits & 0x7FFFFFFF) - 1 if bits >> 31 else bits)
            assert int(result[warp]) == wanted, (operator, warp)


def test_masks_and_election() -> None:
    _, _, active, members = _warps(7)
    lead, chosen = elect(active, members)
    for warp in range(WARPS):
        voting = [lane for lane in range(32) if active[warp, lane] and int(members[warp]) >> lane & 1]
        assert int(activemask(active)[warp]) == sum(1 << lane for lane in range(32) if active[warp, lane])
        assert int(lead[warp]) == voting[0]
        assert np.flatnonzero(chosen[warp]).tolist() == voting[:1]
    assert np.array_equal(mask_lanes(lane_mask(active)), active)


def test_unknown_reductions_are_refused() -> None:
    with pytest.raises(UnsupportedError):
        redux("add", "f32", np.zeros((1, 32), np.uint32), np.ones((1, 32), np.bool_), np.array([1], np.uint32))
