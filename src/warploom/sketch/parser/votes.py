"""Votes of a warp, comparisons of data as numbers, counts of ones, and words made of the bits of other words."""

from __future__ import annotations

import ast
from math import prod
from typing import Literal

from warploom.core import u32
from warploom.ir import Arith, Holds, IndexConst, Mixed, ValueConst, ValueExpr, ValueSelect, Vote
from warploom.operations import COMPARISONS, SIGN_OF_COMPARISON, WORD_OPERATIONS, ComparisonSign
from warploom.sketch import words
from warploom.sketch.operands import Data, Operand, describe
from warploom.sketch.parser.arguments import Arguments
from warploom.sketch.parser.calls import SPEC_WORDS, WORDS, WordHandler, handles
from warploom.sketch.parser.expressions import as_condition, evaluate, index, static_value, without_statements
from warploom.sketch.parser.numbers import adapt
from warploom.sketch.parser.state import State

SPEC_WORDS.update((words.holds, words.popc, words.byte_perm, words.lop3))
_ZERO, _ONE = ValueConst(0, u32), ValueConst(1, u32)


def _truth(state: State, node: ast.expr) -> ValueExpr:
    """A condition on indices, on data, or on both, as 1 or 0; or a u32 that counts as true if it is not 0."""
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [values[0], *values[1:]]
            result = _truth_later(state, parts[-1])
            for part in reversed(parts[:-1]):
                result = _joined(state, isinstance(op, ast.And), _truth_later(state, part), result)
            return result
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Arith("^", (_truth(state, operand), _ONE))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SIGN_OF_COMPARISON:
            a, b = evaluate(state, left), evaluate(state, right)
            if isinstance(a, Data) or isinstance(b, Data):
                return _compared(state, SIGN_OF_COMPARISON[type(op)], a, b, node)
        case _:
            pass
    operand = evaluate(state, node)
    if isinstance(operand, Data):
        if operand.dtype != u32:
            fix = "Compare it, for example with `!= 0`."
            raise state.problem("CONDITION_EXPECTED", f"expected a condition or a u32, got {describe(operand)}", node, fix)
        return operand.expr if _is_truth(operand.expr) else Holds("!=", operand.expr, _ZERO)
    condition = as_condition(state, operand, node)
    if isinstance(condition, IndexConst):
        return _ONE if condition.value else _ZERO
    return ValueSelect(condition, _ONE, _ZERO)


def _truth_later(state: State, node: ast.expr) -> ValueExpr:
    """One that Python evaluates only sometimes."""
    found = without_statements(state, node, lambda s, n: Data(_truth(s, n), u32))
    assert isinstance(found, Data)
    return found.expr


def _joined(state: State, is_and: bool, first: ValueExpr, rest: ValueExpr) -> ValueExpr:
    """A condition on indices guards what comes after it; of two comparisons of data both are evaluated."""
    if isinstance(first, ValueSelect) and (first.then, first.other) == (_ONE, _ZERO):
        return ValueSelect(first.cond, rest, _ZERO) if is_and else ValueSelect(first.cond, _ONE, rest)
    return Arith("&" if is_and else "|", (first, rest))


def _is_truth(value: ValueExpr) -> bool:
    return isinstance(value, Holds) or (isinstance(value, Vote) and value.kind in ("any", "all"))


def _compared(state: State, sign: ComparisonSign, a: Operand, b: Operand, node: ast.AST) -> ValueExpr:
    dtype = a.dtype if isinstance(a, Data) else b.dtype if isinstance(b, Data) else u32
    if dtype.lanes > 1:
        raise state.problem("DTYPE_MISMATCH", f"expected scalars to compare, got {dtype}", node, "Compare components.")
    for operand in (a, b):  # a spec compares in C's common type, which is this one only if both have it
        if isinstance(operand, Data) and operand.dtype != dtype:
            message = f"expected two values of one type to compare, got {dtype} and {operand.dtype}"
            raise state.problem("DTYPE_MISMATCH", message, node, f"Convert one: wl.cast({dtype}, ...).")
    return Holds(sign, adapt(state, a, dtype, node), adapt(state, b, dtype, node))


@handles(words.holds)
def _holds(state: State, args: Arguments) -> Operand:
    node = args.node("comparison")
    sign = static_value(state, node)
    if not isinstance(sign, str) or sign not in COMPARISONS:
        fix = 'Write for example wl.holds(x[i], "<", 3).'
        raise state.problem("ARGUMENTS", f"expected one of {' '.join(COMPARISONS)}, got {sign!r}", node, fix)
    a, b = evaluate(state, args.node("a")), evaluate(state, args.node("b"))
    if not isinstance(a, Data) and not isinstance(b, Data):
        message = f"expected data to compare, got {describe(a)} and {describe(b)}"
        raise state.problem("DATA_EXPECTED", message, args.call, "Give an element or a scalar.")
    return Data(_compared(state, COMPARISONS[sign].sign, a, b, args.call), u32)


def _vote_handler(kind: Literal["ballot", "any", "all", "match_any", "match_all"]) -> WordHandler:
    def read(state: State, args: Arguments) -> Operand:
        threads = prod(state.block)
        if state.warp_size > u32.bits or threads % state.warp_size:
            message = (
                f"expected whole warps of up to {u32.bits} lanes for a vote, got {threads} threads in warps of {state.warp_size}"
            )
            fix = f"Use a block of a multiple of {state.warp_size} threads."
            raise state.problem("VOTE_LANES", message, args.call, fix)
        is_match = kind in ("match_any", "match_all")
        value = _word(state, args.node("value")).expr if is_match else _truth(state, args.node("condition"))
        return Data(Vote(kind, value, state.span(args.call)), u32)

    return read


WORDS[words.ballot] = _vote_handler("ballot")
WORDS[words.any] = _vote_handler("any")
WORDS[words.all] = _vote_handler("all")
WORDS[words.match_any] = _vote_handler("match_any")
WORDS[words.match_all] = _vote_handler("match_all")


def _word(state: State, node: ast.expr) -> Data:
    operand = evaluate(state, node)
    widths = WORD_OPERATIONS["popc"].bits  # those of matches, too
    if not isinstance(operand, Data) or operand.dtype.is_float or operand.dtype.bits not in widths or operand.dtype.lanes > 1:
        got = describe(operand)
        raise state.problem("DTYPE_MISMATCH", f"expected a word of 32 or 64 bits, got {got}", node, "Write wl.cast(u32, ...).")
    return operand


@handles(words.popc)
def _popc(state: State, args: Arguments) -> Operand:
    operand = _word(state, args.node("value"))
    return Data(Arith("popc", (operand.expr,)), operand.dtype)


def _mixed(state: State, args: Arguments, op: Literal["byte_perm", "lop3"]) -> Operand:
    row, operands = WORD_OPERATIONS[op], list[ValueExpr]()
    control, most = row.control, row.control_bits
    for name in "abc"[: row.words]:
        node = args.node(name)
        operands.append(adapt(state, evaluate(state, node), u32, node))
    node = args.node(control)
    number = index(state, node, f"a {control}")
    if isinstance(number, IndexConst) and (not 0 <= number.value <= most or number.value & ~most):
        message = f"expected a {control} of the bits of {most:#x}, got {int(number.value):#x}"
        raise state.problem("ARGUMENTS", message, node, "Give another one.")
    return Data(Mixed(op, tuple(operands), number), u32)


@handles(words.byte_perm)
def _byte_perm(state: State, args: Arguments) -> Operand:
    return _mixed(state, args, "byte_perm")


@handles(words.lop3)
def _lop3(state: State, args: Arguments) -> Operand:
    return _mixed(state, args, "lop3")
