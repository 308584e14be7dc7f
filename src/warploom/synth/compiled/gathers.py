"""Reads at indices that data give: `x[idx[i]]`, as terms over the index, for data with which every index lies inside its array.

A spec says which elements are read and so what the proof takes for granted of the data: `0 <= idx[i] < n`. A kernel may read
these elements and no others, from arrays that nobody writes. Indices are sums of words over integers of any length: a step of a
kernel's index that may wrap for such data is a word of its own, equal to nothing that a spec computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from warploom.core import BY_NAME, DType, scalar_of
from warploom.core.intervals import Interval
from warploom.core.linear import Linear, collected, variable
from warploom.terms import READ, Term, apply, atom, constant, iterate_post, term_text

Index = Linear[Term]
_WIDE = 64
_MOST_CONDITIONS = 4


class NotGatheredError(Exception):
    """A read that a spec or a proof does not follow."""


class NoIndexError(Exception):
    """Indices of a spec that lie inside their arrays for no data."""


@dataclass(slots=True)
class Indices:
    """Words of data as sums over integers, where the words in them are in their ranges."""

    arrays: Mapping[str, tuple[DType, tuple[int, ...]]]
    """Type and shape of the launch's arrays of symbolic numbers that are no vectors, by name."""
    ranges: dict[Term, Interval] = field(default_factory=dict[Term, Interval])
    """Numbers that words of an index may be."""

    def place(self, name: str, start: int, offset: Term, kinds: Mapping[Term, DType], size: int, count: int) -> Index:
        """The first of `count` elements of `size` bytes that a kernel reads `start + offset` bytes into an array."""
        dtype, _ = self.arrays.get(name, (None, ()))
        if dtype is None or dtype.size_bytes != size:
            raise NotGatheredError(f"a read of {size} bytes of {name}, whose elements have another size")
        place = self.modulo(offset, kinds, _WIDE).shifted(start).divided(size)
        if place is None:
            raise NotGatheredError(f"a place in {name} that is no whole element")
        if place.divisor % count:
            raise NotGatheredError(f"a place in {name} that is no multiple of {count} elements")
        return place

    def dtype(self, name: str) -> DType:
        return scalar_of(self.arrays[name][0])

    def modulo(self, root: Term, kinds: Mapping[Term, DType], bits: int) -> Index:
        """The value of a word of so many bits, modulo 2^bits: sums of it need not be exact, only what they add."""
        done: dict[Term, Index] = {}
        for t in iterate_post(root):
            if t.op == "constant":
                done[t] = Linear((), int(t.data[0]))
            elif kinds[t].is_float or kinds[t].bits != bits or (made := _sum(t, done)) is None:
                done[t] = self._exact(t, kinds)
            else:
                done[t] = made
        half = 1 << (bits - 1)
        found = done[root]
        return collected(
            [(word, (times + half) % (2 * half) - half) for word, times in found.terms],
            (found.constant + half) % (2 * half) - half,
        )

    def _exact(self, root: Term, kinds: Mapping[Term, DType], *, may_wrap: bool = True) -> Index:
        """The value of a word as a sum over integers of any length; may_wrap: sums that may leave their type are words."""
        done: dict[Term, Index] = {}
        for t in iterate_post(root):
            if t.op == "constant":
                done[t] = Linear((), int(t.data[0]))
                continue
            kind, made, word = kinds[t], None, t
            words = t.op.split(".")
            if (words[0] == "cast" and not BY_NAME[words[1]].is_float) or words[:2] == ["slice", "0"]:
                made = done[t.args[0]] if self._fits(done[t.args[0]], kind) else None
            elif t.op == "&":
                word, made = self._masked(t, kind)
            elif t.op in ("min", "max") and all(a.op == "constant" or kinds[a] is kind for a in t.args):
                made = self._extreme(t, *(_as(done[a], kind) for a in t.args))
            elif t.op == "|":
                made = self.either(*(_as(done[a], kind) for a in t.args))
            elif not kind.is_float:
                made = _sum(t, {a: _as(done[a], kind) for a in t.args})
                if made is not None and may_wrap and not self._fits(made, kind):
                    made = None
            done[t] = variable(word) if made is None else made
            if made is None and word not in self.ranges:
                self.ranges[word] = self._first_range(word, kind)
        return done[root]

    def _first_range(self, word: Term, kind: DType) -> Interval:
        """Numbers that a word may be that nothing was said of before."""
        return _range_of(word, kind)

    def _extreme(self, term: Term, a: Index, b: Index) -> Index | None:
        """The one of two values that is always the smaller, or the larger; else the range of both."""
        x, y = a.bounds(self.range_of), b.bounds(self.range_of)
        if x.high <= y.low or y.high <= x.low:
            return a if (x.high <= y.low) == (term.op == "min") else b
        self.ranges.setdefault(term, x.least(y) if term.op == "min" else x.greatest(y))
        return None

    def either(self, a: Index, b: Index) -> Index | None:
        """The bitwise or of two words that share no bit: the sum. None where that is not seen."""
        for high, low in ((a, b), (b, a)):
            bounds = low.bounds(self.range_of)
            if bounds.low >= 0 and high.divisor % (1 << int(bounds.high).bit_length()) == 0:
                return a.plus(b)
        return None

    def _masked(self, term: Term, kind: DType) -> tuple[Term, Index | None]:
        """A word under a known mask, the mask last; with a multiple of it as a sum."""
        numbers = [a for a in term.args if a.op == "constant"]
        if len(numbers) != 1:
            return term, None
        other, mask = next(a for a in term.args if a.op != "constant"), int(numbers[0].data[0])
        if mask < 0:
            return term, None
        other = _with_low_bits(other, mask)
        if other.op != "<<" or other.args[1].op != "constant":
            return apply("&", other, numbers[0]), None
        count = int(other.args[1].data[0])  # (x << 2) & 124 is (x & 31) << 2
        word = apply("&", _with_low_bits(other.args[0], mask >> count), constant(mask >> count))
        self.ranges.setdefault(word, _range_of(word, kind))
        return word, variable(word).scaled(1 << count)

    def _fits(self, place: Index, kind: DType) -> bool:
        bounds, own = place.bounds(self.range_of), _range_of(None, kind)
        return own.low <= bounds.low and bounds.high <= own.high

    def range_of(self, word: Term) -> Interval:
        return self.ranges[word]


@dataclass(slots=True)
class Gathers(Indices):
    """The elements that one spec reads at indices from data. It says in which ranges words are: its indices lie inside their
    arrays."""

    kinds: dict[Term, DType] = field(default_factory=dict[Term, DType])
    """Types of the spec's terms."""
    reads: set[tuple[str, Index]] = field(default_factory=set[tuple[str, Index]])
    conditions: dict[str, None] = field(default_factory=dict[str, None])

    # ------------------------------------------------------------ the spec

    def wanted(self, name: str, indices: list[Term]) -> Term:
        """The element that the spec reads, an index of each axis given. NoIndexError, NotGatheredError."""
        _, shape = self.arrays[name]
        flat: Index = Linear()
        for axis, (index, extent) in enumerate(zip(indices, shape, strict=True)):
            place = self._exact(index, self.kinds, may_wrap=False)
            self._restrict(name, axis, place, extent)
            flat = flat.plus(place, prod(shape[axis + 1 :]))
        self.reads.add((name, flat))
        return self._read(name, flat)

    def _restrict(self, name: str, axis: int, place: Index, extent: int) -> None:
        """Takes for granted that the index lies inside."""
        inside = Interval(-place.constant, extent - 1 - place.constant)
        bounds = place.bounds(self.range_of)
        is_always_inside = bounds.low >= 0 and bounds.high < extent
        is_empty = bounds.high < 0 or bounds.low >= extent
        if len(place.terms) == 1:
            ((word, times),) = place.terms
            low, high = inside.low, inside.high
            if times < 0:
                low, high = -high, -low
            known = self.range_of(word)
            known = Interval(max(known.low, -(-low // abs(times))), min(known.high, high // abs(times)))
            self.ranges[word] = known
            is_empty = known.low > known.high
        if is_empty:
            message = f"expected indices into {name} that all lie inside for some data, got {place} for axis {axis} of {extent}"
            raise NoIndexError(message)
        if not is_always_inside:
            text = (
                str(place.renamed(_pattern)) if len({_pattern(w) for w, _ in place.terms}) == len(place.terms) else "every index"
            )
            self.conditions[f"0 <= {text} < {extent} in reads of {name}"] = None

    def notes(self) -> list[str]:
        """Statements that the domain must have."""
        told = list(self.conditions)
        if len(told) <= _MOST_CONDITIONS:
            return told
        return [f"every index that the spec computes from data lies inside {n}" for n in sorted({n for n, _ in self.reads})]

    # ------------------------------------------------------------ the kernel

    def found(
        self, name: str, start: int, offset: Term, kinds: Mapping[Term, DType], size: int, count: int
    ) -> tuple[Index, Interval | None]:
        """The place of the first of the elements that a kernel reads; they lie inside if the spec reads them."""
        place = self.place(name, start, offset, kinds, size, count)
        for k in range(count):
            if (name, place.shifted(k)) not in self.reads:
                raise NotGatheredError(f"{name} read at {place.shifted(k)}, where the spec does not read it")
        return place, None

    def elements(self, use: str, place: Index, step: int, count: int) -> list[Term]:
        assert step == 0, "the spec's reads do not move"
        return [self._read(use, place.shifted(k)) for k in range(count)]

    # ------------------------------------------------------------ both

    def _read(self, name: str, place: Index) -> Term:
        if not place.terms:
            return atom(name, _unravelled(place.constant, self.arrays[name][1]))
        words = sorted(place.terms, key=lambda part: part[0].serial)
        op = ".".join([READ, name, str(place.constant), *(str(times) for _, times in words)])
        return apply(op, *(word for word, _ in words))

    def element(self, op: str, values: list[int]) -> Term | None:
        """The element that a read stands for where its words have these values; None outside of the array."""
        _, name, start, *times = op.split(".")
        place = int(start) + sum(int(c) * v for c, v in zip(times, values, strict=True))
        shape = self.arrays[name][1]
        return atom(name, _unravelled(place, shape)) if 0 <= place < prod(shape) else None


def _with_low_bits(term: Term, mask: int) -> Term:
    """The word of which `term` is a conversion that keeps the bits of the mask."""
    while True:
        words = term.op.split(".")
        is_word = words[0] == "cast" and not BY_NAME[words[1]].is_float and mask < 1 << BY_NAME[words[1]].bits
        if not is_word and (words[:2] != ["slice", "0"] or mask >> int(words[2])):
            return term
        term = term.args[0]


def _as(place: Index, kind: DType) -> Index:
    """A number among words of `kind`, as that type has it."""
    if place.terms or kind.is_float:
        return place
    own = _range_of(None, kind)
    assert isinstance(own.low, int)
    return Linear((), (place.constant - own.low) % (1 << kind.bits) + own.low)


def _sum(term: Term, done: Mapping[Term, Index]) -> Index | None:
    """Sums and multiples; None for another operation."""
    match term.op, [done[a] for a in term.args]:
        case "+", [a, b]:
            return a.plus(b)
        case "-", [a, b]:
            return a.plus(b, -1)
        case "neg", [a]:
            return a.scaled(-1)
        case "*", [a, b] if not a.terms or not b.terms:
            return b.scaled(a.constant) if not a.terms else a.scaled(b.constant)
        case "<<", [a, b] if not b.terms and 0 <= b.constant < _WIDE:
            return a.scaled(1 << b.constant)
        case _:
            return None


def _range_of(term: Term | None, kind: DType) -> Interval:
    """Numbers of a type; what a mask leaves."""
    if kind.is_float:
        raise NotGatheredError("an index that is no integer")
    if term is not None and term.op == "&":
        masks = [int(a.data[0]) for a in term.args if a.op == "constant" and a.data[0] >= 0]
        if masks:
            return Interval(0, min(masks))
    low = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
    return Interval(low, low + (1 << kind.bits) - 1)


def _unravelled(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        place, at = divmod(place, extent)
        index.append(at)
    return tuple(reversed(index))


def _pattern(word: Term) -> str:
    """`idx[i]` for any element of an array."""
    if word.op == "atom" and word.data[1]:
        return f"{word.data[0]}[{', '.join('ijk'[: len(word.data[1])]) if len(word.data[1]) <= 3 else '...'}]"
    return term_text(word)
