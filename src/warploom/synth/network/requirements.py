"""The spec's demands on a network's cells: required values of outputs, required terms of folds.

Backward from each output through invertible arithmetic (a finalize such as `/ 3`) to the accumulator it came from; the
accumulator's requirement becomes a multiset of products of input elements (paper section 4.2), the form that counting and
propagation work on. What does not fit that form stays *loose*: it prunes nothing and is decided by evaluating candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from warploom.synth.network.network import (
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
from warploom.terms import Algebra, Normaliser, NotSumOfProductsError, ProductReader, Term, apply, atom, operations

Counting = Literal["exact", "parity", "set"]
"""How often a term must be added: its multiplicity; odd (a term twice cancels); at least once."""

_UNDO = {
    ("/", 0): "*", ("*", 0): "/", ("*", 1): "/", ("+", 0): "-", ("+", 1): "-", ("-", 0): "+", ("^", 0): "^", ("^", 1): "^",
    ("neg", 0): "neg",
}  # fmt: skip
"""(operation, place of the open operand) -> the operation with the other operand that gives it back."""
_FRESH = atom("$fresh", ())
_EXACT_IN_WORDS = (frozenset({"+", "-", "neg", "constant"}), frozenset({"min", "max"}), frozenset({"&", "|", "^"}))
_EXACT_IN_REALS = (frozenset({"+", "-", "neg", "*", "constant"}), frozenset({"min", "max"}))
"""Operations whose normal forms differ only where their values do. Products of words can vanish (`x * (x + 1) << 31`), and a
minimum with a constant can be the type's own bound: these are not among them."""
_WITHOUT_LAWS = ("commutative", "syntactic")
"""Algebras that are declared to know no more laws than their forms: other forms are other values."""
MAX_MULTIPLICITY = 1 << 12
"""A larger coefficient (a wrapped negative one, say) is not a number of contributions."""
_INNER = {"*", "&", "+", "|", "min", "max"}
"""Operators without `^`, under which an element cancels itself."""


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
    """[outputs] cells of the output arrays, and the cells that these are computed from one to one."""
    optional_values: IntArray
    """[optional] value numbers, aligned with `optional_cells`."""
    optional_cells: IntArray
    """[optional] outputs that the spec does not store to and an open store may reach: undefined, or else this value."""
    folds: int
    terms: IntArray
    """[folds, most terms, factors] value numbers, -1 past a fold's terms."""
    multiplicity: IntArray
    """[folds, most terms], 0 past a fold's terms."""
    counting: Counting
    zero: int
    """Value number that makes a contribution vanish; -1: none."""
    entries: tuple[StatementEntries, ...]
    judged: tuple[tuple[int, Term], ...]
    """Required cells that are computed, and their terms."""
    is_loose: bool
    """Some required output is beyond these forms, so a fully decided candidate must be evaluated."""
    apart: tuple[Requirements, ...] = ()
    """Accumulators by their form, where they have several, so that they are not counted together."""


def requirements(network: Network, spec: Mapping[str, Any], stored: Mapping[str, Any], algebra: Algebra) -> Requirements:
    """`spec`: output array -> object array of required `Term`s; `stored`: output array -> which of them are required.

    An element that the spec never stores to may stay undefined; if the kernel writes it, it must keep its start.
    """
    normaliser = Normaliser(algebra)
    folds = _FoldRequirements(network, normaliser)
    blank = _may_stay_undefined(network)
    wanted: list[tuple[int, Term]] = []
    optional: list[tuple[int, Term]] = []
    for name, outputs in network.outputs.items():
        rows = zip(outputs.tolist(), spec[name].reshape(-1).tolist(), stored[name].reshape(-1).tolist(), strict=True)
        for cell, term, is_stored in rows:
            if term is None:  # any value will do
                continue
            if is_stored or not blank[cell]:
                wanted.append((cell, term))
            elif cell != UNDEFINED:
                optional.append((cell, term))
    loose = bool(optional)
    for cell, term in list(wanted):
        source = folds.demand(cell, term)
        if source is None:
            loose = True
            if folds.only_moves(cell):
                wanted.remove((cell, term))
        elif source[0] != cell:
            wanted.append(source)
    numbers: dict[Hashable, int] = {}
    for term in [*network.known.values(), *(t for _, t in wanted), *(t for _, t in optional)]:
        numbers.setdefault(normaliser.normal(term), len(numbers))

    def numbered(pairs: list[tuple[int, Term]]) -> tuple[IntArray, IntArray]:
        values = np.array([numbers[normaliser.normal(t)] for _, t in pairs], np.int64)
        return values, np.array([c for c, _ in pairs], np.int64)

    universe = Universe(numbers, normaliser)
    counted = folds.counted(universe) or _Counted()
    loose |= len(counted.multiplicity) < len(folds.demands) or counted.counting == "parity"
    whole = Requirements(
        universe,
        *numbered(wanted),
        *numbered(optional),
        folds=len(counted.multiplicity),
        terms=counted.terms,
        multiplicity=counted.multiplicity,
        counting=counted.counting,
        zero=counted.zero,
        entries=counted.entries,
        judged=tuple((c, t) for c, t in wanted if not folds.only_moves(c)),
        is_loose=loose,
    )
    if len(counted.multiplicity):
        return whole
    return replace(whole, apart=tuple(_with(whole, c) for c in folds.counted_apart(universe)))


def _with(whole: Requirements, counted: _Counted) -> Requirements:
    return replace(
        whole,
        folds=len(counted.multiplicity),
        terms=counted.terms,
        multiplicity=counted.multiplicity,
        counting=counted.counting,
        zero=counted.zero,
        entries=counted.entries,
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Counted:
    """The fields of `Requirements` that speak about folds; none by default."""

    terms: IntArray = field(default_factory=lambda: np.zeros((0, 1, 1), np.int64))
    multiplicity: IntArray = field(default_factory=lambda: np.zeros((0, 1), np.int64))
    counting: Counting = "exact"
    zero: int = -1
    entries: tuple[StatementEntries, ...] = ()


class _FoldRequirements:
    def __init__(self, network: Network, normaliser: Normaliser) -> None:
        self.network = network
        self.normaliser = normaliser
        self.algebra = normaliser.algebra
        self.arithmetic: dict[int, tuple[Arithmetic, int]] = {}
        self.made_by: dict[str, BoolArray] = {}
        """Operation -> [cells] whether it is the one that computes the cell."""
        self.fold_of: dict[int, tuple[Folds, int]] = {}
        for batch in network.batches:
            if isinstance(batch, Arithmetic):
                self.made_by.setdefault(batch.op, np.zeros(network.cells, np.bool_))[batch.out] = True
                self.arithmetic.update((c, (batch, row)) for row, c in enumerate(batch.out.tolist()))
            elif isinstance(batch, Folds):
                self.fold_of.update((c, (batch, row)) for row, c in enumerate(batch.out.tolist()))
        self.reader = ProductReader(self.algebra)
        self.composite = _composite(network)
        self.demands: dict[int, Term] = {}

    def demand(self, cell: int, term: Term) -> tuple[int, Term] | None:
        """Push a requirement back from an output to a fold (kept in `demands`) or to a cell that only moves elements.

        None when it ends where only evaluation can judge.
        """
        while True:
            if cell in self.fold_of:
                known = self.demands.setdefault(cell, term)
                return (cell, term) if self.normaliser.normal(known) == self.normaliser.normal(term) else None
            if cell in self.arithmetic:
                step = self._inverted(cell, term)
                if step is None:
                    return None
                cell, term = step
            elif self.only_moves(cell):
                return (cell, term) if self._is_told_by_form(term) else None
            elif cell in self.only_source:
                cell = self.only_source[cell]
            else:
                return None

    @cached_property
    def only_source(self) -> dict[int, int]:
        """Cells of open stores that hold nothing unless one row's value is placed there -> that value's cell."""
        blank = np.zeros(self.network.cells, np.bool_)
        sources: dict[int, list[int]] = {}
        for batch in self.network.batches:
            if isinstance(batch, Retained):
                blank[batch.out[batch.old == UNDEFINED]] = True
            elif isinstance(batch, Placements):
                for source, targets in zip(batch.source.tolist(), batch.target, strict=True):
                    for cell in np.unique(targets).tolist():
                        sources.setdefault(cell, []).append(source)
        return {cell: found[0] for cell, found in sources.items() if blank[cell] and len(found) == 1}

    def only_moves(self, cell: int) -> bool:
        """Whether every value that the cell may hold is an element or a constant, moved there."""
        return cell not in self.fold_of and cell not in self.arithmetic and not bool(self.composite[cell])

    def _is_told_by_form(self, term: Term) -> bool:
        """Whether an element equals `term` only if their normal forms are equal, so that no other value can stand for it.

        Elsewhere the forms know too few laws: `(x + x) // 2` of u8 is x, and no law says so.
        """
        if self.algebra.name in _WITHOUT_LAWS:
            return True
        found = operations(term)
        exact = _EXACT_IN_WORDS if self.algebra.modulus_bits else _EXACT_IN_REALS
        return any(found <= group for group in exact)

    def _inverted(self, cell: int, term: Term) -> tuple[int, Term] | None:
        """The operand that is open, and what it must hold, where the algebra's laws undo the operation."""
        batch, row = self.arithmetic[cell]
        operands = [int(o[row]) for o in batch.operands]
        known = [self.network.known.get(o) for o in operands]
        fixed = [k is not None and k.op == "constant" for k in known]
        if fixed.count(False) != 1:
            return None
        place = fixed.index(False)

        def operation(value: Term) -> Term:
            return apply(batch.op, *(value if k is None or n == place else k for n, k in enumerate(known)))

        undo = _UNDO.get((batch.op, place))
        if undo is None:
            return None
        others = [k for n, k in enumerate(known) if n != place and k is not None]
        if self.normaliser.canonical(apply(undo, operation(_FRESH), *others)) is not _FRESH:
            return None
        return operands[place], apply(undo, term, *others)

    # ------------------------------------------------------------ counting

    def counted_apart(self, universe: Universe) -> list[_Counted]:
        """Accumulators of several forms (operators, numbers of factors) in groups of one form, as far as they can be counted."""
        groups: dict[tuple[str, int], dict[int, Term]] = {}
        for cell, term in self.demands.items():
            batch, row = self.fold_of[cell]
            summands = [self._summands(np.flatnonzero(e.fold == row), e.value, batch.op)[1] for e in batch.entries]
            rows = [(e.statement, c, c, e.slots, e.guard) for e, c in zip(batch.entries, summands, strict=True) if len(c)]
            inner = self._inner(rows, batch.op)
            sizes = {len(self._factors_of(int(c), inner)) for cells in summands for c in cells}
            groups.setdefault((batch.op, max(sizes, default=0)), {})[cell] = term
        found = [self.counted(universe, group) for group in groups.values()] if len(groups) > 1 else []
        return [c for c in found if c is not None]

    def counted(self, universe: Universe, demands: Mapping[int, Term] | None = None) -> _Counted | None:
        """The contributions that every demanded fold must add; None where they cannot be counted."""
        demands = self.demands if demands is None else demands
        operators = {self.fold_of[c][0].op for c in demands}
        if len(operators) != 1:
            return None
        outer = operators.pop()
        counting = self._counting(outer)
        rows = self._entry_rows({cell: n for n, cell in enumerate(demands)})
        inner = self._inner(rows, outer)
        tables: list[dict[tuple[int, ...], int]] = []
        for cell, term in demands.items():
            table = self._monomials(universe, self.fold_of[cell][0].init, term, outer, inner)
            if table is None:
                return None
            tables.append(table)
        factors = max((len(m) for t in tables for m in t), default=1)
        entries = self._factored(rows, inner, factors)
        if entries is None or any(len(m) != factors for t in tables for m in t):
            return None
        zeros = self._absorbing(outer, inner if factors > 1 else None)
        if len(zeros) > 1 or not self._is_countable(entries, outer, counting, zeros):
            return None
        most = max((len(t) for t in tables), default=1) or 1
        terms = np.full((len(tables), most, factors), -1, np.int64)
        multiplicity = np.zeros((len(tables), most), np.int64)
        for n, table in enumerate(tables):
            for j, (monomial, count) in enumerate(table.items()):
                terms[n, j] = monomial
                multiplicity[n, j] = count
        zero = universe.number(zeros.pop()) if zeros else None
        return _Counted(terms, multiplicity, counting, -1 if zero is None else zero, entries)

    def _counting(self, outer: str) -> Counting:
        twice = self.normaliser.canonical(apply(outer, _FRESH, _FRESH))
        return "set" if twice is _FRESH else "parity" if twice.op == "constant" else "exact"

    def _absorbing(self, outer: str, inner: str | None) -> set[Term]:
        """Constants of the network that make a contribution vanish, as a factor (with `inner`) or alone; canonical."""
        normal, other = self.normaliser.normal, atom("$other", ())
        constants = {self.normaliser.canonical(t) for t in self.network.known.values() if t.op == "constant"}
        added = {c: c if inner is None else apply(inner, c, other) for c in constants}
        return {c for c, term in added.items() if normal(apply(outer, _FRESH, term)) == normal(_FRESH)}

    def _is_countable(
        self, entries: tuple[StatementEntries, ...], outer: str, counting: Counting, zeros: Collection[Term]
    ) -> bool:
        """Whether no contribution can be anything but one product of elements, or vanish by a factor alone."""
        if any(self.composite[f].any() for e in entries for f in e.factors):
            return False
        per_fold = np.bincount(np.concatenate([e.fold for e in entries])) if entries else np.zeros(1, np.int64)
        if outer == "+" and self.algebra.modulus_bits and int(per_fold.max(initial=0)) >> self.algebra.modulus_bits:
            return False  # enough equal terms would wrap around to nothing
        strange = np.zeros(self.network.cells, np.bool_)
        for cell, term in self.network.known.items():
            strange[cell] = term.op == "constant" and self.normaliser.canonical(term) not in zeros
        strange = _reached(self.network, strange)
        open_factors = max((sum(bool(strange[f].any()) for f in e.factors) for e in entries), default=0)
        # Two constants may multiply to nothing (1 & 2), and contributions with constants may cancel (x - x).
        return open_factors == 0 or (open_factors == 1 and counting == "set")

    def _monomials(self, universe: Universe, init: Term, term: Term, outer: str, inner: str) -> dict[tuple[int, ...], int] | None:
        """Product -> how often the accumulator must add it to `init` for its result to be `term`."""
        if outer in ("+", "^"):
            term = apply("-" if outer == "+" else "^", term, init)
        elif self.normaliser.normal(apply(outer, term, init)) != self.normaliser.normal(term):
            return None
        try:
            products = self.reader.read(term, outer, inner)
        except NotSumOfProductsError:
            return None
        table: dict[tuple[int, ...], int] = {}
        for monomial, count in products.items():
            if count != int(count) or not 0 < count <= MAX_MULTIPLICITY or not monomial:
                return None
            found = [universe.number(t) for t in monomial]
            if None in found:
                return None
            # By number, not by the age of terms: which product is met first must not depend on what ran before.
            table[tuple(sorted(int(n) for n in found if n is not None))] = int(count)
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
        cells = value[rows]
        if outer not in self.made_by or not self.made_by[outer][cells].any():
            return rows, cells
        split = [self._factors_of(int(c), outer) for c in cells]
        return np.repeat(rows, [len(s) for s in split]), np.array([c for s in split for c in s], np.int64)

    def _inner(self, rows: list[tuple[int, IntArray, IntArray, Slots, BoolArray]], outer: str) -> str:
        for _, _, value, _, _ in rows:
            found = self.arithmetic.get(int(value[0]))
            if found is not None and found[0].op in _INNER and found[0].op != outer:
                return found[0].op
        return "*" if outer == "+" else "&" if outer in ("^", "|") else "+"

    def _factored(
        self, rows: list[tuple[int, IntArray, IntArray, Slots, BoolArray]], inner: str, factors: int
    ) -> tuple[StatementEntries, ...] | None:
        groups: dict[
            tuple[int, tuple[int, ...], tuple[int, ...]], list[tuple[IntArray, tuple[IntArray, ...], Slots, BoolArray]]
        ] = {}
        cells = np.unique(np.concatenate([value for _, _, value, _, _ in rows])) if rows else np.zeros(0, np.int64)
        split = [self._factors_of(c, inner) for c in cells.tolist()]
        if any(len(s) != factors for s in split):
            return None
        table = np.array(split, np.int64).reshape(len(cells), factors)
        for statement, fold, value, slots, guard in rows:
            columns = tuple(table[np.searchsorted(cells, value)].T)
            groups.setdefault((statement, slots.holes, guard.shape[1:]), []).append((fold, columns, slots, guard))
        result: list[StatementEntries] = []
        for (statement, holes, _), parts in groups.items():
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
        """The cells that `cell` is made of by the operation `inner` alone."""
        found = self.arithmetic.get(cell)
        if found is None or found[0].op != inner:
            return [cell]
        batch, row = found
        return [f for operand in batch.operands for f in self._factors_of(int(operand[row]), inner)]


def _composite(network: Network) -> BoolArray:
    """[cells]: whether the cell may hold anything but an input element or constant moved around."""
    computed = np.zeros(network.cells, np.bool_)
    for batch in network.batches:
        if isinstance(batch, Arithmetic | Folds):
            computed[batch.out] = True
    return _reached(network, computed)


def _may_stay_undefined(network: Network) -> BoolArray:
    """[cells]: whether the cell is the undefined one, or an array's cell that perhaps no store has reached yet."""
    blank = np.zeros(network.cells, np.bool_)
    blank[UNDEFINED] = True
    for batch in network.batches:
        if isinstance(batch, Retained):
            blank[batch.out] = blank[batch.old]
    return blank


def _reached(network: Network, start: BoolArray) -> BoolArray:
    """[cells]: whether the content of a cell in `start` may be moved to the cell."""
    reached = start.copy()
    for batch in network.batches:
        match batch:
            case Arithmetic() | Folds():
                pass
            case Elements():
                reached[batch.out] = reached[batch.source].reshape(len(batch.out), -1).any(axis=1)
            case Retained():
                reached[batch.out] |= reached[batch.old]
            case Placements():
                reached[batch.target[reached[batch.source]]] = True
                reached[UNDEFINED] = False
    return reached
