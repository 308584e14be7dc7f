"""Templates with holes, completed for all inputs (section 2 of the 2011 paper)."""

from __future__ import annotations

import pytest

from warploom.core import UserError
from warploom.scan import complete_template, parse_module
from warploom.scan.operators import expression as ex
from warploom.scan.operators import template
from warploom.scan.operators.prover import Open

FACTORING = """
def spec(x):
    return x * x - 2 * x - 3

def template(x):
    return (x + ??) * (x + ??)
"""


def test_factoring() -> None:
    result = complete_template(parse_module(FACTORING), "spec", "template")
    assert (result.status, result.verdict) == ("solved", "proved")
    assert sorted(map(int, result.holes.values())) == [-3, 1]  # type: ignore[arg-type]
    assert list(result.holes) == ["6:17", "6:28"]
    scope: dict[str, object] = {}
    exec(result.source, scope)
    assert all(scope["template"](x) == x * x - 2 * x - 3 for x in range(-20, 20))  # type: ignore[operator]


def test_what_does_not_factor_is_unsat() -> None:
    result = complete_template(parse_module(FACTORING.replace("- 3", "+ 3")), "spec", "template")
    assert (result.status, result.verdict, result.holes) == ("unsat", "proved", {})


def test_choices_and_uniqueness() -> None:
    text = """
def spec(a, b):
    return a if a > b else b

def template(a, b):
    return choose(min(a, b), max(a, b), a + b) + choose(0, a, ??) * ??
"""
    module = parse_module(text)
    result = complete_template(module, "spec", "template", unique=True)
    assert result.status == "solved"
    only = complete_template(parse_module(text.replace(" + choose(0, a, ??) * ??", "")), "spec", "template", unique=True)
    assert (only.solutions, only.is_only) == (1, True)
    assert "max(a, b)" in only.source


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def spec(x): return x, x\ndef template(x): return x + ??\n", "expected "),
        ("def spec(x): return x\ndef template(x, y): return x + ??\n", "expected 1 parameters, got 2"),
        ("def spec(x): return x\ndef template(x): x += ??\n", "expected template to return a value"),
        ("def spec(x: complex): return x\ndef template(x): return x + ??\n", "expected int, bool, .*, got complex"),
    ],
)
def test_templates_that_do_not_fit(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        complete_template(parse_module(text), "spec", "template")


def test_what_has_no_form_is_unknown() -> None:
    text = "def spec(x, y): return (x | y) - x\ndef template(x, y): return y * ??\n"
    found = complete_template(parse_module(text), "spec", "template")
    assert (found.status, found.verdict) == ("unknown", "unchecked")
    assert found.reason == "bitwise operations on unbounded integers"
    bits = ex.bitwise("bitand", *(ex.variable(n, ex.INT) for n in "xy"))
    assert template._candidate([], [bits], [ex.ZERO], [{}], [], 16) == found.reason
    assert isinstance(template._same([bits], [ex.ZERO], []), Open)


def test_a_search_that_is_cut_short_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only an exhausted one says that there is nothing."""
    monkeypatch.setattr(template, "ROUNDS", 1)
    for text in (FACTORING, FACTORING.replace("- 3", "+ 3")):
        found = complete_template(parse_module(text), "spec", "template")
        assert (found.status, found.verdict) == ("unknown", "unchecked") and found.reason.startswith(
            "given up after 1 candidates"
        )


def test_the_only_completion_is_the_only_one_among_large_constants_too() -> None:
    text = "def g(v): return (v - 1) * (v - {})\ndef spec(x): return x\ndef template(x): return x + g(??)\n"
    one, two = (complete_template(parse_module(text.format(n)), "spec", "template", unique=True) for n in (5000, 100))
    assert (one.solutions, one.is_only) == (1, True) and (two.solutions, two.is_only) == (2, False)


def test_what_is_given_up_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module(FACTORING)
    monkeypatch.setattr(template, "decide", lambda *_: Open("given up"))
    found = complete_template(module, "spec", "template")
    assert (found.status, found.verdict, found.reason) == ("unknown", "unchecked", "given up")
    monkeypatch.undo()
    monkeypatch.setattr(template, "_same", lambda *_: Open("given up"))
    found = complete_template(module, "spec", "template")
    assert (found.status, found.verdict, found.reason) == ("unknown", "unchecked", "given up")


def test_the_last_choice_is_one() -> None:
    text = "def spec(a, b): return b\ndef template(a, b): return choose(a, b)\n"
    found = complete_template(parse_module(text), "spec", "template")
    assert (found.status, found.verdict) == ("solved", "proved") and "return b" in found.source
