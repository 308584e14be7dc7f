"""The bound on accumulates from grids of products: against brute force, and on the polynomial products."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.kernels.wide_polynomial import mult_reg, mult_shared
from warploom.sketch import Sketch
from warploom.synth import complete
from warploom.synth.network.network import BoolArray
from warploom.synth.problem import kernel_algebra
from warploom.synth.proof.symbolic import run_spec
from warploom.synth.search import enabled, grids
from warploom.synth.search.engine import Engine
from warploom.synth.search.folds import FoldConstraint
from warploom.synth.search.grids import ProductGrids, closest, product_grids
from warploom.terms import atom


def _engine(sketch: Sketch) -> Engine:
    sizes = dict(sketch.complete_at)
    expected = run_spec(sketch.spec, sketch.kernel, sizes)
    return Engine(sketch.kernel, sizes, expected.outputs, expected.stored, kernel_algebra(sketch), lambda _: True)


def _differences(first: np.ndarray, second: np.ndarray) -> dict[tuple[tuple[int, ...], tuple[int, ...]], int]:
    rows, columns = first.shape
    return {
        (r, c): int((first != second[np.ix_(r, c)]).sum())
        for r in permutations(range(rows))
        for c in permutations(range(columns))
    }


@pytest.mark.parametrize("seed", range(60))
def test_closest_agrees_with_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, 2))
    first, second = (rng.integers(0, 4, shape) for _ in range(2))
    everything = _differences(first, second)
    least = min(everything.values())
    found = closest(tuple(map(tuple, first.tolist())), tuple(map(tuple, second.tolist())), most=10_000)
    assert found is not None
    assert found.different == least
    assert sorted(found.orders) == sorted(orders for orders, count in everything.items() if count == least)


@pytest.mark.parametrize("rows", [2, 3, 4, 8, 12])
def test_one_register_too_many_in_every_row_of_products(rows: int) -> None:
    without = tuple(tuple(x + y for y in range(rows)) for x in range(rows))
    carried = tuple(tuple(x + y + 1 for y in range(rows)) for x in range(rows))
    found = closest(without, carried)
    assert found is not None
    assert found.different == rows
    assert len(found.orders) == 2  # the rows of either input move on by one


@pytest.mark.parametrize("rows, bound", [(2, 6), (4, 20)])
def test_bound_of_products(rows: int, bound: int) -> None:
    engine = _engine(mult_shared(rows, lanes=4))
    assert engine.accumulates_bound == bound
    assert engine.enabled is not None
    assert engine.enabled.is_exhaustive == (rows == 2)
    assert all(enabled.bit_count() >= bound for enabled in engine.enabled.sets)
    assert engine.enabled.sets[0].bit_count() == bound


@pytest.mark.parametrize("make", [mult_shared, mult_reg])
def test_fewest_accumulates(make: object) -> None:
    assert callable(make)
    report = complete(make(4, lanes=4))
    assert (report.status, report.verdict, report.optimal_in) == ("solved", "proved", 3)
    assert report.completions[0].accumulates == 20


@pytest.mark.slow
def test_all_solutions_at_the_authors_width() -> None:
    report = complete(mult_shared(2, lanes=4), all_solutions=True)
    assert (report.status, report.verdict, report.space) == ("solved", "proved", 1)
    assert [c.accumulates for c in report.completions] == [6] * 8


def test_the_bound_does_not_depend_on_what_ran_before() -> None:
    """Canonical forms order terms by age: here the first elements of both inputs are older than all others."""
    old = [atom("a", (0,)), atom("b", (0,))]
    assert _engine(mult_shared(4, lanes=4)).accumulates_bound == 20
    assert old[0] is atom("a", (0,))


def test_statements_that_take_a_block() -> None:
    found = ProductGrids(np.array([[[0, -1], [1, 2]]]), ())
    assert found.pattern(((0, 1),), (0,), (0, 1)) == 0b101
    assert found.pattern(((0, 1),), (0,), (1, 0)) is None  # the first column would need a statement that is not there


def test_blocks_that_take_too_long_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    block = tuple(tuple(x + y for y in range(4)) for x in range(4))
    assert closest(block, block) is not None
    monkeypatch.setattr(grids, "MAX_STEPS", 3)
    assert closest(block, block) is None


def _arguments(monkeypatch: pytest.MonkeyPatch) -> tuple[FoldConstraint, BoolArray]:
    """The arguments of `product_grids` for a product of two polynomials."""
    found: list[tuple[FoldConstraint, BoolArray]] = []

    def remembered(folds: FoldConstraint, on: BoolArray) -> ProductGrids | None:
        found.append((folds, on))
        return product_grids(folds, on)

    monkeypatch.setattr(enabled, "product_grids", remembered)
    _engine(mult_shared(2, lanes=4))
    return found[0]


def test_products_that_form_no_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change breaks one thing that the bound relies on."""
    folds, on = _arguments(monkeypatch)
    products = folds.products
    assert product_grids(folds, on) is not None

    def changed(**fields: object) -> FoldConstraint:
        made = copy(folds)
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    optional = products.used_once.copy()
    optional[0] = False
    assert product_grids(changed(products=replace(products, used_once=optional)), on) is None
    assert product_grids(changed(orders=[[(0, 1), (1, 0)], *folds.orders[1:]]), on) is None
    cells = products.cells.copy()
    cells[0] = cells[0, 0], cells[-1, 1]
    assert product_grids(changed(products=replace(products, cells=cells)), on) is None
    entries = [replace(e, statement=1 if e.statement == 0 else e.statement) for e in folds.entries]
    assert product_grids(changed(entries=entries), on) is None
    terms = folds.terms.copy()
    terms[1, 0] = terms[0, 0]
    assert product_grids(changed(terms=terms), on) is None
    real = folds.real.copy()
    real[0] = False
    assert product_grids(changed(real=real), on) is None
    both_ways = np.array([[0, 1], [1, 0]])
    assert grids._grid_of(both_ways, np.arange(2), np.arange(2)) is None  # pyright: ignore[reportPrivateUsage]


def test_two_ways_into_one_accumulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two statements that add one product to one accumulator: the bound counts either, so there is none."""
    folds, on = _arguments(monkeypatch)
    statement = np.repeat([e.statement for e in folds.entries], np.diff(folds.starts))
    again = np.flatnonzero(statement == 0)
    twice = copy(folds)
    twice.fold = np.append(folds.fold, folds.fold[again])
    twice.products = replace(folds.products, of_row=np.append(folds.products.of_row, folds.products.of_row[again]))
    twice.entries = (*folds.entries, replace(folds.entries[0], statement=16))
    twice.starts = np.append(folds.starts, folds.starts[-1] + len(again))
    assert product_grids(twice, np.append(on, np.zeros(len(again), bool))) is not None
    assert product_grids(twice, np.append(on, on[again])) is None


def test_a_block_with_a_term_twice_and_another_missing() -> None:
    whole = np.array([[[0, 2], [0, 3]], [[1, 2], [1, 3]]])
    holed = np.array([[[0, 2], [0, 3]], [[1, 2], [1, 2]]])

    def blocks(terms: np.ndarray) -> object:
        folds: Any = SimpleNamespace(real=np.ones((2, 2), bool), terms=terms, required=SimpleNamespace(universe=range(4)))
        return grids._blocks(folds, (0, 1), np.zeros(2, np.int64), np.arange(2), (2, 2))  # pyright: ignore[reportPrivateUsage]

    assert blocks(whole) == (((0, 0), (1, 1)),)
    assert blocks(holed) is None
