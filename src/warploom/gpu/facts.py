"""Facts of a filled kernel that the printer needs before it prints: types of variables, ranges of indices, numbered
statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, assert_never, cast

from warploom.core import DType, Span, scalar_of, u32
from warploom.core.intervals import ANYTHING, NATURAL, Interval, only
from warploom.ir import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Cast,
    CommitCopies,
    Component,
    Declare,
    For,
    FromIndex,
    Holds,
    HoleUse,
    If,
    IndexExpr,
    IndexVar,
    Kernel,
    MakeVector,
    Mixed,
    Param,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    SizeVar,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
    WaitCopies,
    field_names,
    index_range,
    is_boolean,
    parts,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one filled kernel; names are the kernel's."""

    params: dict[str, Param]
    arrays: dict[str, Declare]
    accumulators: dict[str, Accumulator]
    values: dict[str, DType]
    """Type of each value variable."""
    truths: dict[str, bool]
    """By index variable: true if it holds a truth value."""
    ranges: dict[IndexExpr, Interval]
    bindings: dict[str, int]
    """Number of statements that set each index or value variable."""

    def dtype(self, expr: ValueExpr, state: DType | None = None) -> DType:
        """Type of a value expression; `state` is the type of `$state`, `$a`, `$b` inside finalize and operator bodies."""
        match expr:
            case ValueConst(_, dtype) | Cast(dtype, _) | FromIndex(_, dtype) | MakeVector(dtype, _):
                return dtype
            case Holds() | Vote() | Mixed():
                return u32
            case Read(array):
                return self.params[array].dtype if array in self.params else self.arrays[array].dtype
            case ValueVar(name):
                return state if state is not None and name.startswith("$") else self.values[name]
            case Arith(_, operands):
                return self.dtype(operands[0], state)
            case ValueSelect(_, then, _):
                return self.dtype(then, state)
            case Shuffle(_, value):
                return self.dtype(value, state)
            case Component(value):
                return scalar_of(self.dtype(value, state))
            case Accumulated(name):
                accumulator = self.accumulators[name]
                return self.dtype(accumulator.finalize, accumulator.dtype)
            case _:
                assert_never(expr)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outer before inner."""
    for stmt in body:
        yield stmt
        match stmt:
            case For():
                yield from statements(stmt.body)
            case If():
                yield from statements(stmt.then)
                yield from statements(stmt.other)
            case _:
                pass


def own_parts(stmt: Stmt) -> Iterator[Any]:
    """The IR nodes of a statement's own expressions, not of statements inside it."""
    for f in fields(stmt):
        value = getattr(stmt, f.name)
        if f.name not in ("body", "then", "other"):
            yield from parts(value)


def map_own_index(node: T, change: Callable[[IndexExpr], IndexExpr]) -> T:
    """`node` with its outermost index expressions replaced (those of inner statements too)."""
    return cast(T, _map(node, change))


def _map(node: Any, change: Callable[[IndexExpr], IndexExpr]) -> Any:
    """The node itself where nothing below it changes."""
    if isinstance(node, IndexExpr):
        return change(node)
    if isinstance(node, tuple):
        items = cast("tuple[Any, ...]", node)
        new = tuple(_map(item, change) for item in items)
        return items if all(a is b for a, b in zip(items, new, strict=True)) else new
    changed: dict[str, Any] = {}
    for name in field_names(cast("type[Any]", type(node))) or ():
        old = getattr(node, name)
        value = _map(old, change)
        if value is not old:
            changed[name] = value
    return replace(node, **changed) if changed else node


def numbered(kernel: Kernel) -> tuple[Kernel, dict[int, Stmt]]:
    """`kernel` with the span of every statement replaced by a number (as its line), and the statements by that number.

    Filling holes and lowering keep spans, so the number tells which original statement a lowered one comes from.
    """
    originals: dict[int, Stmt] = {}

    def number(stmt: Stmt) -> Stmt:
        tag = len(originals) + 1
        originals[tag] = stmt
        span = Span("", tag, 0, 0, 0)
        match stmt:
            case For():
                return replace(stmt, body=tuple(number(s) for s in stmt.body), span=span)
            case If():
                then, other = (tuple(number(s) for s in part) for part in (stmt.then, stmt.other))
                return replace(stmt, then=then, other=other, span=span)
            case _:
                return replace(stmt, span=span)

    return replace(kernel, body=tuple(number(s) for s in kernel.body)), originals


def holes_of(stmt: Stmt) -> tuple[str, ...]:
    """Names of the holes in a statement's own expressions, in order."""
    return tuple(dict.fromkeys(p.hole for p in own_parts(stmt) if isinstance(p, HoleUse)))


def gather_facts(kernel: Kernel) -> Facts:
    """Types, ranges and binding counts of a filled kernel."""
    facts = Facts({p.name: p for p in kernel.params}, {}, {}, {}, {}, {}, {})
    sizes: dict[IndexExpr, Interval] = {SizeVar(n): NATURAL for n in kernel.sizes}
    facts.ranges.update(sizes)
    for axis in range(3):
        extent = index_range(kernel.grid[axis], facts.ranges)
        facts.ranges[Builtin("thread_id", axis)] = Interval(0, kernel.block[axis] - 1)
        facts.ranges[Builtin("block_dim", axis)] = only(kernel.block[axis])
        facts.ranges[Builtin("block_id", axis)] = Interval(0, max(extent.high - 1, 0))
        facts.ranges[Builtin("grid_dim", axis)] = Interval(max(extent.low, 1), max(extent.high, 1))
    for stmt in statements(kernel.body):
        match stmt:
            case Declare():
                facts.arrays[stmt.name] = stmt
            case Accumulator():
                facts.accumulators[stmt.name] = stmt
            case SetIndex(name, expr):
                facts.bindings[name] = facts.bindings.get(name, 0) + 1
                facts.truths[name] = is_boolean(expr, facts.truths)
            case SetValue(name, dtype):
                facts.bindings[name] = facts.bindings.get(name, 0) + 1
                facts.values[name] = dtype
            case For(var):
                facts.bindings[var] = facts.bindings.get(var, 0) + 1
            case Store() | Accumulate() | If() | Sync() | CommitCopies() | WaitCopies():
                pass
            case _:
                assert_never(stmt)
    _find_ranges(kernel, facts.ranges)
    return facts


def _find_ranges(kernel: Kernel, ranges: dict[IndexExpr, Interval]) -> None:
    """Adds the ranges of index variables: the union over their bindings; one that grows when looked at again may be anything."""
    fixed = dict(ranges)
    known: dict[IndexExpr, Interval] = {}
    while True:
        found: dict[IndexExpr, Interval] = {}
        seen = {**fixed, **known}
        for stmt in statements(kernel.body):
            match stmt:
                case SetIndex(name, expr):
                    new, leaf = index_range(expr, seen), IndexVar(name)
                case For(var, start, stop, step):
                    first, last = index_range(start, seen), index_range(stop, seen)
                    leaf = IndexVar(var)
                    new = Interval(first.low, max(last.high - 1, first.low))
                    new = new if step > 0 else Interval(min(last.low + 1, first.high), first.high)
                case _:
                    continue
            found[leaf] = found[leaf].union(new) if leaf in found else new
            seen[leaf] = found[leaf].union(known[leaf]) if leaf in known else found[leaf]
        if all(leaf in known and known[leaf].union(r) == known[leaf] for leaf, r in found.items()):
            ranges.update(found)
            return
        known = {leaf: ANYTHING if leaf in known and known[leaf].union(r) != known[leaf] else r for leaf, r in found.items()}
