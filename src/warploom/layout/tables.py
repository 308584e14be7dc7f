"""Any map at all, place by place: a SAT solver finds one without conflict, or proves that there is none.

Chunks (what a lane takes at once) get a group of banks each, numbered from 0. Chunks of which some access takes the same part at
once must lie apart. Without conflict is a colouring of the graph of such pairs; the solver's proof becomes a list of lemmas, each
with the clauses that show it, which `recheck_classes` follows.

The clauses, in this order: each chunk has a colour; none has two; no pair has the same one; in a set of as many chunks as colours
each colour is some chunk's; the largest set has the colours 0, 1, ... in order, because colours may be renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from warploom.core import Diagnostic, UserError, limits
from warploom.layout.accesses import Access, Ints
from warploom.layout.banks import BANK_BITS, phases
from warploom.layout.linear import Shape
from warploom.layout.maps import Map
from warploom.layout.tiles import Tile

Clause: TypeAlias = tuple[int, ...]
SOLVER = "cadical195"
MOST_PLACES = 1 << 20
"""Chunks times colours, squared."""
MOST_CLAUSES = 500_000
"""Most clauses for pairs."""
CONFLICTS = 5_000
"""After which the solver gives up, if no budget is left to go on; half of one is kept for following the proof."""


@dataclass(frozen=True, slots=True)
class Lemma:
    clause: Clause
    """Literals: 1 + chunk * colours + colour, or that negated."""
    hints: tuple[int, ...]
    """Numbers of clauses, each of which says one more literal where the lemma is wrong; the last one is wrong then."""


@dataclass(frozen=True, slots=True)
class NoMap:
    """The proof that no map that keeps chunks is without conflict, however much room it has."""

    chunk: int
    apart: tuple[int, ...]
    """The set of chunks that has the colours in order."""
    lemmas: tuple[Lemma, ...]
    """The last one is empty."""


def any_map(tile: Tile, accesses: Sequence[Access], form: Shape) -> Map | NoMap | None:
    """A map in which chunks that are taken at once lie apart, or the proof that there is none; None: neither within the limits.

    UserError (SAT) without the solver.
    """
    sets = sorted({found for access in accesses for found in _sets(tile, access, form)})
    count, colours = tile.elements >> form.chunk, 1 << form.group
    pairs = sorted({pair for each in sets for pair in combinations(each, 2)})
    if not sets or count * colours**2 > MOST_PLACES or len(pairs) * colours > MOST_CLAUSES:
        return None
    apart = max(sets, key=len)
    clauses = list(_clauses(count, colours, pairs, [each for each in sets if len(each) == colours], apart))
    proof = _Proof(list(clauses))
    proof.begin()
    if proof.conflict is not None:
        return NoMap(form.chunk, apart, proof.followed([]) or ())
    budget_s = limits.left_s()
    with _solver(clauses) as solver:
        while True:
            solver.conf_budget(CONFLICTS)
            answer = solver.solve_limited()
            if answer is not None or budget_s is None or (limits.left_s() or 0) < budget_s / 2:
                break
        if answer:
            chosen = {(v - 1) // colours: (v - 1) % colours for v in solver.get_model() if 0 < v <= count * colours}
            return _placed(tile, form, [chosen[chunk] for chunk in range(count)])
        if answer is None:
            return None
        steps = [line.split() for line in solver.get_proof()]
    lemmas = proof.followed([tuple(int(word) for word in step[:-1]) for step in steps if step[0] != "d"])
    return None if lemmas is None else NoMap(form.chunk, apart, lemmas)


def _solver(clauses: Sequence[Clause]) -> Any:
    try:
        solvers = import_module("pysat.solvers")
    except ImportError as error:
        raise UserError(
            Diagnostic("SAT", "expected a SAT solver for maps by table, got none", fix="pip install 'warploom[sat]'")
        ) from error
    return solvers.Solver(name=SOLVER, bootstrap_with=clauses, with_proof=True)


def _sets(tile: Tile, access: Access, form: Shape) -> Iterator[tuple[int, ...]]:
    """Chunks that must lie apart: the same part of all of them is wanted at once, and there is a group of banks for each."""
    per_word = max(1, BANK_BITS // tile.bits)
    for group in phases(tile, access):
        parts: dict[int, set[int]] = {}
        for element in group.ravel().tolist():
            parts.setdefault(element % (1 << form.chunk) // per_word, set()).add(element >> form.chunk)
        if all(len(chunks) <= 1 << form.group for chunks in parts.values()):
            yield from (tuple(sorted(chunks)) for chunks in parts.values() if len(chunks) > 1)


def _clauses(
    count: int, colours: int, pairs: Iterable[tuple[int, int]], full: Iterable[Sequence[int]], apart: Sequence[int]
) -> Iterator[Clause]:
    def has(chunk: int, colour: int) -> int:
        return 1 + chunk * colours + colour

    for chunk in range(count):
        yield tuple(has(chunk, colour) for colour in range(colours))
    for chunk in range(count):
        for one, two in combinations(range(colours), 2):
            yield -has(chunk, one), -has(chunk, two)
    for one, two in pairs:
        for colour in range(colours):
            yield -has(one, colour), -has(two, colour)
    for each in full:
        for colour in range(colours):
            yield tuple(has(chunk, colour) for chunk in each)
    for colour, chunk in enumerate(apart):
        yield (has(chunk, colour),)


def _placed(tile: Tile, form: Shape, colours: Sequence[int]) -> Map:
    """Chunks in the order of the tile, each in the next row of its banks."""
    rows = [0] * (1 << form.group)
    places: list[int] = []
    for colour in colours:
        places.append(rows[colour] << form.group | colour)
        rows[colour] += 1
    element = np.arange(tile.elements, dtype=np.int64)
    table: Ints = np.array(places, dtype=np.int64)[element >> form.chunk] << form.chunk | element & ((1 << form.chunk) - 1)
    return Map("table", None, table, 2)


@dataclass(slots=True)
class _Proof:
    """Unit propagation over clauses with two watched literals each, and what each lemma follows from."""

    clauses: list[Clause]
    watches: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    reasons: dict[int, int] = field(default_factory=dict[int, int])
    """By literal that holds the clause that says so; -1 of what is assumed."""
    trail: list[int] = field(default_factory=list[int])
    done: int = 0
    conflict: int | None = None
    """A clause that is wrong under what holds always."""

    def begin(self) -> None:
        """Reads the clauses."""
        for number in range(len(self.clauses)):
            if self.conflict is None:
                self.conflict = self._watched(number)
        self._go_on()

    def _go_on(self) -> None:
        if self.conflict is None:
            self.conflict = self._propagated()

    def followed(self, steps: Sequence[Clause]) -> tuple[Lemma, ...] | None:
        """The lemmas that the last one needs, with new numbers; None if some step does not follow by propagation alone."""
        axioms = len(self.clauses)
        found: list[Lemma] = []
        for step in steps:
            if self.conflict is not None:
                break
            mark = len(self.trail)
            wrong = self._assumed(step)
            if wrong is None:
                return None
            found.append(Lemma(step, self._needed(wrong)))
            for literal in self.trail[mark:]:
                del self.reasons[literal]
            del self.trail[mark:]
            self.done = mark
            self.clauses.append(step)
            self.conflict = self._watched(len(self.clauses) - 1)
            self._go_on()
        if self.conflict is None:
            return None
        found.append(Lemma((), self._needed(self.conflict)))
        return _trimmed(found, axioms)

    def _watched(self, number: int) -> int | None:
        """Begins to watch a clause; its number if it is wrong already."""
        clause = self.clauses[number]
        free = sorted(clause, key=lambda literal: -literal in self.reasons)[:2]
        for literal in free:
            self.watches.setdefault(literal, []).append(number)
        if not free or -free[0] in self.reasons:
            return number
        if (len(free) == 1 or -free[1] in self.reasons) and free[0] not in self.reasons:
            self._hold(free[0], number)
        return None

    def _hold(self, literal: int, reason: int) -> None:
        self.reasons[literal] = reason
        self.trail.append(literal)

    def _assumed(self, clause: Clause) -> int | None:
        """The clause that is wrong where all literals of the lemma are."""
        for literal in clause:
            if literal in self.reasons:
                return self.reasons[literal]
            if -literal not in self.reasons:
                self._hold(-literal, -1)
        return self._propagated()

    def _propagated(self) -> int | None:
        reasons = self.reasons
        while self.done < len(self.trail):
            false = -self.trail[self.done]
            self.done += 1
            kept: list[int] = []
            here = self.watches.get(false, [])
            self.watches[false] = kept
            for at, number in enumerate(here):
                clause = self.clauses[number]
                other = next((x for x in clause if x in reasons), None)
                if other is not None:
                    kept.append(number)
                    continue
                free = [x for x in clause if -x not in reasons]
                if len(free) > 1:
                    target = next((x for x in free if number not in self.watches.get(x, ())), None)
                    if target is None:
                        kept.append(number)
                    else:
                        self.watches.setdefault(target, []).append(number)
                    continue
                kept.append(number)
                if not free:
                    kept.extend(here[at + 1 :])
                    return number
                self._hold(free[0], number)
        return None

    def _needed(self, wrong: int) -> tuple[int, ...]:
        """Clauses that lead to the wrong one, in the order in which they say something."""
        needed = {-literal for literal in self.clauses[wrong]}
        hints = [wrong]
        for literal in reversed(self.trail):
            reason = self.reasons[literal]
            if literal in needed and reason >= 0:
                hints.append(reason)
                needed |= {-x for x in self.clauses[reason] if x != literal}
        return tuple(reversed(hints))


def _trimmed(found: Sequence[Lemma], axioms: int) -> tuple[Lemma, ...]:
    """The lemmas that the last one needs."""
    needed = {len(found) - 1}
    for number in reversed(range(len(found))):
        if number in needed:
            needed |= {hint - axioms for hint in found[number].hints if hint >= axioms}
    kept = sorted(needed)
    numbers = {axioms + old: axioms + new for new, old in enumerate(kept)}
    return tuple(Lemma(found[n].clause, tuple(numbers.get(hint, hint) for hint in found[n].hints)) for n in kept)
