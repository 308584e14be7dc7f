"""Functions that look like operators of a scan, but are not associative."""

from __future__ import annotations


def decay(a: float, b: float) -> float:
    """Exponential smoothing as users pass it to `associative_scan` (Triton issue 3485)."""
    return a * 0.5 + b


def difference(a: int, b: int) -> int:
    return a - b


def average(a: float, b: float) -> float:
    return (a + b) / 2


def quotient(a: float, b: float) -> float:
    assert a > 0
    assert b > 0
    return a / b


def absolute_difference(a: int, b: int) -> int:
    return abs(a - b)


def plain_segmented_sum(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
    """The serial loop's step taken for an operator: the flags are not combined."""
    return (b[0] if b[1] else a[0] + b[0]), b[1]


def segmented_sum_and_flag(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
    return (b[0] if b[1] else a[0] + b[0]), a[1] and b[1]


def saturating_signed(a: int, b: int) -> int:
    assert -128 <= a <= 127
    assert -128 <= b <= 127
    return max(min(a + b, 127), -128)


def kadane(a: int, b: int) -> int:
    """The step of the greatest segment sum."""
    return max(a + b, 0)


def smoothing(a: float, b: float) -> float:
    return a * 0.9 + b * 0.1


def sum_and_double(a: int, b: int) -> int:
    return 2 * a + b


def recurrence_without_factor(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """y = m * y + c, the factors not multiplied."""
    return b[0], a[1] * b[0] + b[1]


def affine_swapped(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
    return f[0] * g[0], f[1] * f[0] + g[1]


def arg_max_mixed_ties(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The index of the greater value; ties add the indices' difference."""
    if a[0] == b[0]:
        return a[0], a[1] - b[1]
    return a if a[0] > b[0] else b


def softmax_without_rescaling(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return max(a[0], b[0]), a[1] + b[1] * (a[0] - b[0])


def implication(a: bool, b: bool) -> bool:
    return not a or b


def not_both(a: bool, b: bool) -> bool:
    return not (a and b)


def run_length_naive(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """(value, length): equal neighbours add up, else the second counts."""
    return (b[0], a[1] + b[1]) if a[0] == b[0] else b


def cross_product(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def relative_speed(a: float, b: float) -> float:
    """Looks like the addition of velocities, without the denominator's product."""
    return (a + b) * (1 - a * b)


def shift_and_or(a: int, b: int) -> int:
    """Appending bits without the length."""
    return a * 2 | b


def remainder_sum(a: int, b: int) -> int:
    return (a + 2 * b) % 7


def counted_mean(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """(mean, count), each mean with the same weight."""
    return (a[0] + b[0]) / 2, a[1] + b[1]


def rare_overflow(a: int, b: int) -> int:
    """Associative but for a sum of one value that small tests miss."""
    return a + b if a + b != 123456 else 123457
