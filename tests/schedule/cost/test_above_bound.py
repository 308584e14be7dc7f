"""A modelled time is never below the bound of the same implementation, nor is any part of it: random candidates of GPUs."""

import random

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.machines import ARCHITECTURES, Requests, Work, fastest
from warploom.schedule.bound import Bound
from warploom.schedule.bound.tables import figures_of
from warploom.schedule.choices import kernel_space
from warploom.schedule.cost import modelled
from warploom.schedule.nest import loops
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
    bound = Bound(space)
    model = KernelModel(space, bound)
    evaluator = ModelEvaluator(TARGETS[on])
    for seed in range(2):
        found = model.answer(random_step(model, seed))
        assert found is not None
        implementation = found[1]
        ((_, raw),) = evaluator.measure([implementation.nest], None)
        judged = implementation.judged(raw)
        assert isinstance(judged, Timed) and judged.time_ms >= implementation.bound_ms
        assert bound.modelled(implementation.candidate, implementation.nest).time_ms == pytest.approx(judged.time_ms, rel=1e-12)
        assert model.appraise(implementation) == pytest.approx(judged.time_ms * 1e9)


@pytest.mark.parametrize("name", ["matmul", "softmax", "matvec", "conv2d"])
@pytest.mark.parametrize("on", ["sm_75", "sm_86", "sm_90"])
def test_no_unit_has_less_to_do_than_the_bound_says(on: str, name: str) -> None:
    """One count of work, read at its low end and at decided candidates: so the model needs no lower limit. (`k4000` has the
    paper's figures for some of it, which no row has.)"""
    kernel = tensor_kernel(name)
    stage = kernel.program(kernel.sizes).stages[0]
    space = kernel_space(stage, TARGETS[on])
    bound = Bound(space)
    model = KernelModel(space, bound)
    for seed in range(3):
        found = model.answer(random_step(model, seed))
        assert found is not None
        made = modelled(found[1].nest, TARGETS[on])
        least = bound.modelled(found[1].candidate, found[1].nest).least
        units = dict(made.parts)
        arithmetic = max(units.pop(unit) for unit in ("f32 units", "f64 units", "special units"))
        assert least["f32 units"] <= arithmetic * (1 + 1e-9)
        assert all(least[unit] <= ns * (1 + 1e-9) for unit, ns in units.items()), units
        assert made.time_ms >= found[1].bound_ms


@pytest.mark.parametrize(("on", "name"), [("sm_75", "matmul"), ("sm_86", "conv2d"), ("sm_90", "matmul")])
def test_the_bound_knows_copies_that_all_threads_share_out(on: str, name: str) -> None:
    kernel = tensor_kernel(name)
    space = kernel_space(kernel.program(kernel.sizes).stages[0], TARGETS[on])
    bound = Bound(space)
    spread = 0
    for seed in range(4):
        chance = random.Random(f"{on} {seed}")
        start = space.root()
        for number, temporary in enumerate(space.temporaries):
            start = start.restrict("spread", (temporary.region,), 2) or start
            start = start.restrict("dim_mapping", (chance.choice(space.objects.pairs_of(number)),), 1) or start
        candidate, before = space.usually(start, lambda _, c=chance: c.random() < 0.15, seed), 0.0
        while candidate is not None and (decision := space.decisions(candidate)) is not None:
            before = max(before, bound.of(candidate))
            children = [space.apply(candidate, decision, a) for a in decision.alternatives]
            candidate = chance.choice([c for c in children if c is not None] or [None])
        if candidate is None:
            continue
        nest = space.lower(candidate)
        spread += any(loop.digit is not None for loop in loops(nest.body))
        made, least = modelled(nest, TARGETS[on]), bound.modelled(candidate, nest).least
        assert all(least[unit] <= ns * (1 + 1e-9) for unit, ns in made.parts if not unit.endswith("units"))
        assert made.time_ms >= bound.of(candidate) >= before * (1 - 1e-9)
    assert spread


@pytest.mark.parametrize("on", ["k4000", "sm_75", "sm_90", "sm_120"])
def test_the_least_work_takes_as_long_as_the_bound(on: str) -> None:
    """Open candidates and decided ones: the engine's maximum and the one function from work to time agree."""
    stage = tensor_kernel("matmul").program({"m": 512, "n": 512, "k": 512}).stages[0]
    space = kernel_space(stage, TARGETS[on])
    bound = Bound(space)
    model, chance = KernelModel(space, bound), random.Random(3)
    speeds = TARGETS[on].rates.speeds
    step: Step[Candidate] | None = model.root()
    while step is not None:
        least = bound.work(step.candidate)
        assert speeds.time_ns(least) / 1e6 == pytest.approx(bound.of(step.candidate), rel=1e-9)
        choices = model.open_choices(step)
        children = [a.expand() for a in model.alternatives(step, choices[0][0])] if choices else []
        step = chance.choice([c for c in children if c is not None] or [None])


@pytest.mark.parametrize("on", [name for name in GPUS if name in ARCHITECTURES])
def test_the_speeds_of_the_bound_are_the_fastest_of_the_row(on: str) -> None:
    speeds, row = TARGETS[on].rates.speeds, fastest(ARCHITECTURES[on])
    for work in (
        Work(issued=1), Work(floats=1), Work(l2_bytes=1), Work(memory_bytes=1), Work(waiting=1), Work(shuffles=1),
        Work(wavefronts=1), Work(requests=(Requests(1, 0, 0),)),
    ):  # fmt: skip
        assert speeds.time_ns(work) == pytest.approx(row.time_ns(work), rel=1e-12)


def test_shuffles_are_counted_at_their_own_speed() -> None:
    """Turing shuffles twice as many lanes a cycle as it loads; the bound once took both for equal, so that it was too high."""
    assert [figures_of(TARGETS[on]).shuffled for on in ("k4000", "sm_75", "sm_86", "sm_90")] == [1.0, 0.5, 1.0, 1.0]


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
    clock = TARGETS["sm_90"].rates.clock_ghz
    raised = modelled(found[1].nest, TARGETS["sm_90"], Work(waiting=7e6 * clock))
    assert raised.time_ms == pytest.approx(7.0) and "(at least 7e+03 µs)" in raised.text


def test_best_first_reports_the_time_of_a_decided_kernel() -> None:
    stage = tensor_kernel("axpy").program({"n": 1 << 20}, {}).stages[0]
    space = kernel_space(stage, TARGETS["sm_90"])
    model = KernelModel(space, Bound(space))
    found = explore_kernel(model, "axpy", ModelEvaluator(TARGETS["sm_90"]), Options(strategy=BestFirst(), nodes=60))
    assert found.best is not None and found.time_ms is not None and found.bound_ms is not None
    assert found.time_ms == modelled(found.best.nest, TARGETS["sm_90"]).time_ms >= found.bound_ms
