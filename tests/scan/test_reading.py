"""Meaning of a loop's statements and expressions: where asserts hold, operands of and/or, division, floats, types; the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from warploom.core import UserError
from warploom.scan import Loop, lift, parse_module, python, read_binary, read_loop, user_function
from warploom.scan.operators import expression as ex
from warploom.scan.operators.printing import evaluated
from warploom.scan.reading import binary, subset
from warploom.scan.reading import loop as loop_module

_BEFORE = """from fractions import Fraction
from math import gcd
from typing import *

def g(v):
    assert v > 4
    return v

"""


def read(body: str, item: str = "int", after: str = "return a", header: str = "for x in xs:", parameters: str = "") -> Loop:
    lines = "\n".join("        " + line for line in body.split("\n"))
    text = f"def f(xs: list[{item}]{parameters}):\n    a = b = 0\n    {header}\n{lines}\n    {after}\n"
    return read_loop(parse_module(_BEFORE + text, "f.py"), "f")


def step(body: str, item: str = "int") -> str:
    return python(read(body, item).states[0].step)


@pytest.mark.parametrize(
    ("body", "assumed"),
    [
        ("assert x >= 0\na += x", "x >= 0"),
        ("if x > 3:\n    assert x > 5\na += x", "x <= 3 or x > 5"),
        ("if x < 3:\n    a += 1\n    continue\nassert x > 5\na += x", "x < 3 or x > 5"),
        ("if x < 3:\n    a += 1\nelse:\n    assert x > 5\na += x", "x < 3 or x > 5"),
        ("if a > 3:\n    assert x > 5\na += x", "True"),
        ("assert a < 5\na += x", "True"),
        ("if x < 3:\n    if x > 0:\n        assert x == 1\na += x", "x <= 0 or x >= 3 or x == 1"),
        ("a = x if x else 1\nassert x > 0 and x < 9", "0 < x < 9"),
        ("a = (x > 2 and g(x)) or 1", "x <= 2 or x > 4"),
    ],
)
def test_an_assertion_holds_where_it_is_reached(body: str, assumed: str) -> None:
    found = read(body).assumed
    for x in range(-3, 12):
        assert all(eval(python(a), {}, {"x": x}) for a in found) == eval(assumed, {}, {"x": x})


def test_the_assertion_in_a_branch_is_not_true_of_every_element() -> None:
    text = """
def f(items: list[tuple[int, bool]]):
    total = 0
    for x, check in items:
        if check:
            assert x >= 0
        total = max(total + x, 0)
    return total
"""
    module = parse_module(text)
    found = lift(read_loop(module, "f"), user_function(module, "f"))
    assert found.verdict == "proved"
    assert found.operator is not None
    assert found.operator.run([(3, False), (-5, False)], lambda n: 1) == 0


def test_assertions_on_constants_are_met_by_the_samples() -> None:
    module = parse_module(
        "def f(xs: list[int], k: int):\n    assert k > 100\n    a = 0\n    for x in xs:\n"
        "        assert x > k\n        a += x * k\n    return a"
    )
    found = lift(read_loop(module, "f"), user_function(module, "f"))
    assert (found.verdict, found.cases > 0) == ("proved", True)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("a = x and 7", "7 if x < 0 or x >= 1 else 0"),
        ("a = x or 7", "x if x < 0 or x >= 1 else 7"),
        ("a = (x > 3) or 7", "1 if x >= 4 else 7"),
        ("a = True + 1", "2"),
        ("a = ~True", "-2"),
        ("a = -(x > 3) ", "-1 if x >= 4 else 0"),
        ("a = not x", "1 if x >= 0 and x < 1 else 0"),
        ("a = x // -2", "(-x) // 2"),
        ("a = x % -2", "-((-x) % 2)"),
        ("a = (5, 6)[-1]", "6"),
        ("a = 2 ** 0", "1"),
        ("a = x >> 0", "x"),
        ("a = sum((x, 1))", "x + 1"),
        ("a = min((x, 1))", "min(1, x)"),
        ("a = gcd(x, 0) if False else 3", "3"),
    ],
)
def test_values(body: str, wanted: str) -> None:
    text = step(body)
    variables = {"x": 4, "a": 0}
    assert text == wanted or eval(text, {}, dict(variables)) == eval(wanted, {}, dict(variables))
    for x in (-3, 0, 1, 4, 7):
        scope = {"x": x, "a": 0}
        exec(body, {}, scope)
        if "gcd" not in body:
            assert eval(text, {}, {"x": x}) == scope["a"]


def test_operands_guard_what_follows_in_every_printed_form() -> None:
    text = "def f(xs: list[tuple[float, float]]):\n    n = 0\n    for x, k in xs:\n"
    text += "        if {}:\n            n += 1\n    return n\n"
    for test in ("k != 0 and x / k > 2", "k == 0 or x / k > 2", "not (k != 0 and x / k > 2)", "k > 2 and 3 / (k - 2) > x"):
        loop = read_loop(parse_module(text.format(test)), "f")
        condition = loop.states[0].step
        assert not loop.may_divide_by_zero
        run = evaluated(f"def run(n, x, k):\n    return {python(condition)}", "run")
        for x, k in ((1.0, 0.0), (5.0, 1.0), (1.0, 1.0), (0.0, 0.0)):
            assert run(0, x, k) == int(eval(test, {}, {"x": x, "k": k}))  # type: ignore[operator]
        assert "!= 0 else 0" not in python(condition)  # the guard that stands there is enough


def test_a_quotient_without_its_guard_is_printed_with_one() -> None:
    loop = read_loop(
        parse_module(
            "def f(xs: list[tuple[float, float]]):\n    a = 0.0\n    for x, k in xs:\n"
            "        a += x / k if k else 1\n    return a"
        ),
        "f",
    )
    quotient = next(e for e in loop.states[0].step.args if e.op == "ite").args[1]
    assert python(quotient) == "x / k if k != 0 else 0"


@pytest.mark.parametrize(
    ("loop", "rounds", "divides"),
    [
        (read("a += x"), False, False),
        (read("a += x", "float"), False, False),
        (read("a += x * 0.5", "int"), True, False),
        (read("a += x / 2", "int"), True, False),
        (read("a += float(x)", "int"), True, False),
        (read("a += Fraction(x, 2)", "int"), False, False),
        (read("a += 3 / x", "int"), True, True),
        (read("assert x > 0\na += 3 / x", "int"), True, False),
        (read("a += 3 / x if x > 2 else 0", "int"), True, False),
        (read("a += 3 / x if x > -2 else 0", "int"), True, True),
        (read("a += x\nb += 1", after="return a / b"), True, True),
        (read("a += x\nb += 1", after="return a / b if b else 0"), True, False),
    ],
)
def test_where_arithmetic_parts_from_the_proof_is_known(loop: Loop, rounds: bool, divides: bool) -> None:
    assert (loop.rounds, loop.may_divide_by_zero) == (rounds, divides)


def test_the_domain_says_so() -> None:
    module = parse_module(
        "def f(xs: list[int]):\n    a = n = 0\n    for x in xs:\n        a += x\n        n += 1\n    return a / n"
    )
    found = lift(read_loop(module, "f"))
    assert found.verdict == "proved"
    assert found.domain == "integers, integers exact up to 2**53 where they become floats, where no divisor is 0"


@pytest.mark.parametrize(
    ("body", "item", "message"),
    [
        ("a += x // 2", "float", "expected whole numbers on both sides of //, got a float"),
        ("a += x % 2", "Fraction", "expected whole numbers on both sides of %, got a float"),
        ("a += x // 2.0", "int", "expected whole numbers on both sides of //, got a float"),
        ("a += (x * 1.0) % 2", "int", "expected whole numbers on both sides of %, got a float"),
        ("b = x / 1\na += b >> 1", "int", "expected whole numbers on both sides of >>, got a float"),
        ("a += (x ** 0) & 1", "float", "expected whole numbers on both sides of &, got a float"),
        ("a += ~x", "float", "expected a whole number after ~, got a float"),
        ("a += (1, 2)[x]", "float", "expected a whole number as index, got a float"),
        ("a += x ** -1", "int", "expected a constant from 0 to 64 on the right"),
        ("a += x ** 1000000", "int", "expected a constant from 0 to 64 on the right"),
        ("a += x << -1", "int", "expected a constant from 0 to 1024 on the right"),
        ("a += 1 << 9999999999", "int", "expected a constant from 0 to 1024 on the right"),
        ("a += x % 0", "int", "expected a constant that is not 0 on the right"),
        ("a += x / 0", "int", "expected a divisor that is not 0, got 0"),
        ("a += ((2 ** 64) ** 64) ** 2", "int", "expected numbers of at most 1,200 digits"),
        ("a += x @ x", "int", r"expected \+, -, .*, got MatMult"),
        ("a += max(x)", "int", "expected max of two or more numbers, got one"),
        ("a += max(())", "int", "expected numbers as arguments of max"),
        ("a += max(x, 1)", "str", "expected numbers as arguments of max"),
        ("a += sum(x, 1)", "int", "expected sum of one tuple"),
        ("a += abs(x, 1)", "int", "expected one number as arguments of abs"),
        ("a += bool(x, 1)", "int", "expected one value as argument of bool"),
        ("a += gcd(x, 2)", "float", "expected whole numbers as arguments of gcd, got a float"),
        ('a = float("inf") / 2', "int", "expected a value, got a quotient of infinities"),
        ("a = sum((x, x))", "str", "expected numbers as arguments of sum"),
        ("a += int(x)", "float", "expected a whole number as argument of int, got a float"),
        ('a += float("one")', "int", r"expected a number in float\('one'\)"),
        ("a += max(x, 1, key=abs)", "int", "expected plain arguments, got keywords"),
        ("a += argmax(x)", "int", "got argmax(.|\n)*fix: Keep the best element and its index in two variables: if x > best"),
        ("a += len(xs)", "int", "got len(.|\n)*fix: Count the elements in a variable"),
        ("a += -x", "str", "expected a number, got text"),
        ("a += x == 1", "str", "expected texts compared by == or !="),
        ("a += x is 1", "int", "expected ==, !=, <, <=, > or >="),
        ("return", "int", "expected a value after return"),
        ("assert x > 0 and x < 0\na += x", "int", "expected assertions that some element meets, got none"),
        ("out.append(x)", "int", "expected one result appended for every element"),
        ("a += x", "complex", "expected int, bool, float, .*, got complex"),
        ("a += x", "int | None", "expected int, bool, float, .*, got int | None"),
        ("a += x", "Literal[0, 'a']", "expected int, bool, float"),
        ("b = (x, 1) if x else 3", "int", "expected values of one shape on both paths"),
        ("b = 'p' if x else 3", "int", "expected values of one type on both paths, got text and a number"),
        ("a += -(x, 1)", "int", "expected one value, got a tuple of 2"),
        ("a += (x, 1) == (x, 1, 2)", "int", "expected tuples of one length on both sides"),
        ("a += (x, 1) * 2", "int", "expected numbers, got a tuple"),
        ("a += x + 'p'", "str", "expected numbers, got text"),
        ("a += x[0]", "int", r"expected a tuple before \[...\], got one value"),
        ("a += (1, x)[2]", "int", "expected an index below 2, got 2"),
        ("a += (1, x)[-3]", "int", "expected an index below 2, got -3"),
        ("a = (x, 1)", "int", "expected a to keep its parts, got a tuple and a number"),
        ("a = 'p'", "int", "expected a to keep its type, got text and a number"),
        ("b[0] = x", "int", "expected a name or a tuple of names to assign to"),
        ("a, c = x, 1, 2", "int", "expected 2 values, got 3 values"),
        ("a += x ** 0.5", "int", "expected a constant from 0 to 64 on the right"),
        ("a += ~(float('inf') if x else 1)", "int", "expected a whole number after ~, got a float"),
        ("a += int(float('inf') if x else 1)", "int", "expected a whole number as argument of int, got a float"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_refusals(body: str, item: str, message: str) -> None:
    with pytest.raises(UserError, match=r"(?s)error\[[A-Z_]+\]: .*" + message):
        read(body, item)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(xs, ys):\n    xs = ys\n    a = 0\n    for x in xs: a += x\n    return a", "got 'xs', which is assigned before"),
        ("def f(xs):\n    a = 0\n    for x, y in zip(xs, xs): a += x\n    return a", "expected each list once, got one twice"),
        ("def f(xs):\n    i = 0\n    for i, x in enumerate(xs): pass\n    return i", "expected an index that only the loop sets"),
        ("def f(xs):\n    a = 0\n    for i, x in enumerate(xs): a += x\n    return a / (i + 1)", "expected a value for 'i'"),
        ("def f(xs):\n    a = 0\n    for i, i in enumerate(xs): a += i\n    return a", "expected different names for index"),
        ("def f(xs, k):\n    a = 0\n    for i, x in enumerate(xs, k): a += i\n    return a", "expected a value for 'k'"),
        ("def f(xs):\n    a = 0\n    for i, x in enumerate(xs, 0.5): a += i\n    return a", "expected an integer to start from"),
        (
            "def f(xs):\n    a = 0\n    for i, x in enumerate(xs, first=1): a += i\n    return a",
            "expected enumerate of a list and",
        ),
        ("def f(xs):\n    a = 0\n    for x in zip(xs, other=1): a += x\n    return a", "expected parameters of the function"),
        ("def f(xs):\n    return 1\n    a = 0\n    for x in xs: a += x\n    return a", "expected a loop before the first return"),
        (
            "def f(xs):\n    a = 0\n    for i in range(len(xs)):\n        i += 1\n        a += xs[i]\n    return a",
            "got another index",
        ),
        ("def f(xs, max):\n    a = 0\n    for x in xs: a += x\n    return a", "expected a parameter that is not called max"),
        ("def f(xs: int):\n    a = 0\n    for x in xs: a += x\n    return a", r"expected list\[...\] of int, bool, .*, got int"),
        (
            "def f(xs):\n    a = 0\n    for x in xs: a += x\n    for x in xs: a += x\n    return a",
            "expected one loop, got a second",
        ),
        ("def f(xs):\n    a = 0\n    for x in xs: a += x\n    return", "expected a value after return"),
        ("def f(xs):\n    a = 0\n    for x in xs: a += x\n    if a: return a", "expected all paths to return, or none"),
        ("def f(xs):\n    a = 0\n    for x in enumerate(xs): a += 1\n    return a", "expected index and element of enumerate"),
        (
            "def f(xs):\n    a = 0\n    for (i, j), x in enumerate(xs): a += x\n    return a",
            "expected a name for the index",
        ),
        ("def f(xs):\n    a = 0\n    for i, x in enumerate(xs, 1, 2): a += x\n    return a", "expected enumerate of a list and"),
        ("def f(xs, ys):\n    a = 0\n    for x, y, z in zip(xs, ys): a += x\n    return a", "expected 2 variables"),
        ("def f(xs, ys):\n    a = 0\n    for x in zip(xs, ys): a += 1\n    return a", "expected 2 variables"),
        ("def f(xs: list[tuple[int, int]]):\n    a = 0\n    for x, y, z in xs: a += x\n    return a", "expected 2 variables"),
        ("def f(xs: list[int]):\n    a = 0\n    for x, y in xs: a += x\n    return a", "SHAPE"),
        (
            "def f(xs):\n    out = []\n    for x in xs: out.append(x)\n    return x",
            "expected a scan to return the list it appends",
        ),
        ("def f(xs):\n    a = (1, 2)\n    for x in xs: a = x\n    return a", "expected a to keep its parts"),
        ("def f(xs):\n    a = 0\n    for x in xs: a += x\n    return (a, (a, 1))", "got a tuple in the result"),
        ("def g(v): pass\ndef f(xs):\n    a = 0\n    for x in xs: a += g(x)\n    return a", "expected g to return a value"),
        (
            "def g(v): return g(v)\ndef f(xs):\n    a = 0\n    for x in xs: a += g(x)\n    return a",
            "expected calls that end, got recursion",
        ),
        (
            "def f(xs):\n    a = None\n    for x in xs: a += x\n    return a",
            "got (None|one that may be None)(.|\n)*fix: Test it before",
        ),
        ("def f(xs):\n    a = 0\n    for x in xs: print(x)\n    return a", "an expression whose value is not used"),
        ("def f(xs, k: complex):\n    a = 0\n    for x in xs: a += x\n    return a", "got complex"),
        ("def f(xs, k: tuple[int, int]):\n    a = 0\n    for x in xs: a += x\n    return a", "expected one number, truth value"),
        ("def f(xs, *ys):\n    a = 0\n    for x in xs: a += x\n    return a", "expected plain parameters, got ys"),
        (
            "def f(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n        out.append(x)\n    return out",
            "expected one result appended for every element",
        ),
        (
            "def f(xs):\n    out = []\n    for x in xs:\n        if x: continue\n        out.append(x)\n    return out",
            "expected one result appended to out for every element",
        ),
        ("def f(xs):\n    a = float('inf')\n    for x in xs: a *= x\n    return a", r"expected finite numbers around \*"),
        ("def f(xs):\n    a = float('inf')\n    for x in xs: a //= 2\n    return a", "expected finite numbers around //"),
        (
            "def f(xs):\n    a = float('inf')\n    for x in xs: a = a ** 0\n    return a",
            "expected a value, got a power of an infinity",
        ),
        (
            "def f(xs):\n    a = float('inf')\n    for x in xs: a = 3 * a > a\n    return a",
            "got a comparison of values that may be",
        ),
        ("def f(xs):\n    a = float('inf')\n    for x in xs: a = (1, 2)[a]\n    return a", "expected a whole number as index"),
        (
            "def f(xs):\n    a = float('inf'); b = -a\n    for x in xs:\n        a = min(a, x); b = max(b, x)\n    return a + b",
            r"expected finite numbers around \+",
        ),
    ],
)
def test_refused_functions(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_loop(parse_module(text), "f")


def test_a_name_of_the_header_is_a_state_where_it_has_a_value_before() -> None:
    for text, wanted in (
        ("def f(xs):\n    x = 4\n    for x in xs: pass\n    return x", (4, 7)),
        ("def f(xs, a):\n    for x in xs: a += x\n    return a", (2, 10)),
        ("def f(ps: list[tuple[int, int]]):\n    p_0 = 2\n    for p in ps: p_0 += p[0]\n    return p_0", (2, 3)),
    ):
        module = parse_module(text)
        loop = read_loop(module, "f")
        found = lift(loop, user_function(module, "f"))
        assert found.verdict == "proved"
        assert found.operator is not None
        constants = [2] * len(loop.constants)
        elements = [(1,), (7,)] if len(loop.fields) == 1 else [(1, 5)]
        assert found.operator.run([], lambda n: 1, constants) == wanted[0]
        assert found.operator.run(elements, lambda n: 1, constants) == wanted[1]


def test_texts_that_are_carried_along_are_numbered_where_all_of_it_can_be() -> None:
    text = "def f(xs: list[int]):\n    w = 'p'\n    a = 0\n    for x in xs:\n"
    text += "        w = 'q' if x and {} else w\n        a += x\n    return {}"
    numbered = read_loop(parse_module(text.format("(w or 'r') == 'p'", "w == 'q' or a")), "f")
    assert [s.variable.sort.base for s in numbered.states] == ["int", "int"]
    kept = read_loop(parse_module(text.format("True", "w if a else 'p'")), "f")
    assert [s.variable.sort.base for s in kept.states] == ["text", "int"]


def test_literal_types_are_numbers() -> None:
    text = "from typing import Literal\nLevel = Literal[-1, 0, 1]\n"
    text += "def f(xs: list[Level]):\n    a = 0\n    for x in xs: a += x\n    return a"
    assert read_loop(parse_module(text), "f").fields[0].sort.values == (-1, 0, 1)


def test_an_operator_proved_over_integers_refuses_floats_where_nothing_says_integers() -> None:
    counted = "def f(xs{}):\n    n = 0\n    for x in xs:\n        if x > 0: n += 1\n    return n"
    module = parse_module(counted.format(""))
    operator = lift(read_loop(module, "f")).operator
    assert operator is not None
    element = evaluated(operator.lift_source(), "lift")
    assert [element(x) for x in (3, 0, True, 2.0, Fraction(-3))] == [1, 0, 1, 1, 0]  # type: ignore[operator]
    for wrong in (0.5, Fraction(1, 2), float("nan")):
        with pytest.raises(TypeError, match="x: whole numbers only"):
            element(wrong)  # type: ignore[operator]
    annotated = lift(read_loop(parse_module(counted.format(": list[int]")), "f")).operator
    assert annotated is not None
    assert "TypeError" not in annotated.lift_source()
    sums = parse_module("def f(xs):\n    a = 0\n    for x in xs: a = max(a + x, 0)\n    return a")
    scaled = lift(read_loop(sums, "f")).operator
    assert scaled is not None
    assert "TypeError" not in scaled.lift_source()  # holds of fractions, too
    above = parse_module("def f(xs: list[int], k):\n    n = 0\n    for x in xs: n += x > k\n    return n")
    with_constant = lift(read_loop(above, "f")).operator
    assert with_constant is not None
    assert "k % 1 != 0" in with_constant.lift_source()


def test_operators_that_nothing_annotates_are_of_integers() -> None:
    assert read_binary(parse_module("def op(a, b): return a == b"), "op").fields[0].sort.base == "int"
    assert read_binary(parse_module("def op(a: bool, b: bool): return a == b"), "op").fields[0].sort.base == "bool"
    assert read_binary(parse_module("def op(a, b): return (a + b) * 0.5"), "op").fields[0].sort.base == "real"
    with pytest.raises(UserError, match="expected expressions of moderate depth"):
        read_binary(parse_module(f"def op(a, b): return {'-' * 700}a + b"), "op")
    with pytest.raises(UserError, match="expected operands of one type, got two"):
        read_binary(parse_module("def op(a: int, b: float): return a"), "op")
    with pytest.raises(UserError, match=r"expected int, bool, .*, got complex"):
        read_binary(parse_module("def op(a: complex, b: complex): return a"), "op")
    with pytest.raises(UserError, match="expected assertions that some value meets, got none"):
        read_binary(parse_module("def op(a, b):\n    assert a > 0 and b > 0 and a < 0\n    return a"), "op")
    with pytest.raises(UserError, match="expected a result of the operands' type"):
        read_binary(parse_module("def op(a: int, b: int): return 'x'"), "op")


def test_every_form_of_the_table_is_read() -> None:
    for row in subset.ROWS:
        assert row.examples, row.name
        for example in row.examples:
            lines = "\n".join("        " + line for line in example.split("\n"))
            whole = example.startswith(("def", "import"))
            text = example if whole else f"def f(xs):\n    a = b = c = 0\n    for x in xs:\n{lines}\n    return a, b, c"
            read_loop(parse_module(text), "f")


def test_the_documentation_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scan.md").read_text()
    assert subset.table() in page
    assert subset.REFUSED in re.sub(r"\s+", " ", page)


@pytest.mark.parametrize(("module", "read_it", "inner"), [(binary, read_binary, "_read"), (loop_module, read_loop, "_Reader")])
def test_what_has_no_value_is_said_at_the_function(
    module: ModuleType, read_it: Callable[..., object], inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Wherever it shows, as long as no expression of the text is to blame."""

    def undefined(*_: object) -> object:
        raise ex.UndefinedError("the sum of opposite infinities")

    monkeypatch.setattr(module, inner, undefined)
    with pytest.raises(UserError, match=r"1:1: error\[UNDEFINED\]: expected a value, got the sum of opposite infinities"):
        read_it(parse_module("def f(xs):\n    return xs\n"), "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def op(a, b): return (a[0] + b[0], a[1])[0]", "expected a result of the operands' shape, got another"),
        ("def op(a, b): return a, b, a[0], b[1]", "expected a result of the operands' shape, got another"),
        ("def op(a: int, b: int): return 'p' if a else 'q'", "expected a result of the operands' type, got another"),
        ("def op(a: str, b: str): return 1", "expected a result of the operands' type, got another"),
        ("def op(a: complex, b): return a", "expected int, bool, .*, got complex"),
        ("def op(a, b, c): return a", "expected a function of two values, got 3 parameters"),
    ],
)
def test_refused_operators(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_binary(parse_module(text), "op")


def test_functions_are_those_of_the_file() -> None:
    """Not generators, nor functions of other files that have the same name in the same line."""
    other = parse_module("def g(v): return v + 1\n", "other.py")
    module = parse_module("def g(v): return v\ndef h(v):\n    yield v\n", "f.py")
    assert module.defined(module.scope["g"]) is not None and module.defined(module.scope["h"]) is None
    assert module.defined(other.scope["g"]) is None and module.defined(3) is None
