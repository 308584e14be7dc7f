"""Where the engine of dataflow programs gives up, or says no, each asked by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.ir.dataflow import parse_program
from warploom.solve import Unknown
from warploom.synth.dataflow import EngineOptions, ahead, parallel, smt, solve, solve_program
from warploom.synth.dataflow.composed import ComposedSet
from warploom.synth.dataflow.program_model import ProgramModel
from warploom.synth.dataflow.readers import Reader
from warploom.synth.search.propagation import ConflictError

TEXT = "x: [2, 2] = range(0, 4)\ny: [2, 2] = ?col_rots(x)\ngoal: [2, 2] id"
ANY: Any = None


# ------------------------------------------------------------ pairs of holes


class _Members(SimpleNamespace):
    def __len__(self) -> int:
        return 2


def test_pairs_that_are_too_many_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def surviving(found: Any) -> Any:
        first = SimpleNamespace(points=1, matching=lambda _: found)
        pairs: Any = SimpleNamespace(first=first, second=[0, 1], values=2)
        at: Any = SimpleNamespace(_families=lambda _: [0])
        return ahead.Ahead.surviving_pairs(at, pairs)

    monkeypatch.setattr(ahead, "MAX_FAMILIES", 0)
    monkeypatch.setattr(ahead, "MAX_LISTED", 3)
    assert surviving(None) is None
    assert surviving(_Members()) is None  # 2 times 2


def test_a_second_hole_that_does_more_than_permute_rows() -> None:
    def holders(codes: list[list[int]]) -> Any:
        at: Any = SimpleNamespace(_codes=lambda _: np.array(codes), _chosen=lambda _: None)
        pairs: Any = SimpleNamespace(places=np.zeros((2, 2), np.int64), second=[0, 1])
        return ahead.Ahead._pair_holders(at, pairs, 0, np.zeros((1, 2), np.int16))

    assert holders([[0, 1], [1, 0]]) is not None
    assert holders([[0, 1], [1, 2]]) is None
    assert holders([[0, 0], [0, 0]]) is None


def test_a_pair_whose_first_hole_has_too_many_functions() -> None:
    first = SimpleNamespace(points=1, matching=lambda _: None)
    at: Any = SimpleNamespace(
        second=[0], first=first, values=2, places=np.array([[0]]), counters=SimpleNamespace(probes=0), listed=lambda _: "listed"
    )
    assert ComposedSet.matching(at, np.ones((1, 2), np.bool_)) is None


def test_functions_without_a_value_at_some_point_are_no_answer() -> None:
    class Root(SimpleNamespace):
        def copy(self) -> Any:
            return SimpleNamespace(functions=[None], allowed=[self.allowed[0].copy()])

    at: Any = SimpleNamespace(
        counters=SimpleNamespace(tested=0), constraints=(), propagated=lambda child, *_: child, answer=lambda _: "answer"
    )
    root: Any = Root(allowed=[np.array([[True, False]])])

    def chosen(value: int) -> Any:
        return {0: SimpleNamespace(supported=lambda _: np.arange(2)[None, :] == value)}

    assert ProgramModel.confirmed(at, root, chosen(0)) == "answer"
    assert ProgramModel.confirmed(at, root, chosen(1)) is None


@pytest.mark.parametrize(
    ("place", "count", "found"), [([[0]], 1, True), ([[0]], 2, False), ([[0, 0]], 1, False), ([[0, 1]], 2, True)]
)
def test_rows_that_look_for_one_place(place: list[list[int]], count: int, found: bool) -> None:
    at: Any = SimpleNamespace(
        wanted=np.array([[True, False]]), rows=np.array([0]), place=np.array(place), options=np.ones((1, len(place[0])), np.bool_)
    )
    assert (Reader._single(at, count) is not None) is found


# ------------------------------------------------------------ parts


def test_programs_that_propagation_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SimpleNamespace(root=object, live=())
    monkeypatch.setattr(parallel, "model_of", lambda *_: SimpleNamespace(root=lambda: None))
    assert parallel._problem(TEXT, 0) is None
    models = iter([model, None])
    monkeypatch.setattr(parallel, "model_of", lambda *_: next(models))
    monkeypatch.setattr(parallel, "factors", lambda *_: [SimpleNamespace(lowered=None)])
    assert parallel._problem(TEXT, 0) is None


def test_a_cell_that_cannot_hold_the_goal_leaves_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuted(*_: Any) -> Any:
        raise ConflictError

    monkeypatch.setattr(solve, "requirements_of", refuted)
    lowered: Any = SimpleNamespace(numbers=SimpleNamespace(numbers={}))
    assert solve.model_of(lowered, ANY) is None


def test_values_of_a_journal_that_no_worker_gives() -> None:
    def broken(_: Any) -> Any:
        raise IndexError

    at: Any = SimpleNamespace(_model=SimpleNamespace(counters=SimpleNamespace(probes=0, tested=0)), _asked=lambda: 1)
    value: Any = {
        "alternatives": 1, "answers": [], "tables": {}, "complete": True, "reason": "", "probes": 0, "tested": 0,
        "statistics": dict.fromkeys(parallel.asdict(parallel.Statistics()), 0),
    }  # fmt: skip
    at._tables = SimpleNamespace(answers=lambda _: [])
    assert parallel._Accepting.__call__(at, ANY, value) is True
    assert parallel._Accepting.__call__(at, ANY, {**value, "answers": 3}) is False
    at._tables = SimpleNamespace(answers=broken)
    assert parallel._Accepting.__call__(at, ANY, value) is False


@pytest.mark.parametrize("found", [None, []])
def test_an_answer_that_is_no_member(found: Any) -> None:
    model: Any = SimpleNamespace(sets=[SimpleNamespace(points=1, values=2, matching=lambda _: found)])
    with pytest.raises(RuntimeError, match="no member of the hole"):
        parallel._Tables(model)._function(0, [1])


def test_nothing_to_compare_tests_with() -> None:
    assert solve.oracle_tests(SimpleNamespace(answers=(), count=0)) is None  # pyright: ignore[reportArgumentType]


# ------------------------------------------------------------ z3


def test_budgets_of_z3() -> None:
    def run(**budget: Any) -> Any:
        return SimpleNamespace(
            budget=SimpleNamespace(**{"nodes": None, "cpu_s": None, **budget}), statistics=SimpleNamespace(nodes=0), started=0.0,
            _left_s=lambda: None,
        )  # fmt: skip

    def check(timeout_s: float | None) -> Unknown:
        return Unknown("no time", 0)

    clauses: Any = SimpleNamespace(session=SimpleNamespace(check=check))
    with pytest.raises(smt._StoppedError, match="budget: nodes"):
        next(smt.SmtRun._asked(run(nodes=0), clauses))
    with pytest.raises(smt._StoppedError, match=r"budget: z3 stopped \(no time\)"):
        next(smt.SmtRun._asked(run(), clauses))
    with pytest.raises(smt._StoppedError, match="budget: CPU seconds"):
        smt.SmtRun._left_s(run(cpu_s=0.0))
    assert smt.SmtRun._left_s(run()) is None


def test_more_clauses_than_a_run_may_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "MOST_CLAUSES", 0)
    found = solve_program(parse_program(TEXT), options=EngineOptions(engine="smt"))
    assert (found.complete, found.reason) == (False, "budget: clauses")
