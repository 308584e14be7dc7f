"""Random candidates of real kernels: lowered, verified, run and compared with the backbone's own evaluation."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
from tests.schedule.nest.interpreter import interpret

from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import AxisUse, Backbone, Levels, Parameter, Role, evaluate
from warploom.schedule.choices.decided import LoweringError
from warploom.schedule.choices.kernel import KernelSpace, kernel_space
from warploom.schedule.choices.lower_candidate import lower_candidate
from warploom.schedule.nest import identity, verify
from warploom.schedule.targets import TARGETS
from warploom.solve.space import Candidate


def descend(space: KernelSpace, source: random.Random, start: Candidate | None = None) -> Candidate | None:
    """A candidate with everything decided at random; None at a dead end."""
    candidate = start or space.root()
    while (decision := space.decisions(candidate)) is not None:
        alternatives = list(decision.alternatives)
        source.shuffle(alternatives)
        children = (space.apply(candidate, decision, a) for a in alternatives)
        following = next((c for c in children if c is not None), None)
        if following is None:
            return None
        candidate = following
    return candidate


def small_tiles(use: AxisUse) -> Levels:
    return ((2, 4),) if use.size >= 4 else ()


def stages(name: str) -> tuple[Backbone, ...]:
    kernel = tensor_kernel(name)
    return kernel.program({size: 6 - n % 2 for n, size in enumerate(kernel.sizes)}, small_tiles).stages


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
@pytest.mark.parametrize(
    ("name", "count"), [("axpy", 3), ("dot", 3), ("matvec", 2), ("matmul", 1), ("softmax", 1), ("conv2d_same", 1)]
)
def test_random_candidates(name: str, target: str, count: int) -> None:
    check(name, target, count)


@pytest.mark.parametrize("name", ["outer", "matvec_t", "bicg", "jacobi2d", "rms_norm"])
def test_random_gpu_candidates(name: str) -> None:
    check(name, "sm_90", 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", TENSOR_KERNELS)
def test_random_gpu_candidates_of_every_kernel(name: str) -> None:
    check(name, "sm_90", 3)


def check(name: str, target: str, count: int) -> None:
    """So many candidates of each stage: lowered, verified, run, compared."""
    for backbone in stages(name):
        space = kernel_space(backbone, TARGETS[target])
        source = random.Random(f"{name} {target}")
        tries = (descend(space, source) for _ in range(20 * count))
        found = list(islice((c for c in tries if c is not None), count))
        assert found
        parameters = {o.name: 0.5 for i in backbone.instructions for o in i.operands if isinstance(o, Parameter)}
        numbers = np.random.default_rng(3)
        arrays = {r.name: numbers.integers(-4, 5, r.shape).astype(np.float32) for r in backbone.regions if r.role is Role.INPUT}
        expected = evaluate(backbone, arrays, parameters)
        for seed, candidate in enumerate(found):
            nest = lower_candidate(space.objects, space.target, candidate)
            assert verify(nest) == ()
            results = interpret(nest, arrays, parameters, seed)
            for array, value in expected.items():
                np.testing.assert_allclose(results[array].reshape(value.shape), value, rtol=1e-4, atol=1e-4)


def test_open_choices_are_not_lowered() -> None:
    space = kernel_space(stages("dot")[0], TARGETS["cpu"])
    with pytest.raises(LoweringError, match="is not decided"):
        lower_candidate(space.objects, space.target, space.root())


def test_equal_decisions_have_equal_keys() -> None:
    space = kernel_space(stages("axpy")[0], TARGETS["cpu"])
    candidate = descend(space, random.Random(1))
    assert candidate is not None
    again = space.replay(space.describe(candidate))
    keys = [identity(lower_candidate(space.objects, space.target, c)) for c in (candidate, again)]
    assert keys[0] == keys[1]
