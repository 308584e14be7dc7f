"""Operators that are offered instead of a user's: their printed text is run beside the fold of the user's function."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from warploom.core import Diagnostic, UserError
from warploom.core.limits import OUT_OF_MEMORY
from warploom.scan import check, mended, parse_module, read_binary, user_function
from warploom.scan.operators import mending
from warploom.scan.operators.lifting import Trial
from warploom.tools.command.guard import TOO_DEEP
from warploom.tools.scan.lift import check_command, checking_of, fixed

TEXT = """
from dataclasses import dataclass
from typing import Literal

def decay(a: float, b: float):
    return a * 0.5 + b

def minus(a, b):
    return a - b

def clamp(a: int, b: int):
    return max(0, a + b)

def fewer(a: int, b: int):
    assert a >= 0
    return max(a - b, 0)

def turned(a: Literal[2, 3, 5], b: Literal[2, 3, 5]):
    return 5 if a == 2 else b

@dataclass
class Totals:
    total: int
    most: int

def totals(a: Totals, b: Totals):
    total = a.total + b.total
    return Totals(total, max(a.most, total))

def keyed(a, b):
    return {"n": a["n"] - b["n"], "a b": max(a["a b"], b["a b"])}

def nested(a: tuple[int, tuple[int, int]], b: tuple[int, tuple[int, int]]):
    return a[0] + b[0], (a[1][0] - b[1][0], max(a[1][1], b[1][1]))

def parts(total_left, most_left, total_right, most_right):
    return total_left - total_right, max(most_left, most_right)

def place(a: tuple[int, int], b: tuple[int, int]):
    return a if a[0] >= b[0] else b

def above(a: int, b: int):
    return a + b + 1

def bits(a: int, b: int):
    return a | b

def listed(a: Literal["x", "y"], b: Literal["x", "y"]):
    return "x" if a == b else "y"

def add(a: int, b: int):
    return a + b

def square(a, b):
    return a * a + b

def swapped(a: str, b: str):
    return "q" if a == "p" else b

def leaves(a: int, b: int):
    assert 0 <= a <= 9
    return a + b
"""
MODULE = parse_module(TEXT, "operators.py")


def offered(name: str) -> mending.Mended:
    binary, function = read_binary(MODULE, name), user_function(MODULE, name)
    return mended(check(binary, function), function)


def printed(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"inf": math.inf, "Fraction": Fraction}
    exec(source, scope)
    return scope


def numbers(choose: random.Random) -> int:
    return choose.choice((-2, -1, 0, 1, 2, 7, 100, 100_003))


ELEMENTS: dict[str, Callable[[random.Random], Any]] = {
    "decay": lambda r: r.randrange(-40, 40) / 8,
    "fewer": lambda r: abs(numbers(r)),
    "turned": lambda r: r.choice((2, 3, 5)),
    "listed": lambda r: r.choice("xy"),
    **dict.fromkeys(("totals", "keyed", "parts", "place"), lambda r: (numbers(r), numbers(r))),
    "nested": lambda r: (numbers(r), numbers(r), numbers(r)),
}


@pytest.mark.parametrize(
    ("name", "adjoined"),
    [
        ("decay", False), ("minus", True), ("clamp", True), ("fewer", True), ("turned", True), ("totals", True),
        ("keyed", True), ("nested", True), ("parts", True), ("place", True), ("above", True), ("bits", False), ("listed", True),
    ],
)  # fmt: skip
def test_an_offered_operator_computes_the_fold_in_any_grouping(name: str, adjoined: bool) -> None:
    binary, function = read_binary(MODULE, name), binary_function(name)
    found = offered(name).lifting
    assert found is not None and found.operator is not None and found.cases
    assert (found.verdict, found.adjoined) == ("proved", adjoined) and found.domain.endswith("lists of at least one element")
    own, choose = printed(found.operator.source()), random.Random(3)
    for length in (1, 2, 3, 7):
        for _ in range(6):
            elements = [ELEMENTS.get(name, numbers)(choose) for _ in range(length)]
            values = [own["lift"](e) for e in elements]
            values.insert(choose.randrange(len(values) + 1), own["identity"])
            while len(values) > 1:
                at = choose.randrange(len(values) - 1)
                values[at : at + 2] = [own["operator"](values[at], values[at + 1])]
            operands = [binary.packed(e if isinstance(e, tuple) else (e,)) for e in elements]
            wanted = binary.flat(reduce(function, operands))
            got = own["projection"](values[0])
            assert list(got if isinstance(got, tuple) else (got,)) == wanted


def binary_function(name: str) -> Callable[[object, object], object]:
    return read_binary(MODULE, name).applied(user_function(MODULE, name))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("add", "it is associative, with identity 0"),
        ("square", "no proved operator for its serial fold: no family"),
        ("swapped", "a fold that keeps texts"),
        ("leaves", "results are not such values as the assertions mean"),
    ],
)
def test_where_nothing_is_offered(name: str, reason: str) -> None:
    found = offered(name)
    assert found.lifting is None and found.reason.startswith(reason) and not found.is_fault


def test_a_bug_is_not_mended() -> None:
    binary, function = read_binary(MODULE, "add"), user_function(MODULE, "add")
    broken = replace(check(binary, function), status="error", verdict="unchecked")
    assert mended(broken, function).lifting is None


def test_an_operator_that_is_not_known_is_offered_its_fold_where_results_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    function = user_function(MODULE, "fewer")
    unknown = replace(check(read_binary(MODULE, "fewer"), function), status="unknown", verdict="unchecked", witness=None)
    assert mended(unknown, function).lifting is not None
    monkeypatch.setattr(mending, "is_open_whether_meant", lambda *_: True)
    found = mended(unknown, function)
    assert found.lifting is None and found.reason.startswith("it is open whether results are such values")


def test_a_fold_that_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(_: object) -> None:
        raise UserError(Diagnostic("LOOP_UNSUPPORTED", "expected remainders of few values"))

    monkeypatch.setattr(mending, "with_remainders", refusing)
    assert offered("minus") == mending.Mended(None, "its serial fold is not served: expected remainders of few values")


@pytest.mark.parametrize("name", ["minus", "above"])
def test_a_difference_from_the_fold_is_a_bug(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Trial(1, mismatch="on [1] something differs")
    monkeypatch.setattr(mending, "tested", lambda *_: wrong)
    monkeypatch.setattr("warploom.scan.operators.lifting.tested", lambda *_: wrong)
    assert offered(name).is_fault
    result, line = fixed(checking_of(MODULE, name), user_function(MODULE, name))
    assert (result.status, result.verdict, line["fixed"]) == ("error", "unchecked", None)


def test_a_function_that_raises_is_offered_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mending, "tested", lambda *_: Trial(0, fault="it raises"))
    assert offered("above") == mending.Mended(None, "it raises")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyboardInterrupt("the budget is spent"), "the budget is spent"),
        (MemoryError(), OUT_OF_MEMORY),
        (RecursionError(), TOO_DEEP),
    ],
)
def test_a_limit_ends_the_search_only(error: BaseException, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise error

    monkeypatch.setattr("warploom.scan.mended", stopped)
    result, line = fixed(checking_of(MODULE, "minus"), user_function(MODULE, "minus"))
    assert (result.status, line) == ("refused", {"fixed": None, "fix_reason": reason})


def test_parts_of_an_operand() -> None:
    assert read_binary(MODULE, "keyed").parts == ("['a b']", "['n']")
    assert read_binary(MODULE, "nested").parts == ("[0]", "[1][0]", "[1][1]")
    assert read_binary(MODULE, "place").parts == read_binary(MODULE, "parts").parts == read_binary(MODULE, "add").parts == ()


def test_fix_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "operators.py"
    file.write_text(TEXT)

    def told(name: str, *options: str) -> tuple[int, str]:
        done = CliRunner().invoke(check_command, [f"{file}:{name}", *options])
        return done.exit_code, done.stdout

    code, text = told("decay", "--fix", "--json")
    line = json.loads(text)
    assert (code, line["status"], line["verdict"]) == (1, "refused", "refuted")
    assert (line["fixed"]["verdict"], line["fixed"]["domain"]) == ("proved", "reals, lists of at least one element")
    assert line["fixed"]["laws"] == ["base", "composition", "associativity", "identity"] and "fix_reason" not in line
    assert {"operator", "lift", "identity", "projection", "tested"} <= line["fixed"].keys() and "parts" not in line["fixed"]
    assert json.loads(told("add", "--fix", "--json")[1])["fixed"] is None
    assert "fixed" not in json.loads(told("add", "--json")[1])
    shown = told("fewer", "--fix")[1]
    assert "offered instead: proved over integers, lists of at least one element (base, composition" in shown
    assert (
        "fewer(fewer(x0, x1), x2) and so on, where the assertions hold of all elements" in shown
        and "def operator(a, b):" in shown
    )
    assert "an element x is written (x.total, x.most)" in told("totals", "--fix")[1]
    assert "nothing offered instead: no proved operator" in told("square", "--fix")[1]
    refused = json.loads(told("place", "--fix", "--commutative", "--json")[1])
    assert (refused["status"], refused["commutative"], refused["fixed"]["adjoined"]) == ("refused", False, True)
