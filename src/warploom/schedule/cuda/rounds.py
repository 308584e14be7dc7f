"""The rounds that a sequential loop runs: all, or where guards leave some out (`Loop.only`), those of the block.

A guard is on the loop and on indices that are constant in it, so it leaves the rounds from one number on, or those up to one:

    0 <= rest + step * j     step < 0: j < (rest - step) / -step        step > 0: j >= (step - 1 - rest) / step

C's quotients are those rounded down but for negative numbers, of which both are below the first round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warploom.core import Diagnostic, UnsupportedError
from warploom.core.linear import Linear
from warploom.ctext import Text, binary, call, decimal
from warploom.schedule.cuda.indices import Indices, Offset
from warploom.schedule.cuda.lines import Line
from warploom.schedule.nest import Affine, Guard, Loop


@dataclass(frozen=True, slots=True)
class Rounds:
    first: Text
    end: Text
    """Number behind the last round."""
    is_known: bool
    """Whether the first round is 0 for all blocks, so that each round's number is known where it is written out."""
    surely: int
    """So many rounds surely run; 0 where their number is known at run time."""
    lines: tuple[Line, ...] = ()
    """Lines before the loop, which compute both."""


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that the blocks may have different ones of."""

    low: int
    high: int
    text: Text

    def least(self, other: _Number) -> _Number:
        if self.high <= other.low or other.high <= self.low:
            return self if self.high <= other.low else other
        return _Number(min(self.low, other.low), min(self.high, other.high), call("min", self.text, other.text))

    def most(self, other: _Number) -> _Number:
        if self.low >= other.high or other.low >= self.high:
            return self if self.low >= other.high else other
        return _Number(max(self.low, other.low), max(self.high, other.high), call("max", self.text, other.text))


def rounds_of(loop: Loop, indices: Indices, name: str) -> Rounds:
    """The rounds of a loop whose index has this name. UnsupportedError (CUDA_LOOPS) for guards that do not count its rounds."""
    if loop.trips is not None and not loop.only:
        return Rounds(decimal(0), indices.trips(loop.trips), is_known=True, surely=0)
    begin, end = _number(0), _number(loop.size)
    for form in (f for guard in loop.only for f in _not_negative(guard)):
        step = form.coefficient(loop.number)
        if not step or loop.trips is not None:
            message = f"expected guards on the index of loop {loop.name}, which runs a known number of rounds"
            raise UnsupportedError(Diagnostic("CUDA_LOOPS", message))
        rest = indices.form(form.without((loop.number,)))
        if step < 0:
            end = end.least(_quotient(indices, rest.shifted(-step), -step))
        else:
            begin = begin.most(_quotient(indices, rest.scaled(-1).shifted(step - 1), step))
    lines: list[Line] = []
    first, last = (_named(n, indices, f"{name}_{word}", lines) for n, word in ((begin, "begin"), (end, "end")))
    return Rounds(first, last, begin.high == 0, max(0, end.low - begin.high), tuple(lines))


def _not_negative(guard: Guard) -> Iterator[Affine]:
    """Forms that are not negative exactly where the guard holds."""
    yield guard.index
    yield guard.index.scaled(-1).shifted(guard.bound - 1)


def _number(value: int) -> _Number:
    return _Number(value, value, decimal(value))


def _quotient(indices: Indices, form: Offset, by: int) -> _Number:
    low, high = indices.range(form)
    whole = Linear(form.terms).divided(by)
    if whole is not None:
        text = indices.text(whole.shifted(form.constant // by))
    else:
        text = binary("/", indices.text(form), decimal(by))
    return _Number(low // by, high // by, text)


def _named(number: _Number, indices: Indices, wish: str, lines: list[Line]) -> Text:
    if number.low == number.high:
        return decimal(number.low)
    name = indices.names.fresh(wish)
    lines.append(Line(f"const int {name} = {number.text.text};"))
    return Text(name)
