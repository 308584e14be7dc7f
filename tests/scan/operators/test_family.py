"""Guesses about slots, bounds and identities: each is kept only where it is proved."""

from __future__ import annotations

from typing import Any

import pytest

from warploom import scan
from warploom.scan.operators import expression as ex
from warploom.scan.operators import family as families
from warploom.scan.operators import invariants as module
from warploom.scan.operators import laws, lifting, neutral
from warploom.scan.operators.closure import _slot_sort, closure, right  # pyright: ignore[reportPrivateUsage]
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.family import Family, family_of, tidy
from warploom.scan.operators.prover import Fails, Holds, Open
from warploom.scan.reading.divisions import divides_by_zero
from warploom.scan.reading.interpret import Division

X = ex.variable("x", ex.INT)
A, B = ex.variable("a", ex.INT), ex.variable("b", ex.INT)
S = ex.variable("s", ex.INT)


def loop(step: str, start: str = "0", result: str = "s") -> scan.Loop:
    text = f"def f(xs: list[int]):\n    s = {start}\n    for x in xs:\n        s = {step}\n    return {result}\n"
    return scan.read_loop(scan.parse_module(text), "f")


def family(lift: Expr, operator: Expr, step: str = "s + x") -> Family:
    return Family(loop(step), (A,), {S: ex.add(S, A)}, {A: lift}, {A: operator})


@pytest.mark.parametrize(
    ("lift", "operator", "expected"),
    [
        (X, ex.add(A, right(A)), ("Holds", "Holds", "Holds")),
        (ex.add(X, ex.ONE), ex.add(A, right(A)), ("Fails", "Holds", "Holds")),  # only the base is wrong
        (X, ex.maximum(A, right(A)), ("Holds", "Fails", "Holds")),  # only the composition is
        (X, ex.add(A, right(A), ex.ONE), ("Holds", "Fails", "Holds")),
    ],
)
def test_laws_refuse_alone(lift: Expr, operator: Expr, expected: tuple[str, ...]) -> None:
    made = family(lift, operator)
    found = (laws.base(made), laws.composition(made, []), laws.associativity(made.slots, made.operator, []))
    assert tuple(type(v).__name__ for v in found) == expected


def test_composition_may_use_what_is_known_of_both_lists() -> None:
    made = Family(loop("s + x"), (A,), {S: ex.maximum(S, ex.add(S, A))}, {A: X}, {A: ex.add(A, right(A))})
    assert isinstance(laws.composition(made, []), Fails)
    assert isinstance(laws.composition(made, [ex.at_least(A, ex.ZERO)]), Holds)


def test_each_state_must_be_composed_and_started() -> None:
    two = scan.read_loop(
        scan.parse_module(
            "def f(xs: list[int]):\n    s, t = 0, 0\n    for x in xs:\n        s, t = s + x, t - x\n    return s, t\n"
        ),
        "f",
    )
    s, t = (v.variable for v in two.states)
    for steps in ({s: ex.add(s, A), t: ex.add(t, A)}, {s: ex.subtract(s, A), t: ex.subtract(t, A)}):
        wrong = Family(two, (A,), steps, {A: two.fields[0]}, {A: ex.add(A, right(A))})
        assert isinstance(laws.base(wrong), Fails)
        assert isinstance(laws.composition(wrong, []), Holds)


def test_bounds_hold_of_elements_and_are_kept() -> None:
    positive = ex.at_least(A, ex.ZERO)
    free, squares = family(X, ex.add(A, right(A))), family(ex.maximum(X, ex.ZERO), ex.add(A, right(A)))
    shrinking = family(ex.maximum(X, ex.ZERO), ex.subtract(A, right(A)))
    assert isinstance(laws.met_by_elements(free, [positive]), Fails) and isinstance(
        laws.kept(free, [positive], [positive]), Holds
    )
    assert isinstance(laws.met_by_elements(shrinking, [positive]), Holds)
    assert isinstance(laws.kept(shrinking, [positive], [positive]), Fails)
    assert positive in module.invariants(squares)
    assert positive not in module.invariants(shrinking)
    assert module._kept_by_elements(free, [positive]) == [] and module._inductive(shrinking, [positive]) == []


def test_bounds_that_samples_do_not_refute_are_still_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    positive = ex.at_least(A, ex.ZERO)
    monkeypatch.setattr(module, "_candidates", lambda _: [positive])
    assert module.invariants(family(ex.maximum(X, ex.ZERO), ex.add(A, right(A)))) == [positive]
    assert module.invariants(family(ex.maximum(X, ex.ZERO), ex.subtract(A, right(A)))) == []
    assert module.invariants(family(X, ex.add(A, right(A)))) == []


def test_bounds_that_are_not_decided_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    squares, positive = family(ex.maximum(X, ex.ZERO), ex.add(A, right(A))), ex.at_least(A, ex.ZERO)
    monkeypatch.setattr(module, "met_by_elements", lambda *_: Open("given up"))
    assert module.invariants(squares) == []
    monkeypatch.undo()
    monkeypatch.setattr(module, "kept", lambda *_: Open("given up"))
    assert module._inductive(squares, [positive]) == []


def test_relations_between_slots_are_proved_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Family(loop("s + x"), (A, B), {S: ex.add(S, A)}, {A: X, B: X}, {A: ex.add(A, right(A)), B: ex.add(B, right(B))})
    assert families._proved(made, {B: A}) == {B: A}
    assert families._proved(made, {B: ex.negate(A)}) == {}  # wrong of elements
    other = Family(made.loop, made.slots, made.transformers, made.lift, {**made.operator, B: ex.maximum(B, right(B))})
    assert families._proved(other, {B: A}) == {}  # wrong of concatenations
    monkeypatch.setattr(families, "_guessed", lambda f: {B: A} if B in f.slots else {})
    wide = Family(made.loop, made.slots, {S: ex.add(S, A, B)}, made.lift, other.operator)
    assert tidy(wide).slots == (A, B)


def test_identities_are_of_the_right_infinity_and_give_the_empty_list() -> None:
    found = family_of(loop("max(s, x)", 'float("-inf")'), closure(loop("max(s, x)", 'float("-inf")'), "greatest", "step"))
    made = tidy(found)
    (slot,) = made.slots
    assert neutral.find_identity(made, [], made.projection()) == {slot: ex.MINUS_INFINITY}
    low = tidy(family_of(loop("min(s, x)", 'float("inf")'), closure(loop("min(s, x)", 'float("inf")'), "least", "step")))
    assert neutral.find_identity(low, [], low.projection()) == {low.slots[0]: ex.INFINITY}
    total = family(X, ex.add(A, right(A)))
    assert neutral.find_identity(total, [], (A,)) == {A: ex.ZERO}
    assert neutral.find_identity(total, [], (ex.add(A, ex.ONE),)) is None  # the empty list's result would be 1
    assert neutral.find_identity(family(X, right(A)), [], (A,)) is None


def test_the_identity_law_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    total = family(X, ex.add(A, right(A)))
    monkeypatch.setattr(neutral, "identity", lambda *_: Open("given up"))
    assert neutral.find_identity(total, [], (A,)) is None


@pytest.mark.parametrize("name", ["base", "composition", "associativity"])
@pytest.mark.parametrize("verdict", [Open("given up"), Fails({})])
def test_a_law_that_does_not_hold_leaves_it_unproved(name: str, verdict: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifting, name, lambda *_, **__: verdict)
    found = lifting._Begun(family(X, ex.add(A, right(A))), sum).judged
    assert (found.status, found.verdict) == ("unknown", "tested") and found.reason == f"not proved: {name}"
    assert lifting._Begun(family(X, ex.add(A, right(A))), None).judged.verdict == "unchecked"


def test_a_list_that_shows_an_unproved_guess_wrong_is_nobodys_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifting, "base", lambda *_, **__: Open("given up"))
    found = lifting._Begun(family(X, ex.add(A, right(A))), lambda xs: sum(xs) + 1).judged  # type: ignore[call-overload]
    assert (found.status, found.verdict, found.operator) == ("unknown", "unchecked", None)


def test_simpler_results_follow_from_what_is_known() -> None:
    made = Family(loop("s + x"), (A, B), {S: ex.add(S, A)}, {A: X, B: X}, {A: ex.add(A, right(A)), B: ex.add(B, right(B))})
    assert lifting._simpler(made, [], ex.maximum(A, B)) is ex.maximum(A, B)  # equal on all samples, and not proved
    assert lifting._simpler(made, [ex.at_least(A, B)], ex.maximum(A, B)) is A


def test_each_check_of_a_neutral_element_tells_one_infinity_from_the_other() -> None:
    """The order in which they are tried, the lists that were seen, the law: each by itself."""
    for step, initial, style, neutral_one, other in (
        ("max(s, x)", 'float("-inf")', "greatest", ex.MINUS_INFINITY, ex.INFINITY),
        ("min(s, x)", 'float("inf")', "least", ex.INFINITY, ex.MINUS_INFINITY),
    ):
        made = tidy(family_of(loop(step, initial), closure(loop(step, initial), style, "step")))
        (slot,) = made.slots
        assert {neutral_one, other, ex.ZERO, ex.ONE} <= {*neutral._likely(made, slot)}
        seen = neutral.observations(made, seed=2)[:40]
        assert list(neutral._consistent(made, [[other, neutral_one, ex.ZERO]], seen)) == [(neutral_one,)]
        assert isinstance(laws.identity(made.slots, made.operator, [], {slot: neutral_one}), Holds)
        assert not isinstance(laws.identity(made.slots, made.operator, [], {slot: other}), Holds)
    assert neutral._likely(made, ex.variable("q", ex.Sort("int", below=True)))[0] is ex.MINUS_INFINITY
    assert neutral._likely(made, ex.variable("q", ex.Sort("int", above=True)))[0] is ex.INFINITY


def test_laws_that_have_no_form_are_open() -> None:
    made, known = family(X, ex.add(A, right(A))), ex.at_least(ex.bitwise("bitand", A, right(A)), ex.ZERO)
    assert isinstance(laws.kept(made, [], [known]), Open) and isinstance(laws.kept(made, [known], []), Open)
    assert isinstance(laws.met_by_elements(made, [known]), Open)
    assert isinstance(laws.met_by_elements(family(ex.bitwise("bitand", X, S), right(A)), [ex.at_least(A, A)]), Open)


def test_an_identity_has_values() -> None:
    total, divided = family(X, ex.add(A, right(A))), family(X, ex.add(A, ex.quotient(right(A), A)))
    seen = families.observations(total)[:5]
    assert [*neutral._consistent(total, [[ex.ONE, ex.ZERO]], seen)] == [(ex.ZERO,)]
    assert [*neutral._consistent(divided, [[ex.ZERO]], seen)] == []  # it changes nothing on the right, and divides on the left
    assert not neutral._gives_initial(total, [ex.add(A, B)], {A: ex.MINUS_INFINITY, B: ex.INFINITY})


def test_relations_without_a_value_or_a_form_do_not_follow() -> None:
    low = ex.Sort("int", below=True)
    p, q, both = ex.variable("p", low), ex.variable("q", low), ex.variable("low", low)
    made = Family(loop("s + x"), (A, p, q), {S: S}, {A: X, p: both, q: both}, {A: A, p: p, q: q})
    assert not families._follows(made, made.restricted((p, q)), A, ex.subtract(p, q), {A: ex.subtract(p, q)})
    assert not families._equal(made.loop, ex.bitwise("bitand", X, S), X) and families._equal(made.loop, X, X)


def test_a_division_whose_guard_has_no_form_may_be_by_zero() -> None:
    bits = ex.bitwise("bitor", X, ex.ONE)
    assert divides_by_zero([Division(bits, ())]) and divides_by_zero([Division(X, (ex.at_least(bits, X),))])
    assert not divides_by_zero([Division(X, (ex.more_than(X, ex.ZERO),))])


@pytest.mark.parametrize("role", ["factor", "offset", "bound"])
def test_coefficients_that_are_no_numbers_keep_their_values(role: Any) -> None:
    """Among numbers only factors of 0 and 1, and offsets among the few that are looked for, are more than their type."""
    for base in ("bool", "text"):
        for values in (None, (0, 1), (2, 5)):
            sort = ex.Sort(base, values=values)
            assert _slot_sort(ex.variable("v", sort), role, None) == sort
    found = [_slot_sort(ex.variable("v", ex.Sort("int", True, False, v)), role, (2, 5)).values for v in ((0, 1), (2, 5), (1, 2))]
    assert found == {"factor": [(0, 1), None, None], "offset": [None, (2, 5), None], "bound": [None, None, None]}[role]
