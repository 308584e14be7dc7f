"""Tables by thread as expressions: which lane a shuffle reads, which address a store has, where a select takes the other word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.program import Flag, Index, Operation
from warploom.layout.linear import applied
from warploom.layout.maps import shifted_terms

Mask = NDArray[np.bool_]
_RECENT = 24
"""Named tables that a new one is compared with."""
_MOST_CONDITIONS = 4
"""Values of a selector that are chosen by conditions."""


@dataclass(slots=True)
class Lanes:
    """Gives expressions, and names to those that come again. Operations that define names are appended to `operations`."""

    threads: int
    operations: list[Operation]
    bases: list[tuple[str, Ints]] = field(default_factory=list[tuple[str, Ints]])
    flags: dict[bytes, str] = field(default_factory=dict[bytes, str])
    masks: dict[bytes, str] = field(default_factory=dict[bytes, str])

    def __post_init__(self) -> None:
        self.bases.append(("lane", np.arange(self.threads)))

    def index(self, table: Ints, modulo: int = 0, cares: Mask | None = None) -> str:
        """An expression that has these values, modulo a power of two if one is given, for the threads that care."""
        here = np.ones(self.threads, dtype=np.bool_) if cares is None else cares
        if not here.any():
            return "0"
        for name, values in (("0", np.zeros(self.threads, dtype=np.int64)), *self._recent()):
            found = _beside(table[here], values[here], name, modulo)
            if found is not None:
                return found
        text, values = self._fitted(table, modulo, here)
        if len(text) > 12:
            return self._define(text, values)
        return text

    def named(self, table: Ints) -> str:
        """Like `index`, but always a name or a number, of which bits can be taken."""
        found = self.index(table)
        if found.isidentifier() or found.isdecimal():
            return found
        return self._define(found, table.copy())

    def _define(self, text: str, values: Ints) -> str:
        """A name for the expression, whose values are known."""
        name = f"u{len(self.bases)}"
        self.operations.append(Index(name, text))
        self.bases.append((name, values))
        return name

    def _recent(self) -> list[tuple[str, Ints]]:
        return [*self.bases[:1], *self.bases[1:][-_RECENT:]]

    def selector(self, table: Ints) -> str:
        """A table of few values as a chain of conditions."""
        values, counts = np.unique(table, return_counts=True)
        if len(values) > _MOST_CONDITIONS:
            return self.index(table)
        order = [int(values[i]) for i in np.argsort(-counts, kind="stable")]
        text, so_far = str(order[0]), np.full(self.threads, order[0])
        for name, known in self._recent():
            if (known == table).all():
                return name
        for value in order[1:]:
            holds = table == value
            condition, sign = self._condition(holds), "> 0"
            if condition is None:
                condition, sign = self._condition(~holds), "< 1"
            if condition is None:
                condition, sign = self._masked(holds), "> 0"
            so_far = np.where(holds, value, so_far)
            text = self._define(f"{value} if ({condition}) {sign} else {text}", so_far)
        return text

    def mask(self, takes: Mask, free: Mask) -> str:
        """A word with ones at the pieces [threads, 8] that it takes, as a name or a number; `free` pieces may be anything."""
        filled = takes.copy()
        for piece in range(takes.shape[1]):
            fixed = ~free[:, piece] | takes[:, piece]
            if fixed.any() and takes[fixed, piece].all():
                filled[:, piece] = takes[:, piece] | free[:, piece]
        whole = sum(
            (filled[:, piece].astype(np.int64) * 15 << 4 * piece for piece in range(takes.shape[1])),
            start=np.zeros(len(takes), dtype=np.int64),
        )
        key = whole.tobytes()
        if key not in self.masks:
            values = np.unique(whole).tolist()
            text, so_far = _constant(values[0]), np.full(self.threads, values[0])
            for value in values[1:]:
                holds = whole == value
                condition = self._condition(holds) or self._masked(holds)
                so_far = np.where(holds, value, so_far)
                text = self._define(f"{_constant(value)} if ({condition}) > 0 else {text}", so_far)
            self.masks[key] = text
        return self.masks[key]

    def flag(self, holds: Mask) -> str:
        """The name of a condition, or of its opposite after a `!`."""
        for key, sign in ((holds.tobytes(), ""), ((~holds).tobytes(), "!")):
            if key in self.flags:
                return sign + self.flags[key]
        text, sign = self._condition(holds), ""
        if text is None:
            text = self._condition(~holds)
            sign = "" if text is None else "!"
        if text is None:
            text = self._masked(holds)
        name = f"p{len(self.flags)}"
        self.operations.append(Flag(name, text))
        self.flags[(~holds if sign else holds).tobytes()] = name
        return sign + name

    def _condition(self, holds: Mask) -> str | None:
        """A bit of a base, or a linear sum of its bits."""
        for name, values in self._recent():
            for bit in range(int(values.max()).bit_length()):
                if ((values >> bit & 1) == holds).all():
                    return f"{name} & {1 << bit}"
        images = _linear(holds.astype(np.int64), np.arange(self.threads), np.ones(self.threads, dtype=np.bool_))
        if images is not None and not images[1]:
            return f"({' ^ '.join(f'(lane >> {j})' if j else 'lane' for j in images[0])}) & 1"
        edge = int(holds.sum())
        if holds[:edge].all():
            return f"((lane - {edge}) >> 31) & 1"
        return None

    def _masked(self, holds: Mask) -> str:
        """Bits of constants, a word for each 32 threads."""
        words = [int(sum(1 << int(i) for i in np.flatnonzero(holds[at : at + 32]))) for at in range(0, self.threads, 32)]
        text, shift = _constant(words[-1]), "lane"
        for number in reversed(range(len(words) - 1)):
            shift = "(lane & 31)"
            text = self._define(
                f"{_constant(words[number])} if lane < {32 * (number + 1)} else {text}", np.full(self.threads, -1)
            )
        return f"({text} >> {shift}) & 1"

    def _fitted(self, table: Ints, modulo: int, here: Mask) -> tuple[str, Ints]:
        """The shortest expression of those that fit, and its values for all threads."""
        lane = np.arange(self.threads)
        whole = np.where(here, table, 0)
        for forms in (_simple, _periods, _lines, _halves):
            found = min(forms(whole, lane, modulo, here), key=lambda fit: fit[0].count(" "), default=None)
            if found is not None:
                return found
        bits = int(whole.max()).bit_length()
        parts = [self.flag_bit(((whole >> bit) & 1).astype(np.bool_), bit) for bit in range(bits)]
        return " + ".join(part for part in parts if part), whole

    def flag_bit(self, holds: Mask, bit: int) -> str:
        if not holds.any():
            return ""
        text = self._masked(holds)
        return f"(({text}) << {bit})" if bit else f"({text})"


def _constant(value: int) -> str:
    """A word; those with the highest bit as the complement of another, since constants of expressions are below 2^31."""
    return str(value) if value < 1 << 31 else f"~{0xFFFFFFFF ^ value}"


def _beside(table: Ints, values: Ints, name: str, modulo: int) -> str | None:
    """`name`, or the name with a constant added or xored."""
    apart = int(table[0] - values[0])
    difference = table - values
    if modulo:
        apart, difference = apart % modulo, difference % modulo
    if (difference == apart).all():
        if name == "0":
            return str(apart)
        return name if not apart else f"{name} + {apart}" if apart > 0 else f"{name} - {-apart}"
    if name == "0":
        return None
    change = int(table[0] ^ values[0])
    different = (table ^ values) % modulo if modulo else table ^ values
    if (different == (change % modulo if modulo else change)).all():
        return f"{name} ^ {change % modulo if modulo else change}"
    return None


def _periods(table: Ints, lane: Ints, modulo: int, here: Mask) -> Iterator[tuple[str, Ints]]:
    """A remainder of `lane >> shift`."""
    shift, period = numbered(5 * 63) // 63, numbered(5 * 63) % 63 + 2
    values = (lane[None, :] >> shift[:, None]) % period[:, None]
    for number in np.flatnonzero((values == table)[:, here].all(axis=1))[:1]:
        yield f"{_shifted(int(shift[number]))} % {int(period[number])}", values[number]


def _lines(table: Ints, lane: Ints, modulo: int, here: Mask) -> Iterator[tuple[str, Ints]]:
    """A line, xored with what is linear over bits."""
    for step in _steps(table, here):
        for start in {0, int(table[here][0] - step * lane[here][0])}:
            base = step * lane + start
            if (base < 0).any():
                continue
            images = _linear(table ^ base, lane, here)
            if images is not None and images[0]:
                rest, values = _linear_text(images, lane)
                yield f"({_line_text(step, start)}) ^ ({rest})", base ^ values


def _halves(table: Ints, lane: Ints, modulo: int, here: Mask) -> Iterator[tuple[str, Ints]]:
    """Low bits and high bits by forms of their own."""
    for bits in range(1, 6):
        low, high = table & ((1 << bits) - 1), table >> bits << bits
        highs = list(_simple(high, lane, modulo, here))
        for low_text, low_values in _simple(low, lane, 1 << bits, here) if highs else ():
            for high_text, high_values in highs:
                inside = f"(({low_text}) & {(1 << bits) - 1})"
                yield f"({high_text}) + {inside}", high_values + (low_values & ((1 << bits) - 1))


def _steps(table: Ints, here: Mask) -> Sequence[int]:
    """Distances of neighbours, which a line may have."""
    both = here[1:] & here[:-1]
    apart = np.abs(table[1:] - table[:-1])[both]
    values, counts = np.unique(apart, return_counts=True)
    likely = [int(v) for v in values[np.argsort(-counts)][:4]]
    return list(dict.fromkeys(step + k for step in likely for k in (0, 1, -1, 2, -2, 3, -3, 4, -4) if 0 < step + k < 1 << 12))


def _simple(table: Ints, lane: Ints, modulo: int, here: Mask) -> Iterator[tuple[str, Ints]]:
    """Linear over bits; a line in `lane >> shift`, modulo a power of two if one is given."""
    images = _linear(table, lane, here)
    if images is not None:
        yield _linear_text(images, lane)
    for shift in range(5):
        source = lane >> shift
        start = int(table[here][0])
        others = np.flatnonzero(here & (source != source[here][0]))
        if not others.size:
            return
        distance = int(source[others[0]] - source[here][0])
        step = int(table[others[0]] - start)
        if step % distance:
            continue
        step //= distance
        start -= step * int(source[here][0])
        if modulo:
            step, start = step % modulo, start % modulo
        values = step * source + start
        wanted = (values - table) % modulo if modulo else values - table
        if (wanted[here] == 0).all() and ((values >= 0).all() or modulo):
            yield _line_text(step, start, _shifted(shift)), values


def _shifted(shift: int) -> str:
    return f"(lane >> {shift})" if shift else "lane"


def _line_text(step: int, start: int, source: str = "lane") -> str:
    if not step:
        return str(start)
    if step < 0:
        return f"{start} - {source} * {-step}"
    scaled = source if step == 1 else f"{source} * {step}"
    return scaled if not start else f"{scaled} + {start}" if start > 0 else f"{scaled} - {-start}"


def _linear(table: Ints, lane: Ints, here: Mask) -> tuple[dict[int, int], int] | None:
    """Images of the bits of `lane` and a constant whose xor is the table; None where there are none."""
    bits = int(lane.max()).bit_length() if len(lane) else 0
    if (table[here] < 0).any():
        return None
    rows: list[tuple[int, int]] = []
    for number, value in zip(lane[here].tolist(), table[here].tolist(), strict=True):
        vector, image = number | 1 << bits, value
        for pivot, seen in rows:
            if vector >> (pivot.bit_length() - 1) & 1:
                vector, image = vector ^ pivot, image ^ seen
        if not vector:
            if image:
                return None
            continue
        rows.append((vector, image))
        rows.sort(reverse=True)
    solved: dict[int, int] = {}
    for vector, image in sorted(rows):
        top = vector.bit_length() - 1
        for bit in range(top):
            if vector >> bit & 1:
                image ^= solved.get(bit, 0)
        solved[top] = image
    constant = solved.pop(bits, 0)
    return {bit: image for bit, image in solved.items() if image}, constant


def _linear_text(images: tuple[dict[int, int], int], lane: Ints) -> tuple[str, Ints]:
    columns, constant = images
    bits = int(lane.max()).bit_length()
    values = applied(columns.items(), lane) ^ constant
    parts = [term.text for term in shifted_terms(sorted(columns.items()), "lane", bits)]
    if constant or not parts:
        parts.append(str(constant))
    return " ^ ".join(parts), values
