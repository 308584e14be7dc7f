import pytest

from warploom.schedule.backbone import Axis, AxisUse, cpu_tiles, cuda_tiles, paper_tiles, tilings
from warploom.schedule.backbone.build import extents_of
from warploom.schedule.backbone.tilings import divisors


def test_paper_divisors_cut_per_level():
    assert tilings(1024, 2, (32, 4)) == ((2, 4, 8, 16, 32), (2, 4))
    assert tilings(1 << 26, 2, (1024, 4)) == ((2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), (2, 4))
    assert tilings(60, 1, (60,)) == ((2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60),)
    assert len(divisors(5040)) == 16
    for size in range(1, 200):
        assert divisors(size, 99) == tuple(d for d in range(2, size + 1) if size % d == 0)
    assert tilings(7, 2, (4, 4)) == ()


def test_sizes_that_need_not_divide():
    assert tilings(100, 1, (64,), divisors_only=False, least=1) == ((1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),)
    assert tilings(5, 1, (64,), divisors_only=False) == ((2, 3, 4, 6, 8),)


def test_levels_and_maxima_agree():
    with pytest.raises(ValueError, match="expected 2 maxima, got 1"):
        tilings(8, 2, (4,))


def test_outermost_sizes_are_rounded_up():
    outer, *tiles = extents_of(0, Axis("i", 10, ((2, 4), (1, 3))))
    assert outer.sizes == (1, 2, 3, 5)
    assert [t.sizes for t in tiles] == [(2, 4), (1, 3)]


def test_outermost_sizes_are_exact_where_asked():
    assert extents_of(0, Axis("i", 12, ((2, 5), (1, 3))), divisors_only=True)[0].sizes == (2, 6)


def test_policies_never_exceed_the_size_or_64_sizes():
    for size in (2, 3, 7, 12, 100, 1000, 1024, 4096, 5040, 1 << 26):
        for is_reduced, is_stored, is_contiguous in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0)):
            use = AxisUse("kernel", "i", size, bool(is_reduced), bool(is_stored), bool(is_contiguous))
            for policy in (cpu_tiles, cuda_tiles, paper_tiles({"i": (32, 4)})):
                levels = policy(use)
                assert all(n <= size for level in levels for n in level)
                assert len(extents_of(0, Axis("i", size, levels))[0].sizes) <= 64
