"""The paper's template for a segmented sum: four cases of two flags, each with one of four functions and a flag; all 4096 judged.

Values are formal sums of the elements, so a completion that is right on a list is right for all numbers in it, and a wrong one is
refuted by a list.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.laws import associativity
from warploom.scan.operators.prover import Holds

Formal = tuple[int, ...]
"""Number of occurrences of each element."""
Item = tuple[Formal, int]
Tree: TypeAlias = "int | tuple[Tree, Tree]"
"""A bracketing: a position, or two parts."""
FUNCTIONS = ("0", "x", "y", "x + y")
CASES: tuple[tuple[int, int], ...] = ((0, 0), (0, 1), (1, 0), (1, 1))
LONGEST = 4
Completion = Mapping[tuple[int, int], tuple[int, int]]
"""By the flags: number of the function, resulting flag."""


@dataclass(frozen=True, slots=True)
class SegmentedResult:
    candidates: int
    solutions: tuple[str, ...]
    """Completions that give the serial result for every bracketing, as Python."""
    is_proved: bool
    """True if the only operator found is associative for all values and extends a list as the serial loop does."""


def segmented_sum_operator() -> SegmentedResult:
    """Judges every completion; the survivors are checked on all lists of up to four elements that start with a head."""
    options: list[tuple[int, int]] = list(itertools.product(range(4), (0, 1)))
    completions: Iterator[Completion] = (dict(zip(CASES, chosen, strict=True)) for chosen in itertools.product(options, repeat=4))
    found = [c for c in completions if _is_right(c)]
    proved = len(found) == 1 and _is_proved(found[0])
    return SegmentedResult(len(options) ** 4, tuple(_source(f) for f in found), proved)


def _is_right(completion: Completion) -> bool:
    return all(
        _evaluated(completion, tree, items)[0] == _serial(items) for items in _lists() for tree in _bracketings(0, len(items))
    )


@cache
def _lists() -> tuple[tuple[Item, ...], ...]:
    """Short ones first, because they refute most."""
    found: list[tuple[Item, ...]] = []
    for length in range(2, LONGEST + 1):
        units = [tuple(int(n == m) for m in range(length)) for n in range(length)]
        found += [tuple(zip(units, (1, *flags), strict=True)) for flags in itertools.product((0, 1), repeat=length - 1)]
    return tuple(found)


@cache
def _bracketings(start: int, end: int) -> tuple[Tree, ...]:
    if end - start == 1:
        return (start,)
    return tuple(
        (left, behind) for cut in range(start + 1, end) for left in _bracketings(start, cut) for behind in _bracketings(cut, end)
    )


def _evaluated(completion: Completion, tree: Tree, items: Sequence[Item]) -> Item:
    if isinstance(tree, int):
        return items[tree]
    (x, first), (y, second) = (_evaluated(completion, part, items) for part in tree)
    function, flag = completion[first, second]
    match function:
        case 0:
            return tuple(0 for _ in x), flag
        case 1:
            return x, flag
        case 2:
            return y, flag
        case _:
            return tuple(a + b for a, b in zip(x, y, strict=True)), flag


@cache
def _serial(items: Sequence[Item]) -> Formal:
    value, _ = items[0]
    for item, flag in items[1:]:
        value = item if flag else tuple(a + b for a, b in zip(value, item, strict=True))
    return value


def _is_proved(completion: Completion) -> bool:
    """Associative, and one more element does what the loop does; a list that starts with a head keeps its flag."""
    value, flag = ex.variable("value", ex.INT), ex.variable("flag", ex.BOOL)
    x, y, first, second = value, right(value), flag, right(flag)
    functions = (ex.ZERO, x, y, ex.add(x, y))
    combined, flags = ex.ZERO, ex.FALSE
    for (one, two), (function, result) in completion.items():
        here = ex.both(first if one else ex.negation(first), second if two else ex.negation(second))
        combined = ex.select(here, functions[function], combined)
        flags = ex.select(here, ex.constant(bool(result)), flags)
    serial = ex.select(second, y, ex.add(x, y))
    with_head = {first: ex.TRUE}
    if ex.substituted(combined, with_head) is not serial or ex.substituted(flags, with_head) is not ex.TRUE:
        return False
    operator: dict[Expr, Expr] = {value: combined, flag: flags}
    return isinstance(associativity((value, flag), operator, []), Holds)


def _source(completion: Completion) -> str:
    return "; ".join(f"{flags}: ({FUNCTIONS[function]}, {flag})" for flags, (function, flag) in completion.items())
