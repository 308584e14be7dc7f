"""Grammars of holes as sets of functions, against literal transcriptions of the paper's grammars and equations."""

from __future__ import annotations

import operator
import random
from itertools import product
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.ir import Hole, HoleArg, IndexBinary, IndexConst, IndexVar, index_cost, index_text, tabulate
from warploom.ir.swizzle import SPACES, FunctionSet, condition_set, function_set

COMPARE = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def point_table(rows: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(sorted(set(rows)), np.int64)


def every(functions_of: FunctionSet):
    return functions_of.matching(np.ones((functions_of.points, functions_of.values), np.bool_))


def tables(functions) -> set[tuple[int, ...]]:
    return {tuple(row) for row in functions.tables.tolist()}


def assert_consistent(functions_of: FunctionSet, points: np.ndarray, seed: int = 0) -> None:
    """Distinct functions, expressions that evaluate to them, costs in order, and `matching` that filters exactly."""
    functions = every(functions_of)
    assert len(tables(functions)) == len(functions) <= functions_of.size_bound
    assert (np.diff(functions.costs) >= 0).all()
    columns = {HoleArg(n): points[:, n] for n in range(points.shape[1])}
    rng = random.Random(seed)
    for position in rng.sample(range(len(functions)), min(len(functions), 60)):
        expr = functions.expr(position)
        assert np.broadcast_to(tabulate(expr, columns), len(points)).tolist() == functions.tables[position].tolist()
        names = {f"a{n}": points[:, n].tolist() for n in range(points.shape[1])}
        code = index_text(expr, tuple(names))
        values = [eval(code, {"min": min, "max": max}, {k: v[j] for k, v in names.items()}) for j in range(len(points))]
        assert [int(v) for v in values] == functions.tables[position].tolist()
    for _ in range(6):
        allowed = np.array([[rng.random() < 0.7 for _ in range(functions_of.values)] for _ in range(len(points))])
        kept = functions_of.matching(allowed)
        wanted = {t for t in tables(functions) if all(allowed[p, v] for p, v in enumerate(t))}
        assert tables(kept) == wanted and len(kept) == len(wanted)
        assert functions.select(np.arange(len(functions))).matching(allowed).tables.tolist() == [
            row for row in functions.tables.tolist() if tuple(row) in wanted
        ]
    supported = functions.supported(functions_of.values)
    assert all(supported[p, v] == any(t[p] == v for t in tables(functions)) for p, v in np.ndindex(*supported.shape))


def paper_conditions(points: np.ndarray, constants: range) -> set[tuple[int, ...]]:
    """Section 5.1: v cmp (I bin v), and the two that are always true or false."""
    result = {(0,) * len(points), (1,) * len(points)}
    for left, right, compare, sign, c in product(range(points.shape[1]), range(points.shape[1]), COMPARE, (1, -1), constants):
        result.add(tuple(int(compare(p[left], c + sign * p[right])) for p in points.tolist()))
    return result


POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=9).map(point_table)


@settings(max_examples=40, deadline=None)
@given(POINTS, st.integers(0, 99))
def test_conditions_are_the_papers(points: np.ndarray, seed: int) -> None:
    hole = Hole("h", "cond", ("v", "w"))
    free = function_set(hole, points, 1)
    full = function_set(hole, points, 3)
    assert tables(every(free)) == paper_conditions(points, range(1))
    with_constants = paper_conditions(points, range(-15, 16))
    single = {
        tuple(int(compare(p[a], c)) for p in points.tolist()) for compare in COMPARE for a in (0, 1) for c in range(-15, 16)
    }
    assert tables(every(full)) == with_constants | single
    assert_consistent(free, points, seed)
    assert_consistent(full, points, seed)


@settings(max_examples=15, deadline=None)
@given(POINTS)
def test_offered_constants_and_modular_grammar(points: np.ndarray) -> None:
    offered = condition_set(points, "constant-free", (3,))
    single = {tuple(int(compare(p[a], 3)) for p in points.tolist()) for compare in COMPARE for a in (0, 1)}
    assert tables(every(offered)) == paper_conditions(points, range(1)) | _with_constant(points, 3) | single
    modular = function_set(Hole("h", "cond", ("v", "w"), grammar="modular", modulus=3), points, 1)
    wanted = {(0,) * len(points), (1,) * len(points)}
    for left, right, a, b, compare in product((0, 1), (0, 1), range(3), range(3), COMPARE):
        wanted.add(tuple(int(compare(p[left], (a * p[right] + b) % 3)) for p in points.tolist()))
    assert tables(every(modular)) == wanted
    assert_consistent(modular, points)


def _with_constant(points: np.ndarray, c: int) -> set[tuple[int, ...]]:
    return paper_conditions(points, range(c, c + 1))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5).map(point_table), st.sampled_from([1, 3])
)
def test_partitions_are_the_papers(points: np.ndarray, space: int) -> None:
    """Section 5.2: 0 if cond else 1 if cond else ... n-1."""
    conditions = tables(every(function_set(Hole("h", "cond", ("v", "w")), points, space)))
    for parts in (2, 3):
        functions_of = function_set(Hole("h", "part", ("v", "w"), n=parts), points, space)
        wanted = {
            tuple(next((v for v, t in enumerate(picked) if t[p]), parts - 1) for p in range(len(points)))
            for picked in product(conditions, repeat=parts - 1)
        }
        assert tables(every(functions_of)) == wanted
        assert_consistent(functions_of, points)


def rot(n: int, k: int, cr: int, dr: int, c: int):
    return lambda i: (i + k * cr + k // dr + c) % n  # eq. 2


def fan(n: int, cf: int, df: int):
    return lambda i: (i * cf + i // df) % n  # eq. 3


def group(gs: int, permutation):
    return lambda i: i // gs * gs + permutation(i % gs)  # eq. 4


def xform(i: int, n: int, k: int, gs: int, cf: int, df: int, wrap: bool, cr: int, dr: int, c: int) -> int:
    divisor = gs // df
    rotate = group(divisor, rot(divisor, k, cr, dr, c)) if wrap else rot(gs, k, cr, dr, c)  # eq. 7
    return group(gs, lambda j: rotate(fan(gs, cf, df)(j)))(i)  # eq. 5, 6


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def paper_xforms(n: int, points: np.ndarray, coefficients=None, constants=None, grouped=True, fans=True) -> set[tuple[int, ...]]:
    """Every setting of the template; dr divides n or the number of parameter values, or is too large to matter."""
    extent = int(points[:, 1].max()) + 1
    result: set[tuple[int, ...]] = set()
    for gs in divisors(n) if grouped else [n]:
        for df in divisors(gs) if grouped else [gs]:
            divisor = gs // df
            for wrap in (False, True) if divisor > 1 and grouped else (False,):
                modulus = divisor if wrap else gs
                periods = [extent, *(d for d in range(2, extent) if extent % d == 0 or n % d == 0)] if grouped else [extent]
                scales = range(gs) if coefficients is None else coefficients
                for cf in scales if fans else [1]:
                    if cf % divisor:
                        continue
                    turns = range(modulus) if coefficients is None else coefficients
                    offsets = range(modulus) if constants is None else constants
                    for cr, dr, c in product(turns, periods, offsets):
                        result.add(tuple(xform(i, n, k, gs, cf, df, wrap, cr, dr, c) for i, k in points.tolist()))
    return result


@pytest.mark.parametrize(("n", "extent"), [(2, 2), (3, 3), (4, 4), (4, 2), (6, 4), (8, 2), (1, 2)])
def test_xforms_are_equations_2_to_7(n: int, extent: int) -> None:
    points = point_table(list(product(range(n), range(extent))))
    hole = Hole("h", "xform", ("i", "k"), n=n)
    whole, simple = function_set(hole, points, 3), function_set(hole, points, 1)
    assert tables(every(whole)) == paper_xforms(n, points)
    assert tables(every(simple)) == paper_xforms(n, points, grouped=False)
    assert tables(every(simple)) <= tables(every(whole))
    assert_consistent(whole, points)
    assert_consistent(simple, points)


def test_fan_period_follows_from_the_coefficient() -> None:
    """gcd = gs / df is a divisor of cf: with df = gs / GCD(cf, gs) the template is the paper's literal one."""
    n = 6
    points = point_table([(i, 0) for i in range(n)])
    literal = {tuple(fan(n, cf, n // gcd(cf, n))(i) for i in range(n)) for cf in range(1, n)}
    assert literal <= tables(every(function_set(Hole("h", "xform", ("i", "k"), n=n), points, 3)))


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([2, 3, 4, 6]),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=8),
    st.sampled_from([None, (0, 1), (1, -1), (2,)]),
    st.sampled_from([None, (0,), (0, -1)]),
    st.sampled_from(["full", "rotation", "ungrouped"]),
)
def test_restricted_xforms(n: int, rows, coefficients, constants, grammar: str) -> None:
    points = point_table([(i % n, k) for i, k in rows])
    hole = Hole("h", "xform", ("i", "k"), n=n, grammar=grammar, coefficients=coefficients, constants=constants)
    for space in SPACES:
        functions_of = function_set(hole, points, space)
        assert_consistent(functions_of, points)
        if grammar == "full" and space == 3:
            assert tables(every(functions_of)) == paper_xforms(n, points, coefficients, constants)
        if space == 1:
            wanted = paper_xforms(n, points, coefficients, constants, grouped=False, fans=grammar != "rotation")
            assert tables(every(functions_of)) == wanted


def test_spaces_are_nested() -> None:
    points = point_table(list(product(range(4), range(3))))
    for hole in (Hole("h", "cond", ("v", "w")), Hole("h", "part", ("v", "w"), n=3), Hole("h", "xform", ("i", "k"), n=4)):
        listed = [tables(every(function_set(hole, points, space))) for space in SPACES]
        assert listed[0] <= listed[1] <= listed[2]


@pytest.mark.parametrize("kind", ["const", "choose", "cond", "part", "xform"])
def test_holes_without_use_and_single_alternatives(kind: str) -> None:
    hole = Hole("h", kind, ("v", "w"), n=3, constants=(5, 7) if kind == "const" else None)
    unused = function_set(hole, np.zeros((0, 2), np.int64), 1)
    assert len(every(unused)) == 1 and index_cost(every(unused).expr(0)) == 0
    if kind in ("const", "choose"):
        functions = every(function_set(hole, np.zeros((1, 0), np.int64), 1))
        assert functions.tables.tolist() == [[j] for j in range(2 if kind == "const" else 3)]
        assert index_text(functions.expr(1), ("v", "w", "u")) == ("7" if kind == "const" else "w")


def test_index_outside_the_template_is_refused() -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.3"):
        function_set(Hole("h", "xform", ("i", "k"), n=4), point_table([(4, 0)]), 1)


@pytest.mark.parametrize(
    ("op", "number", "cost"),
    [("//", 8, 1), ("//", 6, 8), ("//", 7, 8), ("%", 1, 1), ("%", 12, 8), ("*", 4, 1), ("*", 3, 2), ("*", 0, 2),
     ("*", -4, 2), ("+", 3, 1)],
)  # fmt: skip
def test_powers_of_two_are_shifts_and_masks(op: str, number: int, cost: int) -> None:
    assert index_cost(IndexBinary(op, IndexVar("i"), IndexConst(number))) == cost
