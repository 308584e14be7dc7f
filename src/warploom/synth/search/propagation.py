"""Effects of one decision on the others: arc consistency between cells, slots and folds, on bit sets.

Every cell has a domain: the set of values it may hold (bits over the universe). A *needed* cell is one that a required output
certainly reads. The constraints narrow domains and the allowed values of hole points to a fixed point or a conflict; each is
sound (it never removes what some answer needs) because a cell that is not known to be needed restricts nothing.

Source: the reductions of Swizzleflow, section 4, run in both directions and per element instead of per array pair.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from math import log2
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle import Functions, Supporting
from warploom.synth.network.network import UNDEFINED, BoolArray, Elements, IntArray, Network, Placements, Retained, Slots
from warploom.synth.network.requirements import Requirements

Words = NDArray[np.uint64]
LIST_AT_MOST = 50_000
LIST_CELLS = 1 << 24
"""Functions times points: a larger table takes longer to make than what it may tell at once."""
LIST_WHERE_KNOWN = 1 << 20
"""Functions of a larger set differ mostly where nothing is known: they wait until something is known at half of the points."""
SPARSE = 4
"""Options are looked at one by one where fewer than one in this many are left."""
BLOCK_WORDS = 1 << 23
"""Words of domains that a constraint looks at in one piece: 64 MB."""


@dataclass(eq=False, slots=True)
class Candidate:
    """A partial answer; copied before it is narrowed."""

    allowed: list[BoolArray]
    """Per hole: [points, values]."""
    functions: list[Functions | None]
    """Per hole: the functions left; None while they are too many to list."""
    domains: Words
    """[cells, words] bits over the universe."""
    needed: BoolArray
    """[cells]."""
    base: Candidate | None = None
    """The candidate that it was copied from, if that was at a fixed point: only what differs from it can narrow anything."""

    shares: dict[Constraint, Any] = field(default_factory=dict["Constraint", Any])
    """The facts that each constraint found about it, to go on from."""

    def copy(self) -> Candidate:
        return Candidate(
            [a.copy() for a in self.allowed],
            list(self.functions),
            self.domains.copy(),
            self.needed.copy(),
            shares=dict(self.shares),
        )


class ConflictError(Exception):
    """The candidate has no answer."""


@dataclass(slots=True)
class Changes:
    """Cell groups and holes that a constraint narrowed, by number."""

    groups: set[int]
    holes: set[int]


class Constraint(Protocol):
    holes: tuple[int, ...]
    groups: frozenset[int]
    """Groups of cells it reads or narrows."""
    settled: frozenset[int]
    """Groups it may narrow without having to run again."""

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        """Remove what cannot be; raises ConflictError."""
        ...


def any_bits(words: Words) -> BoolArray:
    """[..., words] -> [...]: whether a set is not empty."""
    if words.shape[-1] > 8:
        return np.logical_or.reduce(words, axis=-1)
    union: Words = words[..., 0]
    for word in range(1, words.shape[-1]):
        union = union | words[..., word]
    return union.astype(np.bool_)


def any_option(options: BoolArray) -> BoolArray:
    """[rows, slot values...] -> [rows]: whether some combination of values is left."""
    return np.logical_or.reduce(options.reshape(len(options), -1), axis=1)


def unpack(words: Words, size: int) -> BoolArray:
    """[rows, words] -> [rows, size] truth values."""
    return np.unpackbits(words.view(np.uint8), axis=1, count=size, bitorder="little").astype(np.bool_)


def pack(bits: BoolArray, words: int) -> Words:
    """[rows, size] truth values -> [rows, words]."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    full = np.zeros((len(bits), words * 8), np.uint8)
    full[:, : packed.shape[1]] = packed
    return full.view(np.uint64)


def slot_options(candidate: Candidate, slots: Slots, shape: tuple[int, ...]) -> BoolArray:
    """[rows, *shape]: which combinations of slot values are still allowed."""
    rows = len(slots.points[0]) if slots.points else shape[0]
    options = np.ones((rows,) + (1,) * len(slots.holes), np.bool_)
    for axis, (hole, points) in enumerate(zip(slots.holes, slots.points, strict=True)):
        mine = candidate.allowed[hole][points]
        options = options & mine.reshape((rows, *(-1 if a == axis else 1 for a in range(len(slots.holes)))))
    return options


def narrow_slots(candidate: Candidate, changes: Changes, slots: Slots, options: BoolArray, rows: IntArray | None = None) -> None:
    """Keep the slot values that occur in `options` ([rows, *values])."""
    for axis, (hole, points) in enumerate(zip(slots.holes, slots.points, strict=True)):
        others = tuple(a + 1 for a in range(len(slots.holes)) if a != axis)
        seen = options.any(axis=others) if others else options
        where = points if rows is None else points[rows]
        allowed = candidate.allowed[hole]
        before = allowed[where]
        if (before & ~seen).any():
            np.logical_and.at(allowed, where, seen)
            if not allowed[where].any(axis=1).all():
                raise ConflictError
            changes.holes.add(hole)


class ElementConstraint:
    """out[row] equals source[row, v] for the chosen v."""

    def __init__(self, batch: Elements, group_of: IntArray) -> None:
        self.slots = batch.slots
        self.holes = tuple(sorted(set(batch.slots.holes)))
        self.out = batch.out
        self.shape = batch.source.shape[1:]
        self.source = batch.source.reshape(len(batch.out), -1)
        self.out_group = int(group_of[batch.out[0]])
        self.source_groups = frozenset(np.unique(group_of[self.source]).tolist())
        self.groups = self.source_groups | {self.out_group}
        self.settled = frozenset({self.out_group})
        self.group_of = group_of

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        if candidate.base is None:
            self._in_blocks(candidate, changes)
            return
        rows = np.flatnonzero(self._differs(candidate, candidate.base))
        if 2 * len(rows) > len(self.out):
            self._in_blocks(candidate, changes)
        elif len(rows):
            self.restricted(rows)._in_blocks(candidate, changes)

    def _in_blocks(self, candidate: Candidate, changes: Changes) -> None:
        """Narrows not more rows at once than BLOCK_WORDS allow: memory stays small, and a spent budget is seen between them."""
        rows = max(1, BLOCK_WORDS // max(1, self.source.shape[1] * candidate.domains.shape[1]))
        if len(self.out) <= rows:
            self._narrow(candidate, changes)
            return
        for start in range(0, len(self.out), rows):
            self.restricted(np.arange(start, min(start + rows, len(self.out))))._narrow(candidate, changes)

    def restricted(self, rows: IntArray) -> ElementConstraint:
        """Some rows of it; `groups` stay those of all."""
        part = copy(self)
        part.slots = Slots(self.slots.holes, tuple(p[rows] for p in self.slots.points))
        part.out, part.source = self.out[rows], self.source[rows]
        return part

    def _differs(self, candidate: Candidate, base: Candidate) -> BoolArray:
        """[rows]: whether anything that the row depends on is not as in `base`."""
        narrowed = np.logical_or.reduce(candidate.domains != base.domains, axis=1)
        rows = (narrowed | (candidate.needed != base.needed))[self.out]
        rows |= np.logical_or.reduce(narrowed[self.source], axis=1)
        for hole, points in zip(self.slots.holes, self.slots.points, strict=True):
            rows |= np.logical_or.reduce(candidate.allowed[hole] != base.allowed[hole], axis=1)[points]
        return rows

    def _narrow(self, candidate: Candidate, changes: Changes) -> None:
        domains, needed = candidate.domains, candidate.needed
        rows = len(self.out)
        options = slot_options(candidate, self.slots, (rows,)).reshape(rows, -1)
        mine = domains[self.out]
        need = needed[self.out]
        if np.count_nonzero(options) * SPARSE < options.size:
            self._narrow_sparse(candidate, changes, options, mine, need)
            return
        held = domains[self.source]
        meets = options & any_bits(held & mine[:, None, :])
        if (need & ~meets.any(axis=1)).any():
            raise ConflictError
        usable = np.where(need[:, None], meets, options)
        if need.any() and (options[need] & ~meets[need]).any():
            which = np.flatnonzero(need)
            narrow_slots(candidate, changes, self.slots, meets[need].reshape((-1, *self.shape)), which)
        reachable = np.bitwise_or.reduce(np.where(usable[:, :, None], held, np.uint64(0)), axis=1)
        narrowed = mine & reachable
        if (narrowed != mine).any():
            domains[self.out] = narrowed
            changes.groups.add(self.out_group)
        self._follow(candidate, changes, usable, need, narrowed)

    def _narrow_sparse(self, candidate: Candidate, changes: Changes, options: BoolArray, mine: Words, need: BoolArray) -> None:
        """The same where most options are gone: only the others are looked at."""
        row, option = np.nonzero(options)
        held = candidate.domains[self.source[row, option]]
        meets = any_bits(held & mine[row])
        usable = np.zeros_like(options)
        usable[row, option] = meets | ~need[row]
        if not np.logical_or.reduce(usable, axis=1)[need].all():
            raise ConflictError
        if (options != usable).any():
            which = np.flatnonzero(need)
            narrow_slots(candidate, changes, self.slots, usable[need].reshape((-1, *self.shape)), which)
        kept = usable[row, option]
        reachable = np.zeros_like(mine)
        found, starts = np.unique(row[kept], return_index=True)
        if len(found):
            reachable[found] = np.bitwise_or.reduceat(held[kept], starts, axis=0)
        narrowed = mine & reachable
        if (narrowed != mine).any():
            candidate.domains[self.out] = narrowed
            changes.groups.add(self.out_group)
        self._follow(candidate, changes, usable, need, narrowed)

    def _follow(self, candidate: Candidate, changes: Changes, usable: BoolArray, need: BoolArray, narrowed: Words) -> None:
        """A needed row with one option left needs the cell behind it, and that cell holds what the row may hold."""
        single = need & (np.count_nonzero(usable, axis=1) == 1)
        if single.any():
            picked = self.source[single, usable[single].argmax(axis=1)]
            narrow_cells(candidate, changes, self.group_of, picked, narrowed[single])
            need_cells(candidate, changes, self.group_of, picked)


def narrow_cells(candidate: Candidate, changes: Changes, group_of: IntArray, cells: IntArray, keep: Words) -> None:
    """domains[cells] &= keep, cells possibly repeated."""
    before = candidate.domains[cells]
    if not (before & ~keep).any():
        return
    np.bitwise_and.at(candidate.domains, cells, keep)
    after = candidate.domains[cells]
    if not (any_bits(after) | ~candidate.needed[cells]).all():
        raise ConflictError
    changes.groups.update(np.unique(group_of[cells[(after != before).any(axis=1)]]).tolist())


def need_cells(candidate: Candidate, changes: Changes, group_of: IntArray, cells: IntArray) -> None:
    fresh = cells[~candidate.needed[cells]]
    if len(fresh):
        candidate.needed[fresh] = True
        if not any_bits(candidate.domains[fresh]).all():
            raise ConflictError
        changes.groups.update(np.unique(group_of[fresh]).tolist())


class PlacementConstraint:
    """source[row] goes to target[row, v] for the chosen v; a target keeps its old content where no row goes."""

    def __init__(self, batch: Placements, retained: Retained, group_of: IntArray, optional: BoolArray) -> None:
        """`optional`: [cells] outputs that take nothing but the value in their domain, if anything."""
        self.slots = batch.slots
        self.holes = tuple(sorted(set(batch.slots.holes)))
        self.shape = batch.target.shape[1:]
        self.source = batch.source
        self.target = batch.target.reshape(len(batch.source), -1)
        self.group_of = group_of
        self.optional = optional
        self.cells = len(optional)
        self.old = np.full(self.cells, UNDEFINED)
        self.old[retained.out] = retained.old
        groups = np.concatenate([self.target.ravel(), self.source, retained.out, retained.old])
        self.groups = frozenset(np.unique(group_of[groups]).tolist())
        self.settled: frozenset[int] = frozenset()

    def narrow(self, candidate: Candidate, changes: Changes) -> None:
        domains, needed = candidate.domains, candidate.needed
        rows = len(self.source)
        allowed = slot_options(candidate, self.slots, (rows,)).reshape(rows, -1)
        goes = self.target != UNDEFINED
        meets = any_bits(domains[self.target] & domains[self.source][:, None, :])
        options = allowed & (meets | ~(needed | self.optional)[self.target] | ~goes)
        # A row that certainly goes somewhere needed keeps the others away from there.
        fixed = (options.sum(axis=1) == 1) & (options & goes).any(axis=1)
        places = self.target[np.flatnonzero(fixed), options[fixed].argmax(axis=1)]
        if len(np.unique(places)) != len(places):
            raise ConflictError
        taken = np.zeros(self.cells, np.bool_)
        taken[places] = True
        options &= ~(taken[self.target] & ~fixed[:, None])
        if not options.any(axis=1).all():
            raise ConflictError
        narrow_slots(candidate, changes, self.slots, options.reshape((rows, *self.shape)))
        reaches = options & goes & meets
        count = np.bincount(self.target[reaches], minlength=self.cells)
        wanted = np.unique(self.target[goes])
        wanted = wanted[needed[wanted]]
        retains = any_bits(domains[self.old[wanted]] & domains[wanted]) & (self.old[wanted] != UNDEFINED)
        kept = wanted[count[wanted] == 0]
        if not retains[count[wanted] == 0].all():
            raise ConflictError
        if len(kept):
            # Where no row goes, the old content stays and is what is needed.
            narrow_cells(candidate, changes, self.group_of, self.old[kept], domains[kept])
            narrow_cells(candidate, changes, self.group_of, kept, domains[self.old[kept]])
            need_cells(candidate, changes, self.group_of, self.old[kept])
        lone = np.zeros(self.cells, np.bool_)
        lone[wanted[(count[wanted] == 1) & ~retains]] = True
        row, option = np.nonzero(reaches & lone[self.target])
        if len(row):
            only = np.zeros((len(row), options.shape[1]), np.bool_)
            only[np.arange(len(row)), option] = True
            narrow_slots(candidate, changes, self.slots, only.reshape((-1, *self.shape)), row)
            target, source = self.target[row, option], self.source[row]
            narrow_cells(candidate, changes, self.group_of, source, domains[target])
            narrow_cells(candidate, changes, self.group_of, target, domains[source])
            need_cells(candidate, changes, self.group_of, source)
        self._bring(candidate, changes, options)
        self._spread(candidate, changes, options & goes)

    def _bring(self, candidate: Candidate, changes: Changes, options: BoolArray) -> None:
        """A row that certainly goes to a needed target holds what some such target may."""
        domains, needed = candidate.domains, candidate.needed
        certain = ~(options & ((self.target == UNDEFINED) | ~needed[self.target])).any(axis=1)
        if certain.any():
            wanted = np.where(options[certain][:, :, None], domains[self.target[certain]], np.uint64(0))
            source = self.source[certain]
            narrow_cells(candidate, changes, self.group_of, source, np.bitwise_or.reduce(wanted, axis=1))
            need_cells(candidate, changes, self.group_of, source)

    def _spread(self, candidate: Candidate, changes: Changes, reaches: BoolArray) -> None:
        """A target holds what some row may bring or what it held before."""
        targets = np.unique(self.target[self.target != UNDEFINED])
        domains = candidate.domains
        loose = targets[np.bitwise_count(domains[targets]).sum(axis=1) > 1]
        if not len(loose):
            return
        held = np.zeros_like(domains)
        row, option = np.nonzero(reaches)
        np.bitwise_or.at(held, self.target[row, option], domains[self.source[row]])
        held[loose] |= domains[self.old[loose]]
        narrow_cells(candidate, changes, self.group_of, loose, held[loose])


class FunctionFilter:
    """Keeps a hole's functions and the allowed values of its points consistent with each other."""

    def __init__(self, sets: list[FunctionSetLike], injective: list[ElementConstraint]) -> None:
        """`injective`: constraints whose rows must all choose different sources."""
        self.sets = sets
        self.injective = [e for e in injective if len(e.slots.holes) == 1]
        self.list_at_most = LIST_AT_MOST
        """List the functions once the allowed values leave an estimated number of this size."""

    def narrow(self, candidate: Candidate, hole: int) -> bool:
        """Whether the allowed values changed."""
        allowed = candidate.allowed[hole]
        functions = candidate.functions[hole]
        if functions is None:
            count = allowed.sum(axis=1)
            freedom = np.log2(np.maximum(count, 1) / allowed.shape[1]).sum()
            size = self.sets[hole].size_bound
            if (count > 1).any():
                most = min(self.list_at_most, LIST_CELLS // len(count))
                if log2(size) + freedom > log2(max(most, 1)) and freedom > -16:
                    return self._narrow_unlisted(candidate, hole)
                if size > LIST_WHERE_KNOWN and 2 * (count == allowed.shape[1]).sum() > len(count):
                    return self._narrow_unlisted(candidate, hole)
            functions = self.sets[hole].matching(allowed)
            if functions is None:
                return self._narrow_unlisted(candidate, hole)
            for element in self.injective:
                if element.slots.holes == (hole,):
                    functions = functions.select(_chooses_apart(element, functions))
        else:
            functions = functions.matching(allowed)
        if len(functions) == 0:
            raise ConflictError
        candidate.functions[hole] = functions
        supported = functions.supported(allowed.shape[1]) & allowed
        if (supported != allowed).any():
            candidate.allowed[hole] = supported
            return True
        return False

    def _narrow_unlisted(self, candidate: Candidate, hole: int) -> bool:
        """Whether the allowed values changed, by what a set that knows it without listing says that members take."""
        members, allowed = self.sets[hole], candidate.allowed[hole]
        if not isinstance(members, Supporting):
            return False
        supported = members.supported(allowed) & allowed
        if not np.logical_or.reduce(supported, axis=1).all():
            raise ConflictError
        if (supported == allowed).all():
            return False
        candidate.allowed[hole] = supported
        return True


def _chooses_apart(element: ElementConstraint, functions: Functions) -> BoolArray:
    """[functions]: whether the rows of `element` all choose different source cells."""
    rows, points = np.arange(len(element.out)), element.slots.points[0]
    apart = np.zeros(len(functions), np.bool_)
    step = max(1, (1 << 22) // len(rows))
    for start in range(0, len(functions), step):
        chosen = np.sort(element.source[rows, functions.tables[start : start + step][:, points]], axis=1)
        apart[start : start + step] = (chosen[:, 1:] != chosen[:, :-1]).all(axis=1)
    return apart


class FunctionSetLike(Protocol):
    @property
    def size_bound(self) -> int: ...

    def matching(self, allowed: BoolArray) -> Functions | None: ...


def initial_candidate(network: Network, required: Requirements) -> Candidate:
    """Everything open: known cells hold their term, outputs what the spec says."""
    words = (len(required.universe) + 63) // 64
    size = len(required.universe)
    domains = pack(np.ones((1, size), np.bool_), words).repeat(network.cells, axis=0)
    domains[UNDEFINED] = 0
    for cell, term in network.known.items():
        number = required.universe.number(term)
        assert number is not None
        domains[cell] = 0
        domains[cell, number // 64] = np.uint64(1) << np.uint64(number % 64)
    needed = np.zeros(network.cells, np.bool_)
    single = np.zeros((len(required.output_cells), size), np.bool_)
    single[np.arange(len(single)), required.output_values] = True
    if (required.output_cells == UNDEFINED).any():
        raise ConflictError
    may = np.zeros((len(required.optional_cells), size), np.bool_)
    may[np.arange(len(may)), required.optional_values] = True
    np.bitwise_and.at(domains, required.optional_cells, pack(may, words))
    np.bitwise_and.at(domains, required.output_cells, pack(single, words))
    needed[required.output_cells] = True
    if not any_bits(domains[required.output_cells]).all():
        raise ConflictError
    candidate = Candidate(
        [np.ones((len(u.points), u.values), np.bool_) for u in network.holes],
        [None] * len(network.holes),
        domains,
        needed,
    )
    for found in network.forbidden:
        options = slot_options(candidate, found.slots, (len(found.outside),)) & ~found.outside
        narrow_slots(candidate, Changes(set(), set()), found.slots, options)
    return candidate
