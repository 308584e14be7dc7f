"""Register arrays indexed by constants only: dynamic indices become conditions, rotations become barrel rotations.

A GPU has no indexed registers: an array that a dynamic index touches goes to local memory (Source: Swizzle Inventor, section
6.3). After this pass every index into a register array or accumulator array is over loop variables, and those loops are to be
unrolled. Non-goal: indices that depend on run-time sizes without bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import assert_never

from warploom.core import NOWHERE, DType
from warploom.gpu.copies import without_copy
from warploom.gpu.facts import Facts
from warploom.gpu.rotation import Permutation, covers, described, find_permutation, has_bit, inverse, source_of
from warploom.ir import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Cast,
    CommitCopies,
    Compare,
    Component,
    Declare,
    For,
    FromIndex,
    Holds,
    If,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    MakeVector,
    Mixed,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
    WaitCopies,
    index_range,
    leaves,
    map_index,
    parts,
    simplify,
)

Index = tuple[IndexExpr, ...]


@dataclass(slots=True)
class RegisterPass:
    """Rewrites one kernel body; `unrolled` collects the loop variables that register indices need constant."""

    facts: Facts
    fresh: Callable[[str], str]
    unrolled: set[str] = field(default_factory=set[str])
    _loops: list[str] = field(default_factory=list[str])
    _definitions: dict[str, IndexExpr] = field(default_factory=dict[str, IndexExpr])
    _rotated: dict[tuple[str, IndexExpr], Read] = field(default_factory=dict[tuple[str, IndexExpr], Read])
    _before: list[Stmt] = field(default_factory=list[Stmt])

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The rewritten statements of one block."""
        outside = dict(self._definitions)
        result: list[Stmt] = []
        for stmt in body:
            kept, self._before = self._before, []
            after = self._stmt(stmt)
            result += (*self._before, *after)
            self._before = kept
        self._definitions = outside
        return tuple(result)

    def _stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case Declare() | Accumulator() | Sync() | CommitCopies() | WaitCopies():
                return (stmt,)
            case SetIndex(name, expr):
                if self.facts.bindings[name] == 1:
                    self._definitions[name] = expr
                return (stmt,)
            case SetValue():
                return (replace(stmt, value=self._value(stmt.value)),)
            case Store():
                return self._store(stmt)
            case Accumulate():
                return self._accumulate(stmt)
            case For():
                return self._loop(stmt)
            case If():
                return (replace(stmt, then=self.block(stmt.then), other=self.block(stmt.other)),)
            case _:
                assert_never(stmt)

    def _loop(self, stmt: For) -> tuple[Stmt, ...]:
        rotated = dict(self._rotated)
        before = self._permutations(stmt)
        stmt, declared, after = self._scattered(stmt)
        self._loops.append(stmt.var)
        body = self.block(stmt.body)
        self._loops.pop()
        self._rotated = rotated
        if stmt.var in self.unrolled:
            for bound in (stmt.start, stmt.stop):
                self.unrolled.update(e.name for e in leaves(bound) if isinstance(e, IndexVar))
        stmt = replace(stmt, body=body)
        return (*declared, *(without_copy(before, stmt, self.facts) or (*before, stmt)), *after)

    # ------------------------------------------------------------ static and dynamic indices

    def _expanded(self, expr: IndexExpr) -> IndexExpr:
        """`expr` with index variables that are set once, in scope, replaced by their definitions."""

        def change(e: IndexExpr) -> IndexExpr | None:
            definition = self._definitions.get(e.name) if isinstance(e, IndexVar) else None
            return None if definition is None else self._expanded(definition)

        return map_index(expr, change)

    def _static(self, expr: IndexExpr) -> bool:
        """Whether `expr` is a constant once the loops around are unrolled; if so, they will be."""
        names = [e.name if isinstance(e, IndexVar) else "" for e in leaves(self._expanded(expr))]
        if not all(name in self._loops for name in names):
            return False
        self.unrolled.update(names)
        return True

    def _cases(self, index: Index, shape: tuple[int, ...], leaf: Callable[[Index], ValueExpr]) -> ValueExpr:
        return self._case((), index, shape, leaf)

    def _case(self, done: Index, left: Index, shape: tuple[int, ...], leaf: Callable[[Index], ValueExpr]) -> ValueExpr:
        if not left:
            return leaf(done)
        first, rest = left[0], left[1:]
        if self._static(first):
            return self._case((*done, first), rest, shape, leaf)
        if isinstance(first, IndexSelect):
            then = self._case(done, (first.then, *rest), shape, leaf)
            return ValueSelect(first.cond, then, self._case(done, (first.other, *rest), shape, leaf))
        lifted = self._lifted(first)
        if lifted is not None:
            return self._case(done, (lifted, *rest), shape, leaf)
        low, high = self._candidates(first, shape[len(done)])
        if high - low > 1:
            first = self._named(first)
        result = self._case((*done, IndexConst(high)), rest, shape, leaf)
        for value in range(high - 1, low - 1, -1):
            here = self._case((*done, IndexConst(value)), rest, shape, leaf)
            result = ValueSelect(Compare("==", first, IndexConst(value)), here, result)
        return result

    def _lifted(self, index: IndexExpr) -> IndexExpr | None:
        """`2*y + (0 if c else 1)` as `2*y if c else 2*y + 1`, where that leaves static branches only; else None."""
        inner = next((p for p in parts(index) if isinstance(p, IndexSelect)), None)
        if inner is None:
            return None
        branches: list[IndexExpr] = []
        for chosen in (inner.then, inner.other):
            branch = map_index(index, lambda e, new=chosen: new if e == inner else None)
            branch = simplify(branch, self.facts.ranges)
            before = set(self.unrolled)
            if not self._static(branch):
                self.unrolled = before
                lifted = self._lifted(branch)
                if lifted is None:
                    return None
                branch = lifted
            branches.append(branch)
        return IndexSelect(inner.cond, branches[0], branches[1])

    def _candidates(self, index: IndexExpr, extent: int) -> tuple[int, int]:
        known = index_range(index, self.facts.ranges)
        low, high = int(max(known.low, 0)), int(min(known.high, extent - 1))
        return (low, high) if low <= high else (0, extent - 1)

    def _named(self, index: IndexExpr) -> IndexExpr:
        """`index`, computed once into a variable unless it is one."""
        if isinstance(index, (IndexVar, Builtin)):
            return index
        name = self.fresh("at")
        self._before.append(SetIndex(name, index))
        self._bind(name, index)
        return IndexVar(name)

    def _bind(self, name: str, expr: IndexExpr) -> None:
        self.facts.bindings[name] = 1
        self.facts.truths[name] = False
        self.facts.ranges[IndexVar(name)] = index_range(expr, self.facts.ranges)

    # ------------------------------------------------------------ statements and values

    def _value(self, expr: ValueExpr) -> ValueExpr:
        match expr:
            case ValueConst() | ValueVar() | FromIndex():
                return expr
            case Read(array, index):
                declared = self.facts.arrays.get(array)
                if declared is None or declared.space != "register":
                    return expr
                if len(index) == 1 and (array, index[0]) in self._rotated:
                    expr = self._rotated[(array, index[0])]
                    array, index = expr.array, expr.index
                return self._cases(index, declared.shape, lambda at: Read(array, at))
            case Accumulated(name, index):
                shape = self.facts.accumulators[name].shape
                return self._cases(index, shape, lambda at: Accumulated(name, at))
            case Arith(op, operands):
                return Arith(op, tuple(self._value(e) for e in operands))
            case ValueSelect(cond, then, other):
                return ValueSelect(cond, self._value(then), self._value(other))
            case Holds(op, lhs, rhs):
                return Holds(op, self._value(lhs), self._value(rhs))
            case Mixed(op, operands, control):
                return Mixed(op, tuple(self._value(e) for e in operands), control)
            case Shuffle() | Vote():
                return replace(expr, value=self._value(expr.value))
            case Cast(dtype, value):
                return Cast(dtype, self._value(value))
            case MakeVector(dtype, items):
                return MakeVector(dtype, tuple(self._value(e) for e in items))
            case Component(value, position):
                return Component(self._value(value), position)
            case _:
                assert_never(expr)

    def _store(self, stmt: Store) -> tuple[Stmt, ...]:
        value = self._value(stmt.value)
        declared = self.facts.arrays.get(stmt.array)
        if declared is None or declared.space != "register" or all(self._static(e) for e in stmt.index):
            return (replace(stmt, value=value),)
        name = self.fresh("stored")
        self.facts.values[name], self.facts.bindings[name] = declared.dtype, 1
        stores = self._placed(stmt.index, declared.shape, lambda at: replace(stmt, index=at, value=ValueVar(name)))
        return (SetValue(name, declared.dtype, value), *stores)

    def _accumulate(self, stmt: Accumulate) -> tuple[Stmt, ...]:
        value = self._value(stmt.value)
        shape = self.facts.accumulators[stmt.accumulator].shape
        if all(self._static(e) for e in stmt.index):
            return (replace(stmt, value=value),)
        name, dtype = self.fresh("added"), self.facts.accumulators[stmt.accumulator].dtype
        self.facts.values[name], self.facts.bindings[name] = dtype, 1
        return (
            SetValue(name, dtype, value),
            *self._placed(stmt.index, shape, lambda at: replace(stmt, index=at, value=ValueVar(name))),
        )

    def _placed(self, index: Index, shape: tuple[int, ...], leaf: Callable[[Index], Stmt]) -> tuple[Stmt, ...]:
        """`leaf` at the one place of a register array that `index` names: a loop over all places per dynamic dimension."""
        position = next((d for d, e in enumerate(index) if not self._static(e)), None)
        if position is None:
            return (leaf(index),)
        dynamic = index[position]
        if isinstance(dynamic, IndexSelect):
            then, other = ((*index[:position], e, *index[position + 1 :]) for e in (dynamic.then, dynamic.other))
            return (If(dynamic.cond, self._placed(then, shape, leaf), self._placed(other, shape, leaf)),)
        dynamic = self._named(dynamic)
        low, high = self._candidates(dynamic, shape[position])
        var = self.fresh("place")
        self.facts.bindings[var] = 1
        self.facts.ranges[IndexVar(var)] = index_range(IndexConst(low), {}).union(index_range(IndexConst(high), {}))
        self._loops.append(var)
        inner = self._placed((*index[:position], IndexVar(var), *index[position + 1 :]), shape, leaf)
        self._loops.pop()
        chosen = If(Compare("==", dynamic, IndexVar(var)), inner)
        return (For(var, IndexConst(low), IndexConst(high + 1), 1, (chosen,)),)

    # ------------------------------------------------------------ permutations

    def _permutations(self, loop: For) -> tuple[Stmt, ...]:
        """Steps of permutations to run before `loop`, for the reads directly in it that they make static."""
        outside = dict(self._definitions)
        stored = {p.array for p in parts(loop.body) if isinstance(p, Store)}
        bound_inside = {p.name for p in parts(loop.body) if isinstance(p, SetIndex)}
        result: list[Stmt] = []
        done: dict[tuple[str, Permutation], str] = {}
        for stmt in loop.body:
            if isinstance(stmt, (For, If)):
                continue
            for read in (p for p in parts(stmt) if isinstance(p, Read) and len(p.index) == 1):
                declared = self.facts.arrays.get(read.array)
                if declared is None or declared.space != "register" or read.array in stored:
                    continue
                registers = declared.shape[0]
                found = self._permutation(read.index[0], loop, registers, bound_inside)
                if found is None:
                    continue
                name = done.get((read.array, found))
                if name is None:
                    name, steps = self._barrel(read.array, declared.dtype, registers, found)
                    done[(read.array, found)] = name
                    result += steps
                self._rotated[(read.array, read.index[0])] = Read(name, (found.static,))
            if isinstance(stmt, SetIndex) and self.facts.bindings[stmt.name] == 1:
                self._definitions[stmt.name] = stmt.expr
        self._definitions = outside
        return tuple(result)

    def _scattered(self, loop: For) -> tuple[For, tuple[Stmt, ...], tuple[Stmt, ...]]:
        """`loop` with stores that permute a whole array made static; arrays to declare before it; steps to run after it."""
        outside = dict(self._definitions)
        touched = Counter(p.array for p in parts(loop.body) if isinstance(p, (Read, Store)))
        bound_inside = {p.name for p in parts(loop.body) if isinstance(p, SetIndex)}
        body, arrays, after = list(loop.body), list[Stmt](), list[Stmt]()
        for position, stmt in enumerate(loop.body):
            if isinstance(stmt, SetIndex) and self.facts.bindings[stmt.name] == 1:
                self._definitions[stmt.name] = stmt.expr
            declared = self.facts.arrays.get(stmt.array) if isinstance(stmt, Store) and len(stmt.index) == 1 else None
            if not isinstance(stmt, Store) or declared is None or declared.space != "register" or touched[stmt.array] > 1:
                continue
            registers = declared.shape[0]
            found = self._permutation(stmt.index[0], loop, registers, bound_inside)
            if found is None or not covers(found.static, loop, registers):
                continue
            name = self.fresh(f"{stmt.array}_unturned")
            self.facts.arrays[name] = Declare(name, "register", declared.dtype, declared.shape)
            arrays.append(self.facts.arrays[name])
            body[position] = replace(stmt, array=name, index=(found.static,))
            after += self._barrel(name, declared.dtype, registers, inverse(found, self.facts.ranges), stmt.array)[1]
        self._definitions = outside
        return replace(loop, body=tuple(body)), tuple(arrays), tuple(after)

    def _permutation(self, index: IndexExpr, loop: For, registers: int, bound_inside: set[str]) -> Permutation | None:
        """`index` as a permutation of the array that pays, if it is not static once loops are unrolled."""
        expanded, var = self._expanded_inside(index, bound_inside), IndexVar(loop.var)
        if registers < 3 or expanded is None or var not in leaves(expanded) or self._only_loops(expanded, loop.var):
            return None
        if self._lifted_inside(expanded, loop.var) is not None:
            return None
        found = find_permutation(expanded, var, registers, self.facts.ranges)
        return found if found is not None and found.steps and self._pays(found, loop, registers) else None

    def _expanded_inside(self, index: IndexExpr, bound_inside: set[str]) -> IndexExpr | None:
        """`index` over variables that have their value before the loop, and loop variables; None if it is not so."""

        def change(e: IndexExpr) -> IndexExpr | None:
            if isinstance(e, IndexVar) and e.name in bound_inside and e.name in self._definitions:
                return map_index(self._definitions[e.name], change)
            return None

        result = map_index(index, change)
        return None if any(isinstance(e, IndexVar) and e.name in bound_inside for e in leaves(result)) else result

    def _lifted_inside(self, index: IndexExpr, var: str) -> IndexExpr | None:
        self._loops.append(var)
        lifted = self._lifted(index)
        self._loops.pop()
        return lifted

    def _only_loops(self, expr: IndexExpr, var: str) -> bool:
        names = [e.name if isinstance(e, IndexVar) else "" for e in leaves(self._expanded(expr))]
        return all(name in self._loops or name == var for name in names)

    def _pays(self, rotation: Permutation, loop: For, registers: int) -> bool:
        """Selects of the barrel against selects of one condition chain per trip."""
        trips = index_range(IndexVar(loop.var), self.facts.ranges)
        return len(rotation.steps) * registers <= (trips.high - trips.low + 1) * (registers - 1)

    def _barrel(
        self, array: str, dtype: DType, registers: int, found: Permutation, target: str | None = None
    ) -> tuple[str, tuple[Stmt, ...]]:
        """The array that holds `array` permuted (`target`, if given, else a new one), and the statements that fill it."""
        amount = self.fresh(f"{array}_turn")
        result: list[Stmt] = [SetIndex(amount, found.amount)]
        self._bind(amount, found.amount)
        what, steps, source = described(found, array, amount, registers), found.steps, array
        for number, step in enumerate(steps, 1):
            into = target if target is not None and number == len(steps) else self.fresh(f"{array}_turned")
            if into != target:
                self.facts.arrays[into] = Declare(into, "register", dtype, (registers,))
                result.append(self.facts.arrays[into])
            var = self.fresh("r")
            place = IndexVar(var)
            self.facts.bindings[var] = 1
            self.facts.ranges[place] = index_range(IndexConst(0), {}).union(index_range(IndexConst(registers - 1), {}))
            self.unrolled.add(var)
            moved = simplify(source_of(found, step, place, registers), self.facts.ranges)
            chosen = ValueSelect(has_bit(IndexVar(amount), step.bit), Read(source, (moved,)), Read(source, (place,)))
            note = f"{what}: step {number} of {len(steps)}, by {step.distance} where bit {step.bit} is set"
            body = (Store(into, (place,), chosen),)
            result.append(For(var, IndexConst(0), IndexConst(registers), 1, body, note=note, span=NOWHERE))
            source = into
        return source, tuple(result)
