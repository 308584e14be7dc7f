"""A search whose budget ends before it has anything still answers, and soon."""

from __future__ import annotations

from itertools import islice

from tests.schedule.search.fakes import FakeBound, FakeCandidate, FakeEvaluator, FakeSpace

from warploom.schedule.nest import Loop, Nest
from warploom.schedule.search import KernelModel, Options, explore_kernel
from warploom.schedule.search.evaluate import CAREFUL_ROUNDS, Memory
from warploom.schedule.search.first import TRIED, _descents, with_first


class _Contrary(FakeBound):
    """Candidates that are guessed to be slow on the way turn out to be fast."""

    def appraise(self, candidate: FakeCandidate, nest: Nest) -> float:
        return 1.0 / super().appraise(candidate, nest)


def test_the_first_implementation_is_timed_in_few_rounds() -> None:
    model, evaluator = KernelModel(FakeSpace(), _Contrary()), FakeEvaluator()
    none = explore_kernel(model, "fake", evaluator, Options(budget_s=1e-9))
    assert none.best is None and evaluator.rounds == []
    found = with_first(none, model, evaluator, Memory("p/", None, None))
    assert found.best is not None and found.time_ms is not None and found.nodes > none.nodes
    assert len(evaluator.rounds) == 1 and evaluator.rounds[0] < CAREFUL_ROUNDS
    made = [implementation for implementation, _ in islice(_descents(model, 0), TRIED)]
    assert found.best.key == min(made, key=model.appraise).key != made[0].key, "the most promising of a few, not the first"


def test_those_that_cannot_be_measured_make_room_for_the_next() -> None:
    model = KernelModel(FakeSpace(), FakeBound())
    made = sorted((i for i, _ in islice(_descents(model, 0), TRIED)), key=model.appraise)
    outer = made[0].nest.body[0]
    assert isinstance(outer, Loop)
    evaluator = FakeEvaluator(unfit=outer.kind)
    none = explore_kernel(model, "fake", evaluator, Options(budget_s=1e-9))
    found = with_first(none, model, evaluator, Memory("p/", None, None))
    fit = [i for i in made if isinstance(i.nest.body[0], Loop) and i.nest.body[0].kind != outer.kind]
    assert fit, "some can be measured"
    assert found.unfit > 0 and (found.best.key if found.best else None) == (fit[0].key if fit else None)
