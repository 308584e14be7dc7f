"""What each task's loop computes, from the definition and by brute force; shares no code with the loops or the search."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

Numbers = Sequence[int]


def prefixes(xs: Numbers) -> Iterator[Numbers]:
    return (xs[:n] for n in range(len(xs) + 1))


def suffixes(xs: Numbers) -> Iterator[Numbers]:
    return (xs[n:] for n in range(len(xs) + 1))


def segments(xs: Numbers) -> Iterator[Numbers]:
    """All contiguous parts, the empty one among them."""
    return (xs[i:j] for i in range(len(xs) + 1) for j in range(i, len(xs) + 1))


def nth_least(n: int) -> Callable[[Numbers], float]:
    return lambda xs: sorted(xs)[n] if len(xs) > n else math.inf


def first_best(parts: Iterable[Numbers], value: Callable[[Numbers], int]) -> int:
    """Position of the first greatest."""
    values = [value(p) for p in parts]
    return values.index(max(values))


def word(xs: Sequence[int | bool]) -> str:
    """One letter per element, for patterns; `.` for all but the digits 0 to 3."""
    return "".join(str(int(x)) if int(x) in (0, 1, 2, 3) else "." for x in xs)


def longest_match(pattern: str) -> Callable[[Numbers], int]:
    """Length of the longest segment that is the pattern as a whole."""
    return lambda xs: max(len(s) for s in segments(xs) if not s or re.fullmatch(pattern, word(s)))


def count_matches(pattern: str) -> Callable[[Numbers], int]:
    return lambda xs: len(re.findall(pattern, word(xs)))


def runs(xs: Numbers, wanted: Callable[[int], bool]) -> list[tuple[int, int]]:
    """(start, length) of the maximal runs of wanted elements."""
    found: list[tuple[int, int]] = []
    for key, group in itertools.groupby(range(len(xs)), lambda n: wanted(xs[n])):
        members = list(group)
        if key:
            found.append((members[0], len(members)))
    return found


def is_balanced(opening: Sequence[bool]) -> bool:
    text = "".join("(" if o else ")" for o in opening)
    while "()" in text:
        text = text.replace("()", "")
    return not text


def zeros(xs: Numbers) -> list[int]:
    return [n for n, x in enumerate(xs) if x == 0]


def ones(xs: Numbers) -> list[int]:
    return [n for n, x in enumerate(xs) if x == 1]


def longest_run_position(xs: Numbers) -> int:
    found = runs(xs, lambda x: x == 1)
    longest = max((n for _, n in found), default=0)
    return next((start for start, n in found if n == longest), 0)


def last_suffix_position(xs: Numbers) -> int:
    """Start of the longest suffix with the greatest sum; the serial loop never goes back past a negative total."""
    values = [sum(s) for s in suffixes(xs)]
    return values.index(max(values))


DEFINITIONS: dict[str, tuple[str, Callable[..., object]]] = {
    "total": ("the sum", sum),
    "minimum": ("the least element, infinity of none", lambda xs: min(xs, default=math.inf)),
    "maximum": ("the greatest element, minus infinity of none", lambda xs: max(xs, default=-math.inf)),
    "length": ("the number of elements", len),
    "second_min": ("the second of the sorted elements", nth_least(1)),
    "third_min": ("the third of the sorted elements", nth_least(2)),
    "max_prefix_sum": ("the greatest sum of a prefix", lambda xs: max(map(sum, prefixes(xs)))),
    "max_suffix_sum": ("the greatest sum of a suffix", lambda xs: max(map(sum, suffixes(xs)))),
    "max_segment_sum": ("the greatest sum of a segment", lambda xs: max(map(sum, segments(xs)))),
    "max_prefix_sum_position": ("the length of the shortest prefix of greatest sum", lambda xs: first_best(prefixes(xs), sum)),
    "max_suffix_sum_position": ("the start of the longest suffix of greatest sum", last_suffix_position),
    "is_sorted": ("whether no element is less than the one before", lambda xs: list(xs) == sorted(xs)),
    "atoi": ("the number with these digits", lambda xs: sum(d * 10**n for n, d in enumerate(reversed(xs)))),
    "drop_while": ("how many remain without the leading zeros", lambda xs: len(list(itertools.dropwhile(lambda x: x == 0, xs)))),
    "balanced_parentheses": ("whether removing () until there is none leaves nothing", is_balanced),
    "zeros_then_ones": ("whether it matches 0*1*", lambda xs: re.fullmatch("0*1*", word(xs)) is not None),
    "zero_after_one": ("whether a 0 stands anywhere after a 1", lambda xs: re.search("1.*0", word(xs)) is not None),
    "count_blocks_of_ones": ("the number of maximal runs of 1", lambda xs: len(runs(xs, lambda x: x == 1))),
    "line_of_sight": (
        "whether the last element is at least all others, false of none",
        lambda xs: bool(xs) and all(xs[-1] >= x for x in xs),
    ),
    "max_length_of_ones": (
        "the length of the longest run of 1",
        lambda xs: max((n for _, n in runs(xs, lambda x: x == 1)), default=0),
    ),
    "average": ("the sum divided by the number, 0 of none", lambda xs: sum(xs) / len(xs) if xs else 0),
    "count_1_0plus": ("the number of matches of 10+", count_matches("10+")),
    "count_1_0star_2": ("the number of matches of 10*2", count_matches("10*2")),
    "count_1plus_2plus_3": ("the number of matches of 1+2+3", count_matches("12+3")),
    "max_sum_between_ones": (
        "the greatest sum between two neighbouring 1s, at least 0",
        lambda xs: max([0, *(sum(xs[a + 1 : b]) for a, b in itertools.pairwise(ones(xs)))]),
    ),
    "max_distance_between_zeros": (
        "the greatest distance of two neighbouring zeros, 0 of fewer than two",
        lambda xs: max([b - a for a, b in itertools.pairwise(zeros(xs))], default=0),
    ),
    "longest_increasing_run": (
        "the length of the longest segment in which every element is greater than the one before",
        lambda xs: max(len(s) for s in segments(xs) if all(a < b for a, b in itertools.pairwise(s))),
    ),
    "largest_peak": (
        "the greatest sum of a segment of positive elements",
        lambda xs: max(sum(s) for s in segments(xs) if all(x > 0 for x in s)),
    ),
    "longest_ones": ("the length of the longest segment that matches 1*", longest_match("1*")),
    "longest_1_0star_2": ("the length of the longest segment that matches 10*2", longest_match("10*2")),
    "longest_odd_01": ("the length of the longest segment that is 01 an odd number of times", longest_match("01(0101)*")),
    "longest_even_zeros": ("the length of the longest segment that matches (00)*", longest_match("(00)*")),
    "max_prefix_product": ("the greatest product of a prefix", lambda xs: max(map(math.prod, prefixes(xs)))),
    "max_suffix_product": ("the greatest product of a suffix", lambda xs: max(map(math.prod, suffixes(xs)))),
    "max_segment_product": ("the greatest product of a segment", lambda xs: max(map(math.prod, segments(xs)))),
    "position_of_longest_ones": ("the start of the first longest run of 1, 0 of none", longest_run_position),
    "hamming": ("the number of places where two lists differ", lambda xs, ys: sum(map(int.__ne__, xs, ys))),
    "poly": ("the polynomial's value, coefficients from the lowest", lambda xs, at: sum(c * at**n for n, c in enumerate(xs))),
}
"""Of each task: one line, and the function itself."""
