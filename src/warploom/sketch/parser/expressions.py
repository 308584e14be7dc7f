"""Expressions of a sketch: index arithmetic, data arithmetic, elements of arrays, calls of words."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from warploom.core import FACTORS, DType, scalar_of
from warploom.ir import (
    Component,
    IndexConst,
    IndexExpr,
    Read,
)
from warploom.ir.swizzle.kinds import const
from warploom.operations import COMPARISONS, PYTHON_SIGNS, SIGN_OF_COMPARISON
from warploom.sketch import fold
from warploom.sketch.literals import number_of
from warploom.sketch.operands import (
    Accumulators,
    Array,
    Data,
    Group,
    Index,
    Local,
    Method,
    Operand,
    Static,
    describe,
)
from warploom.sketch.parser.conversions import as_index, as_static_int, unsupported
from warploom.sketch.parser.numbers import arithmetic, binary, choice, logical
from warploom.sketch.parser.spelling import attributes, nearest
from warploom.sketch.parser.state import State

Handler: TypeAlias = Callable[[State, ast.Call, Operand], Operand | None]
CALLS: list[Handler] = []
"""Tried in turn on the operand called; None means: not mine. Filled by the modules that know words, functions, accumulators."""

COMPONENTS = "xyzw"


def evaluate(state: State, node: ast.expr) -> Operand:
    """The operand that `node` stands for."""
    match node:
        case ast.Constant(value=bool() | int() as value):
            return state.operand_of(value)
        case ast.Constant(value=value):
            return Static(value)
        case ast.Name():
            return state.look_up(node)
        case ast.Attribute():
            return _attribute(state, node)
        case ast.Subscript():
            return _subscript(state, node)
        case ast.Call():
            return _call(state, node)
        case ast.BinOp(left=left, op=op, right=right):
            return binary(state, PYTHON_SIGNS.get(type(op), "@"), evaluate(state, left), evaluate(state, right), node)
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(state, op, operand, node)
        case ast.BoolOp(op=op, values=values):
            return _logical(state, "and" if isinstance(op, ast.And) else "or", values)
        case ast.Compare():
            return _compare(state, node)
        case ast.IfExp():
            return _conditional(state, node)
        case ast.Tuple(elts=elts):
            return Group(tuple(evaluate(state, e) for e in elts))
        case ast.List(elts=elts):
            return Group(tuple(evaluate(state, e) for e in elts), "list")
        case ast.Lambda():
            return Local(node, state.frame)
        case _:
            raise unsupported(state, node)


# ---------------------------------------------------------------- what the context wants


def index(state: State, node: ast.expr, what: str = "an index") -> IndexExpr:
    """`node` as an integer index expression."""
    return as_index(state, evaluate(state, node), node, what)


def condition(state: State, node: ast.expr) -> IndexExpr:
    """`node` as a truth value."""
    return as_condition(state, evaluate(state, node), node)


def as_condition(state: State, operand: Operand, node: ast.expr) -> IndexExpr:
    """`operand` as a truth value."""
    match operand:
        case Index(expr=expr, is_bool=True):
            return expr
        case Index():
            raise state.problem(
                "CONDITION_EXPECTED", "expected a condition, got an index", node, "Compare it, for example with `!= 0`."
            )
        case Data():
            raise state.problem(
                "INDEX_FROM_DATA",
                f"expected a condition known before the run, got {describe(operand)}",
                node,
                "Decide on ids, loop variables, sizes and holes only; min and max choose between data.",
            )
        case _:
            raise state.problem(
                "CONDITION_EXPECTED", f"expected a condition, got {describe(operand)}", node, "Write a comparison."
            )


def static_int(state: State, node: ast.expr, what: str) -> int:
    """`node` as an integer that the text of the kernel alone decides."""
    return as_static_int(state, evaluate(state, node), node, what)


def static_value(state: State, node: ast.expr) -> object:
    """The Python object behind `node`: a dtype, a string, a number, a tuple or list of them; None if it is not known now."""
    return _object_of(evaluate(state, node))


def _object_of(operand: Operand) -> object:
    match operand:
        case Static(value=value):
            return value
        case Index(expr=IndexConst(value=value)):
            return value
        case Group(items=items):
            return tuple(map(_object_of, items))
        case _:
            return None


def dtype_argument(state: State, node: ast.expr) -> DType:
    value = static_value(state, node)
    if not isinstance(value, DType) or value in FACTORS:
        raise state.problem("DTYPE_EXPECTED", "expected an element type first", node, "Write for example wl.f32.")
    return value


def without_statements(state: State, node: ast.expr, read: Callable[[State, ast.expr], Operand]) -> Operand:
    """`node` where Python evaluates it only sometimes: it must not expand to statements."""
    with state.collecting() as stmts:
        operand = read(state, node)
    if stmts:
        raise state.problem(
            "CALL_IN_CONDITIONAL",
            "this call expands to statements, which cannot stand where Python evaluates it only sometimes",
            node,
            "Assign its result to a variable before, or write an `if` statement.",
        )
    return operand


# ---------------------------------------------------------------- operators


def _logical(state: State, op: str, nodes: list[ast.expr]) -> Operand:
    """`and`, `or`: of conditions a condition, of numbers one of the numbers, as Python has it."""
    operand = evaluate(state, nodes[0])
    if isinstance(operand, Index) and not operand.is_bool:
        return _number_of(state, op, operand.expr, nodes)
    exprs = [as_condition(state, operand, nodes[0])]
    for node in nodes[1:]:
        later = without_statements(state, node, lambda s, n: Index(condition(s, n), is_bool=True))
        exprs.append(cast(Index, later).expr)
    return Index(logical(op, tuple(exprs)), is_bool=True)


def _number_of(state: State, op: str, first: IndexExpr, nodes: list[ast.expr]) -> Operand:
    """`i or j` -> `i if i != 0 else j`; `i and j` -> `j if i != 0 else i`."""
    test = fold.compare("!=", first, fold.ZERO)
    holds = state.facts.decide(test)
    state.conditions.append(test)
    with state.unreachable(holds is (op == "or")):
        rest = (
            nodes[1]
            if len(nodes) == 2
            else ast.copy_location(ast.BoolOp(ast.And() if op == "and" else ast.Or(), nodes[1:]), nodes[1])
        )
        other = without_statements(state, rest, evaluate)
    state.conditions.pop()
    if not isinstance(other, Index) or other.is_bool:
        raise state.problem(
            "MIXED_ALTERNATIVES",
            f"expected numbers or conditions on both sides of `{op}`, got an index and {describe(other)}",
            nodes[1],
            "Compare the number, for example with `!= 0`.",
        )
    if isinstance(test, IndexConst):
        return other if bool(test.value) == (op == "and") else Index(first)
    then, last = (first, other.expr) if op == "or" else (other.expr, first)
    return Index(fold.select(test, then, last))


def _unary(state: State, op: ast.unaryop, operand_node: ast.expr, node: ast.expr) -> Operand:
    if isinstance(op, ast.Not):
        return Index(logical("not", (condition(state, operand_node),)), is_bool=True)
    operand = evaluate(state, operand_node)
    if isinstance(operand, Data):
        if isinstance(op, ast.UAdd):
            return operand
        name = "neg" if isinstance(op, ast.USub) else "~"
        return arithmetic(state, name, (operand,), node)
    if isinstance(operand, Static) and isinstance(operand.value, float) and not isinstance(op, ast.Invert):
        return Static(-operand.value if isinstance(op, ast.USub) else operand.value)
    expr = as_index(state, operand, node, "an integer operand")
    match op:
        case ast.USub():
            return Index(fold.binary("-", fold.ZERO, expr))
        case ast.Invert():
            return Index(fold.binary("-", IndexConst(-1), expr))
        case _:
            return Index(expr)


def _compare(state: State, node: ast.Compare) -> Operand:
    nodes = [node.left, *node.comparators]
    operands = [evaluate(state, n) for n in nodes]
    parts: list[IndexExpr] = []
    for position, op in enumerate(node.ops):
        left, right = operands[position], operands[position + 1]
        if type(op) not in SIGN_OF_COMPARISON:
            raise unsupported(state, node, "this comparison", "Compare integers with == != < <= > >=.")
        a, b = number_of(left), number_of(right)
        if a is not None and b is not None:
            parts.append(IndexConst(COMPARISONS[SIGN_OF_COMPARISON[type(op)]].holds(a, b)))
            continue
        if isinstance(left, Static) and isinstance(right, Static):
            if not isinstance(op, ast.Eq | ast.NotEq):
                raise state.problem("INDEX_EXPECTED", "expected integers to compare", node, "Compare integers.")
            parts.append(IndexConst((left.value == right.value) == isinstance(op, ast.Eq)))
            continue
        if isinstance(left, Data) or isinstance(right, Data):
            raise state.problem(
                "INDEX_FROM_DATA",
                "expected a comparison known before the run, got a comparison of data",
                node,
                "Decide on ids, loop variables, sizes and holes only; min and max choose between data.",
            )
        lhs, rhs = as_index(state, left, nodes[position]), as_index(state, right, nodes[position + 1])
        parts.append(fold.compare(SIGN_OF_COMPARISON[type(op)], lhs, rhs))
    return Index(fold.conjunction(*parts), is_bool=True)


def _conditional(state: State, node: ast.IfExp) -> Operand:
    cond = condition(state, node.test)
    holds = state.facts.decide(cond)
    state.conditions.append(cond)
    with state.unreachable(holds is False):
        then = without_statements(state, node.body, evaluate)
    with state.unreachable(holds is True):
        other = without_statements(state, node.orelse, evaluate)
    state.conditions.pop()
    if isinstance(cond, IndexConst):
        return then if cond.value else other
    return choice(state, cond, then, other, node)


# ---------------------------------------------------------------- names with dots, elements, calls


def _attribute(state: State, node: ast.Attribute) -> Operand:
    owner = evaluate(state, node.value)
    match owner:
        case Static(value=value):
            if not hasattr(value, node.attr):
                meant = nearest(node.attr, attributes(value))
                fix = "Check the spelling." if meant is None else f"Write {meant}."
                raise state.problem("UNKNOWN_NAME", f"{describe(owner)} has no attribute {node.attr!r}", node, fix)
            return state.operand_of(cast(object, getattr(value, node.attr)))
        case Array(shape=shape, prefix=prefix) if node.attr == "shape":
            return Group(tuple(Index(extent) for extent in shape[len(prefix) :]))
        case Data(expr=expr, dtype=dtype) if node.attr in COMPONENTS and dtype.lanes > 1:
            position = COMPONENTS.index(node.attr)
            if position >= dtype.lanes:
                raise state.problem(
                    "RANK", f"{dtype} has no component {node.attr!r}", node, f"Use one of {COMPONENTS[: dtype.lanes]}."
                )
            return Data(Component(expr, position), scalar_of(dtype))
        case Accumulators() if node.attr in ("add", "value"):
            return Method(owner, node.attr)
        case _:
            raise state.problem("UNKNOWN_NAME", f"{describe(owner)} has no attribute {node.attr!r}", node, "Check the spelling.")


def _subscript(state: State, node: ast.Subscript) -> Operand:
    return element(state, evaluate(state, node.value), node)


def element(state: State, owner: Operand, node: ast.Subscript) -> Operand:
    """`owner[...]`: an element to read, a part of an array, or an item of a constant."""
    match owner:
        case Array() | Accumulators():
            part = partial(state, owner, node)
            return read(state, part, node) if isinstance(part, Array) and len(part.prefix) == len(part.shape) else part
        case Group(items=items):
            return items[_position(state, node, len(items))]
        case Static(value=value) if isinstance(value, tuple | list):
            sequence = cast("Sequence[object]", value)
            return state.operand_of(sequence[_position(state, node, len(sequence))])
        case _:
            raise state.problem("RANK", f"{describe(owner)} has no elements", node, "Index an array.")


def _position(state: State, node: ast.Subscript, length: int) -> int:
    position = static_int(state, node.slice, "the index of a constant tuple or list")
    if not -length <= position < length:
        raise state.problem("OUT_OF_BOUNDS", f"expected an index below {length}, got {position}", node, "Use one inside of it.")
    return position


def partial(state: State, owner: Array | Accumulators, node: ast.Subscript) -> Array | Accumulators:
    """`owner` with the indices of `node` added to its prefix."""
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    rank = len(owner.shape)
    if len(owner.prefix) + len(nodes) > rank:
        got = len(owner.prefix) + len(nodes)
        what = f"{owner.name!r} has {rank} dimension{'s' if rank != 1 else ''}, got {got} indices"
        raise state.problem("RANK", what, node, "Give one index per dimension.")
    added: list[IndexExpr] = []
    for position, item in enumerate(nodes):
        expr = index(state, item, f"an index of {owner.name!r}")
        extent = owner.shape[len(owner.prefix) + position]
        if not state.dead:
            _check_bounds(state, expr, extent, owner.name, item)
        added.append(expr)
    prefix = (*owner.prefix, *added)
    if isinstance(owner, Array):
        return Array(owner.name, owner.space, owner.dtype, owner.shape, prefix)
    return Accumulators(owner.name, owner.dtype, owner.result, owner.shape, owner.inner, prefix)


def _check_bounds(state: State, expr: IndexExpr, extent: IndexExpr | int, name: str, node: ast.AST) -> None:
    length = extent.value if isinstance(extent, IndexConst) else extent
    if isinstance(expr, IndexConst) and (expr.value < 0 or (isinstance(length, int) and expr.value >= length)):
        top = length if isinstance(length, int) else "its extent"
        raise state.problem(
            "OUT_OF_BOUNDS",
            f"expected an index of {name!r} from 0 and below {top}, got {expr.value}",
            node,
            "Stay inside of the array.",
        )


def read(state: State, array: Array, node: ast.AST) -> Data:
    state.mark_read(array)
    return Data(Read(array.name, array.prefix, state.span(node)), array.dtype)


def _call(state: State, node: ast.Call) -> Operand:
    called = evaluate(state, node.func)
    for keyword in node.keywords:
        if keyword.arg is None:
            raise unsupported(state, keyword.value, "`**` in a call", "Write the keywords out.")
    for argument in node.args:
        if isinstance(argument, ast.Starred) and called != Static(const):
            raise unsupported(state, argument)
    if isinstance(called, Static) and (called.value is builtins.min or called.value is builtins.max):
        return _extremum(state, "min" if called.value is builtins.min else "max", node)
    if isinstance(called, Static) and called.value is builtins.len and len(node.args) == 1:
        return _length(state, evaluate(state, node.args[0]), node)
    for handler in CALLS:
        result = handler(state, node, called)
        if result is not None:
            return result
    if isinstance(called, Static):
        fix = "Decorate it with @wl.device." if callable(called.value) else "Call a word of the language."
        if callable(called.value) and str(getattr(called.value, "__module__", "")).partition(".")[0] == "warploom":
            fix = "Call it outside and use its result by name."
        what = f"{describe(called)} cannot be called in a {state.mode}"
        raise state.problem("UNSUPPORTED_PYTHON", what, node, fix)
    raise state.problem("UNSUPPORTED_PYTHON", f"{describe(called)} cannot be called", node, "Call a word of the language.")


def _extremum(state: State, op: str, node: ast.Call) -> Operand:
    operands = [evaluate(state, a) for a in node.args]
    if len(operands) == 1 and isinstance(operands[0], Group):
        operands = list(operands[0].items)
    if len(operands) < 2 or node.keywords:
        raise state.problem(
            "ARGUMENTS", f"expected {op}(a, b, ...) with two or more operands", node, "Give the operands one by one."
        )
    if any(isinstance(o, Data) for o in operands):
        return arithmetic(state, op, tuple(operands), node)
    total = operands[0]
    for operand in operands[1:]:
        total = binary(state, op, total, operand, node)
    return total


def _length(state: State, operand: Operand, node: ast.AST) -> Operand:
    match operand:
        case Array(shape=shape, prefix=prefix) if len(prefix) < len(shape):
            return Index(shape[len(prefix)])
        case Group(items=items):
            return state.operand_of(len(items))
        case Static(value=value) if isinstance(value, tuple | list):
            return state.operand_of(len(cast("Sequence[object]", value)))
        case _:
            raise state.problem("ARGUMENTS", f"{describe(operand)} has no length", node, "Take the length of an array.")
