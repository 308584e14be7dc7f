"""The collector is asked less often inside, and as before afterwards."""

import gc

import pytest

from warploom.core import rarely_collected


@pytest.mark.parametrize("young", [700, 500_000, 0])
def test_thresholds_are_kept(young: int) -> None:
    kept = inside = gc.get_threshold()
    try:
        gc.set_threshold(young, 7, 8)
        with pytest.raises(KeyError), rarely_collected():
            inside = gc.get_threshold()
            raise KeyError
        assert inside == ({700: 100_000, 500_000: 500_000, 0: 0}[young], 7, 8)
        assert gc.get_threshold() == (young, 7, 8)
    finally:
        gc.set_threshold(*kept)
