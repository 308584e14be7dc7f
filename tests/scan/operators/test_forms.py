"""Where normal forms, their alignment and their tables give up: each limit and each shape that is not served, alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from warploom import scan
from warploom.scan.operators import closure as closing
from warploom.scan.operators import expression as ex
from warploom.scan.operators import forms, normaliser, tables
from warploom.scan.operators.alignment import Aligner
from warploom.scan.operators.closure import closure
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import FLAT, FormError, Number, Plain, Slope, Term, Work, number, product_of, slope_of
from warploom.scan.operators.normaliser import Normaliser
from warploom.scan.operators.tables import Table, Tabulator

S, T, A, B = (ex.variable(n, ex.INT) for n in "stab")
P, LABEL = ex.variable("p", ex.BOOL), ex.variable("label", ex.TEXT)
ONE, TWO, THREE = ex.ONE, ex.constant(2), ex.constant(3)


def term(slope: dict[ex.Monomial, Expr], offset: Expr = ex.ZERO) -> Term:
    return Term(slope_of(slope), offset)


def of(*clauses: tuple[Term, ...]) -> Number:
    return Number(clauses)


def first(a: Expr, _b: Expr, _role: object) -> Expr:
    return a


STATE, OTHER = of((term({(S,): ONE}),)), of((term({(T,): ONE}),))
EXTREMUM = of((term({(S,): ONE}), term({}, A)))


def tree(expr: Expr, *states: Expr) -> object:
    return Normaliser(states or (S,), lambda *_: Plain(ex.TRUE), Work()).tree(expr)


@pytest.mark.parametrize(
    ("gives_up", "reason"),
    [
        (lambda: Work(3).spend(4), "too much work"),
        (lambda: slope_of({(S,) * (forms.MAX_DEGREE + 1): ONE}), "products of more and more states"),
        (lambda: product_of(EXTREMUM, OTHER), "the product of extrema"),
        (lambda: product_of(OTHER, EXTREMUM), "the product of extrema"),
        (lambda: Aligner("affine").leaf(Plain(ex.TRUE), STATE, first), "a number and a truth value"),
        (lambda: Aligner("affine").leaf(STATE, Plain(ex.TRUE), first), "a number and a truth value"),
        (lambda: Aligner("affine").leaf(STATE, OTHER, first), "sums of different states"),
        (lambda: Aligner("greatest").leaf(of((term({(S,): A}),)), OTHER, first), "a multiple that one case lacks"),
        (
            lambda: Aligner("greatest").leaf(
                of(tuple(term({(S,): c}) for c in (A, B))), of(tuple(term({(S,): c}) for c in (A, B, TWO))), first
            ),
            "different numbers of multiples",
        ),
        (lambda: Table((), {(): None}).tree(), "no region that is not empty"),
        (lambda: tree(ex.exponential(S)), "exp of a value that is carried along"),
        (lambda: tree(ex.floor_quotient(S, 3)), "floordiv of a value that is carried along"),
        (lambda: tree(LABEL, LABEL), "a text that is carried along"),
        (lambda: tree(ex.remainder(S, 3)), "a remainder of a value that is carried along"),
    ],
)  # fmt: skip
def test_what_has_no_normal_form(gives_up: Callable[[], object], reason: str) -> None:
    with pytest.raises(FormError, match="^" + reason):
        gives_up()


def test_what_just_fits() -> None:
    Work(3).spend(3)
    assert slope_of({(S,) * forms.MAX_DEGREE: ONE}).parts
    assert product_of(STATE, OTHER) == of((term({(S, T): ONE}),)) or product_of(STATE, OTHER) == of((term({(T, S): ONE}),))
    assert Aligner("affine").leaf(STATE, of((Term(FLAT, A),)), lambda a, b, _: a if b is ex.ZERO else b) == of(
        (term({(S,): ONE}, A),)
    )
    assert Aligner("greatest").leaf(of((term({(S,): A}),)), of((term({(S,): B}),)), first) == of((term({(S,): A}),))
    assert isinstance(slope_of({}), Slope)


def test_minima_of_too_many_maxima(monkeypatch: pytest.MonkeyPatch) -> None:
    clauses = [[term({(S,): ONE}, A)], [term({(T,): ONE}, B)]]
    assert len(number(clauses).clauses) == 2
    monkeypatch.setattr(forms, "MAX_CLAUSES", 1)
    with pytest.raises(FormError, match="minima of maxima of too many values"):
        number(clauses)


def test_trees_of_too_many_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = ex.select(ex.at_least(S, A), ex.add(S, ONE), ex.multiply(TWO, S))
    assert tree(cases)
    monkeypatch.setattr(normaliser, "MAX_TREE", 2)
    with pytest.raises(FormError, match="too many cases"):
        tree(cases)


@pytest.mark.parametrize(
    ("limit", "step", "reason"),
    [
        ("MAX_REGIONS", ex.select(ex.at_least(S, A), S, T), "too many regions"),
        ("MAX_SPLITS", ex.select(P, ex.maximum(S, A), ex.select(ex.at_least(S, A), S, T)), "too many cases of the coefficients"),
    ],
)
def test_tables_that_are_too_large(limit: str, step: Expr, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tabulator = Tabulator(Aligner("greatest"))

    def tabulated() -> Table:
        plain = Normaliser((S, T), lambda test, a, b: a if test is P else b, tabulator.work)
        return tabulator.table(forms.Branch(forms.Given(P), plain.tree(step), plain.tree(S)))

    assert tabulated()
    monkeypatch.setattr(tables, limit, 0)
    with pytest.raises(FormError, match=reason):
        tabulated()


def loop(step: str) -> scan.Loop:
    return scan.read_loop(scan.parse_module(f"def f(xs):\n    s = 0\n    for x in xs: s = {step}\n    return s\n"), "f")


def test_families_that_grow_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    total = loop("s + x")
    assert closure(total, "affine", "step").slots
    monkeypatch.setattr(closing, "MAX_SLOTS", 0)
    with pytest.raises(FormError, match="too many auxiliary values"):
        closure(total, "affine", "step")
    shape = closing._Shape(Tabulator(Aligner("affine")), frozenset())
    with pytest.raises(FormError, match="too many auxiliary values"):
        closing._samples(total, shape)


def test_a_form_without_a_value_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def undefined(*_: object) -> object:
        raise ex.UndefinedError("the sum of opposite infinities")

    monkeypatch.setattr(Normaliser, "tree", undefined)
    with pytest.raises(FormError, match="the sum of opposite infinities"):
        closing._tables(Tabulator(Aligner("affine")), [S], {S: S})
