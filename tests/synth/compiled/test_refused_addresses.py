"""Operations that addresses have no part in: each is asked by itself, since a later check would refuse most programs as well."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from warploom.core import DType, f32, u32, u64
from warploom.synth.compiled.arithmetic import Arithmetic, NotFollowedError
from warploom.synth.compiled.data import Data, Indexed, NoBitsError
from warploom.synth.compiled.indexed import IndexedWords
from warploom.synth.compiled.instructions import _Maker  # pyright: ignore[reportPrivateUsage]
from warploom.synth.compiled.placed import PlacementError, Places, Variable, placed
from warploom.terms import Term, atom

TILE = placed(1 << 12, (("tile", 1),))
"""The address of a variable that is aligned well enough for all that is asked of its low bits."""


def places(*, is_small: bool = True) -> Places:
    return Places({"tile": Variable(64, 1 << 30, is_small=is_small, is_allocated=False, base=1 << 12)})


def element(data: Data, kind: DType = u32) -> Term:
    return data.made(atom("x", ()), kind)


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (lambda: places().bitwise("and", TILE, TILE, 32), "bits of two addresses"),
        (lambda: places().bitwise("and", TILE, 1 << 20, 32), "bits of an address"),
        (lambda: places().bitwise("or", 1 << 16, TILE, 32), "bits of an address"),
        (lambda: places(is_small=False).widened(TILE, u32, 64), "a wider word of an address"),
        (lambda: places().widened(placed(1 << 13, (("tile", 2),)), u32, 64), "a wider word of an address"),
        (lambda: places().widened(placed((1 << 12) + 65, (("tile", 1),)), u32, 64), "a wider word of an address"),
    ],
)
def test_what_low_bits_and_bounds_do_not_tell(operation: Callable[[], int], told: str) -> None:
    with pytest.raises(PlacementError, match=told):
        operation()


def test_of_the_bits_of_two_addresses_only_low_ones_are_known() -> None:
    other = placed(1 << 13, (("other", 1),))
    known = places()
    known.variables["other"] = Variable(64, 4, is_small=False, is_allocated=True, base=1 << 13)
    both = known.bitwise("or", TILE, other, 64)
    assert known.bitwise("and", both, 15, 64) == 0
    assert known.notes() == ["other begins at a multiple of 16 bytes"]
    for operation in (
        lambda: known.linear((1,), (both,), 1, 64),
        lambda: known.compare("==", both, 0, u64),
        lambda: known.bitwise("and", both, 1 << 40, 64),
        lambda: known.low_bits(both, 2),
        lambda: known.widened(both, u32, 64),
    ):
        with pytest.raises(PlacementError):
            operation()


def test_low_bits_and_words_that_are_known() -> None:
    assert places().bitwise("and", TILE, 1 << 15, 32) == 0
    assert places().widened(TILE, u32, 64) is TILE


@pytest.mark.parametrize("value", [TILE, Indexed(TILE, atom("i", ()))])
def test_addresses_are_no_numbers(value: Any) -> None:
    data = Data()
    for pair in ((value, 5), (5, value)):
        with pytest.raises(NotFollowedError, match="the smaller or larger address"):
            Arithmetic(data).extreme("min", u64)(*pair)
    for target in (f32, u32):
        with pytest.raises(NotFollowedError, match="a conversion of an address"):
            Arithmetic(data).convert(target, u64, None)(value)
    with pytest.raises(NoBitsError, match="parts of an address"):
        data.join([(element(data), 32), (value, 32)])


def test_nothing_is_divided_by_zero() -> None:
    data = Data()
    with pytest.raises(NotFollowedError, match="a division by zero"):
        Arithmetic(data).real("/", f32)(element(data, f32), 0)


class _DependsError(Exception):
    pass


def maker() -> Any:
    arithmetic = Arithmetic(Data())
    return SimpleNamespace(
        arithmetic=arithmetic, launch=SimpleNamespace(places=places()), _depends=lambda error, _: _DependsError(str(error))
    )


def test_comparisons_of_addresses_with_data_and_as_floats() -> None:
    at = maker()
    below = _Maker._compared(at, "lt", u64, 0)
    assert below(0, TILE) is True
    for pair in ((TILE, element(at.arithmetic.data)), (element(at.arithmetic.data), TILE)):
        with pytest.raises(_DependsError, match="an address beside data"):
            below(*pair)
    with pytest.raises(_DependsError, match="an address beside data"):
        _Maker._compared(at, "lt", f32, 0)(0, TILE)
    with pytest.raises(_DependsError, match="an address beside a number"):
        below(TILE, 4)


def test_addresses_and_data_are_added_only() -> None:
    at = maker()
    index = element(at.arithmetic.data)

    def meets(opcode: str) -> Any:
        instruction: Any = SimpleNamespace(opcode=opcode, modifiers=("b32",))
        words = IndexedWords(at.launch, at.arithmetic)
        return words.computed(instruction, u32, at.arithmetic.signless("add", u32), (TILE, index))

    assert meets("add") == Indexed(TILE, index)
    with pytest.raises(PlacementError, match="data and addresses together"):
        meets("xor")
