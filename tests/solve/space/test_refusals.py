"""Each check of a description or an instance refuses alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from warploom.core import UserError
from warploom.solve.space import CompiledSpace, Instance, ObjectSet, Space
from warploom.solve.space.inputs import apply_function, constant_of


class Made:
    """A space with one of everything."""

    def __init__(self) -> None:
        self.space = space = Space("s")
        self.things = space.set("Things")
        self.some = space.set("Some", within=self.things)
        self.of = space.set("Of", of=self.things)
        self.a, self.b, self.c, self.d, self.e = space.objects("a b c d e")
        self.kind = space.enum("kind", (self.things,), ("A", "B"))
        self.size = space.integer("size", (self.things,))
        self.near = space.fact("near", 2)
        self.next = space.function("next")
        self.limit = space.constant("limit")
        self.each = space.constant("each", 1)
        self.total = space.counter("total", sum=self.size(self.a), over={self.a: self.things})

    def quotient(self, **changes: Any) -> ObjectSet:
        given: dict[str, Any] = {"of": self.things, "when": self.kind.is_("A"), "by": (), "flag": "first"}
        return self.space.quotient("Classes", **(given | changes))

    def require(self, over: dict[Any, Any], *literals: Any) -> None:
        self.space.require("rule", over, list(literals))


def _cover(m: Made, **changes: Any) -> None:
    given: dict[str, Any] = {
        "of": {m.a: m.things}, "total": 8, "outer": m.size(m.a), "tiles": m.size(m.b), "over": {m.b: m.things}
    }  # fmt: skip
    m.space.cover("whole", **(given | changes))


REFUSED: dict[str, Callable[[Made], object]] = {
    "expected a new name in space s, got Things": lambda m: m.space.set("Things"),
    r"expected a plain set, got Of, which is parametric": lambda m: m.space.set("Inner", within=m.of),
    "expected at most 2 objects for choice k, got 3": lambda m: m.space.enum("k", (m.things,) * 3, ("A",)),
    "expected twice the same set for choice k": lambda m: m.space.enum("k", (m.things, m.some), ("A",), symmetric=True),
    r"expected a value of choice k \(A\), got 'B'": lambda m: m.space.enum(
        "k", (m.things,) * 2, ("A",), antisymmetric={"A": "B"}
    ),
    "expected each value of choice k to have one opposite": lambda m: m.space.enum(
        "k", (m.things,) * 2, ("A", "B", "C"), antisymmetric={"A": "C", "B": "C"}
    ),
    "expected either sum= or product= for counter n, got none": lambda m: m.space.counter("n", over={m.a: m.things}),
    "expected either sum= or product= for counter n, got both": lambda m: m.space.counter(
        "n", sum=1, product=1, over={m.a: m.things}
    ),
    "expected plain sets in `of` of counter n": lambda m: m.space.counter(
        "n", sum=1, over={m.a: m.things}, of={m.b: m.quotient()}
    ),
    "expected a constant as start of counter n": lambda m: m.space.counter(
        "n", sum=1, over={m.a: m.things}, of={m.b: m.things}, start=m.size(m.b)
    ),
    "expected plain sets in cover 'whole'": lambda m: _cover(m, over={m.b: m.quotient()}),
    "expected a constant as total of cover 'whole'": lambda m: _cover(m, total=m.size(m.a)),
    "expected integer choices in cover 'whole', got limit": lambda m: _cover(m, outer=m.limit),
    "expected at most one plain set in `per` of quotient set": lambda m: m.quotient(per={m.d: m.things, m.e: m.things}),
    "expected choices and comparisons in quotient set Classes, got a fact": lambda m: m.quotient(
        objects=(m.a, m.b), when=m.kind(m.a).is_("A"), by=m.near(m.a, m.b)
    ),
    "expected declared sets in `activates` of trigger t": lambda m: m.space.trigger(
        "t", {m.a: m.things}, m.kind(m.a).is_("A"), activates=(ObjectSet("Others"),)
    ),
    "expected at most .* quantified objects in 'rule'": lambda m: m.require(
        dict.fromkeys(m.space.objects("f g h i j k l m n o p"), m.things)
    ),
    "expected a set of space s for a in 'rule', got unknown set Others": lambda m: m.require({m.a: ObjectSet("Others")}),
    r"expected Of\(owner\) for a in 'rule'": lambda m: m.require({m.a: m.of}),
    "expected a to be quantified before b in 'rule'": lambda m: m.require({m.b: m.of(m.a)}),
    "expected an object of Some as owner of Owned in 'rule', got a": lambda m: m.require(
        {m.a: m.things, m.b: m.space.set("Owned", of=m.some)(m.a)}
    ),
    "expected literals about named objects in 't'": lambda m: m.space.trigger(
        "t", {m.a: m.things}, m.kind.is_("A"), activates=(m.things,)
    ),
    "expected a declared fact in 'rule', got far": lambda m: m.require({m.a: m.things}, Space("t").fact("far")(m.a)),
    "expected quantified objects for fact near in 'rule'": lambda m: m.require({m.a: m.things}, m.near(m.a, m.next(m.a))),
    "expected a choice or counter in a comparison of 'rule'": lambda m: m.require({m.a: m.things}, m.limit <= 3),
    "expected a constant beside counter total": lambda m: m.require({m.a: m.things}, m.total() <= m.size(m.a)),
    "expected <=, <, ==, >= or > beside counter total": lambda m: m.require({m.a: m.things}, m.total() != 3),
    "expected quantified objects for constant each": lambda m: m.require({m.a: m.things}, m.size(m.a) <= m.each(m.next(m.a))),
    "expected a declared choice, counter or constant in 'rule', got width": lambda m: m.require(
        {m.a: m.things}, Space("t").integer("width", ())() <= 3
    ),
    "expected a declared function in 'rule', got other": lambda m: m.require(
        {m.a: m.things}, m.size(Space("t").function("other")(m.a)) <= 3
    ),
    "expected function next to be given for 3": lambda m: apply_function("next", {}, 3),
    "expected constant each to be given for 3": lambda m: constant_of("each", {}, (3,)),
}


@pytest.mark.parametrize("message", list(REFUSED))
def test_descriptions(message: str) -> None:
    with pytest.raises(UserError, match=message):
        REFUSED[message](Made())


def instance(**given: Any) -> object:
    space = Space("s")
    things = space.set("Things")
    space.set("Others", disjoint_from=things, within=None)
    space.set("Of", of=things)
    space.enum("kind", (things,), ("A", "B"))
    space.integer("size", (things,))
    usual: dict[str, Any] = {"sets": {"Things": [0]}, "universes": {("size", (0,)): [1, 2]}}
    return Instance(CompiledSpace(space), **(usual | given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sets": {"Things": [0], "None": []}}, "expected a declared set, got unknown set None"),
        ({"universes": {("size", (5,)): [1]}}, "expected an object of Things, got 5"),
        ({"universes": {("width", (0,)): [1]}}, r"expected a choice \(kind, size\), got 'width'"),
        ({"universes": {("size", (0, 0)): [1]}}, r"expected 1 object\(s\) for choice size, got 2"),
        (
            {"universes": {("size", (0,)): [1], ("kind", (0,)): [1]}},
            "expected an integer choice in the universes, got enum choice kind",
        ),
        ({"universes": {("size", (0,)): [2, 1]}}, "expected 1 to 64 ascending integers as universe of size"),
        ({"universes": {("size", (0,)): []}}, "expected 1 to 64 ascending integers as universe of size"),
        ({"sets": {"Things": [0], "Of": [7]}}, r"expected a pair \(object of Things, object\) in Of, got 7"),
        ({"lowerings": {("t", (0,)): None}}, r"expected a trigger \(\), got 't'"),
    ],
)
def test_instances(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        instance(**given)
