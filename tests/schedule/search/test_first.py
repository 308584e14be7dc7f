"""A search whose budget ends before it has anything still answers, and soon."""

from __future__ import annotations

from tests.schedule.search.fakes import FakeBound, FakeEvaluator, FakeSpace

from warploom.schedule.search import KernelModel, Options, explore_kernel
from warploom.schedule.search.evaluate import CAREFUL_ROUNDS, Memory
from warploom.schedule.search.first import with_first


def test_the_first_implementation_is_timed_in_few_rounds() -> None:
    model, evaluator = KernelModel(FakeSpace(), FakeBound()), FakeEvaluator()
    none = explore_kernel(model, "fake", evaluator, Options(budget_s=1e-9))
    assert none.best is None and evaluator.rounds == []
    found = with_first(none, model, evaluator, Memory("p/", None, None))
    assert found.best is not None and found.time_ms is not None and found.nodes > none.nodes
    assert len(evaluator.rounds) == 1 and evaluator.rounds[0] < CAREFUL_ROUNDS
