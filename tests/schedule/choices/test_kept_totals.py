"""Totals that lie in an array while their sum goes on: candidates in which a loop of a sum is around loops over its results."""

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend, small_tiles, stages
from tests.schedule.nest.interpreter import interpret

from warploom.core import f32
from warploom.schedule.backbone import Backbone, Operator, Role, evaluate
from warploom.schedule.choices.kernel import KernelSpace, kernel_space
from warploom.schedule.choices.kept_totals import keeping_sums
from warploom.schedule.frontend import out, tensor
from warploom.schedule.nest import Load, Store, statements, verify
from warploom.schedule.targets import TARGETS
from warploom.solve.space import Candidate


@tensor
def greatest(X: f32["m", "n"], Y: out[f32["n"]]):
    Y[n] = max(X[m, n], over=m)


@tensor
def twice(A: f32["m", "n"], x: f32["m"], y: out[f32["n"]], z: out[f32["n"]]):
    y[n] = sum(A[m, n] * x[m], over=m)
    z[n] = 2 * y[n] + y[n] * y[n]


@tensor
def spread(A: f32["m", "n"], x: f32["m"], Z: out[f32["n", "p"]], B: f32["n", "p"]):
    Z[n, p] = B[n, p] * sum(A[m, n] * x[m], over=m)


@tensor
def folded(A: f32["m", "n", "k"], Y: out[f32["n"]], alpha: f32):
    Y[n] = alpha * sum(A[m, n, k], over=(m, k))


GIVEN = {"greatest": greatest, "twice": twice, "spread": spread, "folded": folded}
SIZES = {"m": 7, "n": 5, "p": 6, "k": 3}


def backbones(name: str) -> tuple[Backbone, ...]:
    given = GIVEN.get(name)
    return given.program({s: SIZES[s] for s in given.sizes}, small_tiles).stages if given is not None else stages(name)


def may_keep(space: KernelSpace) -> list[int]:
    root = space.root()
    pairs = [n for n, p in enumerate(space.objects.pairs) if not p.is_reserved]
    return [n for n in pairs if "IN_MEMORY" in root.values("dim_mapping", n)]


def keeping(space: KernelSpace, pair: int) -> Candidate | None:
    known = [str(v) for v in space.instance.universe("dim_mapping", pair)]
    return space.root().restrict("dim_mapping", (pair,), 1 << known.index("IN_MEMORY"))


@pytest.mark.parametrize("name", ["matvec_t", "matmul", "bicg", "conv2d_same", *GIVEN])
def test_random_candidates(name: str) -> None:
    assert sum(check(backbone, name, 1) for backbone in backbones(name))


def check(backbone: Backbone, name: str, count: int) -> int:
    """So many candidates for a few of the pairs: lowered, verified, run, compared; how many there were."""
    space = kernel_space(backbone, TARGETS["cpu"])
    numbers = np.random.default_rng(3)
    arrays = {r.name: numbers.integers(1, 4, r.shape).astype(np.float32) for r in backbone.regions if r.role is Role.INPUT}
    parameters = {"alpha": 0.5, "beta": 0.5}
    expected = evaluate(backbone, arrays, parameters)
    source = random.Random(name)
    pairs, checked = may_keep(space), 0
    for pair in pairs[:: max(1, len(pairs) // 3)]:
        start = keeping(space, pair)
        if start is None:
            continue
        found = list(islice((c for c in (descend(space, source, start) for _ in range(9)) if c is not None), count))
        for seed, candidate in enumerate(found):
            nest = space.lower(candidate)
            assert verify(nest) == ()
            kept = [n for n, b in enumerate(nest.buffers) if b.name.startswith("totals_")]
            used = [s for s, _ in statements(nest.body) if isinstance(s, Load | Store) and s.memory.buffer in kept]
            assert sum(isinstance(s, Store) for s in used) >= 2 and sum(isinstance(s, Load) for s in used) >= 2
            results = interpret(nest, arrays, parameters, seed)
            for array, value in expected.items():
                np.testing.assert_allclose(results[array].reshape(value.shape), value, rtol=1e-4, atol=1e-4)
        checked += len(found)
    return checked
