"""Simplification of index expressions: each rule proved over small ranges, the whole fuzzed, intervals sound."""

import random

import numpy as np
import pytest

from warploom.core.intervals import Interval
from warploom.ir import (
    Compare,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Logical,
    SizeVar,
    index_range,
    simplify,
)
from warploom.ir.kernel.simplify import BITWISE_RULES, RULES
from warploom.ir.kernel.tabulate import grid, leaves, tabulate

LANE, K, M, N = IndexVar("lane"), IndexVar("k"), IndexVar("m"), SizeVar("n")
SMALL = {LANE: range(-3, 7), K: range(5), M: range(-6, 1)}


def b(op: str, lhs: IndexExpr | int, rhs: IndexExpr | int) -> IndexExpr:
    as_expr = [IndexConst(e) if isinstance(e, int) else e for e in (lhs, rhs)]
    return IndexBinary(op, *as_expr)


def random_index(rng: random.Random, depth: int) -> IndexExpr:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([LANE, K, M, IndexConst(rng.randint(-4, 8))])
    if rng.random() < 0.8:
        op = rng.choice(["+", "-", "*", "//", "%", "%", "&", "|", "^", "min", "max", ">>", "<<", "//", "+", "-"])
        rhs = random_index(rng, depth - 1)
        if op in ("//", "%", "<<", ">>"):
            rhs = IndexConst(rng.choice([1, 2, 3, 4, 5, 8] + ([-3, -4] if op in ("//", "%") else [])))
        return b(op, random_index(rng, depth - 1), rhs)
    return IndexSelect(random_truth(rng, depth - 1), random_index(rng, depth - 1), random_index(rng, depth - 1))


def random_truth(rng: random.Random, depth: int) -> IndexExpr:
    if depth <= 0 or rng.random() < 0.6:
        op = rng.choice(["==", "!=", "<", "<=", ">", ">="])
        return Compare(op, random_index(rng, max(depth - 1, 0)), random_index(rng, max(depth - 1, 0)))
    op = rng.choice(["and", "or", "not"])
    return Logical(op, tuple(random_truth(rng, depth - 1) for _ in range(1 if op == "not" else 2)))


def values(expr: IndexExpr) -> np.ndarray:
    axes = grid((LANE, K, M), SMALL, 1 << 22)
    assert axes is not None
    return np.broadcast_to(tabulate(expr, axes), (10, 5, 7))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b("%", b("+", LANE, K), 32), b("&", b("+", LANE, K), 31)),
        (b("%", LANE, 32), LANE),
        (b("%", b("*", K, -1), 3), b("%", b("-", 3, K), 3)),
        (b("%", b("+", b("*", K, 31), LANE), 32), b("&", b("-", LANE, K), 31)),
        (b("-", 0, b("//", b("-", 0, N), 128)), b(">>", b("+", N, 127), 7)),
        (b("+", b("*", b("//", LANE, 4), 4), b("%", LANE, 4)), LANE),
        (b("%", b("+", b("%", LANE, 5), K), 5), b("%", b("+", LANE, K), 5)),
        (b("%", b("+", b("*", K, 32), LANE), 32), LANE),
        (b("//", b("+", b("*", K, 32), LANE), 32), K),
        (Compare("<", LANE, b("+", K, 0)), Compare("<", LANE, K)),
        (Compare("<", LANE, LANE), IndexConst(False)),
        (IndexSelect(Compare(">=", LANE, IndexConst(0)), K, LANE), K),
    ],
)
def test_short_forms(before: IndexExpr, after: IndexExpr) -> None:
    assert simplify(before, {LANE: range(32), K: Interval(0, 2)}) == after


def test_each_rule_holds_everywhere() -> None:
    rng = random.Random(7)
    fired = dict.fromkeys((rule.name for rule in (*RULES, *BITWISE_RULES)), 0)
    for turn in range(4000):
        expr = random_index(rng, 3) if turn % 2 else random_truth(rng, 3)
        for rule in (*RULES, *BITWISE_RULES):
            after = rule.rewrite(expr, SMALL)
            if after is not None and after != expr:
                fired[rule.name] += 1
                assert np.array_equal(values(expr), values(after)), (rule.name, expr, after)
    assert min(fired.values()) > 10, fired


def test_whole_simplification_and_intervals_on_random_expressions() -> None:
    rng = random.Random(3)
    for turn in range(700):
        expr = random_index(rng, 4) if turn % 2 else random_truth(rng, 4)
        after = simplify(expr, SMALL)
        table, bounds = values(expr), index_range(expr, SMALL)
        assert np.array_equal(table, values(after))
        assert bounds.low <= table.min() and table.max() <= bounds.high
        assert set(leaves(after)) <= set(leaves(expr))


def test_sizes_are_not_negative_and_unbounded() -> None:
    assert index_range(N, {}) == Interval(0, float("inf"))
    assert simplify(Compare(">=", N, IndexConst(0))) == IndexConst(True)
    assert simplify(b("%", N, 128)) == b("&", N, 127)


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (b("%", N, 8), 0, 7),
        (b("%", K, 8), 0, 4),
        (b("%", LANE, 8), 0, 7),
        (b("%", b("+", K, 8), 8), 0, 4),
        (b("%", K, -3), -2, 0),
        (b("&", K, 3), 0, 3),
        (b("&", LANE, 3), 0, 3),
        (b("|", K, 8), 0, 15),
        (b("<<", K, 2), 0, 16),
        (b(">>", M, 1), -3, 0),
    ],
)
def test_intervals_are_tight(expr: IndexExpr, low: int, high: int) -> None:
    """Sound is not enough: a bound that is too wide loses proofs."""
    found = index_range(expr, {LANE: Interval(-3, 6), K: Interval(0, 4), M: Interval(-6, 0), N: Interval(0, float("inf"))})
    assert (found.low, found.high) == (low, high)


def test_division_by_zero_stays_as_it_is_written() -> None:
    for op in ("//", "%"):
        assert simplify(b(op, LANE, 0), SMALL) == b(op, LANE, 0)
