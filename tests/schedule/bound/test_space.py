"""Against the space of choices: along random descents and for all completions of small spaces the bound holds."""

import math
import random

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features, KernelSpace, kernel_space
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

MATMUL = {"m": ((2, 4, 8), (2, 4)), "n": ((2, 4, 8), (2, 4)), "k": ((4, 8),)}


def space_of(kernel: str, sizes: dict[str, int], tiles: dict[str, tuple[tuple[int, ...], ...]], on: str) -> KernelSpace:
    features = Features.paper() if on == "k4000" else Features.full()
    program = tensor_kernel(kernel).program(sizes=sizes, tiles=tiles, divisors_only=features.exact)
    return kernel_space(program.stages[0], target(on), features)


def leaves(space: KernelSpace, candidate: Candidate, most: int) -> list[Candidate]:
    """Up to that many completions, depth first."""
    found: list[Candidate] = []
    waiting = [candidate]
    while waiting and len(found) < most:
        current = waiting.pop()
        decision = space.decisions(current)
        if decision is None:
            found.append(current)
            continue
        children = [space.apply(current, decision, a) for a in decision.alternatives]
        waiting += [c for c in children if c is not None]
    return found


@pytest.mark.parametrize("on", ["k4000", "cpu"])
def test_no_decision_lowers_the_bound(on: str) -> None:
    rng = random.Random(1)
    space = space_of("matmul", {"m": 64, "n": 64, "k": 64}, MATMUL, on)
    bound = Bound(space)
    root = space.root()
    for _ in range(4):
        current, last = root, bound.of(root)
        while True:
            decision = space.decisions(current)
            if decision is None:
                break
            following = space.apply(current, decision, rng.choice(decision.alternatives))
            if following is None:
                break
            current = following
            now = bound.of(current)
            assert now >= last * (1 - 1e-9), (decision, bound.explain(current).text)
            last = now


@pytest.mark.parametrize("on", ["k4000", "cpu"])
def test_every_completion_costs_at_least_the_bound(on: str) -> None:
    space = space_of("axpy", {"n": 4096}, {"n": ((64,), (4,))}, on)
    bound = Bound(space)
    least = bound.of(space.root())
    costs = [bound.of(leaf) for leaf in leaves(space, space.root(), 300)]
    assert costs
    assert all(cost >= least * (1 - 1e-9) for cost in costs)
    assert any(math.isfinite(cost) for cost in costs)


def test_the_explanation_names_what_binds() -> None:
    space = space_of("axpy", {"n": 2**20}, {"n": ((64,), (4,))}, "k4000")
    bound = Bound(space)
    root = space.root()
    explained = bound.explain(root)
    assert explained.time_ms == bound.of(root)
    assert explained.parts[0].time_ms == pytest.approx(explained.time_ms)
    assert "memory traffic" in explained.text.splitlines()[0]
    assert bound.estimate(root) >= bound.of(root)


def test_the_bound_of_the_root_of_axpy_is_three_streams_less_what_the_cache_may_keep() -> None:
    space = space_of("axpy", {"n": 2**20}, {"n": ((64,), (4,))}, "k4000")
    assert Bound(space).of(space.root()) == pytest.approx((3 * 4 * 2**20 - 384 * 1024) / 134.784e6, rel=1e-9)
