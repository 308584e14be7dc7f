"""Real spaces and bounds: a small kernel by the model alone, estimates of its space, replay, two stages."""

from __future__ import annotations

import pickle

import pytest

from warploom.core import UserError
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, cpu_tiles
from warploom.schedule.search import Options, Recipe, StrategyName, explore, replay, strategy_named
from warploom.schedule.targets import target
from warploom.solve import knuth, tree_size

CPU = target("cpu")


def program(name: str, size: int):
    kernel = tensor_kernel(name)
    return kernel.program(dict.fromkeys(kernel.sizes, size), cpu_tiles)


def test_best_first_on_axpy() -> None:
    found = explore(program("axpy", 64), CPU, options=Options(strategy=strategy_named("best-first"), nodes=150))
    (stage,) = found.stages
    assert stage.best is not None and stage.contradictions == ()
    assert found.bound_ms is not None and found.root_bound_ms <= found.bound_ms
    assert found.time_ms is None
    recipe = Recipe(program("axpy", 64).stages[0], CPU)
    assert replay(recipe(), found.decisions).key == stage.best.key


@pytest.mark.parametrize("search", ["refine", "mcts", "best-first"])
def test_the_smallest_budgets_have_an_implementation(search: StrategyName) -> None:
    found = explore(program("axpy", 64), CPU, options=Options(strategy=strategy_named(search), nodes=2))
    (stage,) = found.stages
    assert stage.best is not None and stage.reason == "budget: nodes" and not found.complete
    assert replay(Recipe(program("axpy", 64).stages[0], CPU)(), stage.decisions).key == stage.best.key


def test_a_program_that_is_not_needed_has_none_behind_its_budget() -> None:
    options = Options(strategy=strategy_named("best-first"), nodes=2)
    (stage,) = explore(program("axpy", 64), CPU, options=options, is_needed=False).stages
    assert stage.best is None and stage.reason == "budget: nodes"


def test_recipes_travel_to_workers() -> None:
    recipe = Recipe(program("axpy", 64).stages[0], CPU)
    model = pickle.loads(pickle.dumps(recipe))()
    size = tree_size(knuth(model, range(4)))
    assert size.leaves.mean > 1
    assert model.remaining(model.root()) > 5


def test_stages_share_the_budget() -> None:
    stages = program("bicg", 16)
    found = explore(stages, CPU, options=Options(strategy=strategy_named("refine"), nodes=400))
    assert [s.kernel for s in found.stages] == [s.name for s in stages.stages]
    assert sum(s.nodes for s in found.stages) <= 400 + 8 * len(found.stages)


@pytest.mark.parametrize("finished", [0, 1])
def test_an_interruption_between_two_stages_keeps_the_first(finished: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def evaluators(stage: Backbone) -> None:
        begun.append(stage.name)
        if len(begun) > finished:
            raise KeyboardInterrupt

    stages, options = program("bicg", 16), Options(strategy=strategy_named("refine"), nodes=4)
    if not finished:
        with pytest.raises(KeyboardInterrupt):
            explore(stages, CPU, options=options, evaluators=evaluators)
        return
    found = explore(stages, CPU, options=options, evaluators=evaluators)
    assert [s.kernel for s in found.stages] == [stages.stages[0].name]
    assert found.reason == "interrupted" and found.stages[0].best is not None and not found.complete


def test_fixed_decisions_need_a_stage() -> None:
    with pytest.raises(UserError, match="CHOICE"):
        explore(program("2mm", 16), CPU, options=Options(fixed={"size(m0)": "2"}, nodes=1))
