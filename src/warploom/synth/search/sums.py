"""Propagation through sums of sums: what each partial sum contains at least and at most, element by element.

A cell of a reduction or scan holds a sum of input elements, and so do the cells that it is made of. Each is a row of numbers: how
often every element is in it (its *share*), and how many there are in all. From the loads onward the rows are known within bounds,
an open index giving the hull of what it may read; backward from the outputs, an operand has what the result has less what the
others may bring. A source that has too much of one element, or too few in all, is not the one that is read.

The operators are `+` with negation and constant factors (shares add), the idempotent `max`, `min`, `|`, `&` (shares are 0 or 1
and join) and `^` (shares cancel). What is computed by anything else has unknown shares, so nothing is concluded from it.
Source: Swizzleflow, section 4 (copy counts), as intervals and through any number of accumulators in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from warploom.synth.network.network import Arithmetic, BoolArray, Elements, Entries, Folds, IntArray, Network, Slots
from warploom.synth.network.requirements import Requirements
from warploom.synth.search.propagation import (
    Candidate,
    Changes,
    ConflictError,
    any_option,
    narrow_slots,
    need_cells,
    slot_options,
)
from warploom.synth.search.shares import LARGEST, Bounds, Shares, Sums, read_sums

SMALLEST = 1e-4
"""Smallest factor: dividing by a smaller one would make what is rounded large."""
BLOCK = 1 << 22
"""Shares that a gather looks at in one piece."""
ALIKE = 1 << 16
"""Sources of a gather; among more, alike rows are not looked for."""
ROUNDS = 4
"""Forward and backward, until nothing changes or so often: the constraint runs again when a hole is narrowed."""
SLACK = 1e-6
"""Shares are sums of a few thousand numbers below `LARGEST` in 64 bits, so more exact than this."""


@dataclass(frozen=True, eq=False, slots=True)
class Shared:
    """Facts found about a candidate, to go on from."""

    bounds: Bounds
    allowed: list[BoolArray]
    needed: BoolArray
    """The candidate's then."""
    ahead: set[int]
    back: set[int]
    """Steps that were left to run."""


class SumConstraint:
    """Outputs that are sums of sums hold exactly what the spec adds up."""

    def __init__(self, network: Network, sums: Sums, group_of: IntArray) -> None:
        self.network = network
        self.sums = sums
        self.family = sums.family
        self.op = sums.op
        self.known = sums.known
        self.group_of = group_of
        self.steps = [b for b in network.batches if isinstance(b, Elements | Arithmetic | Folds)]
        self.holes = tuple(sorted({h for b in self.steps for s in _slots(b) for h in s.holes}))
        touched = np.zeros(network.cells, np.bool_)
        for step in self.steps:
            for cells in (step.out, *_reads(step)):
                touched[cells] = True
        self.groups = frozenset(np.unique(group_of[touched]).tolist())
        self.settled: frozenset[int] = frozenset()
        self.sources = {n: b.source.reshape(len(b.out), -1) for n, b in enumerate(self.steps) if isinstance(b, Elements)}
        self.writer = np.full(network.cells, -1)
        self.using: dict[int, set[int]] = {}
        """Hole -> steps that depend on it."""
        for number, step in enumerate(self.steps):
            self.writer[step.out] = number
            for hole in {h for s in _slots(step) for h in s.holes}:
                self.using.setdefault(hole, set()).add(number)
        self.made_by: list[set[int]] = []
        """Per step: the steps that make what it reads."""
        self.readers: list[set[int]] = []
        for step in self.steps:
            read = np.zeros(network.cells, np.bool_)
            for cells in _reads(step):
                read[cells] = True
            self.made_by.append(self._made_among(read))
            self.readers.append(set[int]())
        for number, makers in enumerate(self.made_by):
            for maker in makers:
                self.readers[maker].add(number)
        self.beside: list[set[int]] = [set[int]() for _ in self.steps]
        """Per step: the steps that read what it reads."""
        for number, makers in enumerate(self.made_by):
            for maker in makers:
                self.beside[number] |= self.readers[maker]

    # ------------------------------------------------------------ Constraint

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        """Runs the steps that something changed for, forward before backward, until none is left or many were run."""
        bounds, ahead, back = self._resumed(candidate)
        for _ in range(ROUNDS * len(self.steps)):
            if ahead:
                number = min(ahead)
                ahead.discard(number)
                if self._forward(number, self.steps[number], candidate, bounds):
                    ahead |= self.readers[number]
                    back.add(number)
            elif back:
                number = max(back)
                back.discard(number)
                mine, needed = Changes(set(), set()), candidate.needed.copy()
                if self._backward(number, self.steps[number], candidate, mine, bounds):
                    back |= self.made_by[number]
                    ahead |= self.beside[number]
                if mine.groups:
                    back |= self._made_among(needed != candidate.needed)
                using = {n for h in mine.holes for n in self.using.get(h, ())}
                ahead |= using
                back |= using
                changes.holes |= mine.holes
                changes.groups |= mine.groups
            else:
                break
        candidate.shares[self] = Shared(bounds, [a.copy() for a in candidate.allowed], candidate.needed.copy(), ahead, back)

    def _made_among(self, cells: BoolArray) -> set[int]:
        """Steps that make any of the cells."""
        return set(self.writer[cells].tolist()) - {-1}

    def _resumed(self, candidate: Candidate) -> tuple[Bounds, set[int], set[int]]:
        """(bounds, steps to run forward, steps to run backward): what is left to do since this ran on the candidate or the one
        that it was copied from."""
        if self not in candidate.shares:
            every = set(range(len(self.steps)))
            return self.known.copy(), every, set(every)
        known: Shared = candidate.shares[self]
        holes = [h for h, (a, b) in enumerate(zip(known.allowed, candidate.allowed, strict=True)) if not np.array_equal(a, b)]
        using = {n for h in holes for n in self.using.get(h, ())}
        fresh = self._made_among(known.needed != candidate.needed)
        return known.bounds.copy(), known.ahead | using, known.back | using | fresh

    def joins(self, inputs: Sequence[int], outputs: Sequence[int]) -> bool:
        """Whether any output is made of inputs by sums of this operator: of other operations nothing can be concluded."""
        reached = np.zeros(self.network.cells, np.bool_)
        reached[outputs] = True
        left = self._made_among(reached)
        while left:
            number = left.pop()
            step = self.steps[number]
            if (isinstance(step, Folds) and step.op != self.op) or (isinstance(step, Arithmetic) and self._signs(step) is None):
                continue
            before = reached.copy()
            for cells in _reads(step):
                reached[cells] = True
            left |= self._made_among(reached & ~before)
        return bool(reached[inputs].any())

    def most_share(self) -> float:
        """The largest bound of a share that is known, with every hole free."""
        free = [np.ones((len(u.points), u.values), np.bool_) for u in self.network.holes]
        nothing = np.zeros(self.network.cells, np.bool_)
        candidate = Candidate(free, [None] * len(free), np.zeros((0, 1), np.uint64), nothing)
        bounds = self.known.copy()
        for number, step in enumerate(self.steps):
            self._forward(number, step, candidate, bounds)
        both = np.abs(np.concatenate([bounds.low.ravel(), bounds.high.ravel()]))
        return float(both[np.isfinite(both)].max(initial=0.0))

    # ------------------------------------------------------------ forward

    def _forward(self, number: int, step: Elements | Arithmetic | Folds, candidate: Candidate, bounds: Bounds) -> bool:
        """Whether anything changed."""
        match step:
            case Elements():
                low, high, dead = self._gathered(number, step, candidate, bounds)
            case Arithmetic():
                low, high = self._computed(step, bounds)
                dead = np.logical_or.reduce([bounds.dead[o] for o in step.operands], axis=0)
            case Folds():
                dead = np.zeros(len(step.out), np.bool_)
                init = self._init(step)
                if init is None:
                    return False
                parts = [self._contribution(e, candidate, bounds) for e in step.entries]
                low, high = self._total(
                    len(step.out), [init, *((e.fold, *p[:2]) for e, p in zip(step.entries, parts, strict=True))]
                )
        dead &= ~bounds.dead[step.out]
        if (dead & candidate.needed[step.out]).any():
            raise ConflictError
        bounds.dead[step.out] |= dead
        return self._narrow_cells(candidate, bounds, step.out, low, high) or bool(dead.any())

    def _init(self, step: Folds) -> tuple[IntArray, Shares, Shares] | None:
        """The shares that each fold starts with; None for folds of which nothing is known."""
        shares = self.sums.inits[step.init] if step.op == self.op else None
        if shares is None:
            return None
        every = np.broadcast_to(shares, (len(step.out), len(shares)))
        return np.arange(len(step.out)), every, every

    def _gathered(self, number: int, step: Elements, candidate: Candidate, bounds: Bounds) -> tuple[Shares, Shares, BoolArray]:
        """The hull of what each row may read."""
        source = self.sources[number]
        rows, columns = len(step.out), bounds.low.shape[1]
        options = slot_options(candidate, step.slots, (rows,)).reshape(rows, -1) & ~bounds.dead[source]
        # Rows with the same sources are looked at once.
        keys = np.where(options, source, -1)
        if keys.shape[1] > 2 and keys.size < ALIKE:
            _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            inverse = inverse.reshape(-1)
        else:
            first = inverse = np.arange(rows)
        low, high = np.full((len(first), columns), np.inf), np.full((len(first), columns), -np.inf)
        row, option = np.nonzero(options[first])
        read = source[first][row, option]
        # Block ends lie between rows.
        for part in _row_blocks(row, columns):
            found, starts = np.unique(row[part], return_index=True)
            low[found] = np.minimum.reduceat(bounds.low[read[part]], starts, axis=0)
            high[found] = np.maximum.reduceat(bounds.high[read[part]], starts, axis=0)
        dead = ~np.logical_or.reduce(options, axis=1)
        low, high = low[inverse], high[inverse]
        low[dead], high[dead] = -np.inf, np.inf
        return low, high, dead

    def _computed(self, step: Arithmetic, bounds: Bounds) -> tuple[Shares, Shares]:
        low = [bounds.low[o] for o in step.operands]
        high = [bounds.high[o] for o in step.operands]
        signed = self._signs(step)
        if signed is not None:
            signs, positions = signed
            rows = np.arange(len(step.out))
            turned = [_scaled(low[p], high[p], s) for s, p in zip(signs, positions, strict=True)]
            return self._total(len(rows), [(rows, a, b) for a, b in turned])
        shape = (len(step.out), bounds.low.shape[1])
        return np.full(shape, -np.inf), np.full(shape, np.inf)

    def _signs(self, step: Arithmetic) -> tuple[list[Shares], list[int]] | None:
        """([rows, 1] the factor of each operand in a weighted sum, its place); None for what is not one."""
        count, one = len(step.operands), np.ones((len(step.out), 1))
        if step.op == self.op:
            return [one] * count, list(range(count))
        if self.family != "sum":
            return None
        if step.op == "-" and count == 2:
            return [one, -one], [0, 1]
        if step.op in ("neg", "-") and count == 1:
            return [-one], [0]
        if step.op == "*" and count == 2:
            for place in (0, 1):
                numbers = self._numbers(step.operands[place])
                if numbers is not None:
                    return [numbers[:, None]], [1 - place]
        if step.op == "/" and count == 2:
            numbers = self._numbers(step.operands[1])
            if numbers is not None and self.sums.divides and (numbers != 0).all():
                return [1 / numbers[:, None]], [0]
        return None

    def _numbers(self, cells: IntArray) -> Shares | None:
        """The constants that the cells hold."""
        values: list[float] = []
        for cell in cells.tolist():
            term = self.network.known.get(cell)
            if term is None or term.op != "constant" or not (term.data[0] == 0 or SMALLEST <= abs(term.data[0]) <= 1 / SMALLEST):
                return None
            values.append(float(term.data[0]))
        return np.array(values)

    def _contribution(self, entry: Entries, candidate: Candidate, bounds: Bounds) -> tuple[Shares, Shares, BoolArray, BoolArray]:
        """(low, high, may be made, may be left) of what each row adds."""
        options = slot_options(candidate, entry.slots, (len(entry.fold),))
        on: BoolArray = any_option(options & entry.guard) & ~bounds.dead[entry.value]
        off = any_option(options & ~entry.guard)
        low, high = bounds.low[entry.value], bounds.high[entry.value]
        low = np.where(on[:, None], np.where(off[:, None], np.minimum(low, 0), low), 0)
        high = np.where(on[:, None], np.where(off[:, None], np.maximum(high, 0), high), 0)
        return low, high, on, off

    def _total(self, rows: int, parts: Sequence[tuple[IntArray, Shares, Shares]]) -> tuple[Shares, Shares]:
        columns = self.known.low.shape[1]
        low, high = np.zeros((rows, columns)), np.zeros((rows, columns))
        for row, least, most in parts:
            if self.family == "set":
                _join(np.maximum, low, row, least)
                _join(np.maximum, high[:, :-1], row, most[:, :-1])
                _join(np.add, high[:, -1], row, most[:, -1])
            else:
                _join(np.add, low, row, least)
                _join(np.add, high, row, most)
        if self.family == "parity":
            decided = low[:, :-1] == high[:, :-1]
            value = np.where(decided & np.isfinite(low[:, :-1]), low[:, :-1], 0) % 2
            low[:, :-1] = np.where(decided, value, 0)
            high[:, :-1] = np.where(decided, value, np.where(np.isinf(high[:, :-1]), np.inf, 1))
            low[:, -1] = np.where(np.isinf(low[:, -1]), -np.inf, 0)
        return low, high

    def _narrow_cells(self, candidate: Candidate, bounds: Bounds, cells: IntArray, low: Shares, high: Shares) -> bool:
        """Whether anything changed; cells may repeat."""
        before = bounds.low[cells], bounds.high[cells], bounds.dead[cells]
        low, high = np.where(np.abs(low) > LARGEST, -np.inf, low), np.where(np.abs(high) > LARGEST, np.inf, high)
        if self.family != "sum" and low.size:
            # As many as there are columns: these operators do not count twice.
            most, least = high[:, :-1].sum(axis=1), low[:, :-1].sum(axis=1)
            high[:, -1] = np.minimum(high[:, -1], most)
            low[:, -1] = np.maximum(low[:, -1], least)
        _join(np.maximum, bounds.low, cells, low)
        _join(np.minimum, bounds.high, cells, high)
        crossed = (bounds.low[cells] > bounds.high[cells] + SLACK).any(axis=1)
        empty = cells[crossed]
        bounds.dead[empty], bounds.low[empty], bounds.high[empty] = True, -np.inf, np.inf
        if (crossed & candidate.needed[cells]).any():
            raise ConflictError
        after = bounds.low[cells], bounds.high[cells], bounds.dead[cells]
        return not all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))

    # ------------------------------------------------------------ backward

    def _backward(
        self, number: int, step: Elements | Arithmetic | Folds, candidate: Candidate, changes: Changes, bounds: Bounds
    ) -> bool:
        """Whether anything changed in what the step reads; what it does to holes and needs is in `changes`."""
        rows = np.flatnonzero(candidate.needed[step.out])
        if not len(rows):
            return False
        match step:
            case Elements():
                return self._choose(number, step, rows, candidate, changes, bounds)
            case Arithmetic():
                return self._take_apart(step, rows, candidate, changes, bounds)
            case Folds():
                return self._supply(step, candidate, changes, bounds)

    def _choose(
        self, number: int, step: Elements, rows: IntArray, candidate: Candidate, changes: Changes, bounds: Bounds
    ) -> bool:
        """A needed row reads something that can be what it must hold."""
        slots = Slots(step.slots.holes, tuple(p[rows] for p in step.slots.points))
        shape = step.source.shape[1:]
        options = slot_options(candidate, slots, (len(rows),)).reshape(len(rows), -1)
        source = self.sources[number][rows]
        row, option = np.nonzero(options)
        fits = np.zeros_like(options)
        columns = bounds.low.shape[1]
        for part in _row_blocks(row, columns):
            mine, read = step.out[rows[row[part]]], source[row[part], option[part]]
            fits[row[part], option[part]] = (
                (bounds.low[read] <= bounds.high[mine] + SLACK) & (bounds.high[read] >= bounds.low[mine] - SLACK)
            ).all(axis=1) & ~bounds.dead[read]
        if not fits.any(axis=1).all():
            raise ConflictError
        if (fits != options).any():
            narrow_slots(candidate, changes, slots, fits.reshape(-1, *shape), np.arange(len(rows)))
        single = np.flatnonzero(fits.sum(axis=1) == 1)
        if not len(single):
            return False
        picked, mine = source[single, fits[single].argmax(axis=1)], step.out[rows[single]]
        need_cells(candidate, changes, self.group_of, picked)
        return self._narrow_cells(candidate, bounds, picked, bounds.low[mine], bounds.high[mine])

    def _take_apart(self, step: Arithmetic, rows: IntArray, candidate: Candidate, changes: Changes, bounds: Bounds) -> bool:
        """Both sides of a needed sum are needed, and each has what the other cannot bring."""
        for operand in step.operands:
            need_cells(candidate, changes, self.group_of, operand[rows])
        signed = self._signs(step)
        if signed is None:
            return False
        signs, positions = signed
        factors = [s[rows] for s in signs]
        cells = [step.operands[p][rows] for p in positions]
        parts = [_scaled(bounds.low[c], bounds.high[c], s) for c, s in zip(cells, factors, strict=True)]
        low, high = bounds.low[step.out[rows]], bounds.high[step.out[rows]]
        here = np.arange(len(rows))
        changed = False
        for n, cell in enumerate(cells):
            others = [(here, *p) for m, p in enumerate(parts) if m != n]
            rest = self._total(len(rows), others)
            mine = self._left(low, high, *rest)
            if (factors[n] == 0).any():
                continue
            changed |= self._narrow_cells(candidate, bounds, cell, *_scaled(*mine, 1 / factors[n]))
        return changed

    def _left(self, low: Shares, high: Shares, rest_low: Shares, rest_high: Shares) -> tuple[Shares, Shares]:
        """The bounds of one part of a whole whose other parts are `rest`."""
        if self.family == "sum":
            return low - rest_high, high - rest_low
        if self.family == "set":
            least = np.where((rest_high <= 0) & (low > 0), low, -np.inf)
            least[:, -1] = low[:, -1] - rest_high[:, -1]
            return least, high.copy()
        decided = (low == high) & (rest_low == rest_high)
        value = np.where(decided, (np.where(decided, low, 0) + np.where(decided, rest_low, 0)) % 2, 0)
        least, most = np.where(decided, value, -np.inf), np.where(decided, value, np.inf)
        least[:, -1], most[:, -1] = low[:, -1] - rest_high[:, -1], np.inf
        return least, most

    def _supply(self, step: Folds, candidate: Candidate, changes: Changes, bounds: Bounds) -> bool:
        """Each contribution to a needed fold is what the others leave, or is not made."""
        init = self._init(step)
        if init is None:
            return False
        needed = candidate.needed[step.out]
        parts = [self._contribution(e, candidate, bounds) for e in step.entries]
        every = [init, *((e.fold, *p[:2]) for e, p in zip(step.entries, parts, strict=True))]
        low, high = bounds.low[step.out], bounds.high[step.out]
        totals = self._finite_totals(every, len(step.out)) if self.family == "sum" else []
        changed = False
        for n, entry in enumerate(step.entries):
            for rows, rest_low, rest_high in self._rests(every, totals, n + 1, needed):
                fold = entry.fold[rows]
                least, most = self._left(low[fold], high[fold], rest_low, rest_high)
                changed |= self._conclude(entry, rows, least, most, parts[n], candidate, changes, bounds)
        return changed

    def _finite_totals(
        self, every: Sequence[tuple[IntArray, Shares, Shares]], folds: int
    ) -> list[tuple[Shares, NDArray[np.int64] | None]]:
        """Per side: the sum of what is bounded, and how much is not (None: nothing)."""
        found: list[tuple[Shares, NDArray[np.int64] | None]] = []
        for side in (0, 1):
            columns = self.known.low.shape[1]
            finite, infinite, some = np.zeros((folds, columns)), np.zeros((folds, columns), np.int64), False
            for fold, low, high in every:
                own = high if side else low
                unbounded = np.isinf(own)
                if unbounded.any():
                    some = True
                    np.add.at(infinite, fold, unbounded)
                    np.add.at(finite, fold, np.where(unbounded, 0, own))
                else:
                    _join(np.add, finite, fold, own)
            found.append((finite, infinite if some else None))
        return found

    def _rests(
        self,
        every: Sequence[tuple[IntArray, Shares, Shares]],
        totals: Sequence[tuple[Shares, NDArray[np.int64] | None]],
        number: int,
        needed: BoolArray,
    ) -> Iterable[tuple[IntArray, Shares, Shares]]:
        """For rows of part `number` in needed folds: what all other rows of their folds add."""
        fold, *mine = every[number]
        rows = np.flatnonzero(needed[fold])
        if self.family == "sum":
            rests: list[Shares] = []
            for side, own in enumerate(mine):
                finite, infinite = totals[side]
                own = own[rows]
                if infinite is None:
                    rests.append(finite[fold[rows]] - own)
                    continue
                unbounded = np.isinf(own)
                rest = finite[fold[rows]] - np.where(unbounded, 0, own)
                rests.append(np.where(infinite[fold[rows]] > unbounded, np.inf if side else -np.inf, rest))
            yield rows, rests[0], rests[1]
            return
        while len(rows):
            _, first = np.unique(fold[rows], return_index=True)
            left = np.ones(len(fold), np.bool_)
            left[rows[first]] = False
            others_of = [(r[left], a[left], b[left]) if n == number else (r, a, b) for n, (r, a, b) in enumerate(every)]
            low, high = self._total(len(needed), others_of)
            yield rows[first], low[fold[rows[first]]], high[fold[rows[first]]]
            rows = np.delete(rows, first)

    def _conclude(
        self,
        entry: Entries,
        rows: IntArray,
        least: Shares,
        most: Shares,
        part: tuple[Shares, Shares, BoolArray, BoolArray],
        candidate: Candidate,
        changes: Changes,
        bounds: Bounds,
    ) -> bool:
        value = entry.value[rows]
        fits = ((bounds.low[value] <= most + SLACK) & (bounds.high[value] >= least - SLACK)).all(axis=1)
        on = part[2][rows] & fits
        off = part[3][rows] & ((least <= SLACK) & (most >= -SLACK)).all(axis=1)
        if not (on | off).all():
            raise ConflictError
        decided = np.flatnonzero(on != off)
        if len(decided) and entry.slots.holes:
            where = rows[decided]
            slots = Slots(entry.slots.holes, tuple(p[where] for p in entry.slots.points))
            made = on[decided].reshape(-1, *(1,) * (entry.guard.ndim - 1))
            options = slot_options(candidate, slots, (len(where),)) & (entry.guard[where] == made)
            if not options.reshape(len(where), -1).any(axis=1).all():
                raise ConflictError
            narrow_slots(candidate, changes, slots, options)
        sure = np.flatnonzero(on & ~off)
        if not len(sure):
            return False
        need_cells(candidate, changes, self.group_of, value[sure])
        return self._narrow_cells(candidate, bounds, value[sure], least[sure], most[sure])


def _scaled(low: Shares, high: Shares, factor: Shares) -> tuple[Shares, Shares]:
    """An interval times a number of each row, which may be negative or 0."""
    if (factor == 1).all():
        return low, high
    with np.errstate(invalid="ignore"):
        first, second = low * factor, high * factor
    zero = np.broadcast_to(factor == 0, low.shape)
    first, second = np.where(zero, 0.0, first), np.where(zero, 0.0, second)
    return np.minimum(first, second), np.maximum(first, second)


def _join(operation: np.ufunc, target: Shares, rows: IntArray, values: Shares) -> None:
    """`operation.at`, which is slow, where rows repeat."""
    ordered = np.sort(rows)
    if (ordered[1:] != ordered[:-1]).all():
        target[rows] = operation(target[rows], values)
    else:
        operation.at(target, rows, values)


def _reads(step: Elements | Arithmetic | Folds) -> list[IntArray]:
    match step:
        case Elements():
            return [step.source]
        case Arithmetic():
            return list(step.operands)
        case Folds():
            return [e.value for e in step.entries]


def _slots(step: Elements | Arithmetic | Folds) -> list[Slots]:
    match step:
        case Elements():
            return [step.slots]
        case Arithmetic():
            return []
        case Folds():
            return [e.slots for e in step.entries]


def _row_blocks(row: IntArray, columns: int) -> Iterable[slice]:
    """Slices of a sorted array, of bounded size, that end between different rows (a row alone may be larger)."""
    step = max(1, BLOCK // columns)
    start = 0
    while start < len(row):
        end = min(len(row), start + step)
        if end < len(row):
            end = int(np.searchsorted(row, int(row[end - 1])))
            end = end if end > start else int(np.searchsorted(row, int(row[start]), side="right"))
        yield slice(start, end)
        start = end


def sum_constraints(network: Network, required: Requirements, group_of: IntArray) -> list[SumConstraint]:
    """One for each operator that outputs are sums of sums by, unless counting the contributions of accumulators says it all."""
    made = [SumConstraint(network, sums, group_of) for sums in read_sums(network, required)]
    made = [c for c in made if c.joins(list(network.known), [cell for cell, _ in required.judged])]
    # Where sums may wrap around, shares that differ say nothing.
    return [c for c in made if c.family != "sum" or not c.sums.modulus_bits or c.most_share() < 1 << (c.sums.modulus_bits - 2)]
