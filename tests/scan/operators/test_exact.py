"""The comparison of an operator with the function it came from: exact, so that rounding is nobody's fault."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from warploom import scan
from warploom.scan.operators import lifting
from warploom.scan.operators.exact import Exact, agree, exact, exactly

TENTH = Exact(1, 10)


def test_decimal_numbers_are_meant() -> None:
    assert 0.1 + TENTH * 2 == 0.3 and 0.1 + 0.1 * 2 != 0.3
    assert (TENTH > 0.1, TENTH >= 0.1, TENTH > 0.1, 1 / TENTH, TENTH // 0.03, -TENTH % 0.3) == (
        False,
        True,
        False,
        10,
        3,
        Exact("0.2"),
    )
    assert isinstance(max(TENTH, 0.05) - 1, Exact) and isinstance(abs(-TENTH), Exact)
    assert TENTH + math.inf == math.inf and math.inf > TENTH
    assert [exact(v) for v in (True, "a", math.inf, 3, 0.1)] == [True, "a", math.inf, 3, TENTH]


def test_functions_become_exact() -> None:
    text = "BY = 0.1\ndef inner(x, more=0.2):\n    return x * BY + more\ndef f(x):\n    return inner(x) + (0.3, 0.5)[0]\n"
    scope: dict[str, Callable[..., object]] = {}
    exec(text, scope)
    assert exactly(scope["f"])(1) == Fraction(6, 10) and scope["f"](1) != 0.6
    assert exactly(len)([1]) == 1  # what is no Python function stays


def test_agreement() -> None:
    assert agree([1, (Fraction(1, 3), True)], [1, (1 / 3, True)])
    assert not agree(1, 1 + Fraction(1, 10**12)) and not agree([1], [1, 2]) and not agree(0.5, "a") and not agree(0.5, None)
    assert not agree(0.1, 0.1000001) and not agree(10**400, 1.5) and not agree(1, [1])


LOOPS = {
    "average with decay": ("level = 0.0", "level = 0.9 * level + 0.1 * x", "level"),
    "fee": ("total = 0.0", "total += x * 0.1", "total"),
    "a comparison with a product": ("n = 0", "n = n + 1 if x * 0.1 > 0.3 else n", "n"),
    "constants only": ("s = 0.1", "s = s * 0.7 if x > 0.3 else s + 0.2", "s"),
    "clamp": ("s = 0.0", "s = min(1.0, max(0.0, s + x * 0.3))", "s"),
    "mean": ("s, n = 0.0, 0", "s, n = s + x, n + 1", "s / max(n, 1)"),
    "thirds": ("s = 0.0", "s += x / 3", "s"),
    "interest": ("b = 100.0", "b = b * 1.05 + x", "b"),
    "a threshold that floats miss": ("s = 0.0", "s = max(0.0, s + x * 0.1 - 0.3)", "s > 0.1"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_right_operators_are_no_errors(name: str) -> None:
    start, step, result = LOOPS[name]
    text = f"def f(xs: list[float]):\n    {start}\n    for x in xs:\n        {step}\n    return {result}\n"
    module = scan.parse_module(text)
    found = scan.lift(scan.read_loop(module, "f"), scan.user_function(module, "f"))
    assert (found.status, found.verdict, found.reason) == ("solved", "proved", "") and found.cases >= 60


def lifted(serial: Callable[..., object], kind: str = "int") -> scan.Lifting:
    text = f"def f(xs: list[{kind}]):\n    s = 0\n    for x in xs:\n        s += x\n    return s\n"
    return scan.lift(scan.read_loop(scan.parse_module(text), "f"), serial)


def test_disagreeing_judges_are_a_bug_and_never_proved() -> None:
    for kind in ("int", "float"):
        found = lifted(lambda xs: sum(xs) + (len(xs) > 1), kind)
        assert (found.status, found.verdict) == ("error", "unchecked")
        assert found.reason.startswith("a bug of Warploom: the laws were proved, but on [")


def test_one_rounded_result_is_no_disagreement() -> None:
    seen: list[int] = []

    def nearly(xs: list[object]) -> object:
        seen.append(1)
        return sum(xs) + (len(seen) == 7)  # type: ignore[call-overload]

    assert lifted(nearly, "float").verdict == "proved"
    seen.clear()
    assert lifted(nearly).status == "error"  # whole numbers do not round


def test_a_function_that_raises_is_not_compared() -> None:
    def broken(xs: object) -> object:
        raise KeyError("no")

    found = lifted(broken)
    assert (found.status, found.verdict) == ("unknown", "unchecked") and "the function itself raises KeyError" in found.reason


def test_rounding_excuses_no_operator_that_differs_from_the_loop_as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lifted(sum, "float")
    monkeypatch.setattr(lifting, "ROUNDED_SHARE", 0)
    assert found.operator is not None and not lifting.tested(found.operator, sum).mismatch
    assert lifting.tested(replace(found.operator, combine=found.operator.fields), sum).mismatch


def test_an_operator_that_the_printed_text_gets_wrong_is_found() -> None:
    found = lifted(sum)
    assert found.operator is not None
    wrong = replace(found.operator, combine=found.operator.fields)
    assert lifting.tested(wrong, sum).mismatch


def test_whole_numbers_are_shifted_combined_bit_by_bit_and_index() -> None:
    five = Exact(5)
    assert (five & 4, 1 | five, five ^ 1, five << 1, 11 >> Exact(1), ~five, (7, 8)[Exact(1)]) == (4, 5, 4, 10, 5, -6, 8)
    with pytest.raises(TypeError):
        TENTH & 1
    with pytest.raises(TypeError):
        math.gcd(TENTH, 1)  # type: ignore[arg-type]


def run(text: str) -> scan.Lifting:
    module = scan.parse_module(text)
    return scan.lift(scan.read_loop(module, "f"), scan.user_function(module, "f"))


@pytest.mark.parametrize("step", ["x / 2 + (x & 1)", "x / 2 + (x >> 1)", "x / 2 + (1, 2)[x % 2]"])
def test_loops_of_quotients_and_whole_numbers_are_compared(step: str) -> None:
    found = run(f"def f(xs: list[int]):\n    a = 0\n    for x in xs:\n        a += {step}\n    return a\n")
    assert found.verdict == "proved" and found.cases > 0


def test_what_is_true_without_rounding_only_is_said_of_reals() -> None:
    found = run("def f(xs: list[int]):\n    a = 0\n    for x in xs:\n        a += x / 49 * 49 == x\n    return a\n")
    assert (found.verdict, found.domain) == ("proved", "reals, integers exact up to 2**53 where they become floats")


@pytest.mark.parametrize(
    ("step", "projection"),
    [
        ("a + x * (0.1 + 0.2 == 0.3)", "0"),
        ("a + x + (1 / 3 - 1 / 3)", "a"),
        ("max(a, 0.1 + 0.2)", "0.30000000000000004 if some else 0"),
    ],
)
def test_arithmetic_of_literals_is_the_floats(step: str, projection: str) -> None:
    found = run(f"def f(xs: list[float]):\n    a = 0.0\n    for x in xs:\n        a = {step}\n    return a\n")
    assert found.verdict == "proved" and found.operator is not None
    assert [scan.python(p) for p in found.operator.projection] == [projection]


def test_numbers_that_are_not_whole_count_nothing() -> None:
    with pytest.raises(TypeError, match="expected a whole number"):
        range(Exact(1, 2))  # type: ignore[call-overload]
    assert list(range(Exact(2))) == [0, 1]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1.0, 1 + 1e-12, True),
        (Fraction(1, 3), 1 / 3, True),
        (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**15), False),  # neither was rounded
        (10**400, 1.0, False),  # no float
        ("1.0", 1.0, False),
        (1.0, None, False),
        ([1.0, 2.0], [1.0], False),
        ([1.0, "a"], (1.0, "a"), True),
    ],
)
def test_what_agrees_up_to_rounding(left: object, right: object, expected: bool) -> None:
    assert agree(left, right) is expected
