"""Index functions on bits, against all matrices."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from warploom.core import UnsupportedError
from warploom.ir import Hole, HoleArg, index_cost, index_text, tabulate
from warploom.ir.swizzle import function_set
from warploom.ir.swizzle.bit_maps import BitInputs, BitMapSet

PAIRS = np.array([(i, k) for i in range(4) for k in range(2)])
SKEWED = np.array([(0, 5), (1, 4), (3, 6), (2, 7), (6, 3)])
SIGNED = np.array([(-3, 1), (2, 0), (-1, 1), (0, 2)])


def parity(number: int) -> int:
    return number.bit_count() & 1


def all_maps(points: np.ndarray, width: int, bits: int) -> set[tuple[int, ...]]:
    """Every affine map of `width` low bits of each argument, written out."""
    rows = [sum((int(v) & ((1 << width) - 1)) << width * a for a, v in enumerate(point)) for point in points]
    one_bit = {tuple(parity(mask & row) ^ c for row in rows) for mask in range(1 << width * points.shape[1]) for c in (0, 1)}
    return {
        tuple(sum(b << n for n, b in enumerate(column)) for column in zip(*chosen, strict=True))
        for chosen in product(one_bit, repeat=bits)
    }


@pytest.mark.parametrize(("points", "width", "bits"), [(PAIRS, 2, 2), (SKEWED, 3, 2), (SIGNED, 4, 2)])
def test_space_3_has_every_matrix_and_filters_exactly(points: np.ndarray, width: int, bits: int) -> None:
    members, known = BitMapSet(BitInputs(points), bits), all_maps(points, width, bits)
    every = members.matching(np.ones((len(points), 1 << bits), np.bool_))
    assert every is not None
    assert {tuple(row) for row in every.tables.tolist()} == known
    assert len(every) == len(known) == members.size_bound
    draw = random.Random(0)
    for density in (0.3, 0.6, 0.8, 0.8, 0.9):
        allowed = np.array([[draw.random() < density for _ in range(1 << bits)] for _ in points])
        kept = members.matching(allowed)
        fitting = {t for t in known if all(allowed[p, v] for p, v in enumerate(t))}
        assert kept is not None
        assert {tuple(row) for row in kept.tables.tolist()} == fitting
        possible = np.zeros_like(allowed)
        for table in fitting:
            possible[np.arange(len(points)), table] = True
        assert (members.supported(allowed) | ~possible).all()


@pytest.mark.parametrize("points", [PAIRS, SKEWED, SIGNED])
@pytest.mark.parametrize("space", [1, 2, 3])
def test_expressions_say_and_cost_what_the_tables_do(points: np.ndarray, space: int) -> None:
    functions = function_set(Hole("h", "bits", ("i", "k"), 4), points, space).matching(np.ones((len(points), 4), np.bool_))
    assert functions is not None
    assert len({tuple(row) for row in functions.tables.tolist()}) == len(functions)
    assert (np.diff(functions.costs) >= 0).all()
    for position in range(0, len(functions), max(1, len(functions) // 40)):
        expr = functions.expr(position)
        values = np.broadcast_to(tabulate(expr, {HoleArg(n): column for n, column in enumerate(points.T)}), len(points))
        assert values.tolist() == functions.tables[position].tolist(), index_text(expr, ("i", "k"))
        assert index_cost(expr) == functions.costs[position], index_text(expr, ("i", "k"))


def test_spaces_are_nested_and_hold_the_swizzles_of_cutlass() -> None:
    points = np.array([(i, k) for i in range(8) for k in range(8)])
    found = [function_set(Hole("h", "bits", ("i", "k"), 8), points, space) for space in (1, 2)]
    first, second = (set(map(tuple, f.matching(np.ones((64, 8), np.bool_)).tables.tolist())) for f in found)  # type: ignore[union-attr]
    assert first < second
    for shift, base in product(range(3), repeat=2):
        assert tuple(i ^ ((k >> shift & 3) << base & 7) for i, k in points.tolist()) in first
    whole = function_set(Hole("h", "bits", ("i", "k"), 8), points, 3)
    assert whole.matching(np.ones((64, 8), np.bool_)) is None  # 2^21 functions stay implicit
    for table in random.Random(1).sample(sorted(second), 8):
        kept = whole.matching(np.eye(8, dtype=np.bool_)[list(table)])
        assert kept is not None
        assert kept.tables.tolist() == [list(table)]


def test_what_no_matrix_does_is_known_without_listing() -> None:
    points = np.array([(i,) for i in range(8)])
    members = BitMapSet(BitInputs(points), 3)
    allowed = np.ones((8, 8), np.bool_)
    allowed[[0, 1, 2, 3]] = np.eye(8, dtype=np.bool_)[[0, 1, 2, 4]]  # f(3) must be f(0) ^ f(1) ^ f(2) = 3
    assert not members.supported(allowed).any()
    assert len(members.matching(allowed) or ()) == 0
    allowed[3] = True
    assert members.supported(allowed)[3].tolist() == [n == 3 for n in range(8)]


def test_more_bits_than_a_row_of_equations_has_are_refused_with_their_place() -> None:
    points = np.array([tuple((p >> n) & 1 for n in range(62)) for p in [0, *(1 << n for n in range(62))]])
    with pytest.raises(UnsupportedError, match="at most 60 independent bits, got 63"):
        function_set(Hole("h", "bits", tuple(f"a{n}" for n in range(62)), 2), points, 3)


def test_points_with_more_bits_than_a_word_have_a_basis() -> None:
    """The first column of each set of points that no earlier ones add up to; bit 40 of i is bit 0, and k is 0 throughout."""
    inputs = BitInputs(np.array([(0, 0), (1 | 1 << 40, 0), (2, 0), (1 << 45, 1 << 50)]))
    assert len(inputs.columns) > 64
    assert [inputs.columns[n] for n in inputs.basis[:-1]] == [(0, 0), (0, 1), (0, 45)]
