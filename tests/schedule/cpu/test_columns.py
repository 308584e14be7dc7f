"""Vectors whose same lanes are neighbours in memory are turned in registers, where nothing forbids it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.schedule.cpu.test_printer import check

from warploom.core import DType, f32, f64, i16, i32
from warploom.core.linear import Linear
from warploom.ir.swizzle import Xor
from warploom.schedule.backbone import Constant, Operator, Role, RunTimeSize
from warploom.schedule.cpu import c_source, find_compiler
from warploom.schedule.cpu.columns import copied_columns
from warploom.schedule.nest import Builder, Guard, Kind, Load, Loop, Nest, Node, Ref, Store, Swizzle, Trips

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LOOP, UNROLL, VECTOR = Kind.LOOP, Kind.UNROLL, Kind.VECTOR


def turned(rows: int, lanes: int, dtype: DType = f32, *, more: int = 1, gap: int = 0, room: int | None = None) -> Nest:
    """B[t, x, lane, row] = A[t, row, x, lane], the lanes of B `gap` further apart than there are rows; with `room`, of so many
    places alone."""
    b = Builder("turned")
    apart, tiles = rows + gap, 3
    source = b.buffer("A", tiles * rows * more * lanes, dtype=dtype)
    target = b.buffer("B", tiles * max(apart, rows) * more * lanes, Role.OUTPUT, dtype=dtype)
    held = b.value("held", rows, more, vector=lanes, dtype=dtype)
    with b.loop("t", LOOP, tiles) as t:
        with b.loop("r", UNROLL, rows) as r, b.loop("x", UNROLL, more) as x, b.loop("v", VECTOR, lanes) as v:
            b.load(b.ref(held, r, x, v), source, t * (rows * more * lanes) + r * (more * lanes) + x * lanes + v)
        with b.loop("r", UNROLL, rows) as r, b.loop("x", UNROLL, more) as x, b.loop("v", VECTOR, lanes) as v:
            place = t * (apart * more * lanes) + x * (lanes * apart) + v * apart + r
            b.store(target, place, b.ref(held, r, x, v), *([] if room is None else [(place, room)]))
    return b.nest()


@pytest.mark.parametrize(("dtype", "rows", "lanes"), [(f32, 6, 8), (f32, 5, 16), (f64, 3, 4), (i32, 4, 2)])
def test_neighbours_are_stored_together(dtype: DType, rows: int, lanes: int) -> None:
    kept = check(turned(rows, lanes, dtype, more=2, gap=1))
    together = next(n for n in (4, 2) if n <= min(rows, lanes, 16 // dtype.size_bytes))
    assert f"store_columns_{dtype.name}x{lanes}_{together}(B" in kept
    assert ("lanes[0]" in kept) == (rows % 2 == 1)


def test_a_guard_is_certain_or_lanes_ask_it() -> None:
    """A block whose last place is outside is stored lane by lane."""
    assert "lanes[0]" not in check(turned(4, 4, room=3 * 16))
    cut = check(turned(4, 4, room=3 * 16 - 1))
    assert cut.count("store_columns_f32x4_4(B") == 1 and cut.count("lanes[3]") == 4


@pytest.mark.parametrize("nest", [turned(4, 4, gap=-1), turned(4, 4, i16), turned(1, 4)])
def test_others_go_lane_by_lane(nest: Nest) -> None:
    """Places stored to twice, elements of two bytes, one row."""
    assert "store_columns" not in check(nest)


def test_a_constant_is_no_vector_to_turn() -> None:
    b = Builder("filled")
    target = b.buffer("B", 16, Role.OUTPUT)
    with b.loop("r", UNROLL, 4) as r, b.loop("v", VECTOR, 4) as v:
        b.store(target, v * 4 + r, Constant(1.0))
    assert "store_columns" not in check(b.nest())


def test_one_lane_for_all_is_turned_as_a_vector() -> None:
    """A scalar that each row stores to all of its lanes."""
    b = Builder("spread")
    source, target = b.buffer("A", 4), b.buffer("B", 16, Role.OUTPUT)
    held, twice = b.value("held", 4), b.value("twice", 4)
    with b.loop("r", UNROLL, 4) as r:
        b.load(b.ref(held, r), source, r)
        b.compute(b.ref(twice, r), Operator.ADD, b.ref(held, r), b.ref(held, r))
    with b.loop("r", UNROLL, 4) as r, b.loop("v", VECTOR, 4) as v:
        b.store(target, v * 4 + r, b.ref(twice, r))
    assert "splat_f32x4" in check(b.nest())
    assert c_source(b.nest()).text.count("store_columns_f32x4_4(B") == 1


def copied(lines: int = 6, lanes: int = 8, dtype: DType = f32, *, twice: bool = False) -> Nest:
    """B[t, lane, line] = A[t, line, lane], line by line through registers; `twice`: C is what these hold, too."""
    b = Builder("copied")
    source = b.buffer("A", 3 * lines * lanes, dtype=dtype)
    target = b.buffer("B", 3 * lanes * lines, Role.OUTPUT, dtype=dtype)
    held = b.value("held", lines, dtype=dtype)
    with b.loop("t", LOOP, 3) as t:
        with b.loop("lane", LOOP, lanes) as v:
            with b.loop("r", UNROLL, lines) as r:
                b.load(b.ref(held, r), source, t * (lines * lanes) + r * lanes + v)
            with b.loop("r", UNROLL, lines) as r:
                b.store(target, t * (lines * lanes) + v * lines + r, b.ref(held, r))
        if twice:
            further = b.buffer("C", 3 * lines, Role.OUTPUT, dtype=dtype)
            with b.loop("r", UNROLL, lines) as r:
                b.store(further, t * lines + r, b.ref(held, r))
    return b.nest()


@pytest.mark.parametrize(("lines", "lanes", "dtype"), [(6, 8, f32), (16, 16, i32), (3, 4, f64)])
def test_copies_are_turned(lines: int, lanes: int, dtype: DType) -> None:
    kept = check(copied(lines, lanes, dtype))
    assert f"store_columns_{dtype.name}x{lanes}_{2 if lines < 4 else 4}(B" in kept and "for (Index lane" not in kept


def test_what_something_else_reads_is_in_registers() -> None:
    assert "for (Index lane" in check(copied(twice=True))


COPIED = copied()
Copy = Callable[[Loop, Loop, Loop, Load, Store], Loop]


def with_load(**new: object) -> Copy:
    return lambda copy, reading, writing, load, _: replace(
        copy, body=(replace(reading, body=(replace(load, memory=replace(load.memory, **new)),)), writing)
    )


def with_store(change: Callable[[Store], Node]) -> Copy:
    return lambda copy, reading, writing, _, store: replace(copy, body=(reading, replace(writing, body=(change(store),))))


def with_memory(**new: object) -> Copy:
    return with_store(lambda store: replace(store, memory=replace(store.memory, **new)))


ALWAYS = Guard(Linear(((0, 1),)), 1)
NO_COPIES: dict[str, Copy] = {
    "no running loop": lambda copy, *_: replace(copy, kind=Kind.BLOCK),
    "no vector of its size": lambda copy, *_: replace(copy, size=6),
    "longer than vectors": lambda copy, *_: replace(copy, size=32),
    "known at run time": lambda copy, *_: replace(copy, trips=Trips(RunTimeSize("n", 8), 1)),
    "copied ahead": lambda copy, *_: replace(copy, stages=2),
    "left out at times": lambda copy, *_: replace(copy, only=(ALWAYS,)),
    "one statement": lambda copy, *_: replace(copy, body=copy.body[:1]),
    "the store first": lambda copy, *_: replace(copy, body=copy.body[::-1]),
    "a number stored": with_store(lambda store: replace(store, argument=Constant(0.0))),
    "fewer lines stored": lambda copy, reading, writing, *_: replace(copy, body=(reading, replace(writing, size=2))),
    "lines that are no registers": lambda copy, reading, writing, *_: replace(
        copy, body=(replace(reading, kind=Kind.VECTOR), replace(writing, kind=Kind.VECTOR))
    ),
    "another line stored": with_store(lambda store: replace(store, argument=Ref(0, (Linear(),)))),
    "in the same array": with_memory(buffer=0),
    "elements beyond an edge": with_load(guards=(ALWAYS,)),
    "a permuted source": with_load(swizzle=Swizzle(Xor(8), 4)),
    "copied by itself": lambda copy, reading, writing, load, _: replace(
        copy, body=(replace(reading, body=(replace(load, is_async=True),)), writing)
    ),
    "elements apart": with_load(offset=Linear()),
    "a permuted target": with_memory(swizzle=Swizzle(Xor(8), 4)),
    "an open guard": with_memory(guards=(ALWAYS,)),
    "lines apart": with_memory(offset=Linear()),
}  # fmt: skip


@pytest.mark.parametrize("reason", NO_COPIES)
def test_what_is_no_copy(reason: str) -> None:
    (around,) = COPIED.body
    assert isinstance(around, Loop)
    (copy,) = around.body
    assert isinstance(copy, Loop)
    reading, writing = copy.body
    assert isinstance(reading, Loop) and isinstance(writing, Loop)
    (load,), (store,) = reading.body, writing.body
    assert isinstance(load, Load) and isinstance(store, Store)
    assert copied_columns(copy, lambda _: False) is not None
    assert copied_columns(NO_COPIES[reason](copy, reading, writing, load, store), lambda _: False) is None
