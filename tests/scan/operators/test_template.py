"""Templates with holes, completed for all inputs (section 2 of the 2011 paper)."""

from __future__ import annotations

import pytest

from warploom.core import UserError
from warploom.scan import complete_assertion, complete_template, parse_module
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


def test_a_hole_of_a_helper_has_one_value() -> None:
    text = "def g(x): return x * ??\ndef spec(x): return {} * x * x + 3 * x\ndef template(x): return x * g(x) + g(x)\n"
    one, two = (complete_template(parse_module(text.format(n)), "spec", "template") for n in (3, 2))
    assert (one.status, one.holes, two.status) == ("solved", {"1:22": 3}, "unsat")
    assert one.source == "def g(x):\n    return x * 3\n\n\ndef template(x):\n    return x * g(x) + g(x)"


def test_a_choice_of_a_helper_is_one_choice() -> None:
    text = "def f(x, y): return choose(x, y)\ndef spec(x, y): return x\ndef template(x, y): return f({})\n"
    same, other = (
        complete_template(parse_module(text.format(a)), "spec", "template") for a in ("f(x, y), f(y, x)", "x, f(x, y)")
    )
    assert (same.status, other.status) == ("solved", "solved")
    assert "return x\n" in other.source and "choose" not in same.source
    crossed = text.format("x, y) - f(y, x")
    assert complete_template(parse_module(crossed), "spec", "template").status == "unsat"


def test_a_completion_that_may_divide_by_zero_is_not_proved() -> None:
    for body in ("x - 0 * (1.0 / (x * ??))", "x - 0 * (1.0 / x) + ??"):
        text = f"def spec(x: float): return x\ndef template(x): return {body}\n"
        found = complete_template(parse_module(text), "spec", "template")
        assert (found.status, found.verdict) == ("unknown", "unchecked") and "divide by zero" in found.reason


def test_an_assertion_in_a_template_is_refused() -> None:
    text = "def spec(x): return x\ndef template(x):\n    assert x > 5\n    return x + ??\n"
    with pytest.raises(UserError, match="expected a template without assertions"):
        complete_template(parse_module(text), "spec", "template")
    helper = "def g(x):\n    assert x > 5\n    return x + ??\ndef main(x): assert x == g(x)\n"
    with pytest.raises(UserError, match="expected helpers without assertions"):
        complete_assertion(parse_module(helper), "main")


ASSERTION = "def g(x): return (x - ??) * (x - ??)\ndef main(x):\n    {}\n"


def test_an_assertion_is_specification_and_template() -> None:
    found = complete_assertion(parse_module(ASSERTION.format("assert x * x - 2 * x - 3 == g(x)")), "main")
    assert (found.status, found.verdict, found.domain) == ("solved", "proved", "integers")
    assert sorted(map(int, found.holes.values())) == [-1, 3]  # type: ignore[arg-type]
    assert found.source.startswith("def g(x):") and "main" not in found.source
    real = complete_assertion(parse_module("def main(x: float): assert x + x == x * ??\n"), "main")
    assert (real.domain, real.source) == ("reals", "def main(x: float):\n    assert x + x == x * 2")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return g(x)", "expected `assert specification == template` alone in main"),
        ("assert x >= g(x)", "expected `assert specification == template` alone in main"),
        ("y = x; assert y == g(x)", "expected `assert specification == template` alone in main"),
        ("'text'", "expected `assert specification == template` alone in main"),
        ("assert (x, x) == g(x)", "expected 2 values, got 1"),
    ],
)
def test_what_is_no_such_assertion(body: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        complete_assertion(parse_module(ASSERTION.format(body)), "main")


BY_CASES = """
def spec(a: bool, b: bool):
    return (1 if a and b else 0), (a or b)

def template(a, b):
    if a == 0 and b == 0:
        return ??, ??
    if a == 1 and b == 1:
        return ??, ??
    if a != b:
        return ??, ??
"""


def test_cases_need_no_last_return_where_they_are_all() -> None:
    """As the paper writes F: a bit is 0 or 1, and a constant may stand for one."""
    found = complete_template(parse_module(BY_CASES), "spec", "template", unique=True)
    assert (found.status, found.verdict, found.is_only) == ("solved", "proved", True)
    assert list(found.holes.values()) == [0, 0, 1, 1, 0, 1]


@pytest.mark.parametrize(
    "text",
    [
        BY_CASES.replace("    if a != b:\n        return ??, ??\n", ""),  # a path without a result
        BY_CASES.replace("bool", "int"),  # whole numbers that are no bits
    ],
)
def test_a_path_without_a_result_equals_nothing(text: str) -> None:
    found = complete_template(parse_module(text), "spec", "template")
    assert (found.status, found.holes) == ("unsat", {})
    assert found.reason.endswith("where none of its conditions holds, the template returns nothing")
