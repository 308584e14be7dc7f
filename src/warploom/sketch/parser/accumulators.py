"""Accumulators: `wl.accumulator(...)`, `acc.add(...)`, `acc.value()`."""

from __future__ import annotations

import ast
from typing import assert_never, cast

from warploom.core import DType
from warploom.ir import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Cast,
    Component,
    FromIndex,
    Holds,
    IndexConst,
    MakeVector,
    Mixed,
    Read,
    SetValue,
    Shuffle,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
)
from warploom.sketch import fold, words
from warploom.sketch.literals import number_of
from warploom.sketch.operands import Accumulators, Data, Group, Local, Method, Operand, Static, describe
from warploom.sketch.operators import UserOperator
from warploom.sketch.parser.arguments import Arguments
from warploom.sketch.parser.calls import NOTHING, effect, handles
from warploom.sketch.parser.expressions import CALLS, condition, dtype_argument, evaluate, static_int, static_value
from warploom.sketch.parser.functions import apply_function
from warploom.sketch.parser.numbers import adapt
from warploom.sketch.parser.operator_bodies import identity_of, operator_name
from warploom.sketch.parser.state import State


@handles(words.accumulator)
def _accumulator(state: State, args: Arguments) -> Operand:
    dtype = dtype_argument(state, args.node("dtype"))
    op = _operator(state, args, "op", "+")
    inner = _operator(state, args, "inner", "*")
    levels = tuple(cast("tuple[object, ...]", inner)) if isinstance(inner, tuple | list) else (inner,)
    outer = operator_name(state, op, dtype, args.call)
    # the default inner operator is only looked at when something is combined with it
    names = tuple(operator_name(state, level, dtype, args.call) for level in levels) if args.has("inner") else ("*",)
    shape = _shape(state, args)
    name = state.declared_name("acc", args.call)
    finalize = _finalize(state, args, dtype)
    state.emit(Accumulator(name, dtype, shape, outer, _initial(state, args, op, dtype), finalize.expr, state.span(args.call)))
    return Accumulators(name, dtype, finalize.dtype, shape, names)


def _operator(state: State, args: Arguments, name: str, default: str) -> object:
    return static_value(state, args.node(name)) if args.has(name) else default


def _shape(state: State, args: Arguments) -> tuple[int, ...]:
    node = args.optional("shape")
    if node is None:
        return ()
    extents = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    shape = tuple(static_int(state, e, "an extent") for e in extents)
    if any(e < 1 for e in shape):
        raise state.problem("SHAPE_MISMATCH", f"expected positive extents, got {shape}", node, "Use 1 or more.")
    return shape


def _initial(state: State, args: Arguments, op: object, dtype: DType) -> int | float:
    node = args.optional("init")
    value = number_of(evaluate(state, node)) if node is not None else identity_of(op, dtype)
    if value is None:
        what = "init to be a number known now" if node is not None else f"init, as operator {_name(op)!r} has no identity"
        raise state.problem("ARGUMENTS", f"expected {what}", node or args.call, "Write for example init=0.")
    if dtype.is_float:
        return float(value)
    if isinstance(value, float):
        raise state.problem("DTYPE_MISMATCH", f"expected init of type {dtype}, got {value}", node or args.call, "Use an integer.")
    return value


def _name(op: object) -> str:
    return op.name if isinstance(op, UserOperator) else str(op)


def _finalize(state: State, args: Arguments, dtype: DType) -> Data:
    result = Data(ValueVar("$state"), dtype)
    node = args.optional("finalize")
    if node is None:
        return result
    function = evaluate(state, node)
    if not isinstance(function, Local | Static):
        raise state.problem(
            "ARGUMENTS", f"expected a function for finalize, got {describe(function)}", node, "Write `lambda s: s / 3`."
        )
    final = apply_function(state, function, (result,), node, "finalize")
    return final if isinstance(final, Data) else Data(adapt(state, final, dtype, node, "the result of finalize"), dtype)


def call_method(state: State, call: ast.Call, called: Operand) -> Operand | None:
    if not isinstance(called, Method):
        return None
    owner = called.owner
    if len(owner.prefix) != len(owner.shape):
        given = f"expected {len(owner.shape)} indices of the accumulator array {owner.name!r}, got {len(owner.prefix)}"
        raise state.problem("RANK", given, call, f"Write {owner.name}[i].{called.name}(...).")
    if called.name == "value":
        if call.args or call.keywords:
            raise state.problem("ARGUMENTS", "value() takes no arguments", call, f"Write {owner.name}.value().")
        return Data(Accumulated(owner.name, owner.prefix, state.span(call)), owner.result)
    effect(state, call, "add(...)")
    _add(state, owner, call)
    return NOTHING


CALLS.append(call_method)


def _add(state: State, owner: Accumulators, call: ast.Call) -> None:
    if not call.args or any(k.arg != "when" for k in call.keywords):
        raise state.problem("ARGUMENTS", "expected add(a, b, ..., when=condition)", call, "Give one or more operands.")
    guard = condition(state, call.keywords[0].value) if call.keywords else fold.TRUE
    with state.unreachable(state.facts.decide(guard) is False):
        value = _folded(state, owner, Group(tuple(evaluate(state, a) for a in call.args)), 0, call)
    if guard != fold.TRUE and _has_shuffle(value):
        # Python evaluates the operands before the guard is looked at: all lanes take part in the shuffles
        kept = state.fresh("term")
        state.emit(SetValue(kept, owner.dtype, value, state.span(call)))
        value = ValueVar(kept)
    if isinstance(guard, IndexConst) and not guard.value:
        return
    state.emit(Accumulate(owner.name, owner.prefix, value, guard, state.span(call)))


def _folded(state: State, owner: Accumulators, operand: Operand, level: int, node: ast.AST) -> ValueExpr:
    """Nested operands folded: level 0 by the first inner operator, lists among them by the next one, ..."""
    if not isinstance(operand, Group):
        return adapt(state, operand, owner.dtype, node, f"an operand of {owner.name!r}")
    if not operand.items:
        raise state.problem("ARGUMENTS", "expected one or more operands, got an empty list", node, "Give the operands.")
    values = tuple(_folded(state, owner, item, level + 1, node) for item in operand.items)
    if len(values) == 1:
        return values[0]
    if level >= len(owner.inner):
        raise state.problem(
            "SHAPE_MISMATCH",
            f"expected operands nested at most {len(owner.inner)} deep, got a list at depth {level + 1}",
            node,
            'Give one inner operator per level, for example inner=("+", "*").',
        )
    return Arith(owner.inner[level], values)


def _has_shuffle(value: ValueExpr) -> bool:
    match value:
        case Shuffle() | Vote():
            return True
        case Holds(lhs=lhs, rhs=rhs):
            return _has_shuffle(lhs) or _has_shuffle(rhs)
        case Arith(operands=parts) | Mixed(operands=parts) | MakeVector(items=parts):
            return any(map(_has_shuffle, parts))
        case ValueSelect(then=then, other=other):
            return _has_shuffle(then) or _has_shuffle(other)
        case Cast(value=part) | Component(value=part):
            return _has_shuffle(part)
        case ValueConst() | Read() | ValueVar() | FromIndex() | Accumulated():
            return False
        case _:
            assert_never(value)
