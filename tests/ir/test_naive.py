"""The naive template against an enumeration of its expressions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from warploom.ir import HoleArg, index_cost, tabulate
from warploom.ir.swizzle import NaiveSet, naive


def _expressions(points: list[tuple[int, ...]], most: int, depth: int) -> set[tuple[int, ...]]:
    """Values on the points."""
    leaves = {tuple(p[n] for p in points) for n in range(len(points[0]))}
    found = leaves | {(c,) * len(points) for c in range(-most, most + 1)}
    for _ in range(depth):
        grown = set(found)
        for a, b in product(found, found):
            grown.add(tuple(x + y for x, y in zip(a, b, strict=True)))
            grown.add(tuple(x - y for x, y in zip(a, b, strict=True)))
        for a, c in product(found, range(-most, most + 1)):
            grown.add(tuple(x * c for x in a))
            if c > 0:
                grown |= {tuple(x // c for x in a), tuple(x % c for x in a)}
        found = grown
    return found


def test_all_functions_of_a_depth() -> None:
    points = [(i, k) for i in range(3) for k in range(2)]
    for depth in (1, 2):
        naive = NaiveSet(np.array(points), 3, depth)
        functions = naive.matching(np.ones((6, 3), np.bool_))
        expected = {tuple(x % 3 for x in table) for table in _expressions(points, 3, depth)}
        assert {tuple(t.tolist()) for t in functions.tables} == expected
        assert len(functions) == naive.size_bound == len(expected)
        assert (np.diff(functions.costs) >= 0).all()


@pytest.mark.parametrize("collide", [False, True])
def test_functions_that_come_in_parts_are_the_same(collide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.array([(i, k) for i in range(4) for k in range(3)])

    def functions() -> dict[bytes, int]:
        found = NaiveSet(points, 4, 2).functions
        return {table.tobytes(): cost for table, cost in zip(found.tables, found.costs.tolist(), strict=True)}

    whole = functions()
    monkeypatch.setattr(naive, "AT_ONCE", 1 << 10)
    if collide:
        monkeypatch.setattr(naive, "_hashes", lambda tables: tables[:, 0].astype(np.uint64))
    assert functions() == whole


def test_constants_are_as_large_as_the_larger_of_values_and_arguments() -> None:
    points = [(i, k) for i in range(3) for k in range(2)]
    assert NaiveSet(np.array(points), 5, 1).most == 5
    assert NaiveSet(np.array(points), 2, 1).most == 3
    tables = NaiveSet(np.array(points), 5, 1).functions.tables.tolist()
    assert {tuple(t) for t in tables} == {tuple(x % 5 for x in t) for t in _expressions(points, 5, 1)}


def test_expressions_are_the_functions() -> None:
    points = np.array([(i, k) for i in range(5) for k in range(4)])
    functions = NaiveSet(points, 5, 2).functions
    for row in range(0, len(functions), 37):
        expr = functions.expr(row)
        table = tabulate(expr, {HoleArg(0): points[:, 0], HoleArg(1): points[:, 1]})
        assert (np.broadcast_to(table, len(points)) == functions.tables[row]).all()
        assert functions.costs[row] <= index_cost(expr)


def test_only_allowed_values_match() -> None:
    points = np.array([(i, 0) for i in range(4)])
    allowed = np.zeros((4, 4), np.bool_)
    allowed[np.arange(4), [3, 2, 1, 0]] = True
    assert NaiveSet(points, 4, 1).matching(allowed).tables.tolist() == [[3, 2, 1, 0]]
    allowed[:, :] = False
    allowed[np.arange(4), [0, 2, 1, 3]] = True
    assert len(NaiveSet(points, 4, 1).matching(allowed)) == 0
