"""Kernels of one warp out of tables that say which value each lane keeps in each register, step by step.

Lane t holds the elements of every array whose first index is t, in registers. A step is a table: where each element comes from.
Expressions for the tables are found again (`_Fitting`), so that what is printed does not depend on who found the tables; the
kernel is proved against the terms that it must store, like a sketch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, DType, UserError, f32
from warploom.ir import (
    Arith,
    Builtin,
    Compare,
    Declare,
    For,
    Hole,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    Param,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    Stmt,
    Store,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    instantiate,
)
from warploom.ir.swizzle import SPACES, IntArray, function_set
from warploom.sketch import Sketch, TermArrays, TermSpec

Mask: TypeAlias = NDArray[np.bool_]
LANES = 32
NOTHING, ZERO = -1, -2
"""In place of an argument: any value will do; the number 0."""
_LANE, _LOOP = IndexVar("lane"), IndexVar("r")


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """An array of `registers` for each lane, filled from earlier ones."""

    name: str
    arguments: tuple[str, ...]
    argument: IntArray
    """[lanes, registers] number of the argument, `NOTHING` or `ZERO`."""
    element: IntArray
    """[lanes, registers] number of the element in that argument, lane after lane."""
    fold: tuple[str, int] | None = None
    """The operator and how many neighbouring registers become one."""
    formula: IndexExpr | None = None
    """Over the register (`HoleArg(0)`) and the lane: the register that it takes from in its lane, or the lane."""


@dataclass(frozen=True, eq=False, slots=True)
class Movement:
    name: str
    lanes: int
    inputs: dict[str, int]
    """Arrays in memory and their elements."""
    steps: tuple[Step, ...]
    output: TermArrays
    """One array, [lanes, registers]: what the last step must hold; None where anything will do."""


def movement_sketch(movement: Movement) -> Sketch:
    """The kernel, without holes, with its spec; UserError (TOO_MANY_LANES) for more lanes than a warp has."""
    if not 0 < movement.lanes <= LANES:
        message = f"expected at most {LANES} lanes, the first index of every array, got {movement.lanes}"
        raise UserError(Diagnostic("TOO_MANY_LANES", message, fix="A kernel is printed for the lanes of one warp."))
    return _Builder(movement).sketch()


class _Builder:
    def __init__(self, movement: Movement) -> None:
        self.movement, self.lanes = movement, movement.lanes
        self.dtype: DType = f32
        self.body: list[Stmt] = []
        self.registers: dict[str, int] = {}
        self.fitting = _Fitting(movement.lanes)
        self.temporaries = 0

    def sketch(self) -> Sketch:
        thread = Builtin("thread_id", 0)
        lane = thread if self.lanes == LANES else IndexBinary("min", thread, IndexConst(self.lanes - 1))
        self.body.append(SetIndex("lane", lane))
        for step in self.movement.steps:
            self._step(step)
        ((output, terms),) = self.movement.output.items()
        registers = terms.shape[1]
        store: Stmt = Store(output, (_LANE, _LOOP), Read(self.movement.steps[-1].name, (_LOOP,)))
        loop: Stmt = For("r", IndexConst(0), IndexConst(registers), 1, (store,))
        self.body.append(loop if self.lanes == LANES else If(Compare("<", thread, IndexConst(self.lanes)), (loop,)))
        params = [
            Param(name, "global", self.dtype, (IndexConst(elements),), is_output=False, is_input=True)
            for name, elements in self.movement.inputs.items()
        ]
        extents = IndexConst(self.lanes), IndexConst(registers)
        params.append(Param(output, "global", self.dtype, extents, is_output=True, is_input=False))
        one = IndexConst(1)
        kernel = Kernel(self.movement.name, tuple(params), (), (LANES, 1, 1), (one, one, one), LANES, tuple(self.body))
        return Sketch(kernel, TermSpec(self.movement.output))

    def _step(self, step: Step) -> None:
        registers = int(step.argument.shape[1])
        target = step.name if step.fold is None else f"{step.name}_parts"
        self.body.append(Declare(target, "register", self.dtype, (registers,)))
        value = self._together(step)
        if value is not None:
            stays = self._stays(step) if isinstance(value, Shuffle) else [False] * registers
            for start, end, is_own in _runs(stays):
                here = value.value if is_own and isinstance(value, Shuffle) else value
                self.body.append(For("r", IndexConst(start), IndexConst(end), 1, (Store(target, (_LOOP,), here),)))
        else:
            for register in range(registers):
                if (found := self._value(step, register)) is not None:
                    self.body.append(Store(target, (IndexConst(register),), found))
        self.registers[step.name] = registers
        if step.fold is not None:
            op, length = step.fold
            self.registers[step.name] = registers // length
            self.body.append(Declare(step.name, "register", self.dtype, (registers // length,)))
            first = IndexBinary("*", _LOOP, IndexConst(length))
            parts = tuple(Read(target, (IndexBinary("+", first, IndexConst(n)),)) for n in range(length))
            summed: ValueExpr = Arith(op, parts) if length > 1 else parts[0]
            fold = Store(step.name, (_LOOP,), summed)
            self.body.append(For("r", IndexConst(0), IndexConst(registers // length), 1, (fold,)))

    def _stays(self, step: Step) -> list[bool]:
        """By register: whether every lane takes its own value, which no shuffle has to bring."""
        lane = step.element // self.registers[step.arguments[0]]
        return ((lane == np.arange(self.lanes)[:, None]) | (step.argument == NOTHING)).all(axis=0).tolist()

    # ------------------------------------------------------------ one expression for all registers

    def _together(self, step: Step) -> ValueExpr | None:
        """The value of register r as one expression; None where the registers differ too much."""
        used = np.unique(step.argument[step.argument != NOTHING])
        if len(used) != 1 or used[0] == ZERO or step.argument.shape[1] == 1:
            return None
        name = step.arguments[int(used[0])]
        known = step.argument != NOTHING
        if name in self.movement.inputs:
            index = self.fitting.of_both(step.element, known, self.movement.inputs[name])
            return None if index is None else Read(name, (index,))
        count = self.registers[name]
        lane, register = np.divmod(step.element, count)
        own = np.arange(self.lanes)[:, None]
        formula = None if step.formula is None else instantiate(step.formula, (_LOOP, _LANE))
        if (lane == own)[known].all():
            index = formula or self.fitting.of_both(register, known, count)
            return None if index is None else Read(name, (index,))
        supplied = np.zeros_like(register)
        is_asked = np.zeros(known.shape, np.bool_)
        for r in range(known.shape[1]):
            for t in np.flatnonzero(known[:, r]).tolist():
                source = int(lane[t, r])
                if is_asked[source, r] and supplied[source, r] != register[t, r]:
                    return None
                supplied[source, r], is_asked[source, r] = register[t, r], True
        sent = self.fitting.of_both(supplied, is_asked, count)
        taken = formula or self.fitting.of_both(lane, known, self.lanes)
        if sent is None or taken is None:
            return None
        return Shuffle("idx", Read(name, (sent,)), taken, LANES)

    # ------------------------------------------------------------ register by register

    def _value(self, step: Step, register: int) -> ValueExpr | None:
        """The value of one register; None where any will do in all lanes."""
        argument, element = step.argument[:, register], step.element[:, register]
        parts: list[tuple[Mask, ValueExpr]] = []
        numbers: list[int] = np.unique(argument[argument != NOTHING]).tolist()
        for number in numbers:
            mine = argument == number
            if number == ZERO:
                parts.append((mine, ValueConst(0.0, self.dtype)))
            else:
                parts += self._from(step.arguments[number], element, mine)
        if not parts:
            return None
        value = parts[-1][1]
        left = parts[-1][0]
        for mine, part in reversed(parts[:-1]):
            value, left = ValueSelect(self.fitting.whether(mine, left), part, value), left | mine
        return value

    def _sends_one(self, lane: IntArray, register: IntArray, mine: Mask) -> bool:
        """Whether one shuffle serves them all, those included that take a value of their own."""
        return len(np.unique(lane[mine])) == len(np.unique(np.stack([lane[mine], register[mine]]), axis=1).T)

    def _from(self, name: str, element: IntArray, mine: Mask) -> Iterator[tuple[Mask, ValueExpr]]:
        """Lanes and what they take from an array, each with as few shuffles as one value per lane allows."""
        if name in self.movement.inputs:
            yield mine, Read(name, (self.fitting.of_lane(element, mine),))
            return
        count = self.registers[name]
        lane, register = np.divmod(element, count)
        local = mine & (lane == np.arange(self.lanes))
        if (mine & ~local).any() and self._sends_one(lane, register, mine):
            local = np.zeros_like(mine)
        if local.any():
            yield local, Read(name, (self.fitting.of_lane(register, local),))
        rest = mine & ~local
        while rest.any():
            supplied, asked = np.zeros(self.lanes, np.int64), np.zeros(self.lanes, np.bool_)
            served: Mask = np.zeros(self.lanes, np.bool_)
            for t in np.flatnonzero(rest).tolist():
                source = int(lane[t])
                if not asked[source] or supplied[source] == register[t]:
                    supplied[source], asked[source], served[t] = register[t], True, True
            sent = Read(name, (self.fitting.of_lane(supplied, asked),))
            temporary = f"moved_{self.temporaries}"
            self.temporaries += 1
            taken = self.fitting.of_lane(lane, served)
            self.body.append(SetValue(temporary, self.dtype, Shuffle("idx", sent, taken, LANES)))
            yield served, ValueVar(temporary)
            rest = rest & ~served


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int, bool]]:
    """Starts and ends of equal neighbours."""
    start = 0
    for flag, run in groupby(flags):
        end = start + len(list(run))
        yield start, end, flag
        start = end


class _Fitting:
    """Expressions over the lane (and the register r) for tables of numbers."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes

    def of_both(self, table: IntArray, known: Mask, n: int) -> IndexExpr | None:
        """An expression below n for [lanes, registers], right where it is known and in range everywhere; None: none was found."""
        lane, register = np.indices(table.shape)
        if (found := self._affine(table, known, n)) is not None:
            return found
        points = np.stack([lane.ravel(), register.ravel()], axis=1)
        return self._in_grammars(points, table.ravel(), known.ravel(), n, (_LANE, _LOOP))

    def of_lane(self, values: IntArray, known: Mask) -> IndexExpr:
        """Any numbers of the lanes where they are known; elsewhere one of them."""
        n = int(values[known].max(initial=0)) + 1
        found = self._affine(values[:, None], known[:, None], n)
        if found is None:
            points = np.stack([np.arange(self.lanes), np.zeros(self.lanes, np.int64)], axis=1)
            found = self._in_grammars(points, values, known, max(n, self.lanes), (_LANE, IndexConst(0)), below=n)
        return self._pieces(values, known) if found is None else found

    def whether(self, mine: Mask, others: Mask) -> IndexExpr:
        """A condition that holds in the lanes `mine` and not in `others`."""
        runs: list[IndexExpr] = []
        start = None
        for t in range(self.lanes + 1):
            if t < self.lanes and mine[t]:
                start = t if start is None else start
            elif start is not None and (t == self.lanes or others[t]):
                bounds = [Compare(">=", _LANE, IndexConst(start))] if start else []
                bounds += [Compare("<", _LANE, IndexConst(t))] if t < self.lanes else []
                runs.append(bounds[0] if len(bounds) == 1 else Logical("and", tuple(bounds)))
                start = None
        return runs[0] if len(runs) == 1 else Logical("or", tuple(runs))

    def _affine(self, table: IntArray, known: Mask, n: int) -> IndexExpr | None:
        """`a * lane + b * r + c`, or the remainder of that by n."""
        here = np.argwhere(known)
        if not len(here):
            return IndexConst(0)
        lane, register = np.indices(table.shape)
        a, b = self._neighbours(table, known, 0), self._neighbours(table, known, 1)
        first = tuple(here[0])
        c = int(table[first]) - a * int(first[0]) - b * int(first[1])
        for modulus in (0, n):
            a1, b1, c1 = (a, b, c) if not modulus else (a % n, b % n, c % n)
            made = a1 * lane + b1 * register + c1
            made = made % modulus if modulus else made
            if (made == table)[known].all() and made.min() >= 0 and made.max() < n:
                expr = _sum([(a1, _LANE), (b1, _LOOP)], c1)
                return IndexBinary("%", expr, IndexConst(n)) if modulus else expr
        return None

    def _neighbours(self, table: IntArray, known: Mask, axis: int) -> int:
        """The difference of the first two known neighbours along an axis; 0 where there are none."""
        one, two = (np.take(table, range(s, table.shape[axis] - 1 + s), axis) for s in (0, 1))
        both = np.take(known, range(table.shape[axis] - 1), axis) & np.take(known, range(1, table.shape[axis]), axis)
        return int((two - one)[both][0]) if both.any() else 0

    def _in_grammars(
        self,
        points: IntArray,
        values: IntArray,
        known: Mask,
        n: int,
        names: tuple[IndexExpr, IndexExpr],
        below: int | None = None,
    ) -> IndexExpr | None:
        """The cheapest function of the grammars of holes that takes the values."""
        for kind in ("xform", "bits"):
            for order in ((0, 1), (1, 0)):
                mine = points[:, order]
                if (kind == "xform" and int(mine[:, 0].max()) >= n) or (kind == "bits" and n & (n - 1)):
                    continue
                hole = Hole("fit", kind, ("i", "k"), n=n)
                allowed = np.zeros((len(mine), n), np.bool_)
                allowed[~known, : n if below is None else below] = True
                allowed[known, values[known]] = True
                functions = function_set(hole, mine, SPACES[-1]).matching(allowed)
                if functions is not None and len(functions):
                    return instantiate(functions.expr(0), tuple(names[o] for o in order))
        return None

    def _pieces(self, values: IntArray, known: Mask) -> IndexExpr:
        """Runs of lanes with one number, or numbers one after the other."""
        # A lane that has no number gets that of the last one before it that has, so that all are in range.
        last = np.maximum.accumulate(np.where(known, np.arange(self.lanes), int(known.argmax())))
        numbers: list[int] = values[last].tolist()
        runs: list[tuple[int, IndexExpr]] = []
        start = 0
        while start < self.lanes:
            best: tuple[int, IndexExpr] = (0, IndexConst(0))
            for slope in (0, 1, -1):
                base = numbers[start] - slope * start
                end = next((t for t in range(start, self.lanes) if numbers[t] != base + slope * t), self.lanes)
                if end > best[0]:
                    best = end, _sum([(slope, _LANE)], base)
            runs.append(best)
            start = best[0]
        expr = runs[-1][1]
        for end, piece in reversed(runs[:-1]):
            expr = IndexSelect(Compare("<", _LANE, IndexConst(end)), piece, expr)
        return expr


def _sum(terms: Sequence[tuple[int, IndexExpr]], constant: int) -> IndexExpr:
    expr: IndexExpr | None = None
    for factor, name in terms:
        if factor:
            term = name if factor == 1 else IndexBinary("*", name, IndexConst(factor))
            expr = term if expr is None else IndexBinary("+", expr, term)
    if expr is None:
        return IndexConst(constant)
    return expr if not constant else IndexBinary("+", expr, IndexConst(constant))
