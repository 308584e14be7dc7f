"""A filled kernel made ready to print: indices simplified, decided control removed, shuffles safe, register indices constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, Span, UnsupportedError, UserError
from warploom.gpu.dead import without_dead_variables
from warploom.gpu.facts import Facts, gather_facts, map_own_index, numbered, statements
from warploom.gpu.guards import joined
from warploom.gpu.once import with_global_ids, with_vector_indices
from warploom.gpu.peel import peeled
from warploom.gpu.registers import RegisterPass
from warploom.ir import (
    Accumulate,
    Arith,
    Builtin,
    Cast,
    Compare,
    Component,
    For,
    Holds,
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexVar,
    Kernel,
    Logical,
    MakeVector,
    Mixed,
    SetIndex,
    SetValue,
    Shuffle,
    Stmt,
    Store,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
    fill,
    grid,
    index_range,
    leaves,
    map_index,
    parts,
    simplify,
    tabulate,
)

_THREADS = tuple(Builtin("thread_id", axis) for axis in range(3))


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel to print as it stands."""

    kernel: Kernel
    facts: Facts
    unrolled: frozenset[str]
    """Loop variables whose loops are unrolled, so that register indices are constants."""
    originals: Mapping[int, Stmt]
    """Statements as the user wrote them, holes included, by the line number in the lowered statements' spans."""


def lower(kernel: Kernel, completions: Mapping[str, IndexExpr]) -> Lowered:
    """`kernel` with its holes filled, ready to print; UserError for open holes and shuffles a GPU cannot run."""
    tagged, originals = numbered(kernel)
    filled = fill(tagged, completions)
    open_holes = sorted({p.hole for p in parts(filled.body) if isinstance(p, HoleUse)})
    if open_holes:
        message = f"expected a completion of every hole, got none of {', '.join(open_holes)}"
        raise UserError(Diagnostic("HOLE_UNFILLED", message, kernel.span, "complete the sketch first"))
    facts = gather_facts(filled)
    body = map_own_index(filled.body, lambda e: simplify(e, facts.ranges))
    body = _decided(body, facts)
    facts = gather_facts(replace(filled, body=body))
    names = _Fresh(filled)
    cut = peeled(body, _ShufflePass(filled, facts, originals, names).from_itself, names)
    if cut != body:
        facts = gather_facts(replace(filled, body=cut))
        body = map_own_index(cut, lambda e: simplify(e, facts.ranges))
    body = _ShufflePass(filled, facts, originals, names).block(body, ())
    registers = RegisterPass(facts, names)
    body = map_own_index(registers.block(body), lambda e: simplify(e, facts.ranges))
    body = with_vector_indices(with_global_ids(_decided(body, facts), kernel.block, names), facts.params)
    body = joined(without_dead_variables(body, facts.params), facts)
    lowered = replace(filled, body=body)
    return Lowered(lowered, gather_facts(lowered), frozenset(registers.unrolled), originals)


class _Fresh:
    """Names that the kernel does not use."""

    def __init__(self, kernel: Kernel) -> None:
        nodes = [*parts(kernel.body), *kernel.params]
        self._used = {n.name for n in nodes if isinstance(getattr(n, "name", None), str)}
        self._used |= {s.var for s in statements(kernel.body) if isinstance(s, For)} | set(kernel.sizes)

    def __call__(self, wish: str) -> str:
        name, number = wish, 1
        while name in self._used:
            number += 1
            name = f"{wish}{number}"
        self._used.add(name)
        return name


def _decided(body: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
    """`body` without branches, loops and accumulates that never run, and without conditions that always hold."""
    result: list[Stmt] = []
    for stmt in body:
        match stmt:
            case If(IndexConst(value)):
                result += _decided(stmt.then if value else stmt.other, facts)
            case If():
                result.append(replace(stmt, then=_decided(stmt.then, facts), other=_decided(stmt.other, facts)))
            case For(_, start, stop, step):
                trips = index_range(IndexBinary("-", stop, start), facts.ranges)
                if (trips.high > 0) if step > 0 else (trips.low < 0):
                    result.append(replace(stmt, body=_decided(stmt.body, facts)))
            case Accumulate(guard=IndexConst(False)):
                pass
            case _:
                result.append(_without_decided_selects(stmt))
    return tuple(result)


def _without_decided_selects(stmt: Stmt) -> Stmt:
    def value(expr: ValueExpr) -> ValueExpr:
        match expr:
            case ValueSelect(IndexConst(cond), then, other):
                return value(then if cond else other)
            case ValueSelect(cond, then, other):
                return ValueSelect(cond, value(then), value(other))
            case _:
                return map_operands(expr, value)

    match stmt:
        case Store(is_async=True, value=ValueSelect(cond, read, _)):  # zeros are written by the copy
            return replace(stmt, value=read) if cond == IndexConst(True) else stmt
        case SetValue() | Store() | Accumulate():
            return replace(stmt, value=value(stmt.value))
        case _:
            return stmt


def map_operands(expr: ValueExpr, change: Callable[[ValueExpr], ValueExpr]) -> ValueExpr:
    """`expr` with its direct value operands replaced by `change` of them."""
    match expr:
        case Arith(op, operands):
            return Arith(op, tuple(change(e) for e in operands))
        case ValueSelect(cond, then, other):
            return ValueSelect(cond, change(then), change(other))
        case Holds(op, lhs, rhs):
            return Holds(op, change(lhs), change(rhs))
        case Mixed(op, operands, control):
            return Mixed(op, tuple(change(e) for e in operands), control)
        case Shuffle() | Vote():
            return replace(expr, value=change(expr.value))
        case Cast(dtype, value):
            return Cast(dtype, change(value))
        case MakeVector(dtype, items):
            return MakeVector(dtype, tuple(change(e) for e in items))
        case Component(value, position):
            return Component(change(value), position)
        case _:
            return expr


@dataclass(slots=True)
class _ShufflePass:
    """Brings shuffles where every lane of the warp executes them, and their operands into the hardware's range."""

    kernel: Kernel
    facts: Facts
    originals: Mapping[int, Stmt]
    fresh: _Fresh

    def block(self, body: tuple[Stmt, ...], conditions: tuple[IndexExpr, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            match stmt:
                case For():
                    result.append(replace(stmt, body=self.block(stmt.body, conditions)))
                case If(cond, then, other):
                    inside = (*conditions, cond)
                    result.append(replace(stmt, then=self.block(then, inside), other=self.block(other, inside)))
                case SetValue() | Store() | Accumulate():
                    before: list[Stmt] = []
                    guarded = isinstance(stmt, Accumulate) and not isinstance(stmt.guard, IndexConst)
                    value = self._value(stmt.value, stmt, conditions, before, hoist=guarded)
                    result += (*before, replace(stmt, value=value))
                case _:
                    result.append(stmt)
        return tuple(result)

    def _value(
        self, expr: ValueExpr, stmt: Stmt, conditions: tuple[IndexExpr, ...], before: list[Stmt], *, hoist: bool
    ) -> ValueExpr:
        match expr:
            case ValueSelect(cond, then, other):
                inside = (*conditions, cond)
                then, other = (self._value(e, stmt, inside, before, hoist=False) for e in (then, other))
                return ValueSelect(cond, then, other)
            case Shuffle():
                inner = self._value(expr.value, stmt, conditions, before, hoist=hoist)
                if self.from_itself(expr):
                    return inner
                shuffle = replace(expr, value=inner, operand=self._operand(expr, stmt))
                self._check_converged(conditions, stmt, expr.span)
                return self._hoisted(shuffle, stmt, before) if hoist else shuffle
            case Vote():
                vote = replace(expr, value=self._value(expr.value, stmt, conditions, before, hoist=hoist))
                self._check_converged(conditions, stmt, expr.span, "VOTE_DIVERGENT", "vote")
                return self._hoisted(vote, stmt, before) if hoist else vote
            case _:
                return map_operands(expr, lambda e: self._value(e, stmt, conditions, before, hoist=hoist))

    def _hoisted(self, value: ValueExpr, stmt: Stmt, before: list[Stmt]) -> ValueVar:
        name, dtype = self.fresh("got"), self.facts.dtype(value)
        self.facts.values[name], self.facts.bindings[name] = dtype, 1
        before.append(SetValue(name, dtype, value, span=stmt.span))
        return ValueVar(name)

    def _operand(self, shuffle: Shuffle, stmt: Stmt) -> IndexExpr:
        width = min(shuffle.width, self.kernel.warp_size)
        if width & (width - 1) or not 1 <= width <= 32:
            raise UnsupportedError(
                self._problem("SHUFFLE_WIDTH", f"expected a width of 1, 2, 4, ... 32, got {width}", stmt, shuffle)
            )
        known = index_range(shuffle.operand, self.facts.ranges)
        if shuffle.kind == "idx":
            return simplify(_without_wrap(shuffle.operand, width), self.facts.ranges)
        lanes = min(self.kernel.warp_size, 32)
        if not (known.low >= 0 and known.high < lanes):
            message = f"expected 0 <= operand < {lanes} of shfl_{shuffle.kind}, got {known.low} to {known.high}"
            raise UnsupportedError(self._problem("SHUFFLE_OPERAND", message, stmt, shuffle))
        return shuffle.operand

    def _check_converged(
        self, conditions: tuple[IndexExpr, ...], stmt: Stmt, span: Span, code: str = "SHUFFLE_DIVERGENT", what: str = "shuffle"
    ) -> None:
        for cond in conditions:
            if not self._uniform(cond):
                message = (
                    f"expected every lane of the warp to execute the {what}, got one under a condition that differs in a warp"
                )
                fix = f"{what} into a variable before the condition, and use that variable under it"
                raise UnsupportedError(Diagnostic(code, message, span if span.line else self._span(stmt), fix))

    def from_itself(self, shuffle: Shuffle) -> bool:
        """Whether every lane gets its own value, decided on every value of every variable."""
        table = self._by_thread(shuffle.operand)
        if table is None:
            return False
        if shuffle.kind != "idx":
            return not table.any()
        width = min(shuffle.width, self.kernel.warp_size)
        lanes = np.arange(self.kernel.threads) % self.kernel.warp_size
        return bool(np.all(table % width == lanes % width))

    def _uniform(self, cond: IndexExpr) -> bool:
        """Whether all threads of a warp agree on `cond`."""
        expanded = self._expanded(cond)
        if any(isinstance(e, IndexVar) and self.facts.bindings.get(e.name) != 1 for e in leaves(expanded)):
            return False  # set in several places, by other threads perhaps
        return self._agrees(expanded)

    def _agrees(self, expr: IndexExpr) -> bool:
        """Whether they agree on `expr`: decided on every value of every variable, or because they agree on its operands."""
        if not any(e in _THREADS for e in leaves(expr)):
            return True
        table = self._by_thread(expr)
        if table is not None:
            warp = self.kernel.warp_size
            return all(bool(np.all(table[:, s : s + warp] == table[:, s : s + 1])) for s in range(0, self.kernel.threads, warp))
        match expr:
            case IndexBinary(_, lhs, rhs) | Compare(_, lhs, rhs):
                return self._agrees(lhs) and self._agrees(rhs)
            case Logical(_, operands):
                return all(map(self._agrees, operands))
            case _:
                return False

    def _by_thread(self, expr: IndexExpr) -> NDArray[np.int64] | None:
        """Values [points of all else, threads] of `expr`; None if they are too many or have no bound."""
        expanded = self._expanded(expr)
        others = tuple(e for e in dict.fromkeys(leaves(expanded)) if e not in _THREADS)
        axes = grid((*others, *reversed(_THREADS)), self.facts.ranges, 1 << 20)
        if axes is None:
            return None
        x, y, z = self.kernel.block
        return np.broadcast_to(tabulate(expanded, axes), (*(axes[e].size for e in others), z, y, x)).reshape(-1, x * y * z)

    def _expanded(self, expr: IndexExpr) -> IndexExpr:
        """`expr` with index variables that are set once replaced by their definitions."""
        definitions = {
            IndexVar(s.name): s.expr
            for s in statements(self.kernel.body)
            if isinstance(s, SetIndex) and self.facts.bindings[s.name] == 1
        }

        def expand(e: IndexExpr) -> IndexExpr | None:
            return map_index(definitions[e], expand) if e in definitions else None

        return map_index(expr, expand)

    def _span(self, stmt: Stmt) -> Span:
        return self.originals[stmt.span.line].span

    def _problem(self, code: str, message: str, stmt: Stmt, shuffle: Shuffle) -> Diagnostic:
        return Diagnostic(code, message, shuffle.span if shuffle.span.line else self._span(stmt))


def _without_wrap(operand: IndexExpr, width: int) -> IndexExpr:
    """`operand` without a last `% width`: an indexed shuffle takes its lane modulo the width itself."""
    match operand:
        case IndexBinary("&", lhs, IndexConst(mask)) if (int(mask) + 1) % width == 0 and mask & (mask + 1) == 0:
            return lhs
        case IndexBinary("%", lhs, IndexConst(n)) if n > 0 and n % width == 0:
            return lhs
        case _:
            return operand
