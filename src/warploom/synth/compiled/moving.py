"""Numbers that move with the position of a block: one block stands for a box of blocks that run alike.

    moving number := its value in the first block of the box, and for each position how much it grows from one block to the next

Every decision of a run, whether a branch, a bound or a word that wraps, must fall alike in the whole box; where it does not, the
box is split (`SplitError`) and each part is run by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from warploom.core import DType

ROUND = "%round"
"""Position that counts the rounds of a loop."""
OF_BLOCK = ("%ctaid.x", "%ctaid.y", "%ctaid.z")
OF_THREAD = ("%tid.x", "%tid.y", "%tid.z")
"""Positions of a block in its grid and of a thread in its block."""
SIZE = "%size"
"""Position that counts on from the least size of an array that is known at run time only."""
LENGTH = "%length"
"""Position that counts on from the least size over which something is summed; each one more is a step more of its loop."""
Slopes = dict[str, int]
"""Position and how much a number grows when the position grows by one."""


class PlacementError(Exception):
    """The result of an operation depends on where variables lie, or on the position of the block otherwise than linearly."""


class SplitError(Exception):
    """The blocks of a box do not run alike: those whose position is below `at` apart from those from there on."""

    def __init__(self, name: str, at: int) -> None:
        super().__init__(f"{name} below {at} and from there on")
        self.name = name
        self.at = at
        """1 or more, counted from the first block of the box."""


class SizeSplitError(SplitError):
    """The blocks of a box do not run alike: `%size` below a sum of other positions, and from there on."""

    def __init__(self, at: int, slopes: Slopes) -> None:
        super().__init__(SIZE, at)
        self.slopes = slopes
        """`at` plus slope times position, summed over all positions but `%size`."""


class CoupledError(Exception):
    """A step of a loop runs as those before it where at least so many steps are left: `%round` <= `%length` - `until`."""

    def __init__(self, until: int) -> None:
        super().__init__(f"steps up to the length less {until}")
        self.until = until


class PeriodError(Exception):
    """A step of a loop takes as much of the size as `times` positions of `%length`."""

    def __init__(self, times: int) -> None:
        super().__init__(f"expected sizes that differ by {times} times as much")
        self.times = times


def number_of(word: int, kind: DType) -> int:
    """The number that an integer type holds by these bits."""
    word &= (1 << kind.bits) - 1
    return word - (1 << kind.bits) if kind.kind == "int" and word >> (kind.bits - 1) else word


@dataclass(slots=True)
class Moving:
    """The positions of a box, and decisions about numbers that move with them."""

    last: Mapping[str, int] = field(default_factory=dict[str, int])
    """By name of a position: the greatest, counted from the first block of the box."""
    until: int | None = None
    """`%round` goes up to `%length` less this number; None: the two are not known to be related."""

    def is_part_of(self, of: tuple[tuple[str, int], ...]) -> bool:
        return bool(self.last) and any(name in self.last for name, _ in of)

    def slopes(self, of: tuple[tuple[str, int], ...], bits: int) -> Slopes:
        """How a word of so many bits moves; PlacementError for what depends on addresses, too."""
        found: Slopes = {}
        for name, count in of:
            if name not in self.last:
                raise PlacementError("an address and the position of a block together")
            word = count & ((1 << bits) - 1)
            found[name] = word - (1 << bits) if word >> (bits - 1) else word
        return found

    def exactly(self, word: int, of: tuple[tuple[str, int], ...], kind: DType) -> tuple[int, Slopes]:
        """A word as a number of integer type `kind` that wraps nowhere in the box. SplitError where it does."""
        number, slopes = number_of(word, kind), self.slopes(of, kind.bits)
        least = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
        self.stays_between(number, slopes, least, least + (1 << kind.bits) - 1)
        return number, slopes

    def compare(
        self, op: str, a: tuple[int, tuple[tuple[str, int], ...]], b: tuple[int, tuple[tuple[str, int], ...]], kind: DType
    ) -> bool:
        """`<`, `==` and the like, the same in the whole box."""
        x, of_x = self.exactly(*a, kind)
        y, of_y = self.exactly(*b, kind)
        difference = {name: of_x.get(name, 0) - of_y.get(name, 0) for name in {**of_x, **of_y}}
        match op:
            case "<":
                return not self.is_never_negative(x - y, difference)
            case ">=":
                return self.is_never_negative(x - y, difference)
            case ">":
                return not self.is_never_negative(y - x, negated(difference))
            case "<=":
                return self.is_never_negative(y - x, negated(difference))
            case _:
                return self._is_zero(x - y, difference) == (op == "==")

    def stays_between(self, number: int, slopes: Slopes, least: int, greatest: int) -> None:
        """SplitError for a number that the first block has in these bounds and others have not."""
        if not (self.is_never_negative(number - least, slopes) and self.is_never_negative(greatest - number, negated(slopes))):
            raise AssertionError("the number in the first block is in its bounds")

    def range(self, number: int, slopes: Slopes) -> tuple[int, int]:
        """The least and the greatest value in the box."""
        if self.until is not None and ROUND in self.last:
            coupled = [slopes.get(ROUND, 0) * step + slopes.get(LENGTH, 0) * length for step, length in self._corners(self.until)]
            least, most = self._ends(number, {name: s for name, s in slopes.items() if name not in (ROUND, LENGTH)})
            return least + min(coupled), most + max(coupled)
        return self._ends(number, slopes)

    def _ends(self, number: int, slopes: Slopes) -> tuple[int, int]:
        ends = [slope * self.last[name] for name, slope in slopes.items()]
        return number + sum(min(0, e) for e in ends), number + sum(max(0, e) for e in ends)

    def _corners(self, until: int) -> tuple[tuple[int, int], ...]:
        """The corners of all pairs of `%round` and `%length` with 0 <= `%round` <= `%length` - until."""
        last = self.last[LENGTH]
        return (0, max(0, until)), (max(0, -until), max(0, until)), (0, last), (last - until, last)

    def is_never_negative(self, number: int, slopes: Slopes) -> bool:
        """True where it never is, False where it always is. SplitError for a box with both."""
        least, greatest = self.range(number, slopes)
        if least >= 0:
            return True
        if greatest < 0:
            return False
        moving = self._moving(slopes)
        if ROUND in moving and LENGTH in moving:
            self._couple(number, moving)
        if len(moving) > 1:
            self._split_size(number, moving)
            self._halve(moving)
        ((name, slope),) = moving.items()
        raise SplitError(name, -(number // slope) if slope > 0 else number // -slope + 1)

    def _is_zero(self, number: int, slopes: Slopes) -> bool:
        least, greatest = self.range(number, slopes)
        moving = self._moving(slopes)
        if not least <= 0 <= greatest:
            return False
        if not moving:
            return True
        if ROUND in moving and LENGTH in moving:
            self._couple(number, moving)
        if len(moving) > 1:
            self._halve(moving)
        ((name, slope),) = moving.items()
        if number % slope:
            return False
        raise SplitError(name, max(1, -number // slope))

    def _couple(self, number: int, slopes: Slopes) -> NoReturn:
        """CoupledError: from how many steps left on the number has one sign, and is not zero."""
        own, step = slopes[LENGTH], slopes[ROUND]
        if step != -own:
            if step % own == 0 and step // own < -1:
                raise PeriodError(-(step // own))
            raise SplitError(ROUND, 0)
        least, most = self._ends(number, {name: s for name, s in slopes.items() if name not in (ROUND, LENGTH)})
        # own * (length - round) + number is above zero for all of the others, or below
        raise CoupledError(-least // own + 1 if own > 0 else most // -own + 1)

    def _split_size(self, number: int, slopes: Slopes) -> None:
        """SizeSplitError where a size decides, beside other positions: it is counted from there on."""
        own = slopes.get(SIZE, 0)
        others = {name: slope for name, slope in slopes.items() if name != SIZE}
        if not own or LENGTH in others or any(slope % own for slope in others.values()):
            return
        # never negative from `%size` = -(number + others) / own on where it grows, and up to there where it falls
        at = -(number // own) if own > 0 else number // -own + 1
        raise SizeSplitError(at, {name: -(slope // own) for name, slope in others.items()})

    def _moving(self, slopes: Slopes) -> Slopes:
        return {name: slope for name, slope in slopes.items() if slope and self.last[name]}

    def _halve(self, slopes: Slopes) -> NoReturn:
        name = max(slopes, key=lambda n: abs(slopes[n]) * self.last[n])
        raise SplitError(name, (self.last[name] + 1) // 2)


def negated(slopes: Slopes) -> Slopes:
    return {name: -slope for name, slope in slopes.items()}
