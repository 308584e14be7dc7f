"""Where the engine prunes, gives up or says no, each asked by itself: a wrong branch here makes a wrong `unsat` or `optimal`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.core import UnsupportedError, i32
from warploom.ir import HoleArg
from warploom.sketch import TermSpec
from warploom.solve import Unknown
from warploom.synth import complete as complete_function
from warploom.synth.network import open_index
from warploom.synth.network.network import Arithmetic, Folds, Slots
from warploom.synth.network.open_index import IndexLowering, Open
from warploom.synth.network.probe import make_probe
from warploom.synth.network.requirements import _FoldRequirements  # pyright: ignore[reportPrivateUsage]
from warploom.synth.problem import Problem
from warploom.synth.search import sketch_model
from warploom.synth.search.engine import Engine
from warploom.synth.search.lookahead import Lookahead
from warploom.synth.search.propagation import ConflictError
from warploom.synth.search.sketch_model import SketchModel
from warploom.synth.smt.engine import Question
from warploom.synth.transposes import solve
from warploom.terms import Normaliser, Term, algebra_for, atom, constant

ANY: Any = None
MODULE: Any = __import__(complete_function.__module__, fromlist=["complete"])


def element(name: str = "x") -> Term:
    return atom(name, (0,))


# ------------------------------------------------------------ requirements


def requirements(**fields: Any) -> Any:
    return SimpleNamespace(normaliser=Normaliser(algebra_for(i32), {}), algebra=algebra_for(i32), **fields)


@pytest.mark.parametrize(
    ("known", "is_undone"),
    [({2: constant(1)}, True), ({2: element("z")}, False), ({}, False), ({1: constant(1), 2: constant(2)}, False)],
)
def test_an_operation_is_undone_beside_one_open_operand_only(known: Any, is_undone: bool) -> None:
    batch = SimpleNamespace(op="+", operands=(np.array([1]), np.array([2])))
    at = requirements(arithmetic={0: (batch, 0)}, network=SimpleNamespace(known=known))
    assert (_FoldRequirements._inverted(at, 0, element()) is not None) is is_undone


@pytest.mark.parametrize("step", [None, (1, element("y"))])
def test_a_demand_ends_where_nothing_is_undone(step: Any) -> None:
    at: Any = SimpleNamespace(fold_of={}, arithmetic={0}, composite=[False, False], _inverted=lambda *_: step)
    at.only_moves = lambda cell: _FoldRequirements.only_moves(at, cell)
    at._is_told_by_form = lambda term: True
    assert _FoldRequirements.demand(at, 0, element()) == step


@pytest.mark.parametrize(
    ("products", "known", "table"),
    [
        ({(element(),): 2}, True, {(7,): 2}),
        ({(element(),): -1}, True, None),
        ({(element(),): 0}, True, None),
        ({(element(),): 1 << 13}, True, None),
        ({(element(),): 0.5}, True, None),
        ({(): 3}, True, None),
        ({(element(),): 1}, False, None),
    ],
)
def test_only_multisets_of_known_products_are_counted(products: Any, known: bool, table: Any) -> None:
    at = requirements(reader=SimpleNamespace(read=lambda *_: products))
    universe: Any = SimpleNamespace(number=lambda _: 7 if known else None)
    assert _FoldRequirements._monomials(at, universe, constant(0), element(), "+", "*") == table


def test_contributions_of_unlike_products_are_not_counted() -> None:
    slots = Slots((), ())
    rows: Any = [(0, np.array([0, 0]), np.array([3, 4]), slots, np.ones(2, np.bool_))]
    at: Any = SimpleNamespace(_factors_of=lambda cell, _: [cell] if cell == 3 else [1, 2])
    assert _FoldRequirements._factored(at, rows, "*", 1) is None
    at._factors_of = lambda cell, _: [cell]
    assert _FoldRequirements._factored(at, rows, "*", 1) is not None


@pytest.mark.parametrize("missing", ["operators", "table", "entries", "factors", "zeros", "countable", ""])
def test_what_cannot_be_counted_is_not_required(missing: str) -> None:
    fold = SimpleNamespace(op="+", init=constant(0))
    other = SimpleNamespace(op="max", init=constant(0)) if missing == "operators" else fold
    tables = iter([{(0,): 1}, {(0, 0) if missing == "factors" else (0,): 1}])
    at: Any = SimpleNamespace(
        demands={0: element(), 1: element()}, fold_of={0: (fold, 0), 1: (other, 0)}, _counting=lambda _: "exact",
        _entry_rows=lambda _: [], _inner=lambda *_: "*", _monomials=lambda *_: None if missing == "table" else next(tables),
        _factored=lambda *_: None if missing == "entries" else (), _absorbing=lambda *_: {0, 1} if missing == "zeros" else set(),
        _is_countable=lambda *_: missing != "countable",
    )  # fmt: skip
    universe: Any = SimpleNamespace(number=lambda _: 0)
    assert (_FoldRequirements.counted(at, universe) is None) is bool(missing)


# ------------------------------------------------------------ networks


def test_operations_that_a_probe_does_not_know() -> None:
    nothing = np.zeros(0, np.int64)

    def probed(*batches: Any) -> Any:
        network: Any = SimpleNamespace(batches=batches, known={}, cells=1, holes=())
        return make_probe(network, [], algebra_for(i32))

    assert probed(Arithmetic(nothing, "+", (nothing, nothing)), Folds(nothing, "+", constant(0), ())) is not None
    assert probed(Arithmetic(nothing, "cast", (nothing,))) is None
    assert probed(Folds(nothing, "concatenate", constant(0), ())) is None


def test_an_index_with_too_many_open_values(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = Slots((0,), (np.zeros(1, np.int64),))
    hole = SimpleNamespace(name="h", span=None)
    at: Any = SimpleNamespace(
        kernel=SimpleNamespace(holes=[hole]),
        threads=1,
        _axes=lambda _, holes, __: holes.append(0) or [0],
        _closed=lambda value: value,
    )
    monkeypatch.setattr(open_index, "hole_values", lambda _: 4)
    value = Open(slots, np.zeros((1, 4), np.int64))
    assert isinstance(IndexLowering.map(at, np.negative, value), Open)
    monkeypatch.setattr(open_index, "MAX_OPTIONS", 3)
    monkeypatch.setattr(
        open_index, "_too_open", lambda holes, count: UnsupportedError() if (holes, count) == ([hole], 4) else None
    )
    with pytest.raises(UnsupportedError):
        IndexLowering.map(at, np.negative, value)


def test_a_parameter_of_a_hole_has_no_value() -> None:
    with pytest.raises(TypeError, match="a hole's parameter outside of a completion"):
        IndexLowering.index(ANY, HoleArg(0))


# ------------------------------------------------------------ the search


def test_no_set_of_statements_can_work() -> None:
    bound: Any = Engine.__dict__["accumulates_bound"].func

    def at(exhaustive: bool) -> Any:
        return SimpleNamespace(free=object(), closed=2, enabled=SimpleNamespace(is_exhaustive=exhaustive, sets=(), bound=3))

    assert (bound(at(True)), bound(at(False))) == (None, 5)


def test_sets_that_cannot_be_asked_at_single_points() -> None:
    at: Any = SimpleNamespace(sets=[object()])
    assert SketchModel._where_it_matters(at, ANY, 0) is None


def test_a_decided_candidate_that_gives_something_else_is_no_answer() -> None:
    functions = SimpleNamespace(tables=[0], expr=lambda _: "e")
    candidate: Any = SimpleNamespace(functions=[functions])

    def answer(probe: bool, evaluated: bool) -> Any:
        at: Any = SimpleNamespace(
            probe=SimpleNamespace(matches=lambda _: probe), evaluate=lambda _: evaluated, bound=lambda _: (3, 0),
            network=SimpleNamespace(holes=[SimpleNamespace(hole=SimpleNamespace(name="h"))]),
        )  # fmt: skip
        return SketchModel.answer(at, candidate)

    assert answer(True, True)[0] == (3, 0)
    assert answer(False, True) is answer(True, False) is None


def test_a_part_of_the_network_refutes_a_decision_alone() -> None:
    class Node(SimpleNamespace):
        def copy(self) -> Any:
            return Node(base=None)

    node: Any = Node(base=None)
    part: Any = SimpleNamespace(of_hole={})
    for refuted in (True, False):
        at: Any = SimpleNamespace(of_hole={}, propagated=lambda child, _, __, by=None, no=refuted: None if by and no else child)
        assert (SketchModel._followed(at, node, node, 0, set(), part) is None) is refuted


@pytest.mark.parametrize("fault", ["", "cannot be off", "conflict"])
def test_statements_that_cannot_be_off(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    def narrow(*_: Any) -> None:
        if fault == "conflict":
            raise ConflictError

    entry = SimpleNamespace(statement=0, fold=np.zeros(1, np.int64), slots=ANY, guard=np.zeros((1, 1), np.bool_))
    start = SimpleNamespace(copy=lambda: "child")
    at: Any = SimpleNamespace(
        start=start, required=SimpleNamespace(entries=[entry]), start_changes=set(),
        network=SimpleNamespace(statements=[SimpleNamespace(is_certain=False)]),
    )  # fmt: skip
    monkeypatch.setattr(sketch_model, "slot_options", lambda *_: np.full((1, 1), fault != "cannot be off"))
    monkeypatch.setattr(sketch_model, "narrow_slots", narrow)
    assert sketch_model.disable(at, 0) is not bool(fault)
    assert at.start == (start if fault else "child")


def test_known_cells_are_followed_only_where_open_ones_are_read() -> None:
    opened = SimpleNamespace(out=np.array([1]), source=np.array([[0]]), slots=SimpleNamespace(holes=()))
    at: Any = Lookahead.__new__(Lookahead)
    at.value, at.open_elements = np.zeros(3, np.int64), [opened]
    assert Lookahead._reach(at, np.array([[0, 2]])) is None
    assert Lookahead._reach(at, np.array([[1, 2]])) is not None


def test_a_completion_at_an_open_question_of_z3() -> None:
    session = SimpleNamespace(check=lambda **_: Unknown("no time", 5))
    at: Any = SimpleNamespace(session=session)
    found = Question.ask(at)
    assert isinstance(found, Unknown) and found.reason == "budget: z3 stopped (no time) after 5 resource units"


def test_a_transpose_that_no_pivot_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = SimpleNamespace(run=lambda: SimpleNamespace(answer=None, pivots=3))
    monkeypatch.setattr(solve, "Join", lambda _: nothing)
    found = solve.solve_transpose("crc", 2, 2)
    assert (found.status, found.reason) == ("unknown", "none found among 3 pivots")


# ------------------------------------------------------------ completions


def test_a_hole_without_functions_gives_no_example(monkeypatch: pytest.MonkeyPatch) -> None:
    use = SimpleNamespace(points=np.zeros((1, 1)), values=2, hole=ANY)
    at: Any = SimpleNamespace(engine=SimpleNamespace(network=SimpleNamespace(holes=[use])))
    monkeypatch.setattr(MODULE, "function_set", lambda *_: SimpleNamespace(matching=lambda _: None))
    assert MODULE._Completing._example(at) is None


def test_sizes_that_tell_nothing_new_are_not_completed_at() -> None:
    def adds(witness: Any, *, holes: Any = (1,), spec: Any = None) -> Any:
        at: Any = SimpleNamespace(sizes={"n": 4}, more=[], kernel=SimpleNamespace(holes=holes), spec=spec)
        return Problem.adds_instance(at, SimpleNamespace(witness=witness))  # pyright: ignore[reportArgumentType]

    assert adds({}) is False
    assert adds({"n": 4}) is False
    assert adds({"n": 5}, holes=()) is False
    assert adds({"n": 5}, spec=object.__new__(TermSpec)) is False


def test_only_propagation_completes_at_several_sizes() -> None:
    asked: Any = SimpleNamespace(adds_instance=lambda _: pytest.fail("z3 takes one size"))
    at: Any = SimpleNamespace(engine=object(), problem=asked)
    assert MODULE._Completing._adds_instance(at, SimpleNamespace(witness={"n": 5})) is False
