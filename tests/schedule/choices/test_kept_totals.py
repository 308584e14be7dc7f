"""Totals that lie in an array while their sum goes on: candidates in which a loop of a sum is around loops over its results."""

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend, small_tiles, stages
from tests.schedule.nest.interpreter import interpret

from warploom.core import UserError, f32
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Carry, Result, Role, evaluate
from warploom.schedule.choices.kept_totals import keeping_sums
from warploom.schedule.choices.kernel import KernelSpace, kernel_space
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


def decided(space: KernelSpace, decisions: dict[str, str]) -> Candidate:
    candidate = space.root()
    for name, value in decisions.items():
        candidate = space.set_by_name(candidate, name, value)
    return candidate


KEPT = {"order(mad.m0, mad.n0)": "OUTER", "dim_kind(mad.n0)": "LOOP"}


def test_kept_totals_follow_from_the_order() -> None:
    """A loop over results inside the outer part of the sum: its totals can only lie in an array."""
    space = kernel_space(backbones("matvec_t")[0], TARGETS["cpu"])
    start, user = "dim_mapping(init.n0->mad.n0)", "dim_mapping(mad.n0->store_y.n0)"
    names = [space.names.parse(name) for name in (start, user)]
    root, found = space.root(), decided(space, KEPT)
    for choice, arguments in names:
        assert len(root.values(choice, *arguments)) > 1
        assert found.values(choice, *arguments) == ("IN_MEMORY",)


@pytest.mark.parametrize(
    "against",
    [
        {"order(mad.m0, mad.n0)": "INNER"},
        {"dim_kind(mad.m0)": "UNROLL"},
        {"dim_kind(mad.n0)": "UNROLL"},
        {"dim_kind(store_y.n0)": "UNROLL"},
        {"dim_kind(mad.m1)": "UNROLL", "size(m1)": "4", "partials(mad.m1)": "TREE"},
    ],
)
def test_what_kept_totals_need(against: dict[str, str]) -> None:
    """Each of these decisions is possible by itself, none with totals in an array on either side of the sum."""
    space = kernel_space(backbones("matvec_t")[0], TARGETS["cpu"])
    decided(space, against)
    for name in ("dim_mapping(init.n0->mad.n0)", "dim_mapping(mad.n0->store_y.n0)"):
        with pytest.raises(UserError):
            decided(space, {**against, name: "IN_MEMORY"})


def test_kept_totals_fit_the_cache_of_a_core() -> None:
    (backbone,) = tensor_kernel("matvec_t").program({"m": 64, "n": 1 << 16}, small_tiles).stages
    most = TARGETS["cpu"].shared_bytes
    assert most >= 4 << 16
    decided(kernel_space(backbone, TARGETS["cpu"]), KEPT)
    with pytest.raises(UserError):
        decided(kernel_space(backbone, replace(TARGETS["cpu"], shared_bytes=(4 << 16) - 1)), {**KEPT, "dim_kind(mad.n1)": "LOOP"})


def test_sums_whose_totals_stay_in_registers() -> None:
    """A sum that starts from what another one uses, too; one that another sum starts from; one whose last total only is read;
    one without results of their own; on a GPU every one."""
    (backbone,) = backbones("matvec_t")
    mad = next(n for n, i in enumerate(backbone.instructions) if i.name == "mad")
    init = next(n for n, i in enumerate(backbone.instructions) if i.name == "init")
    store = len(backbone.instructions) - 1
    assert keeping_sums(backbone) == {mad}
    (value,) = backbone.instructions[store].operands
    assert isinstance(value, Result)
    others = (
        replace(backbone.instructions[store], operands=(replace(value, instruction=init),)),
        replace(backbone.instructions[store], operands=(replace(value, mapped=()),)),
        replace(backbone.instructions[store], operands=(Carry(mad, (9,)),)),
    )
    for other in others:
        assert not keeping_sums(replace(backbone, instructions=(*backbone.instructions[:store], other)))
    assert not keeping_sums(backbones("dot")[0])
    assert not may_keep(kernel_space(backbone, TARGETS["sm_80"]))
