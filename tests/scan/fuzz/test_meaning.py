"""A share of the random functions; `python -m benchmarks.fuzz --scan-functions N` runs more. And that wrong readers are found."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.scan.fuzz import meaning

from warploom.scan.operators import expression as ex
from warploom.scan.reading import absent, forms, texts
from warploom.scan.reading.evaluate import Evaluator
from warploom.scan.reading.interpret import Interpreter
from warploom.scan.reading.source import Function
from warploom.scan.reading.values import Value

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")


@pytest.mark.parametrize("first", [0, 12])
def test_functions_mean_what_python_takes_them_to_mean(first: int) -> None:
    tally = meaning.Tally()
    for case in range(first, first + 12):
        assert not meaning.check(case, tally, models=3), case
    assert tally.endings["agrees"] > 40


def _truth(self: Interpreter, node: ast.expr, is_and: bool, values: Sequence[ast.expr], bindings: dict[str, Value]) -> Value:
    return self._conditions(is_and, values, bindings)  # pyright: ignore[reportPrivateUsage]


def _everywhere(self: Interpreter, condition: ex.Expr) -> None:
    self.assumed += condition.args if condition.op == "and" else [condition]


def _of_the_text(self: Function, name: str) -> object:
    for node in self.module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return eval(ast.unparse(value), dict(self.module.scope))
            case _:
                pass
    return _lookup(self, name)


_lookup, _quotient = Function.lookup, ex.quotient
_floor = ex.floor_quotient


def _up(a: ex.Expr, b: int) -> ex.Expr:
    return ex.negate(_floor(ex.negate(a), b))


PLANTED: dict[str, tuple[object, str, object]] = {
    "and, or give truth values": (Interpreter, "_operand", _truth),
    "asserts hold everywhere": (Interpreter, "_assume", _everywhere),
    "constants are those of the text": (Function, "lookup", _of_the_text),
    "quotients round to zero": (ex, "floor_quotient", lambda a, b: ex.select(ex.at_least(a, ex.ZERO), _floor(a, b), _up(a, b))),
    "guards of quotients are lost": (ex, "quotient", lambda a, b, is_guarded=False: _quotient(a, b)),
    "comparisons are strict": (ex, "at_least", ex.more_than),
}


@pytest.mark.parametrize("first", [0, 40])
def test_forms_mean_what_python_takes_them_to_mean(first: int) -> None:
    tally = meaning.Tally()
    for case in range(first, first + 16):
        assert not meaning.check_form(case, tally), case
    assert tally.endings["agrees"] > 80


_element, _selected = forms._element, Evaluator._one_or_none  # pyright: ignore[reportPrivateUsage]


def _unchecked(again: Any, starts: Any, flag: str, name: str) -> Any:
    """Drops the flag whether or not the start says the same."""
    loop = again(starts)
    unset = {s.variable: ex.FALSE for s in loop.states if s.name == flag}
    return replace(loop, states=tuple(replace(s, step=ex.substituted(s.step, unset)) for s in loop.states))


PLANTED_FORMS: dict[str, tuple[object, str, object]] = {
    "the loop goes on after break": (forms, "_may_go_on", lambda body: True),
    "elements are the ones before": (forms, "_element", lambda t, n, i, before: _element(t, n, i, 1 - before)),
    "None is None where the other path has it": (
        Evaluator,
        "_one_or_none",
        lambda self, node, condition, then, other: _selected(self, node, condition, other, then),
    ),
    "letters are capitals": (texts, "TESTS", {**texts.TESTS, "isalpha": (("A", "Z"),), "isalnum": (("A", "Z"),)}),
    "flags are dropped unseen": (absent, "_without", _unchecked),
}


FORMS_FIRST = {"the loop goes on after break": 30, "letters are capitals": 60, "flags are dropped unseen": 20}
"""Where to begin, to spare time."""


@pytest.mark.parametrize("wrong", PLANTED_FORMS)
def test_a_wrong_reader_of_forms_is_found(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, planted = PLANTED_FORMS[wrong]
    monkeypatch.setattr(owner, name, planted)
    first = FORMS_FIRST.get(wrong, 0)
    assert any(meaning.check_form(case) for case in range(first, first + 30))


FIRST = {"asserts hold everywhere": 100, "comparisons are strict": 120, "guards of quotients are lost": 20}
"""Where to begin, to spare time."""


@pytest.mark.parametrize("wrong", PLANTED)
def test_a_wrong_reader_is_found(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, planted = PLANTED[wrong]
    monkeypatch.setattr(owner, name, planted)
    first = FIRST.get(wrong, 0)
    assert any(meaning.check(case, models=0) for case in range(first, first + 60))
