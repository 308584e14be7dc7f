"""The operator of segmented scans: pairs (value, flag) over any associative operator on values.

A flag marks the first element of a segment (heads, forward scans) or the last one (tails, backward scans). The operator is found
by trying every completion of a template, two flags deciding among 0 (the identity), x, y and x op y, and among the flags 0 and 1:
4^4 * 2^4 = 4096 candidates, on words instead of values, so that what holds, holds for every associative operator.
Source: HotPar 2011, sections 3.1 and 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal, TypeVar

Flags = Literal["heads", "tails"]
Choice = Literal["0", "x", "y", "x op y"]
T = TypeVar("T")
Word = tuple[str, ...]
Pair = tuple[Word, bool]
_CASES = ((False, False), (False, True), (True, False), (True, True))
_CHOICES: tuple[Choice, ...] = ("0", "x", "y", "x op y")
LONGEST = 4
"""Lists on which candidates are tried; what remains is proved for all."""


@dataclass(frozen=True, slots=True)
class SegmentedOperator:
    """(x, f) op (y, g), by the cases (f, g) = 00, 01, 10, 11."""

    values: tuple[Choice, ...]
    flags: tuple[bool, ...]

    def lifted(
        self, op: Callable[[T, T], T], identity: T | None = None
    ) -> Callable[[tuple[T, bool], tuple[T, bool]], tuple[T, bool]]:
        """The operator on pairs for one operator on values; the identity is needed only if some case is 0."""

        def apply(left: tuple[T, bool], right: tuple[T, bool]) -> tuple[T, bool]:
            case = _CASES.index((bool(left[1]), bool(right[1])))
            match self.values[case]:
                case "0":
                    if identity is None:
                        raise ValueError("this operator needs an identity")
                    value = identity
                case "x":
                    value = left[0]
                case "y":
                    value = right[0]
                case "x op y":
                    value = op(left[0], right[0])
            return value, self.flags[case]

        return apply

    def __str__(self) -> str:
        return f"({self.value_text('x', 'y', 'x op y', 'f', 'g')}, {self.flag_text('f', 'g')})"

    def value_text(self, x: str, y: str, both: str, f: str, g: str) -> str:
        """Python source of the value, as one conditional where there is one."""
        texts = {"0": "identity", "x": x, "y": y, "x op y": both}
        for then, otherwise in product(_CHOICES, repeat=2):
            for condition, table in _conditions(f, g):
                if tuple(then if held else otherwise for held in table) == self.values:
                    return texts[then] if then == otherwise else f"{texts[then]} if {condition} else {texts[otherwise]}"
        cases = ", ".join(texts[value] for value in self.values)
        return f"({cases})[2 * {f} + {g}]"

    def flag_text(self, f: str, g: str) -> str:
        """Python source of the flag."""
        for condition, table in _conditions(f, g):
            if table == self.flags:
                return condition
        return f"{self.flags}[2 * {f} + {g}]"


def _conditions(f: str, g: str) -> Iterator[tuple[str, tuple[bool, ...]]]:
    yield f, (False, False, True, True)
    yield g, (False, True, False, True)
    yield f"{f} or {g}", (False, True, True, True)
    yield f"{f} and {g}", (False, False, False, True)


def candidates() -> Iterator[SegmentedOperator]:
    """The whole template."""
    for values in product(_CHOICES, repeat=4):
        for flags in product((False, True), repeat=4):
            yield SegmentedOperator(values, flags)


def solutions(kind: Flags) -> list[SegmentedOperator]:
    """Candidates for which every bracketing of every short list that starts with a head (ends with a tail) is right."""
    lists = [list(_list(flags)) for length in range(2, LONGEST + 1) for flags in _flag_lists(length, kind)]
    expected = [_serial(pairs, kind) for pairs in lists]
    return [
        operator
        for operator in candidates()
        if all(_all_bracketings(operator, pairs) == {value} for pairs, value in zip(lists, expected, strict=True))
    ]


@cache
def segmented_operator(kind: Flags) -> SegmentedOperator:
    """The only solution; proved associative and right for all lists."""
    found = solutions(kind)
    if len(found) != 1 or not is_associative(found[0]) or not is_serial_step(found[0], kind):
        raise AssertionError(f"expected one proved segmented operator, got {found}")
    return found[0]


def is_associative(operator: SegmentedOperator) -> bool:
    """Whether the law holds for every associative operator with identity: all eight flags, free words as values."""
    apply = operator.lifted(_joined, ())
    for f, g, h in product((False, True), repeat=3):
        x, y, z = (("x",), f), (("y",), g), (("z",), h)
        if apply(apply(x, y), z) != apply(x, apply(y, z)):
            return False
    return True


def is_serial_step(operator: SegmentedOperator, kind: Flags) -> bool:
    """Whether joining one element to a scanned list is one step of the serial loop, for every value and flag.

    With associativity this is the induction step: the fold of any list is what the loop holds after it.
    """
    apply = operator.lifted(_joined, ())
    for flag, seen in product((False, True), repeat=2):
        element = (("e",), flag)
        scanned = (("s",), seen)
        joined = apply(scanned, element) if kind == "heads" else apply(element, scanned)
        fresh = ("e",) if flag else _joined(("s",), ("e",)) if kind == "heads" else _joined(("e",), ("s",))
        if joined != (fresh, flag or seen):
            return False
    return True


def _joined(left: Word, right: Word) -> Word:
    return left + right


def _flag_lists(length: int, kind: Flags) -> Iterator[tuple[bool, ...]]:
    for rest in product((False, True), repeat=length - 1):
        yield (True, *rest) if kind == "heads" else (*rest, True)


def _list(flags: Sequence[bool]) -> Iterator[Pair]:
    return (((chr(ord("a") + place),), flag) for place, flag in enumerate(flags))


def _serial(pairs: Sequence[Pair], kind: Flags) -> Word:
    """Result of the serial loop for the last element (the first, backwards)."""
    value: Word = ()
    for word, flag in pairs if kind == "heads" else reversed(pairs):
        value = word if flag else value + word if kind == "heads" else word + value
    return value


def _all_bracketings(operator: SegmentedOperator, pairs: Sequence[Pair]) -> set[Word]:
    apply = operator.lifted(_joined, ())

    def folds(low: int, high: int) -> set[Pair]:
        if high - low == 1:
            return {pairs[low]}
        return {apply(x, y) for cut in range(low + 1, high) for x in folds(low, cut) for y in folds(cut, high)}

    return {value for value, _ in folds(0, len(pairs))}
