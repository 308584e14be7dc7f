"""One generic thread block for all sizes: block numbers and sizes are symbols, thread numbers concrete, data are terms.

The same machine runs a spec (one thread, loops over sizes taken at a symbolic iteration). Conditions on symbols guard what
follows; values that depend on them are `select` terms. Whatever it cannot follow raises UnliftableError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import assert_never

import numpy as np

from warploom.core import NOWHERE, DType, scalar_of, u32
from warploom.core.linear import Linear
from warploom.ir import (
    UNARY,
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Cast,
    CommitCopies,
    Component,
    Declare,
    For,
    FromIndex,
    Holds,
    If,
    IndexExpr,
    Kernel,
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
    variable_types,
)
from warploom.solve import FALSE as NEVER
from warploom.solve import Formula, conjunction, disjunction, negation
from warploom.synth.lift.affine import Condition, Extreme, Known, ThreadSum, UnliftableError, formula_at, is_uniform, negated
from warploom.synth.lift.choices import is_narrower, select, taken
from warploom.synth.lift.generic_index import GenericIndex, Path, is_prefix
from warploom.synth.lift.trace import Cell, Demand, Event, OutputRead, Place, Trace
from warploom.synth.proof.accesses import Accesses
from warploom.synth.proof.bodies import declared_in, has_barrier, set_in
from warploom.synth.proof.lanes import Findings, source_lanes
from warploom.synth.proof.votes import outcomes
from warploom.terms import Term, apply, atom, component, constant, convert, held_number, holds, mixed, pack

Values = list[Term | None]


@dataclass(slots=True)
class _Cells:
    """A register, accumulator or shared array: per thread, or one row for all."""

    rows: list[list[Term | None]]
    shape: tuple[int, ...]
    dtype: DType
    conditions: tuple[Condition, ...] = ()
    """Conditions that it was declared under: it is there only where they hold, so what is stored need not depend on them."""
    accesses: Accesses | None = None


class GenericBlock:
    """Runs a kernel's body once, for a generic block."""

    def __init__(self, kernel: Kernel, indices: GenericIndex, *, is_spec: bool) -> None:
        self.kernel = kernel
        self.indices = indices
        self.is_spec = is_spec
        self.threads = kernel.threads
        self.trace = Trace()
        self.params = {p.name: p for p in kernel.params}
        self.shapes = {p.name: tuple(indices.size_form(e) for e in p.shape) for p in kernel.params}
        self.private: dict[str, _Cells] = {}
        self.shared: dict[str, _Cells] = {}
        self.accumulators: dict[str, Accumulator] = {}
        unset: Values = [None] * self.threads
        self.variables = {name: (unset, dtype) for name, dtype in variable_types(kernel).items()}
        self.findings = Findings()
        self.iteration: tuple[str, ...] = ()
        self.finished: set[str] = set()
        """Outputs that a loop over a size has stored to."""
        self.carried: set[str] = set()
        """Variables that hold what an earlier iteration of a loop over a size left there."""
        self.skipped = False
        """The last barrier was under a condition that need not hold here."""
        self.groups = 0
        """Groups of asynchronous copies that all threads have committed."""
        self.copied: dict[tuple[str, int], Formula] = {}
        """Condition under which the last copy to an element of a shared array was begun."""
        self.around: Path | None = None
        """The path of the innermost loop over a size."""
        self.span = NOWHERE
        self._outside: dict[tuple[str, Place], Formula] = {}
        self._undefined: dict[Term, Formula] = {}

    def run(self) -> Trace:
        """Everything the block does."""
        self._body(self.kernel.body, Path(np.ones(self.threads, dtype=bool)))
        if self.findings.found:
            first = next(iter(self.findings.found.values()))
            raise UnliftableError(f"a possible race: {first.message}")
        return self.trace

    # ------------------------------------------------------------ statements

    def _body(self, body: tuple[Stmt, ...], path: Path) -> None:
        for statement in body:
            self.span = statement.span
            self._statement(statement, path)

    def _statement(self, statement: Stmt, path: Path) -> None:
        match statement:
            case Declare(name, space, dtype, shape):
                if space == "shared":
                    if name not in self.shared:
                        accesses = Accesses(name, shape, space, self.findings)
                        self.shared[name] = _Cells([[None] * prod(shape)], shape, dtype, (), accesses)
                else:
                    empty: list[list[Term | None]] = [[None] * prod(shape) for _ in range(self.threads)]
                    self.private[name] = _Cells(empty, shape, dtype, path.conditions)
            case SetIndex(name, expr):
                self.indices.assign(name, self.indices.evaluate(expr, path), path)
            case SetValue(name, dtype, value):
                self._set_value(name, dtype, value, path)
            case Store():
                self._store(statement, path)
            case Accumulator(name, dtype, shape):
                rows: list[list[Term | None]] = [[constant(statement.init)] * prod(shape) for _ in range(self.threads)]
                self.private[name] = _Cells(rows, shape, dtype, path.conditions)
                self.accumulators[name] = statement
            case Accumulate():
                self._accumulate(statement, path)
            case For():
                self._loop(statement, path)
            case If(cond, then, other):
                condition = self.indices.condition(cond, path)
                inside, outside = path.narrowed(condition), path.narrowed(negated(condition))
                for part, branch in ((then, inside), (other, outside)):
                    if branch.lanes:
                        self._body(part, branch)
                    if not isinstance(condition, Known) and has_barrier(part):
                        self.skipped = True
            case Sync():
                if len(path.lanes) < self.threads or not all(is_uniform(c) for c in path.conditions):
                    raise UnliftableError(f"{self.span}: a barrier under a condition")
                for cells in self.shared.values():
                    if cells.accesses is not None:
                        cells.accesses.barrier()
                self.skipped = self.skipped and bool(path.conditions)
            case CommitCopies():
                self._refuse_condition(path, "a commit of copies")
                self.groups += 1
            case WaitCopies(left):
                self._refuse_condition(path, "a wait for copies")
                for cells in self.shared.values():
                    if cells.accesses is not None:
                        cells.accesses.complete(self.groups - left, 0)
            case _:
                assert_never(statement)

    def _loop(self, loop: For, path: Path) -> None:
        start, stop = self.indices.bound(loop.start, path), self.indices.bound(loop.stop, path)
        first, last = (b.linear if isinstance(b, ThreadSum) else None for b in (start, stop))
        if any(f.linear is None for b in (start, stop) for f in (b.forms if isinstance(b, Extreme) else (b,))):
            raise UnliftableError(f"{loop.span}: a loop bound that differs between threads")
        if first is not None and last is not None and not first.terms and not last.terms:
            for i in range(first.constant, last.constant, loop.step):
                self.indices.count(loop.var, i, path)
                self._body(loop.body, path)
            return
        if not self.is_spec or loop.step != 1:
            raise UnliftableError(f"{loop.span}: a loop over a size" + (" with a step" if self.is_spec else " in the kernel"))
        outer = self.iteration
        symbol, inside = self.indices.iteration(loop.var, outer, start, stop, path)
        data, index = set_in(loop.body)
        if kept := sorted((data & {*self.private, *self.shared}) - declared_in(loop.body)):
            raise UnliftableError(f"{loop.span}: {kept[0]} keeps values from one iteration of a loop over a size to the next")
        self._forget(data, index)
        self.iteration, around, self.around = (*outer, symbol), self.around, inside
        self._body(loop.body, inside)
        self.iteration, self.around = outer, around
        self._forget(data, index)
        if not outer:
            self.finished |= {name for name, cells in self.trace.cells.items() if any(c.iteration for c in cells.values())}

    def _forget(self, data: set[str], index: set[str]) -> None:
        """Forgets variables that a loop over a size sets: they are unknown where an iteration starts, and after the last one."""
        self.carried |= data
        self.indices.forget(index)

    def _set_value(self, name: str, dtype: DType, value: ValueExpr, path: Path) -> None:
        new = self._converted(value, dtype, path)
        old = self.variables[name][0]
        if name in self.carried:
            self.carried.discard(name)
            old = [atom("carried", (name,))] * self.threads  # no term of a kernel
            if path is self.around:
                old = new
        merged = list(old)
        for lane in path.lanes:
            merged[lane] = self._merged(path, (), lane, _given(new[lane]), old[lane], name)
        self.variables[name] = (merged, dtype)

    def _merged(self, path: Path, declared: tuple[Condition, ...], lane: int, new: Term, old: Term | None, name: str) -> Term:
        """The content of a place after a store of `new`; `declared`: the conditions under which it is there at all."""
        if path.conditions == declared:  # they compare by identity
            return new
        return select(path.at(lane), new, old if old is not None else atom("undefined", (name, lane)))

    def _refuse_condition(self, path: Path, what: str) -> None:
        if len(path.lanes) < self.threads or path.conditions:
            raise UnliftableError(f"{self.span}: {what} under a condition")

    def _store(self, statement: Store, path: Path) -> None:
        array, index, value = statement.array, statement.index, statement.value
        if array in self.private or array in self.shared:
            cells = self.private.get(array) or self.shared[array]
            values = self._converted(value, cells.dtype, path)
            places = self._own_places(array, index, cells, path)
            self._check_synchronised(cells)
            for lane in path.lanes:
                row = cells.rows[lane if array in self.private else 0]
                old = row[places[lane]]
                row[places[lane]] = self._merged(path, cells.conditions, lane, _given(values[lane]), old, array)
                if cells.accesses is not None and statement.is_async:
                    cells.accesses.begin(places[lane], lane, 0, self.span, self.groups)
                    self.copied[array, places[lane]] = path.at(lane)
                elif cells.accesses is not None:
                    is_other = self._excludes_copy(array, places[lane], lane, path)
                    cells.accesses.write(places[lane], lane, 0, self.span, beside_copy=is_other)
            return
        dtype = self.params[array].dtype
        values = self._converted(value, dtype, path)
        places = self._global_places(array, index, path)
        for lane in path.lanes:
            guard = path.at(lane)
            if guard == disjunction(()):
                continue
            term = _given(values[lane])
            if self.is_spec:
                self._demand_cell(array, places[lane], term, guard)
            else:
                self.trace.events.append(Event(array, lane, places[lane], term, guard, self.span))

    def _excludes_copy(self, array: str, place: int, lane: int, path: Path) -> bool:
        """Whether a thread comes here only where the last copy to an element was not begun: in its condition's other branch."""
        begun = self.copied.get((array, place))
        return begun is not None and is_narrower(path.at(lane), negation(begun))

    def _check_synchronised(self, cells: _Cells) -> None:
        if self.skipped and cells.accesses is not None:
            raise UnliftableError(f"{self.span}: shared memory after a barrier under a condition")

    def _demand_cell(self, array: str, place: Place, term: Term, guard: Formula) -> None:
        cells = self.trace.cells.setdefault(array, {})
        if array in self.finished and not self._continues(array):
            raise UnliftableError(f"{self.span}: the spec stores to {array} in two loops over sizes")
        old = cells.get(place)
        if old is None:
            cells[place] = Cell(term, guard, self.iteration)
        elif old.iteration != self.iteration:
            raise UnliftableError(f"{self.span}: the spec stores to {array} inside and outside of a loop over a size")
        elif is_narrower(old.stored, guard):
            old.value, old.stored = term, guard
        else:
            old.value = select(guard, term, select(old.stored, old.value, self._initial(array, place)))
            old.stored = disjunction([old.stored, guard])

    def _continues(self, array: str) -> bool:
        """Whether this is one more part of the loop over a size in which everything so far was stored to `array`."""
        first = self.iteration[:1]
        return bool(first) and all(c.iteration[:1] == first for c in self.trace.cells.get(array, {}).values())

    def _initial(self, array: str, place: Place) -> Term:
        param = self.params[array]
        return atom(array, place, param.dtype.lanes) if param.is_input else constant(0)

    def _accumulate(self, statement: Accumulate, path: Path) -> None:
        path = path.narrowed(self.indices.condition(statement.guard, path))
        if not path.lanes:
            return
        cells = self.private[statement.accumulator]
        op = self.accumulators[statement.accumulator].op
        values = self._converted(statement.value, cells.dtype, path)
        places = self._own_places(statement.accumulator, statement.index, cells, path)
        for lane in path.lanes:
            row, place = cells.rows[lane], places[lane]
            old = _given(row[place])
            held = taken(old, path.at(lane)) if old.op == "select" else old
            new = apply(op, held, _given(values[lane]))
            row[place] = self._merged(path, cells.conditions, lane, new, old, statement.accumulator)

    # ------------------------------------------------------------ places

    def _own_places(self, array: str, index: tuple[IndexExpr, ...], cells: _Cells, path: Path) -> list[int]:
        if not is_prefix(cells.conditions, path.conditions):
            raise UnliftableError(f"{self.span}: {array} is used outside of the condition it was declared under")
        flat = np.zeros(self.threads, dtype=np.int64)
        inside = np.ones(self.threads, dtype=bool)
        for expr, extent in zip(index, cells.shape, strict=True):
            form = self.indices.form(expr, path)
            if form.terms:
                raise UnliftableError(f"{self.span}: an index of {array} that depends on a block number or a size")
            inside &= (form.base >= 0) & (form.base < extent)
            flat = flat * extent + form.base
        if (path.flags & ~inside).any():
            raise UnliftableError(f"{self.span}: an index outside of {array}")
        return np.where(inside, flat, 0).tolist()

    def _global_places(self, array: str, index: tuple[IndexExpr, ...], path: Path) -> list[Place]:
        """Element per thread; that it lies inside the array is demanded."""
        uniform = [self.indices.uniform(e, path) for e in index]
        common = tuple(u for u in uniform if u is not None)
        if len(common) == len(index):
            if self._outside_of(array, common) != NEVER:
                self._demand_inside(array, dict.fromkeys(path.lanes, common), path)
            return [common] * self.threads
        forms = [self.indices.form(e, path) for e in index]
        columns = [[Linear(f.terms, base) for base in f.base.tolist()] for f in forms]
        places = list(zip(*columns, strict=True))
        stops = self.shapes[array]
        if not all(self.indices.is_seen_between(f, stop, path) for f, stop in zip(forms, stops, strict=True)):
            self._demand_inside(array, {lane: places[lane] for lane in path.outermost(forms)}, path)
        return places

    def _demand_inside(self, array: str, places: Mapping[int, Place], path: Path) -> None:
        for lane, place in places.items():
            faulty = self._outside_of(array, place)
            if faulty != NEVER and (array, place, lane) not in path.demanded:
                path.demanded.add((array, place, lane))
                text = f"{array}[{', '.join(map(str, place))}] inside the array in thread {lane}"
                self.trace.demands.append(Demand(path.at(lane), faulty, text, self.span))

    def _outside_of(self, array: str, place: Place) -> Formula:
        """Condition under which an element is outside of the array."""
        found = self._outside.get((array, place))
        if found is None:
            outside: list[Formula] = []
            for position, extent in zip(place, self.shapes[array], strict=True):
                outside.append(self.indices.at_most(position, Linear((), -1)))
                outside.append(self.indices.at_most(extent, position))
            found = self._outside[array, place] = disjunction(outside)
        return found

    # ------------------------------------------------------------ values

    def _converted(self, value: ValueExpr, dtype: DType, path: Path) -> Values:
        source = self._type_of(value)
        values = self._value(value, path)
        if source == dtype or dtype.lanes > 1:
            return values
        return [None if v is None else convert(v, source, dtype) for v in values]

    def _value(self, expr: ValueExpr, path: Path) -> Values:
        match expr:
            case ValueConst(value):
                number = constant(value)
                return self._each(path, lambda _: number)
            case Read(array, index):
                return self._read(array, index, path)
            case ValueVar(name):
                if name in self.carried:
                    raise UnliftableError(f"{self.span}: {name} holds what an earlier iteration of a loop over a size left there")
                values = self.variables[name][0]
                return self._each(path, lambda lane: self._defined(values[lane], name, lane, path))
            case Arith(op, operands):
                return self._arith(op, [self._value(o, path) for o in operands], path)
            case ValueSelect(cond, then, other):
                return self._select(self.indices.condition(cond, path), then, other, path)
            case Shuffle():
                return self._shuffle(expr, path)
            case Holds(op, lhs, rhs):
                kind, a, b = self._type_of(lhs), self._value(lhs, path), self._value(rhs, path)
                return self._each(path, lambda lane: holds(op, kind, _given(a[lane]), _given(b[lane])))
            case Vote():
                return self._vote(expr, path)
            case Mixed(op, operands, control):
                parts = [self._value(o, path) for o in operands]
                form = self.indices.form(control, path)
                if form.terms:
                    raise UnliftableError(f"{self.span}: a selector that depends on a block number or a size")
                return self._each(path, lambda lane: mixed(op, int(form.base[lane]), *(_given(p[lane]) for p in parts)))
            case Cast(dtype, value):
                return self._converted(value, dtype, path)
            case FromIndex(index, dtype):
                form = self.indices.form(index, path)
                if form.terms:
                    raise UnliftableError(f"{self.span}: a block number or size used as data")
                return self._each(path, lambda lane: held_number(int(form.base[lane]), dtype))
            case MakeVector(_, items):
                parts = [self._value(i, path) for i in items]
                return self._each(path, lambda lane: pack(*(_given(p[lane]) for p in parts)))
            case Component(value, position):
                vectors = self._value(value, path)
                return self._each(path, lambda lane: component(_given(vectors[lane]), position))
            case Accumulated(name, index):
                return self._accumulated(name, index, path)
            case _:
                assert_never(expr)

    def _each(self, path: Path, value: Callable[[int], Term]) -> Values:
        result: Values = [None] * self.threads
        for lane in path.lanes:
            result[lane] = value(lane)
        return result

    def _defined(self, value: Term | None, name: str, lane: int, path: Path) -> Term:
        """A value that is read; that it was written before, on every way here, is demanded."""
        if value is None:
            value = atom("undefined", (name, lane))
        if value.op == "select":
            value = taken(value, path.at(lane))
        if self.is_spec or (missing := self._undefined_when(value)) == NEVER:
            return value
        if not is_narrower(path.at(lane), negation(missing)):
            self.trace.demands.append(Demand(path.at(lane), missing, f"{name} written before thread {lane} reads it", self.span))
        return value

    def _undefined_when(self, value: Term) -> Formula:
        """Condition under which a value is one that nobody wrote; values computed from such ones were demanded when those were
        read."""
        found = self._undefined.get(value)
        if found is None:
            if value.op == "select":
                condition: Formula = value.args[0].data[1][0]
                parts = ((condition, value.args[1]), (negation(condition), value.args[2]))
                found = disjunction(conjunction([c, self._undefined_when(v)]) for c, v in parts)
            else:
                found = conjunction(()) if value.op == "atom" and value.data[0] == "undefined" else NEVER
            self._undefined[value] = found
        return found

    def _select(self, condition: Condition, then: ValueExpr, other: ValueExpr, path: Path) -> Values:
        inside, outside = path.narrowed(condition), path.narrowed(negated(condition))
        none: Values = [None] * self.threads
        first = self._value(then, inside) if inside.lanes else none
        second = self._value(other, outside) if outside.lanes else none

        def chosen(lane: int) -> Term:
            a, b = first[lane], second[lane]
            if a is None or b is None:
                return _given(b if a is None else a)
            return select(formula_at(condition, lane), a, b)

        return self._each(path, chosen)

    def _read(self, array: str, index: tuple[IndexExpr, ...], path: Path) -> Values:
        if array in self.private or array in self.shared:
            cells = self.private.get(array) or self.shared[array]
            own = self._own_places(array, index, cells, path)
            self._check_synchronised(cells)

            def held(lane: int) -> Term:
                if cells.accesses is not None:
                    cells.accesses.read(own[lane], lane, 0, self.span)
                return self._defined(cells.rows[lane if array in self.private else 0][own[lane]], array, lane, path)

            return self._each(path, held)
        param = self.params[array]
        places = self._global_places(array, index, path)
        if not param.is_output:
            return self._each(path, lambda lane: atom(array, places[lane], param.dtype.lanes))
        if not self.is_spec:
            return self._read_output(array, places, path)
        if array in self.finished and not self._continues(array):
            raise UnliftableError(f"{self.span}: the spec reads {array} after the loop that stores to it")
        cell = self.trace.cells.get(array, {}).get(places[0])
        if cell is not None and cell.iteration == self.iteration:
            if is_narrower(path.at(0), cell.stored):
                return [cell.value]
            return [select(cell.stored, cell.value, self._initial(array, places[0]))]
        self.trace.initial_reads.append((array, places[0], self.iteration))
        return [self._initial(array, places[0])]

    def _read_output(self, array: str, places: list[Place], path: Path) -> Values:
        """The initial content of an output; the lift must still see that no other thread stores it, as `OutputRead` says."""
        param = self.params[array]
        if not param.is_input:
            raise UnliftableError(f"{self.span}: the kernel reads its output {array}")
        if any(e.array == array for e in self.trace.events):
            raise UnliftableError(f"{self.span}: the kernel reads its output {array} after a store to it")
        for lane in path.lanes:
            self.trace.output_reads.append(OutputRead(array, lane, places[lane], path.at(lane), self.span))
        return self._each(path, lambda lane: atom(array, places[lane], param.dtype.lanes))

    def _arith(self, op: str, operands: list[Values], path: Path) -> Values:
        def folded(lane: int) -> Term:
            first = _given(operands[0][lane])
            if len(operands) == 1:
                return apply(op, first) if op in UNARY else first
            for operand in operands[1:]:
                first = apply(op, first, _given(operand[lane]))
            return first

        return self._each(path, folded)

    def _shuffle(self, expr: Shuffle, path: Path) -> Values:
        sent = self._value(expr.value, path)
        operand = self.indices.form(expr.operand, path)
        if operand.terms:
            raise UnliftableError(f"{expr.span}: a shuffle lane that depends on a block number or a size")
        threads, warp = np.arange(self.threads), self.kernel.warp_size
        lane = threads % warp
        sources: list[int] = (threads - lane + source_lanes(expr.kind, lane, operand.base, expr.width, warp)).tolist()
        divergent = not all(is_uniform(c) for c in path.conditions)

        def received(thread: int) -> Term:
            other = sources[thread]
            value = sent[other] if other < self.threads else None
            if value is None:
                raise UnliftableError(f"{expr.span}: thread {thread} reads from an inactive lane")
            if divergent and path.at(thread) != path.at(other):
                text = f"the lane that thread {thread} reads from is active"
                self.trace.demands.append(Demand(path.at(thread), negation(path.at(other)), text, expr.span))
            return value

        return self._each(path, received)

    def _vote(self, expr: Vote, path: Path) -> Values:
        cast = self._value(expr.value, path)
        if not all(is_uniform(c) for c in path.conditions) or len(path.lanes) < self.threads:
            raise UnliftableError(f"{expr.span}: a vote under a condition that differs between the threads of a block")
        warp = self.kernel.warp_size
        dtype = self._type_of(expr.value)
        found: Values = []
        for first in range(0, self.threads, warp):
            found += outcomes(expr, [_given(v) for v in cast[first : first + warp]], dtype)
        return found

    def _accumulated(self, name: str, index: tuple[IndexExpr, ...], path: Path) -> Values:
        cells = self.private[name]
        places = self._own_places(name, index, cells, path)
        saved = self.variables.get("$state")
        self.variables["$state"] = (self._each(path, lambda lane: _given(cells.rows[lane][places[lane]])), cells.dtype)
        result = self._value(self.accumulators[name].finalize, path)
        if saved is not None:
            self.variables["$state"] = saved
        return result

    def _type_of(self, expr: ValueExpr) -> DType:
        match expr:
            case ValueConst(_, dtype) | Cast(dtype) | FromIndex(_, dtype) | MakeVector(dtype):
                return dtype
            case Holds() | Vote() | Mixed():
                return u32
            case Read(array):
                cells = self.private.get(array) or self.shared.get(array)
                return cells.dtype if cells is not None else self.params[array].dtype
            case ValueVar(name):
                return self.variables[name][1]
            case Arith(_, operands):
                return self._type_of(operands[0])
            case ValueSelect(_, then, _):
                return self._type_of(then)
            case Shuffle(_, value):
                return self._type_of(value)
            case Component(value):
                return scalar_of(self._type_of(value))
            case Accumulated(name):
                finalize = self.accumulators[name].finalize
                return finalize.dtype if isinstance(finalize, Cast) else self.accumulators[name].dtype
            case _:
                assert_never(expr)


def _given(value: Term | None) -> Term:
    assert value is not None, "an active thread has a value"
    return value
