"""Loads and stores of whole arrays, expanded to loops (paper section 6.2); coalesced by construction.

In round r, lane t moves elements offset + (r * lanes + shuffle(t, r)) * slice + j, j < slice, between the array and slot
r * slice + j of a register array, or slot (r * lanes + t) * slice + j of a shared array. In two dimensions each axis does so
by itself, the lanes standing in a warp shape; `slice` is a pair, or a number for the last axis.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from warploom.core import Span
from warploom.ir import Builtin, For, If, IndexConst, IndexExpr, IndexVar, Read, SetIndex, Stmt, Store, ValueSelect
from warploom.sketch import fold, words
from warploom.sketch.operands import Array, Group, Index, Local, Operand, Static, describe
from warploom.sketch.parser.arguments import Arguments
from warploom.sketch.parser.calls import NOTHING, WORDS, effect, grid_position, lane_expr, linear_thread
from warploom.sketch.parser.conversions import as_index, as_static_int
from warploom.sketch.parser.expressions import evaluate, static_value
from warploom.sketch.parser.functions import apply_function
from warploom.sketch.parser.numbers import zero
from warploom.sketch.parser.slices import LANES, Slice
from warploom.sketch.parser.state import State

Scope: TypeAlias = Literal["warp", "block"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a transfer."""

    memory: IndexExpr
    """Index of the moved element in the larger array."""
    slot: IndexExpr
    """Index in the register array, or in the shared array beside a global one."""
    size: IndexExpr
    """`memory` at or past this is masked."""
    slots: IndexExpr
    rounds: int
    round_variable: str
    slice: int
    slice_variable: str


def _register_words() -> None:
    kinds: tuple[tuple[Callable[..., Any], str, str], ...] = (
        (words.global_to_register, "global", "register"),
        (words.register_to_global, "register", "global"),
        (words.global_to_shared, "global", "shared"),
        (words.shared_to_global, "shared", "global"),
        (words.shared_to_register, "shared", "register"),
        (words.register_to_shared, "register", "shared"),
    )
    for word, source, target in kinds:
        WORDS[word] = _handler(word.__name__, source, target)


def _handler(word: str, source_space: str, target_space: str) -> Callable[[State, Arguments], Operand]:
    """Reader of one word; the larger array is the global one, else the shared one."""
    is_load = target_space == "register" or (source_space == "global" and target_space == "shared")

    def read(state: State, args: Arguments) -> Operand:
        effect(state, args.call, f"wl.{word}")
        source = _array(state, args, "source", source_space, word)
        target = _array(state, args, "target", target_space, word)
        memory, slots = (source, target) if is_load else (target, source)
        if memory.dtype != slots.dtype:
            raise state.problem(
                "DTYPE_MISMATCH",
                f"expected both arrays of one type, got {source.dtype} and {target.dtype}",
                args.call,
                f"Declare the {slots.space} array as {memory.dtype}.",
            )
        if len(memory.shape) != len(slots.shape) or len(memory.shape) > 2:
            raise state.problem(
                "RANK",
                f"expected both arrays with one or two dimensions, got {len(source.shape)} and {len(target.shape)}",
                args.call,
                "Declare them with the same number of dimensions, or move elements in a loop.",
            )
        if target.space == "constant":
            raise state.problem("WRITE_CONSTANT", f"{target.name!r} is in constant memory", args.call, "Declare it as wl.Global.")
        state.mark_read(source)
        state.mark_written(target)
        _expand(state, args, memory, slots, is_load=is_load)
        return NOTHING

    return read


def _array(state: State, args: Arguments, role: str, space: str, word: str) -> Array:
    node = args.node(role)
    operand = evaluate(state, node)
    if not isinstance(operand, Array) or operand.prefix:
        raise state.problem(
            "ARGUMENTS", f"expected an array as {role} of wl.{word}, got {describe(operand)}", node, "Pass the array itself."
        )
    if operand.space != space and not (space == "global" and operand.space == "constant"):
        fix = f"Use wl.{word.replace(space, operand.space)}, or another array."
        raise state.problem(
            "SPACE", f"expected a {space} array as {role} of wl.{word}, got {operand.name!r} in {operand.space} space", node, fix
        )
    return operand


# ---------------------------------------------------------------- arguments per axis


def _per_axis(state: State, args: Arguments, name: str, rank: int) -> list[tuple[Operand, ast.expr]] | None:
    """The operands of keyword `name`, one for each axis; None if it was not given."""
    node = args.optional(name)
    if node is None:
        return None
    operand = evaluate(state, node)
    if rank == 1 and not isinstance(operand, Group):
        return [(operand, node)]
    if isinstance(operand, Group) and len(operand.items) == rank:
        nodes = node.elts if isinstance(node, ast.Tuple | ast.List) else [node] * rank
        return list(zip(operand.items, nodes, strict=True))
    constant: object = operand.value if isinstance(operand, Static) else None
    if isinstance(constant, tuple | list):
        items = tuple(cast("list[object]", constant))
        if len(items) == rank:
            return [(state.operand_of(item), node) for item in items]
    expected = "one value" if rank == 1 else "a pair (y, x)"
    raise state.problem(
        "SHAPE_MISMATCH", f"expected {expected} for {name}, got {ast.unparse(node)}", node, "Give one value per dimension."
    )


def _indices(state: State, args: Arguments, name: str, default: tuple[IndexExpr, ...]) -> tuple[IndexExpr, ...]:
    given = _per_axis(state, args, name, len(default))
    return default if given is None else tuple(as_index(state, operand, node, name) for operand, node in given)


def _integers(state: State, args: Arguments, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    given = _per_axis(state, args, name, len(default))
    return default if given is None else tuple(as_static_int(state, operand, node, name) for operand, node in given)


def _slices(state: State, args: Arguments, rank: int) -> tuple[int, ...]:
    """Consecutive elements per lane and round, for each axis; a single number is meant for the last one."""
    node = args.optional("slice")
    operand = evaluate(state, node) if node is not None else None
    if node is not None and isinstance(operand, Index):
        slices = (*(1 for _ in range(rank - 1)), as_static_int(state, operand, node, "slice"))
    else:
        slices = _integers(state, args, "slice", (1,) * rank)
    if min(slices) < 1:
        raise state.problem("ARGUMENTS", f"expected slice to be positive, got {min(slices)}", args.call, "Write slice=1.")
    return slices


def _scope(state: State, args: Arguments, slots: Array) -> Scope:
    if slots.space == "register":
        return "warp"
    node = args.optional("scope")
    value = static_value(state, node) if node is not None else "block"
    if value == "warp":
        return "warp"
    if value != "block":
        raise state.problem("ARGUMENTS", f'expected scope "block" or "warp", got {value!r}', args.call, 'Write scope="block".')
    return "block"


def _movers(state: State, args: Arguments, scope: Scope, rank: int) -> tuple[tuple[IndexExpr, ...], tuple[int, ...]]:
    """Position of the thread among those that move together, and their extents, per axis."""
    x, y, z = state.block
    threads = x * y * z
    count = threads if scope == "block" else min(state.warp_size, threads)
    number = linear_thread(state) if scope == "block" else lane_expr(state)
    if rank == 1:
        return (number,), (count,)
    if args.optional("warp_shape") is None:
        if scope == "block" and z == 1 and y > 1:
            return (Builtin("thread_id", 1), Builtin("thread_id", 0)), (y, x)
        fix = f"Write for example warp_shape=({max(count // 4, 1)}, {min(4, count)})."
        raise state.problem("ARGUMENTS", "expected warp_shape=(rows, cols) for a transfer in two dimensions", args.call, fix)
    shape = _integers(state, args, "warp_shape", (1, count))
    if min(shape) < 1 or shape[0] * shape[1] != count:
        what = "lanes" if scope == "warp" else "threads"
        raise state.problem(
            "SHAPE_MISMATCH",
            f"expected rows * cols to be the {count} {what} that move together, got {shape[0]} x {shape[1]}",
            args.node("warp_shape"),
            f"Choose a shape of {count} {what}.",
        )
    return grid_position(number, shape[1]), shape


# ---------------------------------------------------------------- expansion


def _expand(state: State, args: Arguments, memory: Array, slots: Array, *, is_load: bool) -> None:
    rank = len(memory.shape)
    scope = _scope(state, args, slots)
    movers, extents = _movers(state, args, scope, rank)
    slices = _slices(state, args, rank)
    per_round = slices if slots.space == "register" else tuple(e * s for e, s in zip(extents, slices, strict=True))
    capacity = tuple(int(cast(IndexConst, e).value) for e in slots.shape)
    rounds = _integers(state, args, "rounds", tuple(-(-c // p) for c, p in zip(capacity, per_round, strict=True)))
    _check_rounds(state, args, slots, rounds, per_round, capacity)
    offsets = _indices(state, args, "offset", (fold.ZERO,) * rank)
    sizes = _indices(state, args, "size", memory.shape)
    shuffles = _per_axis(state, args, "shuffle", rank)
    suffixes = ("",) if rank == 1 else ("_y", "_x")
    axes: list[Axis] = []
    for axis in range(rank):
        round_variable, slice_variable = state.fresh("round" + suffixes[axis]), state.fresh("item" + suffixes[axis])
        state.facts.loops[round_variable] = (0, rounds[axis] - 1)
        state.facts.loops[slice_variable] = (0, slices[axis] - 1)
        turn: IndexExpr = IndexVar(round_variable) if rounds[axis] > 1 else fold.ZERO
        item: IndexExpr = IndexVar(slice_variable) if slices[axis] > 1 else fold.ZERO
        lane = _shuffled(state, shuffles[axis] if shuffles else None, movers[axis], turn)
        if slots.space == "register":
            slot = _element(fold.ZERO, turn, 1, fold.ZERO, slices[axis], item)
        else:
            slot = _element(fold.ZERO, turn, extents[axis], movers[axis], slices[axis], item)
        element = _element(offsets[axis], turn, extents[axis], lane, slices[axis], item)
        axes.append(
            Axis(element, slot, sizes[axis], slots.shape[axis], rounds[axis], round_variable, slices[axis], slice_variable)
        )
    _emit(state, args, memory, slots, axes, is_load=is_load)


def _element(base: IndexExpr, turn: IndexExpr, movers: int, mover: IndexExpr, slice_elems: int, item: IndexExpr) -> IndexExpr:
    """`base + (turn * movers + mover) * slice + item`."""
    before = fold.ZERO if turn == fold.ZERO else fold.binary("*", turn, IndexConst(movers))
    number = fold.binary("+", before, mover)
    if number != fold.ZERO:
        number = fold.binary("*", number, IndexConst(slice_elems))
    return fold.binary("+", fold.binary("+", base, number), item)


def _check_rounds(
    state: State, args: Arguments, slots: Array, rounds: tuple[int, ...], per_round: tuple[int, ...], capacity: tuple[int, ...]
) -> None:
    for count, step, room in zip(rounds, per_round, capacity, strict=True):
        if count < 1:
            raise state.problem("ARGUMENTS", f"expected rounds to be positive, got {count}", args.call, "Leave out rounds=.")
        if slots.space == "register" and count * step > room:
            raise state.problem(
                "SHAPE_MISMATCH",
                f"expected at most {room} elements per lane in {slots.name!r}, got {count} rounds of {step}",
                args.call,
                "Declare a larger register array or move fewer rounds.",
            )


def _shuffled(state: State, given: tuple[Operand, ast.expr] | None, lane: IndexExpr, turn: IndexExpr) -> IndexExpr:
    if given is None:
        return lane
    function, node = given
    if isinstance(function, Static) and function.value is None:
        return lane
    if not isinstance(function, Local | Static):
        raise state.problem(
            "ARGUMENTS", f"expected a function for shuffle, got {describe(function)}", node, "Write `lambda lane, round: ...`."
        )
    return as_index(state, apply_function(state, function, (Index(lane), Index(turn)), node, "shuffle"), node, "a lane")


def _emit(state: State, args: Arguments, memory: Array, slots: Array, axes: list[Axis], *, is_load: bool) -> None:
    span = state.span(args.call)
    body: list[Stmt] = []
    places: list[IndexExpr] = []
    slot_masks: list[IndexExpr] = []
    memory_masks: list[IndexExpr] = []
    for axis, letter in zip(axes, ("at",) if len(axes) == 1 else ("at_y", "at_x"), strict=True):
        inside = fold.compare("<", axis.memory, axis.size)
        place = axis.memory
        if state.facts.decide(inside) is not True:
            name = state.fresh(letter)
            body.append(SetIndex(name, axis.memory, span))
            place = IndexVar(name)
            memory_masks.append(fold.compare("<", place, axis.size))
        places.append(place)
        has_slot = fold.compare("<", axis.slot, axis.slots)
        if slots.space == "shared" and state.facts.decide(has_slot) is not True:
            slot_masks.append(has_slot)
    mask, slot_mask = fold.conjunction(*memory_masks), fold.conjunction(*slot_masks)
    at, slot = tuple(places), tuple(a.slot for a in axes)
    if is_load:
        value: Any = Read(memory.name, at, span)
        if mask != fold.TRUE:
            value = ValueSelect(mask, value, zero(memory.dtype))
        body.append(_guarded(slot_mask, Store(slots.name, slot, value, span), span))
    else:
        store = Store(memory.name, at, Read(slots.name, slot, span), span)
        body.append(_guarded(fold.conjunction(slot_mask, mask), store, span))
    if memory.space == "global" and slots.space == "register" and axes[-1].slice in LANES:
        whole = tuple(a.memory for a in axes)
        inside = fold.conjunction(*(m for a in axes if state.facts.decide(m := fold.compare("<", a.memory, a.size)) is not True))
        move = Store(slots.name, slot, Read(memory.name, whole, span), span) if is_load else Store(
            memory.name, whole, Read(slots.name, slot, span), span
        )  # fmt: skip
        state.slices[axes[-1].slice_variable] = Slice(move, inside)
    stmts = tuple(body)
    note = ast.unparse(args.call)
    loops = [(a.round_variable, a.rounds) for a in axes] + [(a.slice_variable, a.slice) for a in axes]
    needed = [loop for loop in loops if loop[1] > 1] or loops[:1]
    for position, (variable, trips) in reversed(list(enumerate(needed))):
        stmts = (For(variable, fold.ZERO, IndexConst(trips), 1, stmts, note if position == 0 else "", span),)
    state.out.extend(stmts)


def _guarded(cond: IndexExpr, stmt: Stmt, span: Span) -> Stmt:
    return stmt if cond == fold.TRUE else If(cond, (stmt,), (), span)


_register_words()
