"""A modelled time is never below the bound of the same implementation: random decided candidates of all GPU targets."""

import random

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.bound import Bound
from warploom.schedule.choices import kernel_space
from warploom.schedule.cost import modelled
from warploom.schedule.search import KernelModel, ModelEvaluator, Step, Timed
from warploom.schedule.search.explore import Options, explore_kernel
from warploom.schedule.targets import TARGETS
from warploom.solve import BestFirst
from warploom.solve.space import Candidate

GPUS = [name for name in TARGETS if name != "cpu"]


def random_step(model: KernelModel[Candidate], seed: int) -> Step[Candidate]:
    for attempt in range(20):
        chance = random.Random(f"{seed}/{attempt}")
        step: Step[Candidate] | None = model.root()
        while step is not None and (choices := model.open_choices(step)):
            children = [a.expand() for a in model.alternatives(step, choices[0][0])]
            step = chance.choice([c for c in children if c is not None] or [None])
        if step is not None and model.answer(step) is not None:
            return step
    raise AssertionError(seed)


@pytest.mark.parametrize("on", GPUS)
def test_the_model_is_never_below_the_bound(on: str) -> None:
    stage = tensor_kernel("matvec").program({"m": 256, "n": 512}, {}).stages[0]
    space = kernel_space(stage, TARGETS[on])
    model = KernelModel(space, Bound(space))
    evaluator = ModelEvaluator(TARGETS[on])
    for seed in range(2):
        found = model.answer(random_step(model, seed))
        assert found is not None
        implementation = found[1]
        ((_, raw),) = evaluator.measure([implementation.nest], None)
        judged = implementation.judged(raw)
        assert isinstance(judged, Timed) and judged.time_ms >= implementation.bound_ms
        assert modelled(implementation.nest, TARGETS[on], implementation.bound_ms).time_ms == judged.time_ms
        assert model.appraise(implementation) == pytest.approx(judged.time_ms * 1e9)


def test_a_time_below_the_bound_is_raised_and_measured_ones_are_not() -> None:
    stage = tensor_kernel("axpy").program({"n": 1 << 12}, {}).stages[0]
    space = kernel_space(stage, TARGETS["sm_90"])
    model = KernelModel(space, Bound(space))
    found = model.answer(random_step(model, 0))
    assert found is not None
    least = found[1].bound_ms
    assert found[1].judged(Timed(least / 2, is_modelled=True)) == Timed(least, is_modelled=True)
    assert found[1].judged(Timed(least * 2, is_modelled=True)) == Timed(least * 2, is_modelled=True)
    assert found[1].judged(Timed(least / 2)) == Timed(least / 2)
    raised = modelled(found[1].nest, TARGETS["sm_90"], 7.0)
    assert raised.time_ms == 7.0 and raised.parts[0][0] == "the lower bound"


def test_best_first_reports_the_time_of_a_decided_kernel() -> None:
    stage = tensor_kernel("axpy").program({"n": 1 << 20}, {}).stages[0]
    space = kernel_space(stage, TARGETS["sm_90"])
    model = KernelModel(space, Bound(space))
    found = explore_kernel(model, "axpy", ModelEvaluator(TARGETS["sm_90"]), Options(strategy=BestFirst(), nodes=60))
    assert found.best is not None and found.time_ms is not None and found.bound_ms is not None
    assert found.time_ms == modelled(found.best.nest, TARGETS["sm_90"], found.bound_ms).time_ms >= found.bound_ms
