"""Results of each task's loop, from the definition and by brute force; shares no code with the loops or the search."""

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


def average(xs: Numbers) -> float:
    return sum(xs) / len(xs) if xs else 0


def greatest_between_ones(xs: Numbers) -> int:
    return max([0, *(sum(xs[a + 1 : b]) for a, b in itertools.pairwise(ones(xs)))])


def greatest_gap_of_zeros(xs: Numbers) -> int:
    return max((b - a for a, b in itertools.pairwise(zeros(xs))), default=0)


def is_increasing(xs: Numbers) -> bool:
    return all(a < b for a, b in itertools.pairwise(xs))


def best_prefix(value: Callable[[Numbers], int]) -> Callable[[Numbers], int]:
    return lambda xs: max(map(value, prefixes(xs)))


def best_suffix(value: Callable[[Numbers], int]) -> Callable[[Numbers], int]:
    return lambda xs: max(map(value, suffixes(xs)))


def best_segment(
    value: Callable[[Numbers], int], allowed: Callable[[Numbers], bool] = lambda _: True
) -> Callable[[Numbers], int]:
    return lambda xs: max(value(s) for s in segments(xs) if allowed(s))


def least(xs: Numbers) -> float:
    return min(xs, default=math.inf)


def most(xs: Numbers) -> float:
    return max(xs, default=-math.inf)


def shortest_best_prefix(xs: Numbers) -> int:
    return first_best(prefixes(xs), sum)


def number_of(digits: Numbers) -> int:
    return sum(d * 10**n for n, d in enumerate(reversed(digits)))


def without_leading_zeros(xs: Numbers) -> int:
    return len(list(itertools.dropwhile(lambda x: x == 0, xs)))


def count_runs_of_ones(xs: Numbers) -> int:
    return len(runs(xs, lambda x: x == 1))


def longest_run_of_ones(xs: Numbers) -> int:
    return max((n for _, n in runs(xs, lambda x: x == 1)), default=0)


def sees_over_all(xs: Numbers) -> bool:
    return bool(xs) and all(xs[-1] >= x for x in xs)


def is_ascending(xs: Numbers) -> bool:
    return list(xs) == sorted(xs)


def matches(pattern: str) -> Callable[[Numbers], bool]:
    return lambda xs: re.fullmatch(pattern, word(xs)) is not None


def contains(pattern: str) -> Callable[[Numbers], bool]:
    return lambda xs: re.search(pattern, word(xs)) is not None


def distance(xs: Numbers, ys: Numbers) -> int:
    return sum(x != y for x, y in zip(xs, ys, strict=True))


def polynomial(coefficients: Numbers, at: int) -> int:
    return sum(c * at**n for n, c in enumerate(coefficients))


def all_positive(xs: Numbers) -> bool:
    return all(x > 0 for x in xs)


DEFINITIONS: dict[str, tuple[str, Callable[..., object]]] = {
    "total": ("the sum", sum),
    "minimum": ("the least element, infinity of none", least),
    "maximum": ("the greatest element, minus infinity of none", most),
    "length": ("the number of elements", len),
    "second_min": ("the second of the sorted elements", nth_least(1)),
    "third_min": ("the third of the sorted elements", nth_least(2)),
    "max_prefix_sum": ("the greatest sum of a prefix", best_prefix(sum)),
    "max_suffix_sum": ("the greatest sum of a suffix", best_suffix(sum)),
    "max_segment_sum": ("the greatest sum of a segment", best_segment(sum)),
    "max_prefix_sum_position": ("the length of the shortest prefix of greatest sum", shortest_best_prefix),
    "max_suffix_sum_position": ("the start of the longest suffix of greatest sum", last_suffix_position),
    "is_sorted": ("whether the elements are in ascending order", is_ascending),
    "atoi": ("the number with these digits", number_of),
    "drop_while": ("how many elements remain without the leading zeros", without_leading_zeros),
    "balanced_parentheses": ("whether removing () until there is none leaves nothing", is_balanced),
    "zeros_then_ones": ("whether it matches 0*1*", matches("0*1*")),
    "zero_after_one": ("whether a 0 stands anywhere after a 1", contains("1.*0")),
    "count_blocks_of_ones": ("the number of maximal runs of 1", count_runs_of_ones),
    "line_of_sight": ("whether the last element is at least all others, false of none", sees_over_all),
    "max_length_of_ones": ("the length of the longest run of 1", longest_run_of_ones),
    "average": ("the sum divided by the number, 0 of none", average),
    "count_1_0plus": ("the number of matches of 10+", count_matches("10+")),
    "count_1_0star_2": ("the number of matches of 10*2", count_matches("10*2")),
    "count_1plus_2plus_3": ("the number of matches of 1+2+3", count_matches("1+2+3")),
    "max_sum_between_ones": ("the greatest sum between two neighbouring 1s, at least 0", greatest_between_ones),
    "max_distance_between_zeros": ("the greatest distance of two neighbouring zeros, 0 of fewer than two", greatest_gap_of_zeros),
    "longest_increasing_run": ("the length of the longest strictly increasing segment", best_segment(len, is_increasing)),
    "largest_peak": ("the greatest sum of a segment of positive elements", best_segment(sum, all_positive)),
    "longest_ones": ("the length of the longest segment that matches 1*", longest_match("1*")),
    "longest_1_0star_2": ("the length of the longest segment that matches 10*2", longest_match("10*2")),
    "longest_odd_01": ("the length of the longest segment that is 01 an odd number of times", longest_match("01(0101)*")),
    "longest_even_zeros": ("the length of the longest segment that matches (00)*", longest_match("(00)*")),
    "max_prefix_product": ("the greatest product of a prefix", best_prefix(math.prod)),
    "max_suffix_product": ("the greatest product of a suffix", best_suffix(math.prod)),
    "max_segment_product": ("the greatest product of a segment", best_segment(math.prod)),
    "position_of_longest_ones": ("the start of the first longest run of 1, 0 of none", longest_run_position),
    "hamming": ("the number of places where two lists differ", distance),
    "poly": ("the polynomial's value, coefficients from the lowest", polynomial),
}
"""Definition of each task: one line, and the function itself."""
