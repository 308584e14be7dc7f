"""Unusual operators that are associative."""

from __future__ import annotations

from math import exp, gcd

Pair = tuple[int, int]


def affine_maps(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
    """x -> m * x + c, first f, then g."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def affine_maps_mod_2_32(f: tuple[int, int], g: tuple[int, int]) -> tuple[int, int]:
    return (f[0] * g[0]) % 2**32, (f[1] * g[0] + g[1]) % 2**32


def matrices_mod_p(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    p = 10007
    return (
        (a[0] * b[0] + a[1] * b[2]) % p,
        (a[0] * b[1] + a[1] * b[3]) % p,
        (a[2] * b[0] + a[3] * b[2]) % p,
        (a[2] * b[1] + a[3] * b[3]) % p,
    )


def first_three_letters(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Words cut to their first three letters: (length, letters)."""
    n, x, y, z = a
    m, u, v, w = b
    assert 0 <= n <= 3
    assert 0 <= m <= 3
    assert (n > 0 or x == 0) and (n > 1 or y == 0) and (n > 2 or z == 0)
    assert (m > 0 or u == 0) and (m > 1 or v == 0) and (m > 2 or w == 0)
    if n == 0:
        return m, u, v, w
    if n == 1:
        return min(m + 1, 3), x, u, v
    if n == 2:
        return min(m + 2, 3), x, y, u
    return n, x, y, z


def free_group_letters(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Words over a letter and its inverse that only cancel as inverse-letter: (inverses in front, letters behind)."""
    assert a[0] >= 0 and a[1] >= 0 and b[0] >= 0 and b[1] >= 0
    common = min(a[1], b[0])
    return a[0] + b[0] - common, a[1] + b[1] - common


def interval_join(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])


def arg_max_first(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """(value, index); the first of equal values."""
    return a if a[0] >= b[0] else b


def lexicographic_arg_max(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    """The greater (major, minor) with its index, the smaller index of equal ones."""
    if a[0] > b[0] or (a[0] == b[0] and (a[1] > b[1] or (a[1] == b[1] and a[2] <= b[2]))):
        return a
    return b


def run_lengths(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """(first value, last value, length of the last run, length)."""
    assert 1 <= a[2] <= a[3] and (a[2] < a[3] or a[0] == a[1])
    assert 1 <= b[2] <= b[3] and (b[2] < b[3] or b[0] == b[1])
    last = b[2] + a[2] if b[2] == b[3] and b[0] == a[1] else b[2]
    return a[0], b[1], last, a[3] + b[3]


def softmax(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """(greatest, sum of exponentials relative to it)."""
    m = max(a[0], b[0])
    return m, a[1] * exp(a[0] - m) + b[1] * exp(b[0] - m)


def segmented_sum(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
    return (b[0] if b[1] else a[0] + b[0]), a[1] or b[1]


def segmented_max(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
    return (b[0] if b[1] else max(a[0], b[0])), a[1] or b[1]


def bounded_counter(a: int, b: int) -> int:
    """Adds up to a ceiling."""
    assert 0 <= a <= 15
    assert 0 <= b <= 15
    return min(a + b, 15)


def brackets(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """(unmatched closing, unmatched opening)."""
    assert a[0] >= 0 and a[1] >= 0 and b[0] >= 0 and b[1] >= 0
    if a[1] >= b[0]:
        return a[0], a[1] - b[0] + b[1]
    return a[0] + b[0] - a[1], b[1]


def greatest_common_divisors(a: int, b: int) -> int:
    assert a >= 0
    assert b >= 0
    return gcd(a, b)


def projective_maps(f: tuple[int, int, int, int], g: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """x -> (p x + q) / (r x + s), first f, then g."""
    p, q, r, s = f
    t, u, v, w = g
    return t * p + u * r, t * q + u * s, v * p + w * r, v * q + w * s


def quaternions(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
        a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
    )


def boolean_matrices(a: tuple[bool, bool, bool, bool], b: tuple[bool, bool, bool, bool]) -> tuple[bool, bool, bool, bool]:
    """Reachability of two nodes."""
    return (
        (a[0] and b[0]) or (a[1] and b[2]),
        (a[0] and b[1]) or (a[1] and b[3]),
        (a[2] and b[0]) or (a[3] and b[2]),
        (a[2] and b[1]) or (a[3] and b[3]),
    )


def permutations(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    """Composes permutations of three, first a, then b."""
    assert 0 <= a[0] < 3 and 0 <= a[1] < 3 and 0 <= a[2] < 3
    assert 0 <= b[0] < 3 and 0 <= b[1] < 3 and 0 <= b[2] < 3
    return b[a[0]], b[a[1]], b[a[2]]


def max_plus_matrices(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return (
        max(a[0] + b[0], a[1] + b[2]),
        max(a[0] + b[1], a[1] + b[3]),
        max(a[2] + b[0], a[3] + b[2]),
        max(a[2] + b[1], a[3] + b[3]),
    )


def saturating_add(a: int, b: int) -> int:
    assert 0 <= a <= 255
    assert 0 <= b <= 255
    return 255 if a + b > 255 else a + b


def bitwise_select(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """(mask, value): bits under the mask are overwritten."""
    return a[0] | b[0], (a[1] & ~b[0]) | (b[1] & b[0])


def generate_propagate(a: tuple[bool, bool], b: tuple[bool, bool]) -> tuple[bool, bool]:
    """Carries of an adder, low bits first."""
    return b[0] or (b[1] and a[0]), a[1] and b[1]


def clamp_maps(f: tuple[int, int, int], g: tuple[int, int, int]) -> tuple[int, int, int]:
    """x -> min(max(x + shift, low), high), first f, then g."""
    assert f[1] <= f[2]
    assert g[1] <= g[2]
    return f[0] + g[0], min(max(f[1] + g[0], g[1]), g[2]), min(max(f[2] + g[0], g[1]), g[2])


def mean_and_count(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """(mean times count, count), so that the mean of both follows."""
    return a[0] + b[0], a[1] + b[1]


def last_valid(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
    """The last value that is there."""
    return (b[0] if b[1] else a[0]), a[1] or b[1]


def polynomial_hash(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """(hash, base to the length) modulo a prime."""
    return (a[0] * b[1] + b[0]) % 1000000007, (a[1] * b[1]) % 1000000007
