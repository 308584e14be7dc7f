"""Conditions that a thread came by: they decide choices in what it reads and keep it inside arrays; planted bugs."""

import pytest
from tests.synth.kernels import sketch_of

from warploom.ir import parse_kernel
from warploom.synth.lift.lift import lift

PARITY = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def parity(x: Global[f32, n + 33], y: Global[f32, n] | out, n: size):
    g = 32 * block_id + thread_id
    part = register(f32, 1)
    even = register(f32, 1)
    if n % 2 == 0:
        part[0] = x[g]
        even[0] = x[g]
    else:
        part[0] = x[g + 1]
    if n % 2 == 0:
        if g < n:
            y[g] = part[0] + even[0]
    else:
        if g < n:
            y[g] = part[0] + x[g]
"""


def parity(x, y, n):
    for i in range(n):
        if n % 2 == 0:
            y[i] = x[i] + x[i]
        else:
            y[i] = x[i + 1] + x[i]


def verdict(text: str, spec, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    made = parse_kernel(text)
    return lift(sketch_of(made, spec, {"n": 64}), made).verdict


def test_values_of_both_ways_are_taken_apart() -> None:
    assert verdict(PARITY, parity) == "proved"
    assert verdict(PARITY, parity, ("if n % 2 == 0:\n        if", "if n % 4 == 0:\n        if")) == "proved"


@pytest.mark.parametrize(
    "change",
    [
        ("part[0] = x[g]\n", "part[0] = x[g + 1]\n"),
        ("part[0] = x[g + 1]", "part[0] = x[g + 2]"),
        ("if n % 2 == 0:\n        part", "if n % 2 == 1:\n        part"),
        ("if n % 2 == 0:\n        part", "if n % 4 == 0:\n        part"),
        ("if n % 2 == 0:\n        if", "if n % 2 == 1:\n        if"),
        ("y[g] = part[0] + x[g]", "y[g] = part[0] + even[0]"),  # nobody wrote it
        ("y[g] = part[0] + even[0]", "y[g] = part[0] + x[g + 1]"),
    ],
)
def test_a_value_of_the_other_way_is_not_taken(change: tuple[str, str]) -> None:
    assert verdict(PARITY, parity, change) != "proved"


BOUNDED = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def bounded(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    first = 32 * block_id
    g = first + thread_id
    if g < n:
        y[g] = x[g]
    if CONDITION:
        unused: f32 = x[PLACE]
"""


def copied(x, y, n):
    for i in range(n):
        y[i] = x[i]


@pytest.mark.parametrize(
    "condition, place, is_inside",
    [
        ("g < n", "g", True),
        ("g <= n", "g", False),
        ("g < n", "g + 1", False),
        ("g < n", "g - 1", False),
        ("g + 1 < n", "g + 1", True),
        ("not g >= n", "g", True),
        ("not (g >= n and n > 7)", "g", False),
        ("g < n or n < 7", "g", False),
        ("g < n and n < 7", "g", True),
        ("g == n", "g", False),
        ("g != n", "g", False),
        ("n != g", "g", False),
        ("g == n - 1", "g", True),
        ("n - 1 == g", "g", True),
        ("g + n // 32 < n", "g", True),
        ("g + (n - 40) // 32 < n", "g", False),  # this quotient may be negative
        ("2 * g < n", "2 * g", True),
        ("2 * g < n", "2 * g + 1", False),
        ("2 * g < n", "g", True),
        ("g < n", "2 * g", False),
        ("2 * g + 2 <= n", "2 * g + thread_id % 2", True),
        ("2 * g + 2 <= n", "2 * g + thread_id % 3", False),
        ("first + 32 <= n", "first + (thread_id ^ 5)", True),
        ("first + 32 <= n", "first + (thread_id ^ 5) + 1", False),  # outside in one thread, neither the first nor the last
        ("first + 32 <= n", "first + (thread_id ^ 5) - 1", False),
        ("first + 32 <= n", "first + 33 * (thread_id // 20) * (25 // (thread_id + 1) % 2)", False),
        ("first + 31 <= n", "first + (thread_id ^ 5)", False),
        ("n - g > 0", "g", True),
        ("g - n > 0", "g", False),
        ("thread_id < 8 and first + 8 <= n", "g", True),
        ("thread_id < 9 and first + 8 <= n", "g", False),
    ],
)
def test_conditions_keep_a_thread_inside_only_where_they_do(condition: str, place: str, is_inside: bool) -> None:
    found = verdict(BOUNDED, copied, ("CONDITION", condition), ("PLACE", place))
    assert (found == "proved") == is_inside


SCOPED = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def scoped(x: Global[f32, n + 32], y: Global[f32, n] | out, n: size):
    g = 32 * block_id + thread_id
    if g < n:
        part = register(f32, 1)
        part[0] = x[g]
        if n > 7:
            part[0] = x[g + 0]
        y[g] = part[0]
"""


def test_a_register_is_there_where_it_was_declared() -> None:
    assert verdict(SCOPED, copied) == "proved"
    assert verdict(SCOPED, copied, ("x[g + 0]", "x[g + 1]")) != "proved"
    assert verdict(SCOPED, copied, ("        part[0] = x[g]\n", "")) != "proved"  # undefined where n is 7 or less


@pytest.mark.parametrize("use", ["y[g] = part[0]", "part[0] = x[g]"])
def test_a_register_is_not_used_behind_its_condition(use: str) -> None:
    made = parse_kernel(SCOPED + f"    if g < n:\n        {use}\n")
    found = lift(sketch_of(made, copied, {"n": 64}), made)
    assert found.verdict == "unchecked" and "part is used outside of the condition it was declared under" in found.reason


SUMMED = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def summed(x: Global[f32, n + 34], y: Global[f32, n] | out, n: size):
    g = 32 * block_id + thread_id
    acc = accumulator(f32, op='+', init=0.0, finalize=__state)
    BEFORE
    if CONDITION:
        acc.add(x[g])
        acc.add(x[g + 1])
    else:
        OTHER
    if g < n:
        y[g] = acc.value()
"""


def pairs(x, y, n):
    for i in range(n):
        y[i] = x[i] + x[i + 1]


def tripled(x, y, n):
    for i in range(n):
        y[i] = x[i + 2] + x[i] + x[i + 1]


_BOTH = "acc.add(x[g])\n        acc.add(x[g + 1])"
_NESTED = "if n > 100:\n            acc.add(x[g + 1])\n            acc.add(x[g])\n        else:\n            acc.add(x[g])"


@pytest.mark.parametrize("before, spec", [("", pairs), ("acc.add(x[g + 2])", tripled)])
@pytest.mark.parametrize("condition", ["n % 2 == 0", "n > 63", "n <= 63", "block_id > 0", "thread_id < 7"])
@pytest.mark.parametrize(
    "other, is_right",
    [
        (_BOTH, True),
        ("acc.add(x[g + 1])\n        acc.add(x[g])", True),
        (_NESTED + "\n            acc.add(x[g + 1])", True),
        ("acc.add(x[g])", False),
        ("acc.add(x[g + 1])", False),
        ("unused: f32 = x[g]", False),
        (_NESTED, False),
        (_BOTH + "\n        acc.add(x[g + 1])", False),
    ],
)
def test_what_one_way_adds_is_not_added_on_the_other(before: str, spec, condition: str, other: str, is_right: bool) -> None:
    """Two additions under one condition leave the sum of the other way as it was before the first of them."""
    text = SUMMED.replace("    BEFORE\n", f"    {before}\n" if before else "")
    assert (verdict(text, spec, ("CONDITION", condition), ("OTHER", other)) == "proved") == is_right
