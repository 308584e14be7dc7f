"""Maps as text: an integer expression in `r` and `c`, read as Python, evaluated on arrays and printed for other languages.

expression := integer | r | c | brev(expression, bits) | expression op expression | -expression | ~expression
            | expression if comparison else expression;  op: + - * // % & | ^ << >>
`brev(x, n)` reverses the low n bits of x, which is one instruction of a GPU.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

import numpy as np

from warploom.core import Diagnostic, Span, UserError
from warploom.ctext import Text, binary, call, chain, conditional, unary
from warploom.layout.accesses import Ints
from warploom.layout.tiles import Tile
from warploom.operations import COMPARISONS, SIGN_OF, SIGN_OF_COMPARISON, numpy_function

Language: TypeAlias = Literal["python", "cuda", "numpy", "tilelang"]
"""NumPy's arrays and TileLang's terms have no truth value, so that their conditions are functions."""
_CHOICES: dict[Language, str] = {"numpy": "np.where", "tilelang": "T.if_then_else"}
_SIGNS = {node: sign for node, sign in SIGN_OF.items() if sign != "/"}
_LONGEST = 4000
_DEEPEST = 100
"""Expressions inside one another that may need parentheses: Python reads 200."""
LARGEST = 1 << 40
"""Places, and what leads to them, stay below."""


def parse(text: str, names: tuple[str, ...] = ("r", "c")) -> ast.expr:
    """The expression; UserError (MAP)."""
    try:
        if len(text) > _LONGEST:
            raise SyntaxError("too long")
        found = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(f"expected an expression in {' and '.join(names)} such as 'r*32 + (c ^ r)'", text, 0) from error
    _check(found, text, names)
    return found


def exchanged(node: ast.expr) -> ast.expr:
    """The expression with r and c in each other's place."""
    copied = ast.parse(ast.unparse(node), mode="eval").body
    for part in ast.walk(copied):
        if isinstance(part, ast.Name) and part.id in ("r", "c"):
            part.id = "c" if part.id == "r" else "r"
    return copied


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text that is known to be an expression."""
    return tuple(dict.fromkeys(re.findall(r"[a-z]\w*", text)))


def _check(node: ast.expr, text: str, names: tuple[str, ...], depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise _wrong(f"expected at most {_DEEPEST} expressions inside one another", text, node.col_offset, text)
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool) and abs(value) < 1 << 31:
            return
        case ast.Name(id=name) if name in names:
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            parts = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            parts = [operand]
        case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body, orelse=other) if (
            type(op) in SIGN_OF_COMPARISON
        ):
            parts = [left, right, body, other]
        case ast.Call(func=ast.Name(id="brev"), args=[inner, ast.Constant(value=int(bits))], keywords=[]) if 1 <= bits <= 31:
            parts = [inner]
        case _:
            raise _wrong(
                f"expected integers, {', '.join(names)}, + - * // % & | ^ << >>, brev(x, bits) and a if b < c else d",
                ast.unparse(node), node.col_offset, text,
            )  # fmt: skip
    for part in parts:
        is_chain = (
            isinstance(node, ast.BinOp) and isinstance(part, ast.BinOp) and part is node.left and type(part.op) is type(node.op)
        )
        _check(part, text, names, depth if is_chain else depth + 1)


def _wrong(expected: str, got: str, column: int, text: str = "") -> UserError:
    span = Span("<map>", 1, column + 1, 1, column + 1 + max(1, len(got)), text or got)
    return UserError(Diagnostic("MAP", f"{expected}, got {got[:80]!r}", span))


def places(node: ast.expr, tile: Tile) -> Ints:
    """Value for each element of the tile, by row and column; UserError (MAP) where a step has none."""
    element = np.arange(tile.elements, dtype=np.int64)
    values = {"r": element // tile.columns, "c": element % tile.columns}
    with np.errstate(all="ignore"):
        return np.broadcast_to(evaluate(node, values), element.shape).astype(np.int64)


def evaluate(node: ast.expr, values: Mapping[str, Ints]) -> Ints:
    """The expression on arrays of 64-bit integers."""
    match node:
        case ast.Constant(value=int(value)):
            return np.asarray(value, dtype=np.int64)
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluate(operand, values)
        case ast.UnaryOp(operand=operand):
            return ~evaluate(operand, values)
        case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body, orelse=other):
            holds = COMPARISONS[SIGN_OF_COMPARISON[type(op)]].holds(evaluate(left, values), evaluate(right, values))
            return np.where(holds, evaluate(body, values), evaluate(other, values))
        case ast.Call(args=[inner, ast.Constant(value=int(bits))]):
            given = evaluate(inner, values)
            return cast(Ints, sum(((given >> i) & 1) << (bits - 1 - i) for i in range(bits)))
        case ast.BinOp(left=left, op=op, right=right):
            try:
                return _apply(op, evaluate(left, values), evaluate(right, values))
            except _StepError as error:
                text = ast.unparse(node)
                raise _wrong(f"expected {error}", text, 0, text) from error
        case _:
            raise AssertionError(ast.dump(node))


class _StepError(ValueError):
    """A step of an expression does not get what it needs."""


def _apply(op: ast.operator, left: Ints, right: Ints) -> Ints:
    symbol = _SIGNS[type(op)]
    if symbol in ("//", "%") and (right <= 0).any():
        raise _StepError("to divide by positive numbers")
    if symbol in ("<<", ">>") and ((right < 0) | (right > 31)).any():
        raise _StepError("shifts by 0 to 31")
    if symbol in ("+", "-", "*", "<<"):
        size = np.abs(left.astype(np.float64)), np.abs(right.astype(np.float64))
        reached = size[0] * 2.0 ** size[1] if symbol == "<<" else size[0] * size[1] if symbol == "*" else size[0] + size[1]
        if (reached >= LARGEST).any():
            raise _StepError("values below 2^40")
    return cast(Ints, numpy_function(symbol)(left, right))


def as_text(node: ast.expr, language: Language = "python") -> str:
    """The expression in that language; all but CUDA's have `brev` written out, so that any reader can evaluate it."""
    return _printed(node, language).text


def _printed(node: ast.expr, language: Language) -> Text:
    match node:
        case ast.Constant(value=int(value)):
            return Text(str(value))
        case ast.Name(id=name):
            return Text(name)
        case ast.UnaryOp(op=op, operand=operand):
            return unary("-" if isinstance(op, ast.USub) else "~", _printed(operand, language))
        case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body, orelse=other):
            test = binary(SIGN_OF_COMPARISON[type(op)], _printed(left, language), _printed(right, language))
            if language == "cuda":
                return conditional(test, _printed(body, language), _printed(other, language))
            if language in _CHOICES:
                return call(_CHOICES[language], test.text, _printed(body, language).text, _printed(other, language).text)
            return Text(f"{_printed(body, language).text} if {test.text} else {_printed(other, language).text}", 0)
        case ast.Call(args=[inner, ast.Constant(value=int(bits))]):
            if language == "cuda":
                return Text(f"(int)(__brev({_printed(inner, language).text}) >> {32 - bits})", 14)
            return _printed(_written_out(inner, bits), language)
        case ast.BinOp(op=ast.BitXor()):
            return chain("^", [_printed(part, language) for part in _summands(node, language)])
        case ast.BinOp(left=left, op=op, right=right):
            symbol = _SIGNS[type(op)]
            level = {"//": "*", "%": "*"}.get(symbol, symbol)
            found = binary(level, _printed(left, language), _printed(right, language), inner=0 if level in "*+-" else 14)
            if level == symbol:
                return found
            shown = "/" if symbol == "//" and language == "cuda" else symbol
            inner_left, inner_right = _printed(left, language), _printed(right, language)
            return Text(f"{inner_left.at(14)} {shown} {inner_right.at(14)}", found.level)
        case _:
            raise AssertionError(call("unreachable", ast.dump(node)))


def _summands(node: ast.expr, language: Language) -> list[ast.expr]:
    """The operands that `a ^ b ^ c` joins, grouped in any way: xor is associative."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        return [*_summands(node.left, language), *_summands(node.right, language)]
    if isinstance(node, ast.Call) and language != "cuda":
        return _summands(_written_out(*_reversal(node)), language)
    return [node]


def _reversal(node: ast.Call) -> tuple[ast.expr, int]:
    inner, bits = node.args
    assert isinstance(bits, ast.Constant)
    return inner, cast(int, bits.value)


def _written_out(inner: ast.expr, bits: int) -> ast.expr:
    """The reversed bits as shifts and masks."""
    found: ast.expr | None = None
    for i in range(bits):
        distance = bits - 1 - 2 * i
        moved = (
            inner
            if not distance
            else ast.BinOp(inner, ast.LShift() if distance > 0 else ast.RShift(), ast.Constant(abs(distance)))
        )
        bit = ast.BinOp(moved, ast.BitAnd(), ast.Constant(1 << (bits - 1 - i)))
        found = bit if found is None else ast.BinOp(found, ast.BitXor(), bit)
    assert found is not None
    return found
