"""Vectors whose same lanes are neighbours in memory are turned in registers, where nothing forbids it."""

from __future__ import annotations

import pytest
from tests.schedule.cpu.test_printer import check

from warploom.core import DType, f32, f64, i16, i32
from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.cpu import c_source, find_compiler
from warploom.schedule.nest import Builder, Kind, Nest

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
