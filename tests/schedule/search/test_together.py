"""Programs timed as a whole, kernels that run backwards."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pytest
from tests.schedule.nest.interpreter import interpret

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Parameter, Role, cpu_tiles, evaluate
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.cpu import compile_nest, find_compiler
from warploom.schedule.nest import Nest, verify
from warploom.schedule.search import (
    CpuEvaluator,
    CpuPrograms,
    Measurement,
    Options,
    Recipe,
    Timed,
    Unfit,
    explore,
    replay,
    strategy_named,
)
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

CPU = target("cpu")
with_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def program(name: str, size: int):
    kernel = tensor_kernel(name)
    return kernel.program(dict.fromkeys(kernel.sizes, size), cpu_tiles)


def descend(space: KernelSpace, source: random.Random, direction: str) -> Candidate | None:
    candidate = space.set_by_name(space.root(), f"direction({space.backbone.name})", direction)
    while (decision := space.decisions(candidate)) is not None:
        following = candidate.restrict(decision.choice, decision.arguments, source.choice(decision.alternatives).mask)
        if following is None:
            return None
        candidate = following
    return candidate


@with_compiler
@pytest.mark.parametrize("name", ["matmul", "matvec_t", "jacobi2d", "conv2d_same", "layer_norm", "dot"])
def test_backward_kernels_compute_the_same(name: str) -> None:
    numbers = np.random.default_rng(1)
    for backbone in program(name, 7).stages:
        space = kernel_space(backbone, CPU)
        source = random.Random(name)
        candidates = islice((c for c in (descend(space, source, "BACKWARD") for _ in range(60)) if c is not None), 4)
        parameters = {o.name: 0.5 for i in backbone.instructions for o in i.operands if isinstance(o, Parameter)}
        arrays = {r.name: numbers.integers(-4, 5, r.shape).astype(np.float32) for r in backbone.regions if r.role is Role.INPUT}
        expected = evaluate(backbone, arrays, parameters)
        for n, candidate in enumerate(candidates):
            nest = space.lower(candidate)
            assert verify(nest) == ()
            results = interpret(nest, arrays, parameters, n)
            kernel = compile_nest(nest)
            given = [
                np.zeros(b.elements, np.float32) if b.role is Role.OUTPUT else arrays[b.name].reshape(-1) for b in kernel.buffers
            ]
            kernel.run(given, parameters, 2)
            for array, value in expected.items():
                np.testing.assert_allclose(results[array].reshape(value.shape), value, rtol=1e-4, atol=1e-4)
                ran = next(g for b, g in zip(kernel.buffers, given, strict=True) if b.name == array)
                np.testing.assert_allclose(ran.reshape(value.shape), value, rtol=1e-4, atol=1e-4)


class Preferring:
    """Programs whose second kernel is faster in one direction."""

    def __init__(self, forward: set[str], is_broken: bool = False) -> None:
        self.forward, self.is_broken, self.asked = forward, is_broken, 0

    def retime(self, variants: Sequence[Sequence[Nest]]) -> Sequence[Measurement]:
        self.asked = len(variants)
        if self.is_broken:
            return [Unfit("signal 11")] * len(variants)
        assert len({str(v) for v in variants}) == len(variants)
        return [Timed(2.0 if n == 0 else 1.0 + n) for n in range(len(variants))] if self.forward else [
            Timed(2.0 - 0.5 * n) for n in range(len(variants))
        ]  # fmt: skip


def searched(timer: Preferring, fixed: dict[str, str] | None = None):
    options = Options(strategy=strategy_named("refine"), nodes=200, fixed=fixed or {})
    return explore(program("atax", 16), CPU, options=options, programs=lambda _: timer)


def test_a_stage_is_turned_where_the_program_gains() -> None:
    forward, backward = searched(Preferring({"y"})), searched(Preferring(set()))
    assert forward.together is not None and forward.together.time_ms == forward.time_ms == 2.0
    assert backward.together is not None and backward.together.time_ms == backward.time_ms == 1.5
    names = ["atax_Ax/direction(atax_Ax)", "atax_y/direction(atax_y)"]
    assert [forward.decisions[n] for n in names] == ["FORWARD", "FORWARD"]
    assert [backward.decisions[n] for n in names] == ["FORWARD", "BACKWARD"]
    stage = backward.stages[1]
    assert stage.best is not None
    assert replay(Recipe(program("atax", 16).stages[1], CPU)(), stage.decisions).key == stage.best.key
    assert stage.best.key != forward.stages[1].best.key if forward.stages[1].best else False


def test_what_the_user_says_stays() -> None:
    timer = Preferring(set())
    found = searched(timer, {"atax_y/direction(atax_y)": "BACKWARD"})
    assert timer.asked == 1 and found.decisions["atax_y/direction(atax_y)"] == "BACKWARD"


def test_programs_that_cannot_be_timed_keep_their_kernels() -> None:
    found = searched(Preferring(set(), is_broken=True))
    assert found.together is None and all(s.best is not None for s in found.stages)
    assert found.decisions["atax_y/direction(atax_y)"] == "FORWARD"


@with_compiler
def test_whole_programs_are_timed() -> None:
    whole = program("atax", 16)
    chance = np.random.default_rng(0)
    arrays = {"A": chance.random((16, 16), np.float32), "x": chance.random(16, np.float32)}
    found = explore(
        whole,
        CPU,
        options=Options(strategy=strategy_named("refine"), nodes=60, evaluations=2),
        evaluators=lambda stage: CpuEvaluator(stage),
        programs=lambda p: CpuPrograms(p, arrays=arrays, scalars={}),
    )
    assert found.together is not None and 0 < found.together.time_ms < 1e3
