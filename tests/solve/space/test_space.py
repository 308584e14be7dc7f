"""Declarations and instances: what is wrong is said in plain words; candidates share nothing."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import pytest

from warploom.core import UserError
from warploom.solve.space import CompiledSpace, Instance, Lowering, ObjectSet, Space
from warploom.solve.space.engine import SETS, Tables
from warploom.solve.space.nodes import Comparator


def declared() -> tuple[Space, ObjectSet]:
    space = Space("s")
    return space, space.set("Statements")


def too_many_values() -> None:
    space, statements = declared()
    space.enum("e", (statements,), [f"V{n}" for n in range(65)])


def too_many_instances() -> None:
    space, statements = declared()
    kind = space.enum("kind", (statements,), ("A", "B"))
    a, b, c, d = space.objects("a b c d")
    over = dict.fromkeys((a, b, c, d), statements)
    space.require("four", over, [kind(o).is_("A") for o in (a, b, c, d)])


def unknown_set() -> None:
    space, _ = declared()
    space.enum("e", (ObjectSet("Others"),), ("A", "B"))


def wrong_arity() -> None:
    space, statements = declared()
    kind = space.enum("kind", (statements,), ("A", "B"))
    a, b = space.objects("a b")
    kind(a, b)


def unknown_value() -> None:
    space, statements = declared()
    kind = space.enum("kind", (statements,), ("A", "B"))
    (a,) = space.objects("a")
    kind(a).is_("C")


def wrong_set() -> None:
    space, statements = declared()
    dims = space.set("Dims", within=statements)
    kind = space.enum("kind", (dims,), ("A", "B"))
    (a,) = space.objects("a")
    space.require("kinds", {a: statements}, [kind(a).is_("A")])


def unquantified() -> None:
    space, statements = declared()
    kind = space.enum("kind", (statements,), ("A", "B"))
    a, b = space.objects("a b")
    space.require("kinds", {a: statements}, [kind(b).is_("A")])


def one_literal_as_truth() -> None:
    space, statements = declared()
    size = space.integer("size", (statements,))
    (a,) = space.objects("a")
    space.require("chained", {a: statements}, [1 <= size(a) <= 2])


def no_universe() -> None:
    space, statements = declared()
    space.integer("size", (statements,))
    Instance(CompiledSpace(space), sets={"Statements": [0]})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (too_many_values, r"expected 1 to 64 different values for choice e, got 65"),
        (too_many_instances, r"expected at most 3 enum choices in constraint 'four', got 4"),
        (unknown_set, r"expected a set of space s, got unknown set Others"),
        (wrong_arity, r"expected 1 object\(s\) for kind, got 2"),
        (unknown_value, r"expected a value of choice kind \(A, B\), got 'C'"),
        (wrong_set, r"expected an object of Dims in kind\(a\) of 'kinds', got a, an object of Statements"),
        (unquantified, r"expected a quantified object in 'kinds', got b"),
        (one_literal_as_truth, r"expected literals in a list"),
        (no_universe, r"expected a universe for size\(0,\), got nothing"),
    ],
)
def test_wrong_descriptions(build: Callable[[], None], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build()


def test_header_is_in_the_order_of_the_fields() -> None:
    assert len(Tables._fields) + 3 == SETS


def test_reserved_objects_join_when_the_trigger_is_certain() -> None:
    space, statements = declared()
    kind = space.enum("kind", (statements,), ("KEEP", "LOWER"))
    order = space.enum("order", (statements, statements), ("BEFORE", "AFTER"), antisymmetric={"BEFORE": "AFTER"})
    a, b, c = space.objects("a b c")
    over = {a: statements, b: statements, c: statements}
    space.require("transitive", over, [order(a, b).is_not("BEFORE"), order(b, c).is_not("BEFORE"), order(a, c).is_("BEFORE")])
    count = space.counter("count", over={a: statements}, sum=1)
    space.trigger("lower", {a: statements}, [kind(a).is_("LOWER")], activates=[statements])
    lowering = Lowering((("Statements", 2),), (("order", (1, 2), ("BEFORE",)),))
    instance = Instance(CompiledSpace(space), sets={"Statements": [0, 1]}, lowerings={("lower", (0,)): lowering})
    root = instance.root()
    assert root is not None
    assert root.interval("count") == (2, 3)
    assert root.open("order") == [(0, 1)]
    kept = root.restrict("kind", (0,), ["KEEP"])
    assert kept is not None and kept.interval(count.name) == (2, 2)
    lowered = root.restrict_many([("order", (0, 1), ("BEFORE",)), ("kind", (0,), ("LOWER",))])
    assert lowered is not None and lowered.is_member("Statements", 2)
    assert lowered.interval("count") == (3, 3)
    assert lowered.values("order", 0, 2) == ("BEFORE",)
    assert not root.is_member("Statements", 2)
    assert root.domain("order", 0, 1) == 0b11


def test_comparisons_from_the_other_side() -> None:
    holds = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
    for comparator in Comparator:
        for a, b in itertools.product(range(3), repeat=2):
            assert holds[comparator.value](a, b) is holds[comparator.swapped.value](b, a), comparator


@pytest.mark.parametrize("is_twice", [False, True], ids=["of two", "of one twice"])
@pytest.mark.parametrize("is_negated", [False, True], ids=["holds", "does not"])
def test_facts_are_the_same_as_a_set_and_as_a_predicate(is_twice: bool, is_negated: bool) -> None:
    """Things of a set that are no objects, or no pairs, concern nobody; a predicate is asked for possible members only."""
    space = Space("s")
    things = space.set("Things")
    some = space.set("Some", within=things)
    a, b = space.objects("a b")
    kind = space.enum("kind", (things,), ("A", "B"))
    near = space.fact("near", 2)
    fact = near(a, a) if is_twice else near(a, b)
    over = {a: some} if is_twice else {a: some, b: things}
    space.require("rule", over, [~fact if is_negated else fact, kind(a).is_("A")])
    pairs = {("x", "x"), ("x", "y"), ("z", "x"), ("x", "elsewhere"), "xy", ("x", "y", "z")}
    asked: list[tuple[str, str]] = []

    def is_near(one: str, other: str) -> bool:
        asked.append((one, other))
        return (one, other) in pairs

    sets = {"Things": ["x", "y", "z"], "Some": ["x", "y"]}
    found = [Instance(CompiledSpace(space), sets=sets, facts={"near": given}) for given in (pairs, is_near)]
    tables = [instance.tables.guard_table.tolist() for instance in found]
    assert tables[0] == tables[1] and 1 in tables[0]
    assert {one for one, _ in asked} == {"x", "y"}
