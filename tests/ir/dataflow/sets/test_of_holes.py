"""The paper's xform has the functions of `ir.swizzle`, applied to the axes of the call."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.ir.dataflow.sets.members import check

from warploom.core import UserError
from warploom.ir import Hole
from warploom.ir.dataflow.sets import gather_set
from warploom.ir.swizzle import function_set


@pytest.mark.parametrize("space", [1, 2, 3])
@pytest.mark.parametrize(("name", "main"), [("row", 1), ("col", 0)])
def test_shorthands(name: str, main: int, space: int) -> None:
    shape = (4, 6)
    points = np.array([(p[main], p[1 - main]) for p in product(range(4), range(6))])
    paper = function_set(Hole("h", "xform", ("i", "k"), n=shape[main]), points, space)
    functions = paper.matching(np.ones((paper.points, paper.values), np.bool_))
    wanted = set()
    for table in functions.tables.tolist():
        read = [(i, value) if main else (value, j) for (i, j), value in zip(product(range(4), range(6)), table, strict=True)]
        wanted.add(tuple(i * 6 + j for i, j in read))
    assert set(check(gather_set(name, {"space": space}, (shape,), shape))) == wanted
    general = {"main": main, "second": 1 - main, "out": main, "space": space}
    assert set(check(gather_set("xform", general, (shape,), shape))) == wanted


def test_modulus_past_the_axis_is_undefined() -> None:
    choices = gather_set("xform", {"main": 0, "second": 1, "out": 0, "n": 5, "space": 1}, ((4, 2),), (4, 2))
    found = check(choices)
    assert any(-2 in sources for sources in found) and "(i0 + 1) % 5" in found.values()


def test_the_whole_template_stays_implicit() -> None:
    assert gather_set("col", {}, ((32, 31),), (32, 31)).members.size_bound > 10**5


@pytest.mark.parametrize(
    ("options", "message"),
    [({"space": 4}, r"a space among 1, 2, 3, got 4"), ({"n": 3}, r"n of at least 6, the length of axis 1, got 3")],
)
def test_errors(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=r"BAD_OPTION\]: row: expected " + message):
        gather_set("row", options, ((4, 6),), (4, 6))


def test_compositions_are_those_of_the_hole() -> None:
    points = np.array([(i, k) for i, k in product(range(4), range(6))])
    words = function_set(Hole("h", "compose", ("i", "k"), n=4), points, 2)
    functions = words.matching(np.ones((24, 4), np.bool_))
    assert functions is not None
    wanted = {tuple(value * 6 + k for (_, k), value in zip(points, table, strict=True)) for table in functions.tables.tolist()}
    assert set(check(gather_set("col_compose", {}, ((4, 6),), (4, 6)))) == wanted
    general = {"main": 0, "second": 1, "out": 0}
    assert set(check(gather_set("compose", general, ((4, 6),), (4, 6)))) == wanted
    assert gather_set("col_compose", {"space": 3}, ((4, 6),), (4, 6)).members.size_bound > 10**9


def test_axes_beyond_the_grammar_are_refused() -> None:
    with pytest.raises(UserError, match="expected 1 to 128 as the number of indices, got 129"):
        gather_set("row_compose", {}, ((2, 129),), (2, 129))
    with pytest.raises(UserError, match="expected a parameter from 0 to 127, got 128"):
        gather_set("row_compose", {}, ((129, 2),), (129, 2))
