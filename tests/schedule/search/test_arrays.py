"""Comparison of arrays: rounded to bf16, a last place here and there, and nothing else; with a bound for each element."""

from __future__ import annotations

import numpy as np

from warploom.core import bf16_values
from warploom.schedule.search import difference

WANTED = bf16_values(np.arange(0x3F80, 0x3F80 + 128, dtype=np.uint16))  # from 1 to 2, in places of 2^-7
PLACE = np.float32(2.0**-7)


def compared(got: np.ndarray, wanted: np.ndarray = WANTED, in_bf16: tuple[str, ...] = ("y",)) -> str:
    return difference({"y": got}, {"y": wanted}, 1e-3, in_bf16)


def off_by(places: float, count: int) -> np.ndarray:
    return WANTED - np.where(np.arange(WANTED.size) < count, places * PLACE, 0).astype(np.float32)


def test_a_place_may_be_off_seldom() -> None:
    assert WANTED[1] - WANTED[0] == PLACE
    assert compared(WANTED) == compared(-off_by(-1, 33), -WANTED) == ""
    assert "got 34 of 128 elements that differ by a place" in compared(off_by(-1, 34))
    assert "got 64 of 128" in compared(np.where(np.arange(128) % 2, WANTED, WANTED + PLACE))
    assert "more than a place" in compared(off_by(-2, 1))
    assert "more than a place" in compared(off_by(-1.5, 1))
    assert "relative error of 0.0039" in compared(off_by(-1, 1), in_bf16=())
    assert "relative error of 0.0039" in compared(off_by(-1, 1), in_bf16=("x",))


def test_one_element_may_be_off() -> None:
    """Where there are few: nothing is said of how often."""
    assert compared(WANTED[:1] + PLACE, WANTED[:1]) == ""
    assert "got 2 of 2" in compared(WANTED[:2] + PLACE, WANTED[:2])


def test_below_a_power_of_two_places_are_half_as_long() -> None:
    wanted = np.array([1.0, 2.0], np.float32)
    assert compared(wanted - np.array([PLACE / 2, 0], np.float32), wanted) == ""
    assert "more than a place" in compared(wanted - np.array([PLACE, 0], np.float32), wanted)


def test_small_elements_are_compared_with_the_largest() -> None:
    """As those in f32 are: near 0 a sum in another order has other places."""
    wanted = np.array([100.0, 1e-6, 0.0, -1e-6], np.float32)
    assert compared(np.array([100.0, 3e-6, 1e-6, 0.0], np.float32), wanted) == ""
    assert "more than a place" in compared(np.array([100.0, 0.2, 0, 0], np.float32), wanted)
    assert "more than a place" in compared(np.array([100.0, 0, 0.2, 0], np.float32), wanted)


def test_infinities_and_nan_stay() -> None:
    wanted = np.array([1.0, np.inf, np.nan], np.float32)
    assert compared(wanted + np.array([PLACE, 0, 0], np.float32), wanted) == ""
    for other in ([1.0, 3e38, np.nan], [1.0, np.inf, 1.0], [1.0, -np.inf, np.nan]):
        assert "infinite or NaN" in compared(np.array(other, np.float32), wanted)
    for first in (np.nan, np.inf):
        assert compared(np.array([first, np.inf, np.nan], np.float32), wanted) != ""


def test_infinities_with_bounds_are_equal_or_refuted() -> None:
    wanted, allowed = np.array([-np.inf, np.inf, 1.0]), {"y": np.array([0.0, 0.0, 0.5])}

    def bounded(*got: float) -> str:
        return difference({"y": np.array(got, np.float32)}, {"y": wanted}, 1e-3, (), allowed)

    assert bounded(-np.inf, np.inf, 1.25) == ""
    for wrong in ((np.inf, np.inf, 1), (-np.inf, -np.inf, 1), (-np.inf, 3e38, 1), (np.nan, np.inf, 1), (-np.inf, np.inf, np.inf)):
        assert "expected y" in bounded(*wrong)
