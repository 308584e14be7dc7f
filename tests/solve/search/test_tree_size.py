"""Sizes of search trees: estimates against trees that are known whole, counts of levels against brute force."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from tests.solve.search.finite import FiniteModel
from tests.solve.trees import RandomTree

from warploom.solve import (
    Budget,
    Cut,
    chen,
    enumerate_levels,
    estimated,
    knuth,
    leaves_behind,
    sample,
    tree_size,
)

SEEDS = (0, 2, 3, 4)


def walk_to_dead_end(tree: RandomTree, path: tuple[int, ...] = ()) -> float:
    if tree.is_leaf(path):
        return 0.0
    children = [(*path, n) for n in range(tree.width(path)) if (*path, n) in tree.costs]
    return sum(walk_to_dead_end(tree, c) for c in children) / len(children) if children else 1.0


def middle(tree: RandomTree) -> int:
    bounds = sorted(tree.bound(p)[0] for p in tree.costs if len(p) == 2)
    return bounds[len(bounds) // 2] + 1


def kept(tree: RandomTree, path: tuple[int, ...], below: int, depth: int) -> bool:
    return all(tree.bound(path[:n])[0] < below for n in range(min(depth, len(path)) + 1))


@pytest.mark.parametrize("method", [knuth, chen])
@pytest.mark.parametrize("seed", SEEDS)
def test_estimates_hold_the_truth(method, seed: int) -> None:
    tree = RandomTree(seed, refuted=0.25)
    size = tree_size(method(tree, range(600), seed=seed))
    assert abs(size.leaves.mean - len(tree.leaves)) <= 2 * size.leaves.half_width
    assert abs(size.dead_ends.mean - len(tree.dead_ends)) <= 3 * size.dead_ends.half_width + 1e-9
    assert abs(size.dead_end_probability.mean - walk_to_dead_end(tree)) <= 2 * size.dead_end_probability.half_width + 1e-9
    assert size.probes == 600 and size.nodes > 600


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    tree = RandomTree(1)
    truth = len(tree.leaves)
    sizes = [tree_size(knuth(tree, range(150), seed=seed)) for seed in range(30)]
    held = sum(abs(s.leaves.mean - truth) <= s.leaves.half_width for s in sizes)
    assert held >= 25


def test_chen_is_exact_where_strata_are_alike() -> None:
    tree = FiniteModel(dict.fromkeys("abcdefgh", (0, 1, 2)), (), lambda d: (0,))
    size = tree_size(chen(tree, range(3)))
    assert (size.leaves.mean, size.leaves.half_width) == (3.0**8, 0.0)
    assert size.dead_ends.mean == 0


@pytest.mark.parametrize("method", [knuth, chen])
@pytest.mark.parametrize("depth", [2, 4])
def test_estimates_under_a_cut(method, depth: int) -> None:
    tree = RandomTree(3)
    below = middle(tree)
    truth = sum(kept(tree, p, below, depth) for p in tree.leaves)
    assert 0 < truth < len(tree.leaves)
    size = tree_size(method(tree, range(800), cut=Cut((below,), depth)))
    assert abs(size.leaves.mean - truth) <= 2 * size.leaves.half_width


@pytest.mark.parametrize("seed", SEEDS)
def test_levels_are_counted_exactly(seed: int) -> None:
    tree = RandomTree(seed)
    below = 3 * (tree.costs[()] or 0)
    for depth in (0, 1, 4):
        levels = enumerate_levels(tree, depth, below=(below,)).levels
        at = [[p for p in tree.costs if len(p) == n] for n in range(depth + 1)]
        assert levels.nodes == tuple(len(paths) for paths in at)
        assert levels.kept == tuple(sum(kept(tree, p, below, depth) for p in paths) for paths in at)
        above = [sum(kept(tree, p, below, depth) and tree.is_leaf(p) for p in paths) for paths in at[:-1]]
        assert levels.leaves == (*above, 0)
        assert levels.complete
        only = enumerate_levels(tree, depth, below=(below,), all_nodes=False).levels
        assert (only.nodes, only.kept, only.leaves) == (levels.kept, levels.kept, levels.leaves)


def test_budget_of_levels() -> None:
    levels = enumerate_levels(RandomTree(2), 5, budget=Budget(nodes=20)).levels
    assert (levels.complete, levels.reason, sum(levels.nodes)) == (False, "budget: nodes", 21)


@pytest.mark.parametrize("seed", SEEDS)
def test_leaves_behind_a_frontier(seed: int) -> None:
    tree = RandomTree(seed, depth=7)
    below = 4 * (tree.costs[()] or 0)
    truth = sum(kept(tree, p, below, 3) for p in tree.leaves)
    everyone = enumerate_levels(tree, 3, below=(below,), sample=1000)
    estimate = leaves_behind(tree, everyone, probes=200)
    assert abs(estimate.mean - truth) <= max(0.2 * truth, 2)
    few = enumerate_levels(tree, 3, below=(below,), sample=5)
    assert len(few.sample) <= 5 and set(few.sample) <= set(everyone.sample)


def test_sweeps_are_right_on_average() -> None:
    """Chen's estimates have no bias, also where the candidates of a stratum have different trees behind them."""
    tree = RandomTree(2, depth=4, refuted=0.4)
    size = tree_size(chen(tree, range(2000), remaining=lambda path: 4 - len(path)))
    assert size.leaves.half_width < 0.1 * len(tree.leaves)
    assert abs(size.leaves.mean - len(tree.leaves)) <= 1.5 * size.leaves.half_width
    assert abs(size.dead_ends.mean - len(tree.dead_ends)) <= 1.5 * size.dead_ends.half_width
    assert abs(size.dead_end_probability.mean - walk_to_dead_end(tree)) <= 1.5 * size.dead_end_probability.half_width


def test_executor_does_not_change_an_estimate() -> None:
    alone = tree_size(knuth(RandomTree(4), range(100), seed=3))
    with ThreadPoolExecutor(3) as executor:
        spread = sample(partial(RandomTree, 4), 100, seed=3, chunk=7, executor=executor)
    assert spread == alone


def test_intervals_of_few_samples() -> None:
    assert estimated([2.0]).half_width == math.inf
    assert math.isnan(estimated([]).mean) and estimated([]).half_width == math.inf
    assert estimated([1.0, 3.0]).mean == 2.0
