"""Which copies into shared memory are asynchronous: each reason against it alone."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest

from warploom.schedule.backbone import Constant, Operator, Role
from warploom.schedule.choices.lower_pipeline import pipelined
from warploom.schedule.nest import Cache, Kind, Load, Nest, bytes_of_shared, statements
from warploom.schedule.nest.build import Builder

ROOM = 48 * 1024


@dataclass(frozen=True)
class Fill:
    """A loop that fills an array of 32 elements by 8 threads, in vectors of 4, and reads it."""

    has_second_reader: bool = False
    has_second_writer: bool = False
    fill: float = 0.0
    stored_lanes: int = 4
    hardware: int = 0
    has_loop: bool = False
    is_changed: bool = False
    from_shared: bool = False

    def nest(self) -> Nest:
        b = Builder("fill")
        x = b.scratch("x", 512) if self.from_shared else b.buffer("x", 512)
        y = b.buffer("y", 32, Role.OUTPUT)
        tile = b.scratch("tile", 32)
        loaded, got = b.value("loaded", vector=4), b.value("got")
        changed = b.value("changed", vector=4)
        with b.loop("k", Kind.LOOP, 16) as k:
            around = b.loop("r", Kind.LOOP, 1) if self.has_loop else nullcontext(0)
            with around as r, b.loop("t", Kind.THREAD, 8) as t:
                if self.has_second_writer:
                    with b.loop("v", Kind.VECTOR, 4) as v:
                        b.compute(b.ref(loaded, v), Operator.MOVE, Constant(0.0))
                with b.loop("v", Kind.VECTOR, 4) as v:
                    b.load(b.ref(loaded, v), x, k * 32 + r * 32 + t * 4 + v, (k, 16), fill=self.fill)
                if self.is_changed:
                    with b.loop("v", Kind.VECTOR, 4) as v:
                        b.compute(b.ref(changed, v), Operator.NEG, b.ref(loaded, v))
            with b.loop("s", Kind.THREAD, 8, hardware=self.hardware) as s:
                with b.loop("w", Kind.VECTOR, self.stored_lanes) as w:
                    b.store(tile, s * 4 + w, b.ref(changed if self.is_changed else loaded, w))
                if self.has_second_reader:
                    with b.loop("w", Kind.VECTOR, 4) as w:
                        b.store(tile, s * 4 + w, b.ref(loaded, w))
            with b.loop("u", Kind.THREAD, 8) as u:
                b.load(b.ref(got), tile, u * 4)
                b.store(y, u, b.ref(got), cache=Cache.ALL)
        return b.nest()


def copied(fill: Fill, *, has_async_copy: bool = True) -> list[bool]:
    nest = fill.nest()
    made = pipelined(nest, 2, 2, ROOM, has_async_copy=has_async_copy)
    assert made.buffers[2].copies == 2
    return [s.is_async for s, _ in statements(made.body) if isinstance(s, Load)]


def test_copies_for_which_a_block_has_no_room_are_not_made() -> None:
    nest = Fill().nest()
    most = bytes_of_shared(pipelined(nest, 2, 2, ROOM, has_async_copy=True))
    assert pipelined(nest, 2, 2, most - 1, has_async_copy=True) is nest
    assert pipelined(nest, 2, 2, most, has_async_copy=True).buffers[2].copies == 2


def test_threads_copy_vectors_asynchronously() -> None:
    assert copied(Fill()) == [True, False]
    assert copied(Fill(), has_async_copy=False) == [False, False]


@pytest.mark.parametrize(
    "change",
    [
        {"has_second_reader": True}, {"has_second_writer": True}, {"fill": 1.0}, {"stored_lanes": 2}, {"hardware": 1},
        {"has_loop": True}, {"is_changed": True}, {"from_shared": True},
    ],
)  # fmt: skip
def test_each_reason_against_it_is_one_alone(change: dict[str, object]) -> None:
    assert copied(replace(Fill(), **change)) == [False, False]  # pyright: ignore[reportArgumentType]
