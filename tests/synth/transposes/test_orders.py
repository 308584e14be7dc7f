"""Primitives of digits apart change places where that costs less; the function stays."""

from __future__ import annotations

import pytest

from warploom.ir.swizzle import parse_composition
from warploom.ir.swizzle.grown import cheapest_order, peel
from warploom.synth.transposes import solve_transpose, tabulated

APART = "(unit(12, 4, rot(3)(k=j, dr=4)) o xor(12)(k=j) o unit(12, 4, fan(3)(cf=2)))(i)"


def test_neighbours_on_one_digit_share_its_remainder() -> None:
    given = parse_composition(APART)
    found = cheapest_order(given, 12, 32)
    assert found.cost(12, 32) == given.cost(12, 32) - 12 < given.cost(12, 32)
    assert (tabulated(found, 12, 32) == tabulated(given, 12, 32)).all()


def test_digits_that_overlap_stay_in_order() -> None:
    for text in (
        "(fan(12)(cf=3) o xor(12)(k=j))(i)",
        "(unit(12, 2, rot(6)(k=j, cr=1)) o xor(12)(k=j) o unit(12, 2, fan(6)(cf=5)))(i)",
    ):
        given = parse_composition(text)
        assert cheapest_order(given, 12, 32) == given


def test_a_rotated_and_a_masked_digit_are_peeled_together() -> None:
    given = parse_composition(f"(fan(12)(cf=3) o {APART[1:-4]})(i)")
    table = tabulated(given, 12, 32)
    found = list(peel(table, "i"))
    assert found and all((tabulated(one, 12, 32) == table).all() for one in found)


@pytest.mark.parametrize(("m", "n", "most"), [(6, 32, 38), (12, 32, 37), (14, 4, 38), (10, 8, 36)])
def test_a_common_divisor_that_is_a_power_of_two_is_masked(m: int, n: int, most: int) -> None:
    report = solve_transpose("crc", m, n)
    assert report.cost is not None and report.cost <= most
