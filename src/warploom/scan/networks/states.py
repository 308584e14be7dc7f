"""Closed formulas for how many inputs a cell combines, between two levels of a program: candidates for its loop invariants.

With x = i + 1 for lane i, the cell holds the last `length` inputs up to its own. After all steps with offsets below D:

    gathered            D where D divides x, else low(x)                            up-sweep of Brent-Kung, any radix
    blocks(k)           i % D + 1 where k divides x, else low(x)                    Sklansky on every k-th column
    reaching(k, f)      min(x, D - f + 1 + i % f) where k divides x, else low(x)    Kogge-Stone on every k-th column, blocks of f;
                                                                                    f may be D one or two levels down (Knowles)

and after all steps with offsets of at least D:

    complete            x where D divides x, else low(x)                            down-sweeps

low(x) is the value of the lowest digit of x that is not 0, in the program's radices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar, assert_never

T = TypeVar("T")
B = TypeVar("B")
Unit = Literal["g", "h", "d", "e"]
"""Offsets in order: two levels below a level, one below, its own, the next one."""
UNITS: tuple[Unit, ...] = ("g", "h", "d", "e")


class Numbers(Protocol[T, B]):
    """Integers, exact or symbolic, and conditions on them."""

    def constant(self, value: int) -> T: ...
    def add(self, left: T, right: T) -> T: ...
    def subtract(self, left: T, right: T) -> T: ...
    def scaled(self, factor: int, value: T) -> T: ...
    def unit(self, unit: Unit | int) -> T: ...
    def below(self, unit: Unit | int, levels: int) -> Unit | int:
        """The offset that many levels down, at least 1."""
        ...

    def remainder(self, value: T, unit: Unit | int) -> T: ...
    def digit(self, value: T) -> T:
        """`value % e // d`."""
        ...

    def low(self, value: T) -> T: ...
    def at_least(self, left: T, right: T) -> B: ...
    def equal(self, left: T, right: T) -> B: ...
    def both(self, left: B, right: B) -> B: ...
    def negation(self, condition: B) -> B: ...
    def select(self, condition: B, then: T, otherwise: T) -> T: ...


@dataclass(frozen=True, slots=True)
class State:
    """One formula of the table above."""

    kind: Literal["gathered", "blocks", "reaching", "complete"]
    stride: int = 1
    block: int = 1
    below: int = 0
    """If not 0, the block is D that many levels down."""

    @property
    def is_falling(self) -> bool:
        """Whether it describes the steps with offsets of at least D."""
        return self.kind == "complete"

    def __str__(self) -> str:
        match self.kind:
            case "gathered":
                return "D where D divides i + 1, else low(i + 1)"
            case "complete":
                return "i + 1 where D divides i + 1, else low(i + 1)"
            case "blocks":
                return self._strided("i % D + 1")
            case "reaching" if self.below:
                block = f"(D down {self.below})"
                return self._strided(f"min(i + 1, D + 1 - {block} + i % {block})")
            case "reaching" if self.block == 1:
                return self._strided("min(i + 1, D)")
            case "reaching":
                return self._strided(f"min(i + 1, D - {self.block - 1} + i % {self.block})")

    def _strided(self, text: str) -> str:
        return text if self.stride == 1 else f"{text} where {self.stride} divides i + 1, else low(i + 1)"

    def length(self, numbers: Numbers[T, B], lane: T, unit: Unit | int) -> T:
        """Inputs in the cell of `lane` at D = `unit`."""
        return _Formula(numbers, lane).at(self, unit)

    def between(self, numbers: Numbers[T, B], lane: T, turn: int) -> T | None:
        """The same after `turn` steps of a repeated move; None: this formula has no such form."""
        return _Formula(numbers, lane).between(self, turn)


class _Formula(Generic[T, B]):
    def __init__(self, numbers: Numbers[T, B], lane: T) -> None:
        self._numbers = numbers
        self._lane = lane
        self._after = numbers.add(lane, numbers.constant(1))

    def at(self, state: State, unit: Unit | int) -> T:
        numbers, after = self._numbers, self._after
        match state.kind:
            case "gathered":
                return self._where(unit, numbers.unit(unit))
            case "complete":
                return self._where(unit, after)
            case "blocks":
                return self._where(state.stride, self._next(numbers.remainder(self._lane, unit)))
            case "reaching":
                block = numbers.below(unit, state.below) if state.below else state.block
                ahead = self._next(numbers.subtract(numbers.unit(unit), numbers.unit(block)))
                reach = numbers.add(ahead, numbers.remainder(self._lane, block))
                least = numbers.select(numbers.at_least(reach, after), after, reach)
                return self._where(state.stride, least)
            case _:
                assert_never(state.kind)

    def between(self, state: State, turn: int) -> T | None:
        numbers = self._numbers
        done = numbers.scaled(turn + 1, numbers.unit("d"))
        if state.kind == "gathered":
            part = self._next(numbers.remainder(self._lane, "e"))  # x % e, with e for 0
            gathered = numbers.select(numbers.at_least(done, part), part, numbers.unit("d"))
            return self._where("d", gathered)
        if state.kind == "blocks":
            large, small = (self._next(numbers.remainder(self._lane, unit)) for unit in ("e", "d"))
            return self._where(state.stride, numbers.select(numbers.at_least(done, large), large, small))
        return None

    def _next(self, value: T) -> T:
        return self._numbers.add(value, self._numbers.constant(1))

    def _where(self, unit: Unit | int, then: T) -> T:
        numbers = self._numbers
        if unit == 1:
            return then
        divides = numbers.equal(numbers.remainder(self._after, unit), numbers.constant(0))
        return numbers.select(divides, then, numbers.low(self._after))
