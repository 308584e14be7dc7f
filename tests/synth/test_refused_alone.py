"""Rules of the engine and of the arithmetic around it, each asked by itself."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.core import UserError, f32, i32
from warploom.ir import IndexBinary, IndexConst, SizeVar, ValueConst, ValueSelect
from warploom.solve import Budget
from warploom.synth import complete, problem
from warploom.synth import complete as complete_function
from warploom.synth.network.probe import _run, make_probe  # pyright: ignore[reportPrivateUsage]
from warploom.synth.network.requirements import _FoldRequirements  # pyright: ignore[reportPrivateUsage]
from warploom.synth.problem import Problem
from warploom.synth.proof.concrete import OutsideDomainError, strict, typed_array
from warploom.synth.proof.operators import _term, _word  # pyright: ignore[reportPrivateUsage]
from warploom.synth.proof.prove import Proof
from warploom.synth.proof.specs import array_shapes, grid_extents
from warploom.synth.search.ablation import complete_without
from warploom.terms import Normaliser, algebra_for, apply, atom, constant

from .kernels import CONV3, REVERSE, conv3, parse, reverse, sketch_of

MODULE: Any = __import__(complete_function.__module__, fromlist=["complete"])


# ------------------------------------------------------------ completions


def test_a_sketch_without_a_spec_or_a_size() -> None:
    with pytest.raises(UserError, match="to say what it computes, got no spec"):
        complete(sketch_of(parse(REVERSE), None))
    with pytest.raises(UserError, match="to say what it computes"):
        complete_without(sketch_of(parse(REVERSE), None), "accumulators")  # pyright: ignore[reportArgumentType] - not looked at
    with pytest.raises(UserError, match="expected complete_at to give every run-time size, got none for n"):
        complete(sketch_of(parse(CONV3), conv3))
    with pytest.raises(UserError, match="expected a value for size n, got none"):
        array_shapes(parse(CONV3), {})
    with pytest.raises(UserError, match="without a division by zero, got 8 // 0 at n = 8"):
        grid_extents(
            replace(parse(CONV3), grid=(IndexBinary("//", SizeVar("n"), IndexConst(0)), IndexConst(1), IndexConst(1))), {"n": 8}
        )


@pytest.mark.parametrize(("verdict", "question"), [("refuted", ""), ("unchecked", "why it is open")])
def test_a_completion_that_is_not_proved_does_not_meet_the_spec(
    monkeypatch: pytest.MonkeyPatch, verdict: Any, question: str
) -> None:
    at: Any = SimpleNamespace(
        kernel=parse(REVERSE), spec=reverse, sizes={}, algebra=algebra_for(i32), expected=None, more=[], open_question=""
    )
    meets: Any = Problem.meets_spec
    assert meets(at, {}) is True
    monkeypatch.setattr(problem, "prove", lambda *_: Proof(verdict, "", reason="why it is open"))
    assert meets(at, {}) is False
    assert at.open_question == question


def test_an_open_question_proves_no_optimum() -> None:
    results: Any = [
        SimpleNamespace(space=1, complete=True, is_cheapest=True),
        SimpleNamespace(space=2, complete=False, is_cheapest=False),
    ]

    def optimal_in(bound: int, question: str, *prices: int) -> int | None:
        completions: Any = [SimpleNamespace(accumulates=5, prices=prices)]

        def meets(cost: tuple[int, ...], parts: int = 0) -> bool:
            return bound >= cost[0] and parts != 2 and not prices

        at: Any = SimpleNamespace(
            engine=SimpleNamespace(meets_bounds=meets, objective=("accumulates", "wavefronts", "index")),
            problem=SimpleNamespace(open_question=question, objective=()),
        )
        return MODULE._Completing._optimal_in(at, results, completions)

    assert (optimal_in(5, "why"), optimal_in(4, ""), optimal_in(4, "why")) == (3, 1, None)
    assert (optimal_in(4, "", 7), optimal_in(4, "why", 7)) == (1, None)


def test_what_is_left_of_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE.time, "process_time", lambda: 17.0)
    spent: Any = [SimpleNamespace(statistics=SimpleNamespace(tried=n)) for n in (30, 50)]

    def left(nodes: int | None, seconds: float | None) -> Any:
        at: Any = SimpleNamespace(results=spent, budget_nodes=nodes, budget_s=seconds, problem=SimpleNamespace(started=15.0))
        return MODULE._Completing._budget(at)

    assert left(100, 6.0) == Budget(20, 4.0)
    assert left(70, 1.5) == Budget(0, 0.0)
    assert left(None, None) == Budget(None, None)


# ------------------------------------------------------------ what must be counted


def requirements(**fields: Any) -> Any:
    return SimpleNamespace(normaliser=Normaliser(algebra_for(i32), {}), algebra=algebra_for(i32), **fields)


def inverted(op: str, known: int) -> Any:
    batch = SimpleNamespace(op=op, operands=(np.array([1]), np.array([2])))
    at = requirements(arithmetic={0: (batch, 0)}, network=SimpleNamespace(known={2: constant(known)}))
    return _FoldRequirements._inverted(at, 0, atom("x", (0,)))


def test_operations_that_no_law_undoes() -> None:
    assert inverted("+", 2) == (1, apply("-", atom("x", (0,)), constant(2)))
    assert inverted("&", 2) is None
    assert inverted("*", 2) is None  # of words, a product by 2 loses a bit


def test_terms_that_no_fold_from_there_gives() -> None:
    at = requirements(reader=SimpleNamespace(read=lambda *_: pytest.fail("nothing to read")))
    universe: Any = None
    assert _FoldRequirements._monomials(at, universe, constant(0), atom("x", (0,)), "min", "+") is None


def test_words_that_wrap_around_to_nothing_are_not_counted() -> None:
    at = requirements(composite=np.zeros(4, bool))
    at.algebra = SimpleNamespace(modulus_bits=2)
    entries: Any = (SimpleNamespace(fold=np.zeros(4, np.int64), factors=[np.array([0])]),)
    assert _FoldRequirements._is_countable(at, entries, "+", "exact", ()) is False
    at.composite[0] = True
    at.algebra = SimpleNamespace(modulus_bits=0)
    assert _FoldRequirements._is_countable(at, entries, "+", "exact", ()) is False


# ------------------------------------------------------------ numbers


def test_indices_of_a_spec_stay_inside() -> None:
    array = strict(np.arange(4), 1)
    assert array[3] == 3
    for index in (4, -1):
        with pytest.raises(IndexError, match=rf"expected an index in 0\.\.3, got {index}"):
            array[index]
        with pytest.raises(IndexError):
            array[index] = 0


def test_indices_and_components_that_python_takes_otherwise() -> None:
    array, vectors = strict(np.arange(4), 1), strict(np.zeros((4, 2), np.int64), 2)
    for index in (True, np.True_):
        with pytest.raises(IndexError, match="expected an integer as index, got True"):
            array[index]
    vectors[1].x = 3
    assert vectors[1].x == 3
    element = vectors[1]
    with pytest.raises(TypeError, match="got a component of a vector in a variable"):
        element.x = 4


def test_what_no_integer_holds_has_no_value() -> None:
    array = typed_array(np.arange(4), i32)
    for value in (np.float64("inf"), np.float64("nan")):
        with pytest.raises(OutsideDomainError):
            array[0] = value


def test_bodies_of_operators_are_arithmetic() -> None:
    one = ValueConst(1, i32)
    choice = ValueSelect(IndexConst(True), one, one)
    for read in (_word, _term):
        with pytest.raises(TypeError, match="operator body may hold variables, constants and arithmetic"):
            read(choice)


def test_numbers_that_a_probe_cannot_hold() -> None:
    def network(*known: Any) -> Any:
        return SimpleNamespace(batches=(), known=dict(enumerate(map(constant, known))), cells=4, holes=())

    assert make_probe(network(1, 2), [], algebra_for(f32)) is not None
    assert make_probe(network(1, 0.5), [], algebra_for(f32)) is None
    assert make_probe(network(1, 1 << 80), [], algebra_for(f32)) is None
    with pytest.raises(TypeError, match="SimpleNamespace"):
        _run(SimpleNamespace(), np.zeros(1, np.int64), ())
