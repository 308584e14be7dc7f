"""Loops read from source, and what is said of those that cannot be."""

from __future__ import annotations

import pytest

from warploom.core import UserError
from warploom.scan import parse_module, read_loop
from warploom.scan.operators import expression as ex
from warploom.scan.operators.cases import _question
from warploom.scan.operators.parts import masked
from warploom.scan.operators.printing import python
from warploom.scan.operators.relations import _relation, guessed_facts


def states(text: str, name: str = "f") -> dict[str, tuple[str, str]]:
    loop = read_loop(parse_module(text), name)
    return {s.name: (python(s.initial), python(s.step)) for s in loop.states}


def test_conditionals_become_selections() -> None:
    text = """
def f(xs):
    best = 0
    for x in xs:
        if x > best:
            best = x
    return best
"""
    assert states(text) == {"best": ("0", "max(x, best)")} or states(text) == {"best": ("0", "max(best, x)")}


@pytest.mark.parametrize(
    "header",
    ["for i, x in enumerate(xs):", "for i in range(len(xs)):\n        x = xs[i]"],
)
def test_the_index_is_a_state_that_counts(header: str) -> None:
    text = f"""
def f(xs):
    at = -1
    {header}
        if x == 3:
            at = i
    return at
"""
    assert states(text)["i"] == ("0", "i + 1")
    assert states(text)["at"] in (("-1", "i if x == 3 else at"), ("-1", "i if xs_item == 3 else at"))


def test_several_lists_and_tuples() -> None:
    loop = read_loop(
        parse_module("""
def f(xs, ys):
    n = 0
    for x, y in zip(xs, ys):
        n += x != y
    return n
"""),
        "f",
    )
    assert loop.lists == ("xs", "ys")
    assert [str(f.value) for f in loop.fields] == ["x", "y"]
    loop = read_loop(
        parse_module("""
def f(items: list[tuple[int, bool]]):
    acc = 0
    out = []
    for v, head in items:
        acc = v if head else acc + v
        out.append(acc)
    return out
"""),
        "f",
    )
    assert loop.is_scan
    assert [f.sort.base for f in loop.fields] == ["int", "bool"]
    assert [python(o) for o in loop.outputs] == ["acc"]


def test_remainders_of_states_get_states_of_few_values() -> None:
    text = """
def f(xs):
    n = 0
    for x in xs:
        n += 1
    return n % 2 == 0
"""
    loop = read_loop(parse_module(text), "f")
    rest = next(s for s in loop.states if s.name == "n_mod_2")
    assert rest.variable.sort.values == (0, 1)


def test_what_no_result_needs_is_left_out() -> None:
    text = """
def f(xs):
    a = b = 0
    for x in xs:
        a += x
        b += a
    return a
"""
    assert list(states(text)) == ["a"]


def test_functions_of_the_file_are_inlined_and_continue_is_read() -> None:
    text = """
LIMIT = 10

def clip(x):
    return min(x, LIMIT)

def f(xs):
    acc = 0
    for x in xs:
        if x < 0:
            continue
        acc += clip(x)
    return acc
"""
    step = states(text)["acc"][1]
    assert "min(" in step
    assert " if x >= 0 else acc" in step


def body(line: str, header: str = "for x in xs:", after: str = "return a") -> str:
    return f"def f(xs):\n    a = 0\n    {header}\n        {line}\n    {after}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (body("with x: break"), r"f\.py:4:9: error\[LOOP_UNSUPPORTED\]: expected assignments and conditionals, got With"),
        (body("a += xs[a]"), r"f\.py:4:14: error\[UNBOUND\]: expected a value for 'xs', got none on some path"),
        (body("a += y"), r"f\.py:4:14: error\[UNBOUND\]: expected a value for 'y', got none on some path"),
        (body("a = sorted(x)"), r"f\.py:4:13: error\[LOOP_UNSUPPORTED\]: expected a function that is known here, got sorted"),
        (body("a, b = x"), r"f\.py:4:9: error\[SHAPE\]: expected 2 values, got one value"),
        (body("a = x // a"), r"f\.py:4:13: error\[LOOP_UNSUPPORTED\]: expected a constant that is not 0 on the right"),
        (body("a += x", header="while a < 3:"), r"f\.py:3:5: error\[LOOP_UNSUPPORTED\]: expected a for loop over a list"),
        (body("a += x", header="for x in range(3):"), r"f\.py:3:14: error\[LOOP_UNSUPPORTED\]: expected a loop over a parameter"),
        (body("a += x", after="pass"), r"f\.py:1:1: error\[NO_RESULT\]: expected f to return a value"),
        (
            "def g(xs):\n    return 1\n",
            r"f\.py:1:1: error\[UNKNOWN_FUNCTION\]: expected a function called 'f', the file defines: g",
        ),
        ("def f(xs):\n    return 1\n", r"f\.py:1:1: error\[LOOP_UNSUPPORTED\]: expected a loop in f, got none"),
        ("def f(xs:\n", r"f\.py:1:6: error\[SYNTAX\]: invalid Python"),
    ],
)
def test_errors_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(UserError, match="^" + message) as caught:
        read_loop(parse_module(text, "f.py"), "f")
    assert caught.value.diagnostics[0].fix


@pytest.mark.parametrize(("count", "fits"), [(1, True), (11, True), (12, False)])
def test_so_many_different_divisors(count: int, fits: bool) -> None:
    tests = "".join(f"        if n % {d} == 0:\n            best = max(best, x)\n" for d in range(2, 2 + count))
    text = f"def f(xs):\n    n = 0\n    best = 0\n    for x in xs:\n        n += 1\n{tests}    return best\n"
    if fits:
        assert len(states(text)) == 2 + count
    else:
        with pytest.raises(UserError, match="Use fewer different divisors"):
            states(text)


def test_columns_that_stand_in_a_relation() -> None:
    flag, number = ex.variable("p", ex.BOOL), ex.variable("n", ex.INT)
    flags = [ex.constant(v) for v in (True, False, True)]
    opposite = [ex.constant(not v) for v in (True, False, True)]
    assert _relation(flag, flags, flags) is flag
    assert _relation(flag, flags, opposite) is ex.negation(flag)
    assert _relation(flag, flags, [ex.constant(v) for v in (False, False, False)]) is None
    assert _relation(flag, flags, [ex.constant(v) for v in (0, 1, 0)]) is None
    numbers = [ex.constant(v) for v in (1, 2, 5)]
    more, less = ([ex.constant(v) for v in values] for values in ((4, 5, 8), (4, 3, 0)))
    assert python(_relation(number, numbers, more)) == python(ex.add(number, ex.constant(3)))
    assert python(_relation(number, numbers, less)) == python(ex.add(ex.multiply(ex.constant(-1), number), ex.constant(5)))
    assert _relation(number, numbers, [ex.constant(v) for v in (2, 4, 10)]) is None


def test_facts_hold_of_all_samples_and_only_of_plain_numbers() -> None:
    x, y, z = ex.variable("x", ex.INT), ex.variable("y", ex.INT), ex.variable("z", ex.Sort("int", above=True))
    columns = {
        x: [ex.constant(v) for v in (1, 4, 9)],
        y: [ex.constant(v) for v in (0, 4, 5)],
        z: [ex.constant(v) for v in (0, 1, 2)],
    }
    assert [python(f) for f in guessed_facts(columns)] == [
        python(f) for f in (ex.at_least(x, ex.constant(1)), ex.at_least(x, ex.ZERO), ex.at_least(x, y), ex.at_least(y, ex.ZERO))
    ]
    below = {x: [ex.constant(v) for v in (-3, 0)]}
    assert [python(f) for f in guessed_facts(below)] == [python(ex.at_least(ex.ZERO, x))]


def test_what_is_asked_first_to_tell_two_expressions_apart() -> None:
    x, p = ex.variable("x", ex.INT), ex.variable("p", ex.BOOL)
    positive = ex.at_least(x, ex.constant(1))
    assert _question(positive, ex.TRUE) is positive and _question(p, ex.TRUE) is p
    assert _question(ex.select(positive, x, ex.ZERO), x) is positive
    assert _question(x, ex.add(x, ex.constant(1))) is None


def test_only_a_choice_between_numbers_is_decided_in_a_comparison() -> None:
    p, few = ex.variable("p", ex.BOOL), ex.variable("y", ex.Sort("int", values=(0, 2)))
    assert ex.at_least(ex.select(p, ex.constant(2), ex.ZERO), ex.constant(1)) is p
    assert ex.at_least(ex.select(p, ex.constant(2), few), ex.constant(1)).op == "ge"


def test_text_that_python_does_not_even_read_is_refused_at_its_start() -> None:
    with pytest.raises(UserError) as caught:
        parse_module("x = '\ud800'", "file.py")
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line, found.span.column, found.span.end_line, found.span.end_column) == ("SYNTAX", 1, 1, 1, 1)


@pytest.mark.parametrize("sign", ["//", "%", "<<", ">>"])
def test_operations_of_whole_numbers_refuse_floats(sign: str) -> None:
    text = "def f(xs: list[{}]):\n    total = 0\n    for x in xs:\n        total = total + (x {} 2)\n    return total\n"
    assert states(text.format("int", sign))
    with pytest.raises(UserError):
        states(text.format("float", sign))


def test_each_part_that_a_scan_returns_is_a_list_it_appends_to() -> None:
    text = "def f(xs):\n    s = 0\n    out = []\n    for x in xs:\n        s += x\n        out.append(s)\n    return out, s\n"
    with pytest.raises(UserError, match="expected a scan to return the list it appends to"):
        read_loop(parse_module(text), "f")


def _domain_fields(text: str) -> tuple[list[str], list[str]]:
    loop = read_loop(parse_module(text), "f")
    return [str(f.value) for f in loop.fields], [python(a) for a in loop.assumed]


@pytest.mark.parametrize(
    ("before", "header", "test", "after"),
    [
        ("p = None", "for c in s", "p is not None and p.isalpha()", "n"),
        ("p = s[0]", "for c in s[1:]", "p.isupper() and c == 'b'", "n"),
        ("p = None", "for c in s", "c == 'b' and p is not None and p.lower() == 'b'", "n"),
        ("p = None", "for c in s", "p is not None and p != 'b' and int(p) > 2", "n"),
        ("p = None", "for c in s", "n < 0", "p is not None and p.isdigit()"),
        ("p = 0", "for c, d in zip(s, s[1:])", "c.isalpha()", "n"),
    ],
)
def test_characters_that_a_state_keeps_are_of_ascii_where_methods_ask(before: str, header: str, test: str, after: str) -> None:
    kept = "p = 0" if "zip" in header else "p = c"
    text = f"def f(s: str):\n    n = 0\n    {before}\n    {header}:\n        n += {test}\n        {kept}\n    return {after}\n"
    (field,), assumed = _domain_fields(text)
    assert any(f"{field} < 128" in a for a in assumed)


def test_a_character_beyond_ascii_is_kept_in_no_state_that_methods_ask() -> None:
    text = """
def f(s: str):
    n = 0
    p = None
    for c in s:
        n += 300 if p is not None and p.isalpha() else 0
        p = LITERAL if c == "x" else c
    return n
"""
    assert read_loop(parse_module(text.replace("LITERAL", "'e'")), "f").assumed
    text = text.replace("LITERAL", "'\u00e9'")
    with pytest.raises(UserError, match="expected characters of ASCII"):
        read_loop(parse_module(text), "f")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "best = None\n    for x in xs:\n        if x == 0:\n            return best\n        best = x\n    return 7",
            "what is not None",
        ),
        ("for x in xs:\n        if x > 2:\n            return None if x == 4 else x\n    return 0", "what is not None"),
        (
            "t = 0\n    i = 0\n    while i < len(xs) and xs[i] > 0:\n        i += 1\n    else:\n        t = 9\n    return t",
            "got while",
        ),
        (
            "out = [xs[0]]\n    for x in xs[1:]:\n        if x < 0:\n            continue\n        out.append(x)\n    return out",
            "one result",
        ),
        (
            "out = [xs[0]]\n    for x in xs[1:]:\n        if x < 0:\n            break\n        out.append(x)\n    return out",
            "one result",
        ),
        (
            "out = [xs[0]]\n    for x in xs[1:]:\n        out.append(x)\n        if x < 0:\n            break\n    return out",
            "one result",
        ),
    ],
)
def test_forms_that_would_mean_something_else_are_refused(body: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_loop(parse_module(f"def f(xs: list[int]):\n    {body}\n"), "f")


@pytest.mark.parametrize("operation", ["gcd(g, x)", "g & x", "g | x", "g ^ x"])
def test_folds_of_whole_numbers_begin_with_no_infinity(operation: str) -> None:
    head = "from math import gcd\ndef f(xs: list[int]):\n    g = xs[0]\n"
    text = f"{head}    for x in xs[1:]:\n        g = {operation}\n    return g\n"
    assert read_loop(parse_module(text), "f").needs_element


def test_a_frozen_dataclass_that_reads_its_fields_otherwise_is_no_record() -> None:
    text = """
from dataclasses import dataclass
@dataclass(frozen=True)
class P:
    x: int
    def __getattribute__(self, name):
        return 42
def f(xs: list[int]):
    p = P(0)
    for x in xs:
        p = P(x)
    return p.x
"""
    with pytest.raises(UserError, match="expected a dataclass with plain fields"):
        read_loop(parse_module(text), "f")


RECORDS = {
    "a property in a field's place": ("@dataclass\n", "R.x = property(lambda r: 7, lambda r, v: None)"),
    "a property that gives what no number is": ("@dataclass\n", "R.x = property(lambda r: 7 if r.y == 1 else r._x, set_x)"),
    "no place for a field": ("@dataclass(slots=True)\n", "R.y = 1"),
    "fields of a tuple that have changed places": ("", "R.x, R.y = R.y, R.x"),
    "fields of a tuple under each other's names": ("", "R._fields = 'y', 'x'; R.x, R.y = R.y, R.x"),
    "a tuple the other way round": (
        "",
        "exec('def new(c, x, y): return tuple.__new__(c, (y, x))'); R.__new__ = new; R.x, R.y = R.y, R.x",
    ),
}


def record(head: str, changed: str) -> str:
    return f"""
from dataclasses import dataclass
from typing import NamedTuple
def set_x(r, v):
    r._x = v
{head}class R{"" if head else "(NamedTuple)"}:
    x: int
    y: int = 1
{changed}
def f(xs: list[int]):
    r = R(0, 1)
    t = 0
    for v in xs:
        t += r.x + 2 * r.y
        r = R(v)
    return t
"""


@pytest.mark.parametrize("name", RECORDS)
def test_a_class_that_was_changed_is_no_record(name: str) -> None:
    with pytest.raises(UserError, match="expected a dataclass with plain fields"):
        read_loop(parse_module(record(*RECORDS[name])), "f")


@pytest.mark.parametrize(
    ("head", "changed"), [("@dataclass\n", "R.__init__.__defaults__ = (5,)"), ("", "R.__new__.__defaults__ = (5,)")]
)
def test_defaults_of_a_record_are_those_that_its_making_has(head: str, changed: str) -> None:
    loop = read_loop(parse_module(record(head, changed)), "f")
    assert ex.constant(5) in {s.step for s in loop.states}


@pytest.mark.parametrize("made", ["Missing({1: 2})", "defaultdict(int, {1: 2})", "Counter({1: 2})"])
def test_a_table_of_another_class_may_hold_more_than_its_keys(made: str) -> None:
    text = f"""
from collections import Counter, defaultdict
class Missing(dict):
    def __missing__(self, key):
        return 7
TABLE = {made}
def f(xs: list[int]):
    n = 0
    for x in xs:
        n += TABLE[x]
    return n
"""
    with pytest.raises(UserError, match="got TABLE: a value of type"):
        read_loop(parse_module(text), "f")


def test_no_variable_of_characters_holds_the_empty_text_which_every_text_contains() -> None:
    text = """
def f(s: str):
    n = 0
    p = None
    for c in s:
        n += p is not None and p in "ab"
        p = "" if c == "x" else c
    return n
"""
    with pytest.raises(UserError, match="expected values of one type on both paths"):
        read_loop(parse_module(text), "f")


def test_a_mask_beside_two_other_operands_is_a_remainder() -> None:
    loop = read_loop(
        parse_module("def f(xs: list[int]):\n    g = -1\n    for x in xs:\n        g = g & x & 15\n    return g\n"), "f"
    )
    (step,) = [s.step for s in masked(loop).states]
    assert (step.op, step.value) == ("mod", 16) and len(step.args[0].args) == 2
