"""Rules that plant semantic bugs: what people really get wrong in compilers and provers.

comparison  < for <=, == for !=, `in` for `not in`
connective  one operand of `and` or `or` is gone: a law without its condition
negation    a `not`, or the sign of a number or of an infinity, is gone
arithmetic  + for -, * for +, // for *; a mask (`& m`) is ignored, `|` becomes `&`
constant    an integer is one too large; True for False
extremum    min for max, all for any
range       a range ends one early
row         two neighbouring entries of a table change their values
check       the condition of an `if` without else never holds
statement   a call or an update that stands alone is dropped
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from benchmarks.mutants.sites import Edit, Form, Site, Text, applied, numbered
from benchmarks.mutants.walk import Place, places

Edits = Iterator[tuple[ast.expr | ast.stmt, str]]
"""Nodes, and the text that replaces each."""
Rule = Callable[[Text, Place], Edits]

_COMPARE = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in",
    ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "//", ast.BitOr: "&", ast.BitXor: "|",
    ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip
_WORDS = {"min": "max", "max": "min", "all": "any", "any": "all"}


def _comparison(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield node, f"({text.of(node.left)}) {_COMPARE[type(node.ops[0])]} ({text.of(node.comparators[0])})"


def _connective(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.BoolOp):
        for gone in node.values:
            kept = [text.of(v) for v in node.values if v is not gone]
            word = " and " if isinstance(node.op, ast.And) else " or "
            yield node, "(" + word.join(f"({k})" for k in kept) + ")"


def _negation(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node, f"({text.of(node.operand)})"
    elif isinstance(node, ast.Attribute) and node.attr == "inf":
        yield node, f"(-{text.of(node)})"


def _arithmetic(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        yield node, f"{text.of(node.target)} {_ARITHMETIC[type(node.op)]}= ({text.of(node.value)})"
    if not isinstance(node, ast.BinOp):
        return
    if isinstance(node.op, ast.BitAnd):
        yield node, f"({text.of(node.left)})"
    elif type(node.op) in _ARITHMETIC and not _is_text(node):
        yield node, f"({text.of(node.left)}) {_ARITHMETIC[type(node.op)]} ({text.of(node.right)})"


def _is_text(node: ast.BinOp) -> bool:
    """Joined or formatted strings and lists: another operator is no bug but a crash."""
    sides = (node.left, node.right)
    return any(
        isinstance(s, ast.JoinedStr | ast.List | ast.Tuple) or (isinstance(s, ast.Constant) and isinstance(s.value, str | bytes))
        for s in sides
    )


def _constant(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node, str(node.value + 1)


def _extremum(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _WORDS:
        yield node, _WORDS[node.func.id] + text.of(node).removeprefix(node.func.id)


def _range(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) < 3:
        end = node.args[-1]
        if not isinstance(end, ast.Starred):
            yield end, f"({text.of(end)}) - 1"


def _row(text: Text, place: Place) -> Edits:
    node = place.node
    if not isinstance(node, ast.Dict) or not all(isinstance(k, ast.Constant | ast.Attribute | ast.Name) for k in node.keys):
        return
    for one, other in zip(node.values, node.values[1:], strict=False):
        first, second = text.of(one), text.of(other)
        if first != second:
            (start, middle), (resume, end) = text.range_of(one), text.range_of(other)
            whole, stop = text.range_of(node)
            swapped = second + text.source(middle, resume) + first
            yield node, text.source(whole, start) + swapped + text.source(end, stop)


def _check(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.If) and not node.orelse:
        yield node.test, "False"


def _statement(text: Text, place: Place) -> Edits:
    node = place.node
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield node, "pass"


RULES: dict[str, Rule] = {
    "comparison": _comparison, "connective": _connective, "negation": _negation, "arithmetic": _arithmetic,
    "constant": _constant, "extremum": _extremum, "range": _range, "row": _row, "check": _check, "statement": _statement,
}  # fmt: skip


def mutants(text: Text) -> list[Site]:
    """All bugs that the rules plant in a file; a few of them do not compile (`compiles`)."""
    found: list[Site] = []
    for place in places(text.tree):
        for name, rule in RULES.items():
            for node, new in rule(text, place):
                if (before := text.of(node)) == new:
                    continue
                form: Form = "condition" if name == "check" else "statement" if isinstance(node, ast.stmt) else "expression"
                edit = Edit(*text.range_of(node), new)
                inside = place.function is not None
                found.append(Site(text.path, place.scope, name, node.lineno, edit, before, form, inside))
    return list(numbered(found))


def compiles(text: Text, site: Site) -> bool:
    """Whether the file with the bug is still Python."""
    try:
        ast.parse(applied(text.data, [site.edit]))
    except SyntaxError:
        return False
    return True
