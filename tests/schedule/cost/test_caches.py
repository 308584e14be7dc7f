"""Time that decided CPU nests wait for caches: counted by hand for plain loops, ordered as machines order them."""

from __future__ import annotations

from dataclasses import replace

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.machines.cpu import CacheLevel
from warploom.schedule.backbone import Role
from warploom.schedule.cost import waiting_ns
from warploom.schedule.nest import Buffer, Kind, Load, Loop, Memory, Nest, Node, Ref, Value
from warploom.schedule.targets import Target, cpu, cpu_rates

LINE = 64
CACHES = (CacheLevel("l1", 32 << 10, LINE, False), CacheLevel("l2", 1 << 20, LINE, False), CacheLevel("l3", 16 << 20, LINE, True))


def machine(cores: int = 1) -> Target:
    rates = cpu_rates(32, cores=cores, clock_ghz=1.0, bandwidth_bytes_per_ns=16.0 * cores, caches=CACHES)
    return replace(cpu(), rates=rates)


def reading(*around: tuple[Kind, int, int], elements: int = 64 << 20) -> Nest:
    """Loads of one f32 in these loops (kind, size, stride in elements), outer first."""
    place = Linear(tuple((n, stride) for n, (_, _, stride) in enumerate(around) if stride))
    node: Node = Load(Ref(0, ()), Memory(0, place))
    for number, (kind, size, _) in reversed(list(enumerate(around))):
        node = Loop(number, f"l{number}", kind, size, (node,))
    return Nest("reading", (Buffer("A", f32, elements, Role.INPUT),), (), (Value("v", f32, ()),), (node,))


def test_a_stream_brings_every_line_once_from_each_level() -> None:
    n = 64 << 20
    near, middle, far = waiting_ns(reading((Kind.LOOP, n, 1)), machine())
    lines = n * 4 / LINE
    assert abs(near - lines * 1.0) < 1e-3 * near
    assert abs(middle - lines * 2.0) < 1e-3 * middle
    spared = 0.8 * (16 << 20) / LINE
    assert abs(far - (lines - spared) * LINE / 16.0) < 1e-3 * far


def test_what_fits_is_brought_once() -> None:
    for bytes_, waits in ((16 << 10, (1, 1, 0)), (512 << 10, (100, 1, 0)), (4 << 20, (100, 100, 0)), (64 << 20, (100, 100, 100))):
        lines = bytes_ / LINE
        found = waiting_ns(reading((Kind.LOOP, 100, 0), (Kind.LOOP, bytes_ // 4, 1)), machine())
        cost = 1.0, 2.0, LINE / 16.0
        spared = 0.0, 0.0, 0.8 * (16 << 20) / LINE
        for ns, times, each, less in zip(found, waits, cost, spared, strict=True):
            expected = max(0.0, times * lines - less) * each
            assert abs(ns - expected) <= 0.02 * expected + 100


def test_columns_wait_longer_than_rows_and_short_runs_longer_than_long_ones() -> None:
    side = 4096
    rows = sum(waiting_ns(reading((Kind.LOOP, side, side), (Kind.LOOP, side, 1)), machine()))
    columns = sum(waiting_ns(reading((Kind.LOOP, side, 1), (Kind.LOOP, side, side)), machine()))
    assert columns > 5 * rows
    by_run = [
        sum(waiting_ns(reading((Kind.LOOP, side // run, run), (Kind.LOOP, side, side), (Kind.UNROLL, run, 1)), machine()))
        for run in (16, 64, 256, 1024)
    ]
    assert by_run == sorted(by_run, reverse=True)


def test_lines_a_page_apart_compete_for_the_places_of_a_set() -> None:
    far_apart, close = (
        waiting_ns(reading((Kind.LOOP, 100, 0), (Kind.LOOP, 64, stride), elements=128 << 10), machine())[0]
        for stride in (1024, 1040)
    )
    assert far_apart > 10 * close


def test_threads_share_blocks() -> None:
    one, two = (sum(waiting_ns(reading((Kind.BLOCK, 64, 1 << 20), (Kind.LOOP, 1 << 20, 1)), machine(n))) for n in (1, 2))
    assert 1.9 < one / two < 2.3
    alone = sum(waiting_ns(reading((Kind.LOOP, 64 << 20, 1)), machine(2)))
    assert alone > 0.9 * one


def test_what_an_earlier_access_of_the_same_iteration_brought_is_there() -> None:
    """Rows that are read twice: at once in a cache that holds one, from memory where the two readings are loops apart."""
    rows, row = 4096, 4096

    def reads(first: int, second: int, shift: int = 0) -> Node:
        place = Memory(0, Linear(((first, row), (second, 1)), shift))
        return Loop(second, f"l{second}", Kind.LOOP, row, (Load(Ref(0, ()), place),))

    def waits(*body: Node) -> float:
        buffers = (Buffer("A", f32, rows * row, Role.INPUT),)
        return waiting_ns(Nest("twice", buffers, (), (Value("v", f32, ()),), body), machine())[2]

    once = waits(Loop(0, "l0", Kind.LOOP, rows, (reads(0, 1),)))
    together = waits(Loop(0, "l0", Kind.LOOP, rows, (reads(0, 1), reads(0, 2))))
    apart = waits(Loop(0, "l0", Kind.LOOP, rows, (reads(0, 1),)), Loop(2, "l2", Kind.LOOP, rows, (reads(2, 3),)))
    other = waits(Loop(0, "l0", Kind.LOOP, rows, (reads(0, 1), reads(0, 2, row // 2))))
    assert once == together
    assert apart == other == 2 * once
