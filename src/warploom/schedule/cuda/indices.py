"""Indices: affine forms over hardware indices and loops, their ranges and their text; pointers and index parts hoisted to where
they are constant.

An offset is block and thread terms + terms of the loops around + terms of unrolled loops + constant. The first part becomes
a pointer at the top of the kernel, each loop's part a pointer at the top of its body, the rest stays at the access.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.core.linear import Linear
from warploom.ctext import UNARY, Names, Text, added, binary, decimal, plus, static_cast, total
from warploom.schedule.backbone import RunTimeSize
from warploom.schedule.cuda.helpers import WORDS
from warploom.schedule.cuda.lines import Line
from warploom.schedule.nest import Affine, Digit, Kind, Loop, Rows, Trips

Atom: TypeAlias = tuple[str, int]
"""("block" or "thread", hardware dimension), ("digit", position in `NestFacts.digits`) or ("loop", number)."""

MOST_INT = 2**31 - 1
_LETTERS = "xyzwvutsrq"
"""Letters of hardware dimensions: as many as a block of 1024 threads can have."""


Offset: TypeAlias = Linear[Atom]
"""constant + sum of stride * atom; hardware first, then loops outer to inner."""


Strided: TypeAlias = tuple[tuple[Text, Offset], ...]
"""Sums, each with what it is multiplied with."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Copy of a buffer that is used: (loop index + shift) % copies, or a constant where `loop` is None."""

    loop: int | None
    shift: int


@dataclass(slots=True)
class Scope:
    """The body of the kernel or of a sequential loop: holds what is hoisted to its top."""

    parent: Scope | None
    atoms: frozenset[Atom]
    """Constant in the body, and not outside of it."""
    name: str
    lines: list[Line] = field(default_factory=list[Line])
    known: dict[tuple[object, ...], Text] = field(default_factory=dict[tuple[object, ...], Text])


class Indices:
    """Forms and texts in the loops that are open just now."""

    def __init__(
        self,
        loops: Mapping[int, Loop],
        unrolled: frozenset[int],
        grid: Sequence[int],
        block: Sequence[int],
        open_blocks: Mapping[int, Trips] | None = None,
        digits: Sequence[tuple[Digit, int]] = (),
    ) -> None:
        self.loops, self.unrolled = loops, unrolled
        self.sizes: dict[str, str] = {}
        """Texts of the sizes that are arguments."""
        self.names = Names(WORDS)
        self.texts: dict[Atom, str] = {}
        self.highs: dict[Atom, int] = {}
        for axis, letter in zip(range(len(block)), _LETTERS, strict=False):
            for word, sizes in (("block", grid), ("thread", block)):
                if axis < len(sizes):
                    self.texts[word, axis] = self.names.fresh(f"{word[0]}{letter}")
                    trips = open_blocks.get(axis) if word == "block" and open_blocks is not None else None
                    self.highs[word, axis] = (sizes[axis] if trips is None else trips.most) - 1
        self.digits = {digit: number for number, digit in enumerate(digits)}
        """Positions of digits with their sizes."""
        for number, (digit, size) in enumerate(digits):
            self.texts["digit", number] = self.names.fresh(f"t{digit.step}")
            self.highs["digit", number] = (math.prod(block) - 1) // digit.step if digit.is_last else size - 1
        hardware = frozenset(a for a, high in self.highs.items() if high)
        self.scope = Scope(None, hardware, "")
        self.values: dict[int, int] = {}
        """Indices of loops that are constants just now."""
        self.pools: dict[str, list[str]] = {}
        """By name of loops: the names of their indices."""
        self.open_names: list[str] = []
        self.shifts: dict[int, int] = {}
        """Summands of the index of loops whose iterations run ahead."""

    def loop_names(self, wish: str) -> str:
        """A name for a loop's index: one that loops of that name have used before, if none of them is open."""
        pool = self.pools.setdefault(wish, [])
        free = next((name for name in pool if name not in self.open_names), None)
        if free is None:
            free = self.names.fresh(wish)
            pool.append(free)
        return free

    def form(self, affine: Affine) -> Offset:
        found: dict[Atom, int] = {}
        constant = affine.constant
        for number, stride in affine.terms:
            loop = self.loops[number]
            if number in self.values:
                constant += stride * self.values[number]
            elif loop.size > 1 or loop.trips is not None:
                constant += stride * self.shifts.get(number, 0)
                atom = self.atom(loop)
                found[atom] = found.get(atom, 0) + stride
        return Linear(tuple((a, s) for a, s in sorted(found.items(), key=self._place) if s), constant)

    def length(self, length: RunTimeSize) -> Text:
        """`m`, `m + 2`, or `(m + 63) / 64`."""
        if length.per > 1:
            return self.trips(Trips(length.alone, length.per))
        return plus(Text(self.sizes[length.name]), length.more)

    def trips(self, trips: Trips) -> Text:
        """The iterations: `(m + 63) / 64`."""
        per = trips.per * trips.size.per
        if per == 1:
            return self.length(trips.size)
        return binary("/", plus(Text(self.sizes[trips.size.name]), trips.size.more + per - 1), decimal(per))

    def atom(self, loop: Loop) -> Atom:
        if loop.digit is not None:
            return ("digit", self.digits[loop.digit, loop.size])
        if loop.kind in (Kind.BLOCK, Kind.THREAD):
            return (loop.kind.value, loop.hardware or 0)
        return ("loop", loop.number)

    def _place(self, item: tuple[Atom, int]) -> tuple[int, int, int]:
        (word, number), stride = item
        return (("block", "thread", "digit", "loop").index(word), -abs(stride), number)

    def range(self, form: Offset) -> tuple[int, int]:
        return form.span(self.highs.__getitem__)

    def text(self, form: Offset, start: Text | None = None) -> Text:
        """`start + (by * 64 + ty) * 1024 + k - 1`; 64-bit only where 32 bits could overflow."""
        low, high = self.range(form)
        wide = max(-low, high) > MOST_INT
        terms = [(1, start)] if start is not None else []
        ordered = sorted(form.terms, key=lambda t: (t[0][0] == "loop", -abs(t[1])))
        while ordered:
            chain = [ordered.pop(0)]
            while ordered and chain[-1][1] == ordered[0][1] * (self.highs[ordered[0][0]] + 1) and (ordered[0][0][0] != "loop"):
                chain.append(ordered.pop(0))
            terms.append((chain[-1][1], self._chain(chain, wide=wide)))
        return total(terms, form.constant)

    def _chain(self, chain: list[tuple[Atom, int]], *, wide: bool) -> Text:
        """The terms, each stride a multiple of the next, over the last one's stride."""
        names = [Text(self.texts[atom]) for atom, _ in chain]
        if wide:
            names[0] = static_cast("long long", names[0])
        return total((stride // chain[-1][1], name) for (_, stride), name in zip(chain, names, strict=True))

    def scoped(self) -> list[Scope]:
        """Open scopes, outermost first."""
        found: list[Scope] = []
        scope: Scope | None = self.scope
        while scope is not None:
            found.append(scope)
            scope = scope.parent
        return found[::-1]

    def pointer(
        self, array: str, word: str, form: Offset, phase: tuple[Phase, int, int] | None = None, rows: Strided = ()
    ) -> tuple[Text, Offset, Strided]:
        """A hoisted pointer to `word` into `array`, and what is left to add to it. phase: with the copies of the array
        and the elements of one. rows: further summands, whose strides are known at run time."""
        current = Text(array)
        left = form
        for scope in self.scoped():
            own, own_rows = form.only(scope.atoms), tuple((by, r.only(scope.atoms)) for by, r in rows)
            turn = phase if phase is not None and ("loop", phase[0].loop) in scope.atoms else None
            summands = (own, *(r for _, r in own_rows))
            if not any(summand.terms for summand in summands) and turn is None:
                continue
            left, rows = left.without(scope.atoms), tuple((by, r.without(scope.atoms)) for by, r in rows)
            key = ("pointer", current, word, own, own_rows, turn)
            if key not in scope.known:
                text = self.sum(current, own, own_rows)
                if turn is not None:
                    text = added(text, self._turn(turn))
                is_of_threads = any(a[0] in ("thread", "digit") for summand in summands for a, _ in summand.terms)
                place = scope.name or ("thread" if is_of_threads else "block")
                name = self.names.fresh(f"{array}_{place}")
                scope.known[key] = Text(name)
                scope.lines.append(Line(f"{word}* {name} = {text.text};"))
            current = scope.known[key]
        if phase is not None and phase[0].loop is None:
            left = left.shifted(phase[0].shift % phase[1] * phase[2])
        return current, left, rows

    def sum(self, start: Text | None, form: Offset, rows: Strided) -> Text:
        """`start + by * 64 + static_cast<long long>(k) * ty`."""
        known = self.text(form, start) if form.divisor else start
        parts = ([] if known is None else [known]) + [binary("*", by, self.text(r)) for by, r in rows if r.divisor]
        return decimal(0) if not parts else parts[0] if len(parts) == 1 else added(*parts)

    def stride(self, rows: Rows) -> Text:
        """Elements between neighbours, as a number of 64 bits."""
        first, *others = (self.length(length) for length in rows.sizes)
        found = static_cast("long long", first)
        for factor in (*others, *([decimal(rows.factor)] if rows.factor != 1 else [])):
            found = binary("*", found, factor)
        return found

    def _turn(self, turn: tuple[Phase, int, int]) -> Text:
        phase, copies, elements = turn
        index = plus(Text(self.texts["loop", phase.loop or 0]), phase.shift)
        return binary("*", binary("%", index, decimal(copies)), decimal(elements))

    def hoisted(self, form: Offset, label: str) -> Text:
        """`form` as text, with its parts over hardware indices and loops named where they are constant."""
        current: Text | None = None
        left = form
        for scope in self.scoped():
            own = form.only(scope.atoms)
            if not own.terms:
                continue
            left = left.without(scope.atoms)
            key = ("index", current, own)
            if key not in scope.known:
                text = self.text(own, current)
                scope.known[key] = text
                if text.level < UNARY:
                    name = self.names.fresh(f"{label}_{scope.name}" if scope.name else label)
                    scope.known[key] = Text(name)
                    width = "long long" if max(map(abs, self.range(own))) > MOST_INT else "int"
                    scope.lines.append(Line(f"const {width} {name} = {text.text};"))
            current = scope.known[key]
        return self.text(left, current) if left.terms or left.constant or current is None else current

    def divisor(self, form: Offset, but: Atom | None = None) -> int:
        """The greatest number known to divide the form, terms over `but` left out; 0 if it is 0."""
        return form.without(() if but is None else (but,)).divisor
