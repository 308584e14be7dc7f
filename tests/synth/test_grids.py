"""The bound on accumulates from grids of products: against brute force, and on the polynomial products."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from warploom.kernels.wide_polynomial import mult_reg, mult_shared
from warploom.sketch import Sketch
from warploom.synth import complete
from warploom.synth.complete import kernel_algebra
from warploom.synth.engine import Engine
from warploom.synth.grids import closest
from warploom.synth.symbolic import run_spec
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


def test_all_solutions_at_the_authors_width() -> None:
    report = complete(mult_shared(2, lanes=4), all_solutions=True)
    assert (report.status, report.verdict, report.space) == ("solved", "proved", 1)
    assert [c.accumulates for c in report.completions] == [6] * 8


def test_the_bound_does_not_depend_on_what_ran_before() -> None:
    """Canonical forms order terms by age: here the first elements of both inputs are older than all others."""
    old = [atom("a", (0,)), atom("b", (0,))]
    assert _engine(mult_shared(4, lanes=4)).accumulates_bound == 20
    assert old[0] is atom("a", (0,))
