"""Words used in expressions: ids, arrays, casts, vectors, shuffles."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from warploom.core import DType, scalar_of
from warploom.ir import (
    Arith,
    Builtin,
    BuiltinName,
    Cast,
    Declare,
    For,
    FromIndex,
    If,
    IndexConst,
    IndexExpr,
    IndexVar,
    MakeVector,
    Shuffle,
    Space,
    Store,
    Sync,
)
from warploom.sketch import fold, types, words
from warploom.sketch.literals import as_constant, number_of
from warploom.sketch.operands import Array, ConflictFree, Data, Group, Index, Operand, Static, describe
from warploom.sketch.operators import UserOperator
from warploom.sketch.parser.arguments import Arguments, bind
from warploom.sketch.parser.expressions import CALLS, dtype_argument, evaluate, index, static_int, static_value
from warploom.sketch.parser.numbers import adapt
from warploom.sketch.parser.operator_bodies import operator_name
from warploom.sketch.parser.state import State

WordHandler: TypeAlias = Callable[[State, Arguments], Operand]
WORDS: dict[object, WordHandler] = {}
SPEC_WORDS: set[object] = {words.cast, words.literal, words.pack, types.ceil_div}
"""Words that a spec may use."""


def handles(word: object) -> Callable[[WordHandler], WordHandler]:
    """Register the reader of a word."""

    def register(handler: WordHandler) -> WordHandler:
        WORDS[word] = handler
        return handler

    return register


def call_word(state: State, call: ast.Call, called: Operand) -> Operand | None:
    if not isinstance(called, Static):
        return None
    word = called.value
    if isinstance(word, UserOperator):
        operands = tuple(evaluate(state, a) for a in call.args)
        dtype = next((o.dtype for o in operands if isinstance(o, Data)), None)
        if dtype is None or len(operands) < 2:
            raise state.problem(
                "DATA_EXPECTED", f"expected two data operands of {word.name!r}", call, "Give elements or scalars."
            )
        name = operator_name(state, word, dtype, call)
        return Data(Arith(name, tuple(adapt(state, o, dtype, call) for o in operands)), dtype)
    if not callable(word) or not _is_word(word):
        return None
    if state.mode == "spec" and word not in SPEC_WORDS:
        fix = "Write plain sequential Python on the arrays."
        raise state.problem("UNSUPPORTED_PYTHON", f"wl.{word.__name__} is not part of the language of specs", call, fix)
    return WORDS[word](state, bind(state, word, call))


def _is_word(value: object) -> bool:
    try:
        return value in WORDS
    except TypeError:
        return False


CALLS.append(call_word)

NOTHING = Static(None)


def effect(state: State, call: ast.Call, word: str) -> None:
    """Refuse a word that does something where only a value may stand."""
    if state.direct is not call:
        raise state.problem("STATEMENT_EXPECTED", f"{word} is a statement", call, "Put it on a line of its own.")


# ---------------------------------------------------------------- ids

_AXES = {"x": 0, "y": 1, "z": 2}


def _axis(state: State, args: Arguments) -> int:
    node = args.optional("axis")
    value = static_value(state, node) if node is not None else "x"
    if value not in ("x", "y", "z"):
        raise state.problem(
            "ARGUMENTS", f'expected the axis "x", "y" or "z", got {value!r}', args.call, 'Write for example thread_id("y").'
        )
    return _AXES[str(value)]


def _id_handler(name: BuiltinName) -> WordHandler:
    return lambda state, args: Index(Builtin(name, _axis(state, args)))


_ID_WORDS: tuple[tuple[object, BuiltinName], ...] = (
    (words.thread_id, "thread_id"),
    (words.block_id, "block_id"),
    (words.block_dim, "block_dim"),
    (words.grid_dim, "grid_dim"),
)
for _name, _builtin in _ID_WORDS:
    WORDS[_name] = _id_handler(_builtin)


@handles(words.global_id)
def _global_id(state: State, args: Arguments) -> Operand:
    axis = _axis(state, args)
    block = fold.binary("*", Builtin("block_id", axis), Builtin("block_dim", axis))
    return Index(fold.binary("+", block, Builtin("thread_id", axis)))


def linear_thread(state: State) -> IndexExpr:
    """Number of the thread in its block, x fastest."""
    x, y, z = state.block
    total: IndexExpr = fold.ZERO
    if z > 1:
        total = fold.binary("*", Builtin("thread_id", 2), IndexConst(y))
    if y > 1:
        total = fold.binary("+", total, Builtin("thread_id", 1))
    total = fold.binary("*", total, IndexConst(x)) if total != fold.ZERO else total
    return fold.binary("+", total, Builtin("thread_id", 0)) if x > 1 or total == fold.ZERO else total


def lane_expr(state: State) -> IndexExpr:
    """The lane number; through a variable in scope that holds it, if there is one."""
    return _named(state, _lane(state))


def _lane(state: State) -> IndexExpr:
    linear = linear_thread(state)
    x, y, z = state.block
    return linear if x * y * z <= state.warp_size else fold.binary("%", linear, IndexConst(state.warp_size))


def _named(state: State, expr: IndexExpr) -> IndexExpr:
    for operand in state.frame.scope.values():
        match operand:
            case Index(expr=IndexVar(name=name) as variable) if state.facts.definitions.get(name) == expr:
                return variable
            case _:
                pass
    return expr


@handles(words.lane_id)
def _lane_id(state: State, args: Arguments) -> Operand:
    return Index(_lane(state))


@handles(words.warp_id)
def _warp_id(state: State, args: Arguments) -> Operand:
    x, y, z = state.block
    if x * y * z <= state.warp_size:
        return Index(fold.ZERO)
    return Index(fold.binary("//", linear_thread(state), IndexConst(state.warp_size)))


@handles(words.warp_size)
def _warp_size(state: State, args: Arguments) -> Operand:
    return Index(IndexConst(state.warp_size))


@handles(words.lane_grid)
def _lane_grid(state: State, args: Arguments) -> Operand:
    rows, cols = static_int(state, args.node("rows"), "rows"), static_int(state, args.node("cols"), "cols")
    if rows < 1 or cols < 1 or rows * cols != state.warp_size:
        raise state.problem(
            "SHAPE_MISMATCH",
            f"expected rows * cols to be the warp size {state.warp_size}, got {rows} x {cols}",
            args.call,
            f"Write for example lane_grid({state.warp_size // 4 or 1}, {min(4, state.warp_size)}).",
        )
    return Group(tuple(Index(part) for part in grid_position(lane_expr(state), cols)))


def grid_position(number: IndexExpr, cols: int) -> tuple[IndexExpr, IndexExpr]:
    """Row and column of the row-major position `number`."""
    if cols == 1:
        return number, fold.ZERO
    return fold.binary("//", number, IndexConst(cols)), fold.binary("%", number, IndexConst(cols))


@handles(types.ceil_div)
def _ceil_div(state: State, args: Arguments) -> Operand:
    a, b = index(state, args.node("a")), index(state, args.node("b"))
    rounded = fold.binary("+", a, fold.binary("-", b, IndexConst(1)))
    return Index(fold.binary("//", rounded, b))


# ---------------------------------------------------------------- arrays


def _array(state: State, args: Arguments, space: Space) -> Operand:
    dtype = dtype_argument(state, args.node("dtype"))
    shape = tuple(static_int(state, n, "an extent") for n in _extents(state, args))
    if not shape or min(shape) < 1:
        fix = f"Write for example wl.{space}({dtype}, 2)."
        raise state.problem("SHAPE_MISMATCH", f"expected positive extents, got {shape}", args.call, fix)
    name = state.declared_name(space, args.call)
    state.emit(Declare(name, space, dtype, shape, state.span(args.call)))
    array = Array(name, space, dtype, tuple(IndexConst(e) for e in shape))
    fill = args.optional("fill")
    if fill is not None:
        _fill(state, array, shape, adapt(state, evaluate(state, fill), dtype, fill, "a fill value"), args.call)
    return array


def _extents(state: State, args: Arguments) -> list[ast.expr]:
    nodes = list(args.rest("shape"))
    if len(nodes) == 1 and isinstance(nodes[0], ast.Tuple):
        return nodes[0].elts
    return nodes


def _fill(state: State, array: Array, shape: tuple[int, ...], value: Any, call: ast.Call) -> None:
    span = state.span(call)
    note = f"fill {array.name}"
    if array.space == "register":
        variables = tuple(state.fresh(wish) for wish, _ in zip("ijkl", shape, strict=False))
        stmt: Any = Store(array.name, tuple(IndexVar(v) for v in variables), value, span)
        for variable, extent in reversed(list(zip(variables, shape, strict=True))):
            state.facts.loops[variable] = (0, extent - 1)
            stmt = For(variable, fold.ZERO, IndexConst(extent), 1, (stmt,), note, span)
        state.emit(stmt)
        return
    total = 1
    for extent in shape:
        total *= extent
    x, y, z = state.block
    threads = x * y * z
    variable = state.fresh("round")
    trips = -(-total // threads)
    state.facts.loops[variable] = (0, trips - 1)
    at = fold.binary("+", fold.binary("*", IndexVar(variable), IndexConst(threads)), linear_thread(state))
    position: list[IndexExpr] = []
    rest = at
    for extent in reversed(shape[1:]):
        rest, remainder = grid_position(rest, extent)
        position.insert(0, remainder)
    store = Store(array.name, (rest, *position), value, span)
    inside = fold.compare("<", at, IndexConst(total))
    body = store if state.facts.decide(inside) else If(inside, (store,), (), span)
    state.emit(For(variable, fold.ZERO, IndexConst(trips), 1, (body,), note, span))


@handles(words.register)
def _register(state: State, args: Arguments) -> Operand:
    return _array(state, args, "register")


@handles(words.shared)
def _shared(state: State, args: Arguments) -> Operand:
    return _array(state, args, "shared")


# ---------------------------------------------------------------- data


@handles(words.cast)
def _cast(state: State, args: Arguments) -> Operand:
    dtype, operand = dtype_argument(state, args.node("dtype")), evaluate(state, args.node("value"))
    if isinstance(operand, Data):
        return operand if operand.dtype == dtype else Data(Cast(dtype, operand.expr), dtype)
    if isinstance(operand, Index) and not operand.is_bool and number_of(operand) is None:
        return Data(FromIndex(operand.expr, dtype), dtype)
    return _constant(state, operand, dtype, args.call)


@handles(words.literal)
def _literal(state: State, args: Arguments) -> Operand:
    dtype, operand = dtype_argument(state, args.node("dtype")), evaluate(state, args.node("value"))
    return _constant(state, operand, dtype, args.call)


def _constant(state: State, operand: Operand, dtype: DType, call: ast.Call) -> Data:
    constant = as_constant(operand, dtype)
    if constant is None:
        fix = f"Give a constant in the range of {dtype}, or use wl.cast for indices and data."
        raise state.problem("DTYPE_MISMATCH", f"expected a number that fits {dtype}, got {_shown(operand)}", call, fix)
    return constant


def _shown(operand: Operand) -> str:
    number = number_of(operand)
    return describe(operand) if number is None else str(number)


@handles(words.pack)
def _pack(state: State, args: Arguments) -> Operand:
    dtype = dtype_argument(state, args.node("dtype"))
    items = args.rest("items")
    if dtype.lanes == 1 or len(items) != dtype.lanes:
        raise state.problem(
            "SHAPE_MISMATCH",
            f"expected a vector type and as many components, got {dtype} and {len(items)}",
            args.call,
            "Write for example wl.pack(wl.int2, a, b).",
        )
    scalar = scalar_of(dtype)
    return Data(MakeVector(dtype, tuple(adapt(state, evaluate(state, i), scalar, i, "a component") for i in items)), dtype)


# ---------------------------------------------------------------- lanes

ShuffleKind: TypeAlias = Literal["idx", "up", "down", "xor"]


def _shuffle_handler(kind: ShuffleKind, operand_name: str) -> WordHandler:
    def read(state: State, args: Arguments) -> Operand:
        value = evaluate(state, args.node("value"))
        if not isinstance(value, Data):
            fix = "Shuffle an element, a scalar, or wl.cast(dtype, index)."
            raise state.problem("DATA_EXPECTED", f"expected data to shuffle, got {describe(value)}", args.node("value"), fix)
        operand = index(state, args.node(operand_name), f"the {operand_name} of a shuffle")
        width_node = args.optional("width")
        width = static_int(state, width_node, "the width") if width_node is not None else state.warp_size
        if width < 1 or state.warp_size % width:
            raise state.problem(
                "SHAPE_MISMATCH",
                f"expected a width that divides the warp size {state.warp_size}, got {width}",
                args.call,
                f"Use a power of two up to {state.warp_size}.",
            )
        return Data(Shuffle(kind, value.expr, operand, width, state.span(args.call)), value.dtype)

    return read


_SHUFFLE_WORDS: tuple[tuple[object, ShuffleKind, str], ...] = (
    (words.shfl, "idx", "lane"),
    (words.shfl_up, "up", "delta"),
    (words.shfl_down, "down", "delta"),
    (words.shfl_xor, "xor", "mask"),
)
for _name, _kind, _operand in _SHUFFLE_WORDS:
    WORDS[_name] = _shuffle_handler(_kind, _operand)


@handles(words.sync)
def _sync(state: State, args: Arguments) -> Operand:
    meet(state, args.call, "wl.sync()")
    state.emit(Sync(state.span(args.call)))
    return NOTHING


def meet(state: State, call: ast.Call, word: str) -> None:
    """Refuses a statement that only some threads of the block reach."""
    effect(state, call, word)
    if any(state.facts.diverges(cond) for cond in state.conditions):
        message = f"expected every thread of the block to reach {word}, got one under a condition that differs between threads"
        raise state.problem("SYNC_DIVERGENT", message, call, f"Move {word} out of the `if`.")


# ---------------------------------------------------------------- requirements


@handles(words.conflict_free)
def _conflict_free(state: State, args: Arguments) -> Operand:
    node = args.node("array")
    array = evaluate(state, node)
    if not isinstance(array, Array) or array.space != "shared" or array.prefix:
        got = f"an array of {array.space} memory" if isinstance(array, Array) else describe(array)
        got = "a part of one" if isinstance(array, Array) and array.prefix else got
        raise state.problem("REQUIRE", f"expected a whole array made by wl.shared, got {got}", node, "Name the shared array.")
    return Static(ConflictFree(array.name, state.span(args.call)))


@handles(words.require)
def _require(state: State, args: Arguments) -> Operand:
    effect(state, args.call, "wl.require(...)")
    node = args.node("condition")
    asked = evaluate(state, node)
    if not isinstance(asked, Static) or not isinstance(asked.value, ConflictFree):
        got = describe(asked)
        raise state.problem("REQUIRE", f"expected wl.conflict_free(array), got {got}", node, "Write wl.conflict_free(array).")
    state.requires.append(asked.value)
    return NOTHING
