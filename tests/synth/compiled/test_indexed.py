"""Sums of numbers that move with the block and of data: what is computed of them, and what refuses, each reason alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from warploom.core import DType, f32, i32, i64, u32
from warploom.core.intervals import Interval
from warploom.synth.compiled import IndexArray, IndexArrays
from warploom.synth.compiled.arithmetic import Arithmetic
from warploom.synth.compiled.data import Data, Indexed, Undefined
from warploom.synth.compiled.indexed import IndexedWords
from warploom.synth.compiled.moving import Moving, SplitError
from warploom.synth.compiled.placed import PlacementError, Places, placed
from warploom.synth.compiled.renaming import LIMITED
from warploom.terms import Term, apply, atom, constant

X = "%ctaid.x"


class Words:
    """One element of an index array from 0 to `most`, in blocks 0 to 9."""

    def __init__(self, most: int = 99, *, is_known: bool = True) -> None:
        self.data = Data()
        places = Places(moving=Moving({X: 9}))
        known = {"t": IndexArray(i32, Interval(0, most))}
        gathers = IndexArrays({"W": (f32, (1000,)), "t": (i32, (10,))}, known) if is_known else None
        numbers = iter(range(100))
        launch: Any = SimpleNamespace(data=self.data, places=places, gathers=gathers, next_symbol=lambda: next(numbers))
        self.gathers: Any = gathers
        self.words = IndexedWords(launch, Arithmetic(self.data))
        self.element = self.data.made(atom("t", (3,)), i32)

    def __call__(self, name: str, *values: object, kind: DType = i32) -> Any:
        opcode, *modifiers = name.split(".")
        instruction: Any = SimpleNamespace(opcode=opcode, modifiers=tuple(modifiers))
        return self.words.computed(instruction, kind, lambda *_: pytest.fail("no plain operands"), values)  # type: ignore[arg-type]

    def row(self, slope: int = 64) -> Indexed:
        """64 times the block's number, plus the element."""
        return self("add.s32", placed(0, ((X, slope),)), self.element)


def test_sums_and_multiples() -> None:
    words = Words()
    row = words.row()
    assert (row.base.of, row.offset) == (((X, 64),), words.element)
    assert words("mul.lo.s32", row, 3).base.of == ((X, 192),)
    assert words("shl.b32", row, 2).base.of == ((X, 256),)
    wide = words("mul.wide.s32", row, 4)
    assert wide.base.of == ((X, 256),) and words.data.kinds[wide.offset].bits == 64
    assert words("mad.lo.s32", placed(0, ((X, 1),)), 64, words.element) == row


def test_bits_that_are_not_shared() -> None:
    words = Words(most=63)
    assert words("or.b32", placed(0, ((X, 64),)), words.element) == words.row()
    assert words("or.b32", words.row(128), 64).base == placed(64, ((X, 128),))
    doubled = words("mul.lo.s32", words.row(), 2)
    assert words("or.b32", doubled, 1).base == placed(1, ((X, 128),))
    for wrong in ((placed(0, ((X, 32),)), words.element), (words.row(), 64), (doubled, 2), (words.row(), words.element)):
        with pytest.raises(PlacementError, match="the bits of data and the position"):
            words("or.b32", *wrong)


def test_limits_that_change_nothing_and_others() -> None:
    words = Words()
    row = words.row()  # from 0 to 64 * 9 + 99
    assert words("max.s32", row, 0) is row and words("min.s32", row, 675) is row
    assert words("max.s32", row, 675) == 675 and words("min.s32", row, 0) == 0
    with pytest.raises(SplitError):  # some blocks are always below
        words("min.s32", row, 674)
    one = Words()
    one.words.launch.places.moving.last = {X: 0}
    for opcode, limit, held in (("min.s32", 50, Interval(0, 50)), ("max.s32", 50, Interval(50, 99))):
        found = one(opcode, one.row(), limit)
        assert isinstance(found, Term) and found.data[0] == LIMITED and one.gathers.ranges[found] == held


@pytest.mark.parametrize(
    ("name", "others", "kind", "told"),
    [
        ("add.f32", (0,), f32, "together"),
        ("mul.lo.s32", (placed(0, ((X, 1),)),), i32, "together"),
        ("mul.hi.s32", (4,), i32, "together"),
        ("shl.b32", (32,), u32, "together"),
        ("shl.b32", (placed(1, ((X, 1),)),), u32, "together"),
        ("xor.b32", (1,), u32, "together"),
        ("cvt.u16.u32", (), u32, "together"),
        ("cvt.rn.f32.s32", (), i32, "together"),
        ("mul.wide.s32", (4,), i32, "may wrap"),
        ("min.u32", (4,), u32, "may wrap"),
        ("cvt.s64.s32", (), i32, "may wrap"),
    ],
)
def test_other_operations(name: str, others: tuple[int, ...], kind: DType, told: str) -> None:
    words = Words()
    row = words.row() if told == "together" else words.row((1 << 29) + 64 if kind is i32 else -64)
    with pytest.raises(PlacementError, match=told):
        words(name, row, *others, kind=kind)


def test_words_of_other_ranges_and_without_any() -> None:
    words = Words()
    other = words.data.made(atom("u", (3,)), i32)
    with pytest.raises(PlacementError, match="may wrap"):  # any word of 32 bits
        words("mul.wide.s32", words("add.s32", placed(64, ((X, 64),)), other), 4)
    wide = words.data.made(atom("t", (4,)), i64)  # no element as the array has it
    assert words.gathers.modulo(wide, words.data.kinds, 64).bounds(words.gathers.range_of).low < 0
    alone = Words(is_known=False)
    with pytest.raises(PlacementError, match="data and addresses together"):
        alone("mul.wide.s32", alone.row(), 4)


def test_a_word_that_no_step_has_made_is_not_converted() -> None:
    """A part of a word that a mask is moved to, as `(x << 2) & 124` is `(x & 31) << 2`."""
    words = Words()
    shifted = words.data.made(apply("<<", words.element, constant(2)), i32)
    masked = words.data.made(apply("&", shifted, constant(124)), i32)
    row = words("add.s32", placed(0, ((X, 64),)), masked)
    with pytest.raises(PlacementError, match="data and addresses together"):
        words("mul.wide.s32", row, 4)


def test_undefined_parts_stay_undefined() -> None:
    words = Words()
    bad = Undefined("a register before it is written", 0)
    assert words("add.s32", words.row(), bad) is bad
