"""Decisions about numbers that move: what is decided holds in every block of a box, else the box is split where it changes."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from itertools import product

import pytest

from warploom.core import DType, f32, i32, u32, u64
from warploom.synth.compiled.moving import Moving, PlacementError, SplitError
from warploom.synth.compiled.placed import Places, Variable, placed

TESTS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
Of = tuple[tuple[str, int], ...]


def word(value: int, kind: DType) -> int:
    value &= (1 << kind.bits) - 1
    return value - (1 << kind.bits) if kind is i32 and value >> 31 else value


def values(number: int, of: Of, moving: Moving) -> list[dict[str, int]]:
    return [dict(zip(moving.last, at, strict=True)) for at in product(*(range(n + 1) for n in moving.last.values()))]


@pytest.mark.parametrize("kind", [i32, u32])
@pytest.mark.parametrize("op", list(TESTS))
def test_comparisons_hold_in_the_whole_box_or_split_it(op: str, kind: DType) -> None:
    rng = random.Random(op + kind.name)
    decided = split = 0
    for _ in range(300):
        moving = Moving({"x": rng.randrange(6), "y": rng.randrange(3)})
        a, b = (rng.choice([0, 5, 100, 1 << 31, (1 << 32) - 3]) + rng.randrange(4) for _ in range(2))
        of = tuple((n, rng.choice([1, 4, 1 << 29, (1 << 32) - 2])) for n in ("x", "y") if rng.random() < 0.7)
        at_least = values(a, of, moving)

        def holds(at: dict[str, int], a: int = a, b: int = b, of: Of = of) -> bool:
            return TESTS[op](word(a + sum(s * at[n] for n, s in of), kind), word(b, kind))

        try:
            found = moving.compare(op, (a & 0xFFFFFFFF, of), (b & 0xFFFFFFFF, ()), kind)
        except SplitError as error:
            assert 0 < error.at <= moving.last[error.name]
            split += 1
            continue
        decided += 1
        assert all(holds(at) == found for at in at_least)
    assert decided > 20 and split > 20


def moving_places(last: int = 3) -> Places:
    places = Places()
    places.moving = Moving({"x": last})
    return places


def at(value: int, x: int, bits: int = 32) -> int:
    slope = dict(getattr(value, "of", ())).get("x", 0)
    return (int(value) + slope * x) & ((1 << bits) - 1)


def test_words_are_widened_where_none_wraps() -> None:
    small = placed(0xFFFFFFF0, (("x", 4),))
    wide = moving_places().widened(small, i32, 64)
    assert [at(wide, x, 64) for x in range(4)] == [(-16 + 4 * x) & ((1 << 64) - 1) for x in range(4)]
    with pytest.raises(SplitError) as split:
        moving_places(5).widened(small, u32, 64)
    assert split.value.at == 4
    product_of = moving_places().function("mul", ("wide",), i32, lambda *_: None)
    assert [at(product_of(small, 0xFFFFFFFE), x, 64) for x in range(4)] == [(32 - 8 * x) & ((1 << 64) - 1) for x in range(4)]


def test_high_bits_are_the_same_in_a_box_or_split_it() -> None:
    number = placed(60, (("x", 1),))
    assert moving_places().bitwise("and", number, 0xFFFFFFC0, 32) == 0
    with pytest.raises(SplitError) as split:
        moving_places(9).bitwise("and", number, 0xFFFFFFC0, 32)
    assert split.value.at == 4
    joined = moving_places().bitwise("or", number, 3, 32)
    assert moving_places().bitwise("and", joined, 0xFFFFFFC0, 32) == 0
    assert moving_places().bitwise("and", moving_places().bitwise("or", number, 64, 32), 0xFFFFFFC0, 32) == 64


REFUSED: dict[str, Callable[[], object]] = {
    "low bits of what moves by less": lambda: moving_places().bitwise("and", placed(8, (("x", 2),)), 3, 32),
    "a shift of what moves by less": lambda: moving_places().function("shr", (), u32, lambda *_: None)(placed(8, (("x", 2),)), 2),
    "a sum of joined bits": lambda: moving_places().linear(
        (1, 1), (moving_places().bitwise("or", placed(8, (("x", 2),)), 3, 32), 1), 0, 32
    ),
    "low bits of joined bits": lambda: moving_places().bitwise(
        "xor", moving_places().bitwise("or", placed(8, (("x", 2),)), 3, 32), 1, 32
    ),
    "a comparison of joined bits": lambda: moving_places().compare(
        "<", moving_places().bitwise("or", placed(8, (("x", 2),)), 3, 32), 1, u32
    ),
    "a float of bits that move": lambda: moving_places().function("add", (), f32, lambda *_: None)(placed(8, (("x", 2),)), 2),
    "a product of two that move": lambda: moving_places().function("mul", ("lo",), u32, lambda *_: None)(
        placed(8, (("x", 2),)), placed(8, (("x", 2),))
    ),
    "an address that moves, widened": lambda: moving_places().widened(placed(8, (("tile", 1), ("x", 4))), u32, 64),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_not_linear_is_refused(name: str) -> None:
    with pytest.raises(PlacementError):
        REFUSED[name]()


def test_a_box_whose_numbers_step_over_another_is_not_split() -> None:
    assert not Moving({"x": 5}).compare("==", (1, (("x", 2),)), (4, ()), u32)
    assert Moving({"x": 5}).compare("!=", (1, (("x", 2),)), (4, ()), u32)
    with pytest.raises(SplitError):
        Moving({"x": 5}).compare("==", (0, (("x", 2),)), (4, ()), u32)


def test_an_address_is_compared_with_no_number_but_zero() -> None:
    places = Places()
    address = places.address("a", Variable(64, 4, is_small=False, is_allocated=True, base=1 << 48))
    assert places.compare(">", address, 0, u64)
    with pytest.raises(PlacementError, match="an address beside a number"):
        places.compare(">", address, 5, u64)


def test_shifts_of_what_moves_by_multiples() -> None:
    shifted = moving_places().function("shr", (), u64, lambda *_: None)(placed(9, (("x", 4),)), 2)
    assert [at(shifted, x, 64) for x in range(4)] == [2, 3, 4, 5]


def test_a_field_up_to_the_highest_bit_is_a_sum() -> None:
    """`bfi` of all bits from one on: the low bits of a known number, a number that moves above them."""
    insert = moving_places().function("bfi", (), u32, lambda *_: None)
    number = placed(0x7FFFFFFE, (("x", 1),))
    for low, below in ((1, 3), (5, 0xFFFFFFF7)):
        found = insert(number, below, low, 32 - low)
        wanted = [((0x7FFFFFFE + x) << low & 0xFFFFFFFF) | below & (1 << low) - 1 for x in range(4)]
        assert [at(found, x) for x in range(4)] == wanted
    for others in ((3, 1, 30), (3, 0, 0), (number, 1, 31)):
        with pytest.raises(PlacementError, match="the result of bfi"):
            insert(number, *others)
