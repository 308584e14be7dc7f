"""Tiles of CUTLASS's kernels are points of the space, and no faster than what a search finds."""

from __future__ import annotations

import pytest
from benchmarks.cutlass_tiles import KERNELS, decisions, milliseconds, program_of, row, stage_of

from warploom.core import UserError
from warploom.schedule.choices import kernel_space
from warploom.schedule.targets import target


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_tile_is_a_point(kernel: str) -> None:
    on = target("sm_90")
    space = kernel_space(stage_of(kernel, on), on)
    for tile in KERNELS[kernel]:
        candidate = space.replay(decisions(kernel, tile))
        assert space.decisions(candidate) is not None
    with pytest.raises(UserError):
        space.replay(decisions(kernel, KERNELS[kernel][0]) | {"size(k1)": "3"})


def test_tiles_of_a_sum_in_parts_have_their_warps() -> None:
    on = target("sm_90")
    stage = program_of("matmul", on, 1024, 2).stages[0]
    fixed = decisions("matmul", "64x64x8", has_warps=True, stage=stage.name)
    assert kernel_space(stage, on).replay(fixed).domain("warps", 0).bit_count() == 1


def test_searches_begin_with_tiles_for_whole_warps() -> None:
    on = target("sm_86")
    space = kernel_space(stage_of("matmul_f16", on), on)
    ways = [space.usually(space.root(), lambda _: False, turn) for turn in range(space.ways)]
    fixed = [*(("size", extent) for extent in (1, 2, 6, 7, 10)), ("warps", 0)]  # levels of m, n and k
    begun = {tuple(way.domain(*choice) for choice in fixed) for way in ways}
    for tile in ("256x128x64", "128x128x64", "64x128x32", "64x64x64"):
        tiled = space.replay(decisions("matmul_f16", tile, has_warps=True))
        assert tuple(tiled.domain(*choice) for choice in fixed) in begun, tile


def test_few_nodes_are_enough_for_the_kernel_that_adds_up_parts() -> None:
    """So short searches can try four parts, which the fastest tile of f32 for sm_100 at 1024^3 has."""
    on = target("sm_100")
    adds = program_of("matmul", on, 1024, 4).stages[1]
    assert milliseconds(adds, on, {}, nodes=30) < 1.05 * milliseconds(adds, on, {}, nodes=300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "tiles"), [("matmul", ("64x128x8", "128x128x8")), ("matmul_f16", ("128x128x32", "256x128x32"))]
)
def test_no_tile_is_faster_than_ours(kernel: str, tiles: tuple[str, ...]) -> None:
    found = row(kernel, "sm_90", 60, tiles, every=(1,), has_warps=True)
    assert found.ours_ms <= min(found.tiles_ms.values())


@pytest.mark.slow
def test_no_tile_with_its_sum_in_parts_is_faster_than_ours() -> None:
    found = row("matmul", "sm_100", 100, ("64x128x8", "64x64x8"), 1024, (1, 2, 4), has_warps=True)
    assert found.ours_ms <= min(found.tiles_ms.values()) and found.ours_parts == 4
