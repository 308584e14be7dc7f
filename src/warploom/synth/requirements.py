"""What the spec demands of a network's cells: required values of outputs, required terms of folds.

Backward from each output through invertible arithmetic (a finalize such as `/ 3`) to the accumulator it came from; the
accumulator's requirement becomes a multiset of products of input elements (paper section 4.2), the form that counting and
propagation work on. What does not fit that form stays *loose*: it prunes nothing and is decided by evaluating candidates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from warploom.synth.network import (
    UNDEFINED,
    Arithmetic,
    BoolArray,
    Elements,
    Folds,
    IntArray,
    Network,
    Placements,
    Retained,
    Slots,
)
from warploom.terms import Algebra, Normaliser, NotSumOfProductsError, ProductReader, Term, apply, constant

Counting = Literal["exact", "parity", "set"]
"""How often a term must be added: its multiplicity; odd (a term twice cancels); at least once."""

_COUNTING: dict[str, Counting] = {"+": "exact", "^": "parity", "min": "set", "max": "set", "&": "set", "|": "set"}
_ABSORBING = {("+", "*"): 0, ("^", "&"): 0, ("|", "&"): 0}
"""(outer, inner) -> the factor that makes a contribution vanish."""
MAX_MULTIPLICITY = 1 << 12
"""A larger coefficient (a wrapped negative one, say) is not a number of contributions."""
_INNER = {"*", "&", "+", "|", "^", "min", "max"}


@dataclass(frozen=True, eq=False, slots=True)
class Universe:
    """Values that matter, numbered: input elements, constants, and what the outputs must hold."""

    numbers: dict[Hashable, int]
    normaliser: Normaliser

    def number(self, term: Term) -> int | None:
        return self.numbers.get(self.normaliser.normal(term))

    def __len__(self) -> int:
        return len(self.numbers) + 1

    @property
    def other(self) -> int:
        """The number of every value that is not in the universe."""
        return len(self.numbers)


@dataclass(frozen=True, eq=False, slots=True)
class StatementEntries:
    """All contributions of one accumulate statement to required folds; every row has the same number of factors."""

    statement: int
    fold: IntArray
    """[rows] number of the required fold."""
    factors: tuple[IntArray, ...]
    """Per factor: [rows] cells."""
    slots: Slots
    guard: BoolArray
    """[rows, slot values...]."""


@dataclass(frozen=True, eq=False, slots=True)
class Requirements:
    universe: Universe
    output_values: IntArray
    """[outputs] required value numbers, aligned with `output_cells`; `universe.other` never occurs."""
    output_cells: IntArray
    folds: int
    terms: IntArray
    """[folds, most terms, factors] value numbers, -1 past a fold's terms."""
    multiplicity: IntArray
    """[folds, most terms], 0 past a fold's terms."""
    counting: Counting
    zero: int
    """Value number that makes a contribution vanish; -1: none."""
    entries: tuple[StatementEntries, ...]
    is_loose: bool
    """Some required output is beyond these forms, so a fully decided candidate must be evaluated."""


def requirements(network: Network, spec: Mapping[str, Any], stored: Mapping[str, Any], algebra: Algebra) -> Requirements:
    """`spec`: output array -> object array of required `Term`s; `stored`: output array -> which of them are required.

    An element that the spec never stores to is required only where it keeps an old content.
    """
    cells: list[int] = []
    wanted: list[Term] = []
    for name, outputs in network.outputs.items():
        rows = zip(outputs.tolist(), spec[name].reshape(-1).tolist(), stored[name].reshape(-1).tolist(), strict=True)
        for cell, term, is_stored in rows:
            if is_stored or cell != UNDEFINED:
                cells.append(cell)
                wanted.append(term)
    numbers: dict[Hashable, int] = {}
    normaliser = Normaliser(algebra)
    for term in [*network.known.values(), *wanted]:
        numbers.setdefault(normaliser.normal(term), len(numbers))
    universe = Universe(numbers, normaliser)
    required = np.array([numbers[normaliser.normal(t)] for t in wanted], np.int64)
    folds = _FoldRequirements(network, universe, algebra)
    loose = False
    for cell, term in zip(cells, wanted, strict=True):
        loose |= not folds.demand(cell, term)
    return folds.result(np.array(cells, np.int64), required, loose)


class _FoldRequirements:
    def __init__(self, network: Network, universe: Universe, algebra: Algebra) -> None:
        self.network = network
        self.universe = universe
        self.algebra = algebra
        self.arithmetic: dict[int, tuple[Arithmetic, int]] = {}
        self.fold_of: dict[int, tuple[Folds, int]] = {}
        for batch in network.batches:
            if isinstance(batch, Arithmetic):
                self.arithmetic.update((c, (batch, row)) for row, c in enumerate(batch.out.tolist()))
            elif isinstance(batch, Folds):
                self.fold_of.update((c, (batch, row)) for row, c in enumerate(batch.out.tolist()))
        self.is_real = algebra.name == "reals"
        self.reader = ProductReader(algebra)
        self.composite = _composite(network)
        self.demands: dict[int, Term] = {}

    def demand(self, cell: int, term: Term) -> bool:
        """Push a requirement back from an output to a fold; False when it ends where only evaluation can judge."""
        while True:
            if cell in self.fold_of:
                batch, _ = self.fold_of[cell]
                if batch.op not in _COUNTING and batch.op not in self.network.operators:
                    return False
                known = self.demands.get(cell)
                if known is not None:
                    return self.universe.normaliser.normal(known) == self.universe.normaliser.normal(term)
                self.demands[cell] = term
                return True
            if cell not in self.arithmetic:
                return not self.composite[cell]
            step = self._inverted(cell, term)
            if step is None:
                return False
            cell, term = step

    def _inverted(self, cell: int, term: Term) -> tuple[int, Term] | None:
        batch, row = self.arithmetic[cell]
        operands = [int(o[row]) for o in batch.operands]
        constants = [self.network.known.get(o) for o in operands]
        if batch.op.startswith("cast.") and self.is_real:
            return operands[0], term
        if batch.op == "neg":
            return operands[0], apply("neg", term)
        if len(operands) != 2:
            return None
        left, right = constants
        if right is not None and right.op != "constant":
            right = None
        if left is not None and left.op != "constant":
            left = None
        if right is not None:
            match batch.op:
                case "/" if self.is_real:
                    return operands[0], apply("*", term, right)
                case "*" if self.is_real and right.data[0] != 0:
                    return operands[0], apply("/", term, right)
                case "+":
                    return operands[0], apply("-", term, right)
                case "-":
                    return operands[0], apply("+", term, right)
                case "^":
                    return operands[0], apply("^", term, right)
                case _:
                    return None
        if left is not None:
            match batch.op:
                case "*" if self.is_real and left.data[0] != 0:
                    return operands[1], apply("/", term, left)
                case "+":
                    return operands[1], apply("-", term, left)
                case "^":
                    return operands[1], apply("^", term, left)
                case _:
                    return None
        return None

    def result(self, cells: IntArray, required: IntArray, loose: bool) -> Requirements:
        built = self._built() if self.demands else None
        if built is None:
            empty = np.zeros((0, 1, 1), np.int64)
            return Requirements(
                self.universe, required, cells, 0, empty, empty[:, :, 0], "exact", -1, (), loose or bool(self.demands)
            )
        terms, multiplicity, counting, zero, entries = built
        loose |= counting == "parity" or any(self.composite[f].any() for e in entries for f in e.factors)
        return Requirements(
            self.universe, required, cells, len(self.demands), terms, multiplicity, counting, zero, entries, loose
        )

    def _built(self) -> tuple[IntArray, IntArray, Counting, int, tuple[StatementEntries, ...]] | None:
        operators = {self.fold_of[c][0].op for c in self.demands}
        if len(operators) != 1:
            return None
        outer = operators.pop()
        numbers = {cell: n for n, cell in enumerate(self.demands)}
        rows = self._entry_rows(numbers)
        inner = self._inner(rows, outer)
        tables: list[dict[tuple[int, ...], int]] = []
        for cell, term in self.demands.items():
            table = self._monomials(cell, term, outer, inner)
            if table is None:
                return None
            tables.append(table)
        factors = max((len(m) for t in tables for m in t), default=1)
        entries = self._factored(rows, inner, factors)
        if entries is None or any(len(m) != factors for t in tables for m in t):
            return None
        most = max((len(t) for t in tables), default=1) or 1
        terms = np.full((len(tables), most, factors), -1, np.int64)
        multiplicity = np.zeros((len(tables), most), np.int64)
        for n, table in enumerate(tables):
            for j, (monomial, count) in enumerate(table.items()):
                terms[n, j] = monomial
                multiplicity[n, j] = count
        absorbing = _ABSORBING.get((outer, inner), 0 if outer in ("+", "^", "|") and factors == 1 else None)
        zero = None if absorbing is None else self.universe.number(constant(absorbing))
        counting = _COUNTING.get(outer, "exact")
        return terms, multiplicity, counting, -1 if zero is None else zero, entries

    def _monomials(self, cell: int, term: Term, outer: str, inner: str) -> dict[tuple[int, ...], int] | None:
        init = self.fold_of[cell][0].init
        if outer in ("+", "^") and init is not constant(0):
            term = apply("-" if outer == "+" else "^", term, init)
        try:
            products = self.reader.read(term, outer, inner)
        except NotSumOfProductsError:
            return None
        if outer in ("min", "max", "&", "|"):
            products.pop((init,), None)
        table: dict[tuple[int, ...], int] = {}
        for monomial, count in products.items():
            if count != int(count) or not 0 < count <= MAX_MULTIPLICITY or not monomial:
                return None
            found = [self.universe.number(t) for t in monomial]
            if None in found:
                return None
            table[tuple(int(n) for n in found if n is not None)] = int(count)
        return table

    def _entry_rows(self, numbers: Mapping[int, int]) -> list[tuple[int, IntArray, IntArray, Slots, BoolArray]]:
        """(statement, fold number, value cell, slots, guard) of every contribution to a demanded fold."""
        result: list[tuple[int, IntArray, IntArray, Slots, BoolArray]] = []
        for batch in self.network.batches:
            if not isinstance(batch, Folds):
                continue
            number = np.array([numbers.get(c, -1) for c in batch.out.tolist()], np.int64)
            for entry in batch.entries:
                keep = number[entry.fold] >= 0
                rows, values = self._summands(np.flatnonzero(keep), entry.value, batch.op)
                if len(rows):
                    slots = Slots(entry.slots.holes, tuple(p[rows] for p in entry.slots.points))
                    result.append((entry.statement, number[entry.fold[rows]], values, slots, entry.guard[rows]))
        return result

    def _summands(self, rows: IntArray, value: IntArray, outer: str) -> tuple[IntArray, IntArray]:
        """(rows, cells): a contribution `a + b` to a sum is two contributions."""
        split_rows: list[int] = []
        cells: list[int] = []
        for row in rows.tolist():
            pending = [int(value[row])]
            while pending:
                cell = pending.pop()
                found = self.arithmetic.get(cell)
                if found is not None and found[0].op == outer:
                    pending += [int(o[found[1]]) for o in found[0].operands]
                else:
                    split_rows.append(row)
                    cells.append(cell)
        return np.array(split_rows, np.int64), np.array(cells, np.int64)

    def _inner(self, rows: list[tuple[int, IntArray, IntArray, Slots, BoolArray]], outer: str) -> str:
        for _, _, value, _, _ in rows:
            found = self.arithmetic.get(int(value[0]))
            if found is not None and found[0].op in _INNER and found[0].op != outer:
                return found[0].op
        return "*" if outer == "+" else "&" if outer in ("^", "|") else "+"

    def _factored(
        self, rows: list[tuple[int, IntArray, IntArray, Slots, BoolArray]], inner: str, factors: int
    ) -> tuple[StatementEntries, ...] | None:
        groups: dict[Hashable, list[tuple[IntArray, tuple[IntArray, ...], Slots, BoolArray]]] = {}
        for statement, fold, value, slots, guard in rows:
            split = [self._factors_of(int(v), inner) for v in value]
            if any(len(s) != factors for s in split):
                return None
            columns = tuple(np.array(c, np.int64) for c in zip(*split, strict=True))
            groups.setdefault((statement, slots.holes, guard.shape[1:]), []).append((fold, columns, slots, guard))
        result: list[StatementEntries] = []
        for (statement, holes, _), parts in groups.items():  # type: ignore[misc]
            points = tuple(np.concatenate([p[2].points[s] for p in parts]) for s in range(len(holes)))
            result.append(
                StatementEntries(
                    statement,
                    np.concatenate([p[0] for p in parts]),
                    tuple(np.concatenate([p[1][f] for p in parts]) for f in range(factors)),
                    Slots(holes, points),
                    np.concatenate([p[3] for p in parts]),
                )
            )
        return tuple(result)

    def _factors_of(self, cell: int, inner: str) -> list[int]:
        found = self.arithmetic.get(cell)
        if found is None or found[0].op != inner:
            return [cell]
        batch, row = found
        return [f for operand in batch.operands for f in self._factors_of(int(operand[row]), inner)]


def _composite(network: Network) -> BoolArray:
    """[cells]: whether the cell may hold anything but an input element or constant moved around."""
    composite = np.zeros(network.cells, np.bool_)
    for batch in network.batches:
        match batch:
            case Arithmetic() | Folds():
                composite[batch.out] = True
            case Elements():
                composite[batch.out] = composite[batch.source].reshape(len(batch.out), -1).any(axis=1)
            case Retained():
                composite[batch.out] |= composite[batch.old]
            case Placements():
                composite[batch.target[composite[batch.source]]] = True
                composite[UNDEFINED] = False
    return composite
