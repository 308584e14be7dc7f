"""Characters of a text as their codes: comparisons, ranges, `in`, `ord`, `int`, and what `str` says about one character.

A parameter annotated `str` is read so where the function asks for more than whether a character is a given one. Methods of `str`
mean here what they mean of ASCII characters; what is not one is refused by the printed `lift`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.reading.source import Function
from warploom.scan.reading.values import Character, Value

EMPTY = -1
"""Stands for the empty text, which comes before all characters."""
GREATEST = 0x10FFFF
ASCII = 127


def _ranges(code: Expr, *ranges: tuple[str, str]) -> Expr:
    tests = (ex.both(ex.at_least(code, ex.constant(ord(a))), ex.at_least(ex.constant(ord(b)), code)) for a, b in ranges)
    return ex.either(*tests)


TESTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "isdigit": (("0", "9"),),
    "isdecimal": (("0", "9"),),
    "isnumeric": (("0", "9"),),
    "isalpha": (("A", "Z"), ("a", "z")),
    "isalnum": (("0", "9"), ("A", "Z"), ("a", "z")),
    "isupper": (("A", "Z"),),
    "islower": (("a", "z"),),
    "isspace": (("\t", "\r"), ("\x1c", " ")),
}
"""Ranges of ASCII characters."""
CASES: Mapping[str, tuple[str, str, int]] = {"lower": ("A", "Z", 32), "upper": ("a", "z", -32)}
"""First and last character that each method changes, and the amount added to their codes."""
_ASKING = ("ord", "int")


def is_asked_for_codes(function: Function) -> bool:
    """Whether the function does more with texts than to compare them with literals by ==."""
    loops = [n for n in ast.walk(function.node) if isinstance(n, ast.For)]
    elements = {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for node in ast.walk(function.node):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in TESTS or name in CASES:
                return True
            case ast.Call(func=ast.Attribute(attr="index" | "find"), args=[_]):
                return True
            case ast.Assign(
                value=ast.Name(id=name) | ast.IfExp(body=ast.Name(id=name)) | ast.IfExp(orelse=ast.Name(id=name))
            ) if name in elements:
                return True  # it is kept
            case ast.Call(func=ast.Name(id=name)) if name in _ASKING:
                return True
            case ast.Compare(left=left, ops=ops, comparators=others):
                texts = [n for n in (left, *others) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                if texts and any(not isinstance(op, ast.Eq | ast.NotEq) for op in ops):
                    return True
            case _:
                pass
    return False


def character(name: str) -> Character:
    """A character of a text."""
    return Character(ex.variable(name, ex.INT))


def within(code: Expr, most: int) -> Expr:
    return ex.both(ex.at_least(code, ex.ZERO), ex.at_least(ex.constant(most), code))


def coded(value: Value) -> Character | None:
    """A literal text of at most one character; None: it is none."""
    if isinstance(value, Character):
        return value
    if isinstance(value, Expr) and value.op == "const" and isinstance(value.value, str) and len(value.value) <= 1:
        return Character(ex.constant(ord(value.value) if value.value else EMPTY))
    return None


def single(value: Value) -> Character | None:
    """A character or a literal text of one; not the empty text, which every text holds (`"" in "ab"`)."""
    found = coded(value)
    return None if found is not None and found.expr.op == "const" and found.expr.value == EMPTY else found


def test_of(name: str, code: Expr) -> Expr:
    return _ranges(code, *TESTS[name])


def case_of(name: str, code: Expr) -> Character:
    first, last, shift = CASES[name]
    return Character(ex.select(_ranges(code, (first, last)), ex.add(code, ex.constant(shift)), code))


def digit_of(code: Expr) -> Expr:
    return ex.subtract(code, ex.constant(ord("0")))


COMPARISONS: Mapping[type[ast.cmpop], Callable[[Expr, Expr], Expr]] = {
    ast.Eq: ex.equal,
    ast.NotEq: lambda a, b: ex.negation(ex.equal(a, b)),
    ast.Lt: lambda a, b: ex.more_than(b, a),
    ast.LtE: lambda a, b: ex.at_least(b, a),
    ast.Gt: ex.more_than,
    ast.GtE: ex.at_least,
}
