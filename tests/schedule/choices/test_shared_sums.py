"""Sums shared among the threads of a CPU: candidates in which a reduced loop is a block."""

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend, small_tiles, stages
from tests.schedule.nest.interpreter import interpret

from warploom.core import f32
from warploom.schedule.backbone import Backbone, Role, evaluate
from warploom.schedule.choices.kernel import KernelSpace, kernel_space
from warploom.schedule.cpu import compile_nest, find_compiler
from warploom.schedule.frontend import out, prod, tensor
from warploom.schedule.nest import Kind, blocks_of, loops, verify
from warploom.schedule.targets import TARGETS
from warploom.solve.space import Candidate


@tensor
def largest(X: f32["m", "n"], Y: out[f32["m"]]):
    Y[m] = max(X[m, n], over=n)


@tensor
def least(X: f32["m", "n"], Y: out[f32["n"]]):
    Y[n] = min(X[m, n], over=m)


@tensor
def product(X: f32["m", "n"], Y: out[f32[1]]):
    Y[one] = prod(X[m, n], over=(m, n))


def shared(space: KernelSpace, dim: int) -> Candidate | None:
    return space.root().restrict("dim_kind", (dim,), 1 << 3)


def shareable(space: KernelSpace) -> list[int]:
    dims = [x.statement for x in space.objects.loops if x.is_reduction]
    return [d for d in dims if "BLOCK" in space.root().values("dim_kind", d)]


def backbones(name: str) -> tuple[Backbone, ...]:
    given = {"largest": largest, "least": least, "product": product}.get(name)
    return given.program({"m": 7, "n": 5}, small_tiles).stages if given is not None else stages(name)


@pytest.mark.parametrize("name", ["dot", "matvec_t", "gesummv", "matmul", "softmax", "layer_norm", "largest", "least", "product"])
def test_random_candidates(name: str, tmp_path: Path) -> None:
    (backbone,) = backbones(name)
    space = kernel_space(backbone, TARGETS["cpu"])
    numbers = np.random.default_rng(3)
    arrays = {r.name: numbers.integers(1, 4, r.shape).astype(np.float32) for r in backbone.regions if r.role is Role.INPUT}
    parameters = {"alpha": 0.5, "beta": 0.5, "epsilon": 0.5}
    expected = evaluate(backbone, arrays, parameters)
    source = random.Random(name)
    for dim in shareable(space)[:2]:
        start = shared(space, dim)
        assert start is not None
        found = list(islice((c for c in (descend(space, source, start) for _ in range(8)) if c is not None), 2))
        assert found
        for seed, candidate in enumerate(found):
            nest = space.lower(candidate)
            assert verify(nest) == () and blocks_of(nest).rest
            assert any(loop.kind is Kind.BLOCK for loop in loops(nest.body))
            results = [interpret(nest, arrays, parameters, seed)]
            if find_compiler() is not None and seed == 0 and dim == shareable(space)[0]:
                kernel = compile_nest(nest, folder=tmp_path)
                for threads in (1, 2, 3):
                    outputs = {r.name: np.full(r.elements, np.nan, np.float32) for r in backbone.regions if r.role is Role.OUTPUT}
                    given = {**arrays, **outputs}
                    kernel.run([given[b.name] for b in kernel.buffers], parameters, threads)
                    results.append(outputs)
            for result in results:
                for array, value in expected.items():
                    np.testing.assert_allclose(result[array].reshape(value.shape), value, rtol=1e-4, atol=1e-4)


def test_targets_with_threads_have_none() -> None:
    assert not shareable(kernel_space(stages("dot")[0], TARGETS["sm_80"]))
