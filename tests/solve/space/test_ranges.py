"""Counters beside a number: exactly the totals for which the comparison holds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.core import UserError
from warploom.solve.space.form_tables import _range  # pyright: ignore[reportPrivateUsage]
from warploom.solve.space.forms import FormKind
from warploom.solve.space.nodes import Comparator
from warploom.solve.space.trace import _Reader  # pyright: ignore[reportPrivateUsage]

HOLDS: dict[Comparator, Callable[[int, int], bool]] = {
    Comparator.EQ: operator.eq, Comparator.LE: operator.le, Comparator.LT: operator.lt, Comparator.GE: operator.ge,
    Comparator.GT: operator.gt,
}  # fmt: skip


@pytest.mark.parametrize("comparator", HOLDS)
def test_the_range_of_a_comparison(comparator: Comparator) -> None:
    for value in (-2, 0, 5):
        low, high = _range(comparator, value)
        for total in (-(10**9), *range(-8, 12), 10**9):
            assert (low <= total <= high) is HOLDS[comparator](total, value)


def test_no_range_is_all_but_one() -> None:
    with pytest.raises(UserError):
        _range(Comparator.NE, 3)


def test_rules_that_take_a_value_are_named() -> None:
    """The parts that allow none of what was there, else those that forbid some of it; all that was lost is looked at."""

    def table(*forbidden: tuple[int, int]) -> Any:
        found = np.ones((3, 2), np.bool_)
        for pair in forbidden:
            found[pair] = False
        return found

    def named(*parts: tuple[str, Any], other: int = 0b11) -> tuple[str, ...]:
        at: Any = SimpleNamespace(domains=[0b111, other])
        form: Any = SimpleNamespace(kind=FormKind.RELATION, name="whole", parts=parts)
        return _Reader._rules(at, form, (0, 1), 0, 0b111, 0b101)  # value 1 of the first is gone

    free, some, never = ("free", table((0, 0))), ("some", table((1, 0))), ("never", table((1, 0), (1, 1)))
    assert named(free, some, never) == ("never",)
    assert named(free, some) == ("some",)
    assert named(free, some, ("more", table((1, 1)))) == ("some", "more")
    assert named(free, some, other=0b01) == ("some",)
    assert named(some) == ("whole",)
