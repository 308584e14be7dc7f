"""Templates with holes, completed for all inputs (section 2 of the 2011 paper)."""

from __future__ import annotations

from warploom.scan import complete_template, parse_module

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
