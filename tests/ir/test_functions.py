"""Tables of functions: which rows are one function, also where hashes meet, and in steps that no budget waits for."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ir.swizzle import Tables, XformGrammar, XformSet, distinct, functions

_RNG = np.random.default_rng(1)


def _brute(tables: Tables, costs: np.ndarray) -> list[int]:
    cheapest: dict[tuple[int, ...], int] = {}
    for row in sorted(range(len(tables)), key=lambda r: costs[r]):
        cheapest.setdefault(tuple(tables[row].tolist()), row)
    return list(cheapest.values())


@pytest.mark.parametrize("columns", [0, 1, 5, 8])
@pytest.mark.parametrize("all_meet", [False, True])
def test_one_cheapest_row_of_each(columns: int, all_meet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "BLOCK_CELLS", 7)  # many blocks
    if all_meet:
        monkeypatch.setattr(functions, "row_hashes", lambda tables: np.zeros(len(tables), np.uint64))
    tables = _RNG.integers(-2, 2, (60, columns)).astype(np.int16)
    costs = _RNG.integers(0, 3, 60)
    assert distinct(tables, costs).tolist() == _brute(tables, costs)


def test_blocks_cover_all_rows_with_few_cells_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "BLOCK_CELLS", 10)
    assert [range(7)[block] for block in functions.row_blocks(7, 4)] == [range(2), range(2, 4), range(4, 6), range(6, 7)]
    assert len([*functions.row_blocks(3, 1000)]) == 3 and [*functions.row_blocks(0, 4)] == []


def test_members_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.array([(i, k) for k in range(3) for i in range(6)])
    allowed = _RNG.random((18, 6)) < 0.95
    whole = XformSet(points, XformGrammar(6, grouped=True)).matching(allowed)
    monkeypatch.setattr(functions, "BLOCK_CELLS", 40)
    parts = XformSet(points, XformGrammar(6, grouped=True)).matching(allowed)
    assert whole is not None and parts is not None and len(whole) > 0
    assert np.array_equal(whole.tables, parts.tables) and np.array_equal(whole.costs, parts.costs)


@pytest.mark.parametrize(("n", "parameters"), [(6, 3), (8, 4)])
def test_members_are_found_by_all_of_their_values(n: int, parameters: int) -> None:
    points = np.array([(i, k) for i in range(n) for k in range(parameters)])
    members = XformSet(points, XformGrammar(n, grouped=True))
    every = members.matching(np.ones((len(points), n), np.bool_))
    assert every is not None
    costs = {row.tobytes(): int(cost) for row, cost in zip(every.tables, every.costs, strict=True)}
    known = every.tables[_RNG.choice(len(every), 40, replace=False)]
    changed = known.copy()
    changed[np.arange(40), _RNG.integers(0, len(points), 40)] = _RNG.integers(0, n, 40)
    asked = np.concatenate([known, changed, _RNG.integers(0, n, known.shape).astype(np.int16)])
    wanted = [costs.get(row.tobytes()) for row in asked]
    assert 40 <= len([cost for cost in wanted if cost is not None]) < 80
    assert members.takes(asked).tolist() == [cost is not None for cost in wanted]
    for table, cost, found in zip(asked, wanted, members.equal_to(asked), strict=True):
        assert found.costs.tolist() == ([] if cost is None else [cost])
        assert all(np.array_equal(row, table) for row in found.tables)
    assert members.equal_to(asked[:0]) == [] and members.takes(asked[:0]).tolist() == []
