"""Threads of a block that compute alike: what one computes stands for what others do, of elements that lie further on.

    representative of a thread := the one at the middle of the axes along which threads are alike, and at the thread's place of
                                  the others
    value of a thread := that of its representative, with each element `x[k]` as `x[k + the steps between them * moves of x]`

How an array moves is seen where its elements are first computed with, and every later column of values is compared with it. A
column that does not move so has a value of its own for each thread, and so has what is shared or branched on. A shuffle keeps it
so where each thread takes from another one as its representative does, and a load of shared memory where it gives what was stored
so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from warploom.synth.compiled.data import Comparison, Data, Undefined, Value
from warploom.synth.compiled.faults import Triple
from warploom.synth.compiled.memory import Region, Stored
from warploom.synth.compiled.names import NAME, Names, is_name
from warploom.synth.compiled.renaming import LIMITED, SUM, rebuilt
from warploom.terms import Term, atom

_MOST_CLASSES = 8
_MOST_STEPS = 8
"""Operations that make a value of a few elements."""
_LIKE_ANOTHER = Undefined("a value like that of another thread", 0)
Axes = tuple[bool, bool, bool]
Classes = tuple[int, ...]
"""By thread: a number that threads have in common which may compute alike. Empty: all may."""


class ApartError(Exception):
    """Some threads hold elements where others hold numbers, as at the edge of an array: each kind needs a representative."""

    def __init__(self, classes: Classes) -> None:
        super().__init__(f"threads that compute in {1 + max(classes)} ways")
        self.classes = classes


@dataclass(frozen=True, slots=True)
class _Implied:
    """A cell that holds what its thread's representative stored in another cell, translated."""

    offset: int
    """The representative's cell."""
    term: Term
    thread: int


@dataclass(frozen=True, slots=True)
class ImpliedGroup:
    """Elements that hold what those of one representative hold, translated."""

    elements: dict[str, dict[int, int]]
    """By array: element and that of the representative."""
    first: Triple
    last: Triple
    """The most steps along each axis from the representative to the threads it stands for; `first` has the least."""


@dataclass(frozen=True, slots=True)
class Implied:
    """Elements that hold what other ones hold, translated."""

    moves: dict[str, Triple]
    """By array, in elements from thread to thread."""
    groups: tuple[ImpliedGroup, ...]

    def elements_of(self, name: str) -> dict[int, int]:
        """Elements of an array, and for each that of the representative."""
        return {element: own for group in self.groups for element, own in group.elements.get(name, {}).items()}


@dataclass(slots=True)
class Translations:
    """Threads of one block and their representatives."""

    data: Data
    threads: list[Triple]
    classes: Classes = ()
    representatives: list[int] = field(default_factory=list[int])
    group: list[int] = field(default_factory=list[int])
    """By thread: which representative it has."""
    moves: dict[str, Triple] = field(default_factory=dict[str, Triple])
    """By array, in elements from thread to thread."""
    names: Names | None = None
    """Names for what threads hand to each other; None: nothing gets one."""
    _steps: list[Triple] = field(default_factory=list[Triple])
    _far: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """By array and thread: elements between what the representative takes and what the thread does."""
    _known_apart: dict[tuple[str, ...], list[tuple[int, int]]] = field(
        default_factory=dict[tuple[str, ...], list[tuple[int, int]]]
    )
    """By the arrays of the representatives' elements."""
    _near: dict[tuple[int, int], list[int]] = field(default_factory=dict[tuple[int, int], list[int]])
    """By representative and axis."""
    _done: dict[Triple, dict[Term, Term]] = field(default_factory=dict["Triple", "dict[Term, Term]"])
    """By the steps from the representative: its terms as they are there."""
    _sums: dict[Term, tuple[Term, int]] = field(default_factory=dict[Term, tuple[Term, int]])
    _implied: dict[int, dict[int, _Implied]] = field(default_factory=dict[int, dict[int, _Implied]])
    """By where an array begins and byte of it."""

    @staticmethod
    def of_block(data: Data, threads: list[Triple], block: Triple, axes: Axes, classes: Classes = ()) -> Translations | None:
        """None: each thread would stand for itself."""
        if not any(is_alike and n > 1 for is_alike, n in zip(axes, block, strict=True)):
            return None
        found = Translations(data, threads, classes or (0,) * len(threads))
        members: dict[tuple[int, ...], list[int]] = {}
        for t, position in enumerate(threads):
            own = (-1 if is_alike else at for is_alike, at in zip(axes, position, strict=True))
            members.setdefault((found.classes[t], *own), []).append(t)
        found.group = [0] * len(threads)
        found._steps = [(0, 0, 0)] * len(threads)
        for number, group in enumerate(sorted(members.values(), key=len, reverse=True)):
            own = _middle([threads[t] for t in group])
            found.representatives.append(group[own])
            for t in group:
                x, y, z = (a - b for a, b in zip(threads[t], threads[group[own]], strict=True))
                found.group[t], found._steps[t] = number, (x, y, z)
        return found

    # ------------------------------------------------------------ columns of values

    def common(self, column: list[Value]) -> list[Value] | None:
        """The representatives' values, where all others are their translations; None where that is not seen."""
        values = [column[t] for t in self.representatives]
        if not all(
            type(v) is int or isinstance(v, Undefined) or (isinstance(v, Term) and v.op == "atom" and v.data[2] == 1)
            for v in values
        ):
            is_known = self._are_known_translations(column, values) or self._are_made_alike(column, values)
            return values if is_known else None
        if any(isinstance(v, Term) and is_name(v) for v in values):
            return values if self._are_known_translations(column, values) else None
        self._check_classes(column, values)
        for value in values:
            if isinstance(value, Term) and value.data[1] and value.data[0] not in self._far and not self._learn(value, column):
                return None
        kinds = self.data.kinds
        for (_, (group, far)), value in {(id(v), a): v for v, a in zip(column, self._apart(values), strict=True)}.items():
            own = values[group]
            if isinstance(own, Term):
                if not isinstance(value, Term) or value.op != "atom":
                    return None
                (name, index, lanes), (other, place, _) = own.data, value.data
                if (
                    (name, len(index), index[1:]) != (other, len(place), place[1:])
                    or value.data[2] != lanes
                    or kinds[own] is not kinds[value]
                ):
                    return None
                if index and (name == SUM or place[0] - index[0] != far):
                    return None
            elif type(value) is not type(own) or value != own:
                return None
        return values

    def _are_made_alike(self, column: list[Value], values: list[Value]) -> bool:
        """Whether all threads have the translations of what is made of a few elements: those at places that index arrays give, or
        elements that were converted on their way through shared memory."""
        made_of: list[tuple[Term, tuple[Term, ...]]] = []
        for own in values:
            if type(own) is int or isinstance(own, Undefined):
                continue
            if not isinstance(own, Term):  # a comparison is translated, too
                return False
            elements = _elements_of(own)
            if not elements or any(e.data[0] in (SUM, NAME, LIMITED) or e.data[2] != 1 for e in elements):
                return False
            made_of.append((own, elements))
        self._check_classes(column, values)
        for own, elements in made_of:
            others = [_elements_of(v) if isinstance(v, Term) and v.op == own.op else () for v in column]
            for n, element in enumerate(elements):
                same: list[Value] = [found[n] if len(found) == len(elements) else 0 for found in others]
                if element.data[1] and element.data[0] not in self._far and not self._learn(element, same):
                    return False
        for t, (value, group) in enumerate(zip(column, self.group, strict=True)):
            own = values[group]
            is_own = value is self.translated(own, t) if isinstance(own, Term) else type(value) is type(own) and value == own
            if not is_own:
                return False
        return True

    def _are_known_translations(self, column: list[Value], values: list[Value]) -> bool:
        """Whether all threads have what was translated for them before, as where it comes back from shared memory."""
        for value, group, steps in zip(column, self.group, self._steps, strict=True):
            own = values[group]
            if not isinstance(own, Term) or value is not (self._done.get(steps, {}).get(own) if any(steps) else own):
                return False
        return True

    def exchanged(self, values: list[Value], sources: Sequence[int]) -> list[Value] | None:
        """The representatives' values after each thread took that of another one, `sources` by thread; None where what a thread
        took is no translation of what its representative did."""
        for t, (source, group) in enumerate(zip(sources, self.group, strict=True)):
            own = sources[self.representatives[group]]
            if self._steps[source] != self._steps[t] or self.group[source] != self.group[own]:
                return None
        return [values[self.group[sources[own]]] for own in self.representatives]

    def _check_classes(self, column: list[Value], values: list[Value]) -> None:
        """ApartError where a representative and one that it stands for hold values of two kinds."""
        kinds = list(map(type, column))
        if all(kind is type(values[g]) for kind, g in zip(kinds, self.group, strict=True)):
            return
        numbers: dict[tuple[int, type], int] = {}
        classes = tuple(numbers.setdefault((c, kind), len(numbers)) for c, kind in zip(self.classes, kinds, strict=True))
        if len(set(self.classes)) < len(numbers) <= _MOST_CLASSES:
            raise ApartError(classes)

    def _apart(self, values: list[Value]) -> list[tuple[int, int]]:
        """By thread: its representative, and the elements between what the two take. Many threads have the same."""
        names = tuple(v.data[0] if isinstance(v, Term) and v.data[1] and v.data[0] != SUM else "" for v in values)
        if names not in self._known_apart:
            self._known_apart[names] = [(g, self._far[names[g]][t] if names[g] else 0) for t, g in enumerate(self.group)]
        return self._known_apart[names]

    def _learn(self, own: Term, column: list[Value]) -> bool:
        """How the array of an element moves with the threads."""
        name = own.data[0]
        if name in (SUM, NAME):
            return False
        places = {
            t: value.data[1][0]
            for t, value in enumerate(column)
            if isinstance(value, Term) and value.op == "atom" and value.data[0] == name and value.data[1]
        }
        return self.learn(name, places)

    def learn(self, name: str, places: dict[int, int]) -> bool:
        """Keeps how an array moves, from the places of threads: along each axis by a representative and its neighbour, of most
        threads where several have one. False: all of these lack the place of one of the two."""
        moves = [0, 0, 0]
        for axis in range(3):
            pairs = [(r, t) for r in self.representatives for t in self._neighbours(r, axis)]
            known = next(((r, t) for r, t in pairs if r in places and t in places), None)
            if known is not None:
                r, t = known
                moves[axis] = (places[t] - places[r]) * self._steps[t][axis]
            elif pairs:
                return False
        self.moves[name] = (moves[0], moves[1], moves[2])
        self._far[name] = [sum(m * s for m, s in zip(moves, step, strict=True)) for step in self._steps]
        return True

    def _neighbours(self, representative: int, axis: int) -> list[int]:
        """The threads next to it along an axis for which it stands."""
        key = (representative, axis)
        if key not in self._near:
            by = tuple(int(k == axis) for k in range(3))
            near = [tuple(a + sign * b for a, b in zip(self.threads[representative], by, strict=True)) for sign in (1, -1)]
            group = self.group[representative]
            self._near[key] = [t for t, position in enumerate(self.threads) if position in near and self.group[t] == group]
        return self._near[key]

    def take_over(self, use: str, at_end: str) -> bool:
        """Elements of one use of an array are from now on those of another one. False: that one is known to move otherwise."""
        if use not in self._far:
            return True
        self.moves.setdefault(at_end, self.moves[use])
        return self._far.setdefault(at_end, self._far[use]) == self._far[use]

    # ------------------------------------------------------------ values of threads

    def values_of(self, values: list[Value], lanes: Iterable[int]) -> list[Value]:
        """The values of these threads, from those of the representatives."""
        return [self.value(values[self.group[t]], t) for t in lanes]

    def value(self, value: Value, thread: int) -> Value:
        if not any(self._steps[thread]):
            return value
        if isinstance(value, Comparison):
            return replace(value, a=self.translated(value.a, thread), b=self.translated(value.b, thread))
        return self.translated(value, thread) if isinstance(value, Term) else value

    def translated(self, term: Term, thread: int) -> Term:
        """The representative's term as it is for the thread."""
        done = self._done.setdefault(self._steps[thread], {})
        if term not in done:

            def leaf(old: Term) -> Term:
                name, index, lanes = old.data
                if not index:
                    return old
                if name == NAME:
                    assert self.names is not None
                    return self.names.for_thread(old, thread, self._steps[thread])
                if name == SUM:
                    made = atom(SUM, (*index, *self._steps[thread]))
                    self._sums.setdefault(made, (old, thread))
                else:
                    made = atom(name, (index[0] + self._far[name][thread], *index[1:]), lanes)
                return self.data.made(made, self.data.kinds[old])

            rebuilt(term, leaf, self.data, done)
        return done[term]

    def with_sums_of_threads(self, sums: dict[Term, Term]) -> dict[Term, Term]:
        """The terms that each step of a loop adds, also to the sums of threads that were not run."""
        others = {made: self.translated(sums[own], t) for made, (own, t) in list(self._sums.items()) if own in sums}
        return {**sums, **others}

    # ------------------------------------------------------------ stores to arrays

    def is_far(self, name: str, thread: int, by: int, size: int) -> bool:
        """Whether a thread stores so many bytes behind its representative as the array moves."""
        return name in self._far and by == self._far[name][thread] * size

    def imply(self, region: Region, offset: int, size: int, by: int, term: Term, thread: int, instruction: int) -> bool:
        """Leaves out a store: the cell holds what the representative stores in the one `by` bytes before. False: it need not."""
        far = self._far.get(region.name)
        is_whole = size == region.element_bytes and offset % size == 0
        if far is None or by != far[thread] * size or offset in region.cells or not is_whole:
            return False
        region.is_written = True
        region.cells[offset] = Stored(_LIKE_ANOTHER, size, instruction)
        self._implied.setdefault(region.base, {})[offset] = _Implied(offset - by, term, thread)
        return True

    def settle_near(self, region: Region, offset: int, size: int) -> None:
        """Puts into these cells what they hold, before they are read or partly overwritten."""
        if known := self._implied.get(region.base):
            for at in range(offset - 7, offset + size):
                if at in known and at + region.cells[at].size_bytes > offset:
                    self.settle(region, at)

    def settle(self, region: Region, offset: int) -> None:
        known = self._implied.get(region.base, {}).pop(offset, None)
        if known is not None:
            cell = region.cells[offset]
            region.cells[offset] = Stored(self.translated(known.term, known.thread), cell.size_bytes, cell.instruction)

    def implied(self, arrays: dict[str, Region]) -> Implied:
        """Stores that were left out, as far as the representatives' cells still hold what they stored."""
        elements: dict[int, dict[str, dict[int, int]]] = {}
        used: dict[int, list[Triple]] = {}
        for region in arrays.values():
            for offset, known in list(self._implied.get(region.base, {}).items()):
                if region.cells[offset].value is not _LIKE_ANOTHER:
                    continue
                cell = region.cells.get(known.offset)
                if cell is None or cell.value is not known.term or cell.size_bytes != region.cells[offset].size_bytes:
                    self.settle(region, offset)
                    continue
                size, number = cell.size_bytes, self.group[known.thread]
                of_group = elements.setdefault(number, {}).setdefault(region.name, {})
                of_group[offset // size] = known.offset // size
                used.setdefault(number, [(0, 0, 0)]).append(self._steps[known.thread])
        groups = [ImpliedGroup(elements[number], _ends(steps, min), _ends(steps, max)) for number, steps in used.items()]
        return Implied(dict(self.moves), tuple(groups))


def _ends(steps: list[Triple], end: Callable[[Iterable[int]], int]) -> Triple:
    """Along each axis the least or the greatest."""
    x, y, z = (end(along) for along in zip(*steps, strict=True))
    return x, y, z


def _middle(threads: list[Triple]) -> int:
    """The thread nearest to the middle of these."""
    middle = [(min(at) + max(at) + 1) // 2 for at in zip(*threads, strict=True)]
    far = [sum(abs(a - b) for a, b in zip(t, middle, strict=True)) for t in threads]
    return far.index(min(far))


def _elements_of(term: Term) -> tuple[Term, ...]:
    """The elements that a value is made of by a few operations, in their order; none if it is made by more."""
    found: list[Term] = []
    left = [term]
    for _ in range(_MOST_STEPS):
        if not left:
            return tuple(found)
        one = left.pop()
        if one.op == "atom":
            found.append(one)
        left += one.args
    return () if left else tuple(found)
