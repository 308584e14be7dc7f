"""Cycles of a block by itself: what is hidden behind work, and what is waited for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.async_programs import DOUBLE
from tests.synth.kernels import parse

from warploom.gpu import BlockTime, block_time
from warploom.ir import Kernel, run
from warploom.machines import architecture

SM_90, SM_75 = architecture("sm_90"), architecture("sm_75")
DRAM, L2, L1 = (getattr(SM_90.timing, name).value for name in ("dram_cycles", "l2_cycles", "l1_cycles"))
WORK = 500
"""Times that a tile is summed: a tile's work is then longer than the latency of memory."""


def time_of(kernel: Kernel, on=SM_90, blocks: int = 3, *, knows_places: bool = True) -> BlockTime:
    arrays = {p.name: np.zeros([getattr(e, "value", blocks) for e in p.shape], np.float32) for p in kernel.params if p.is_input}
    result = run(kernel, arrays, {"n": blocks}, note_waits=True)
    assert not result.diagnostics
    return block_time(result.events, on, knows_places=knows_places)


def body(*lines: str, tile: str = "tile = shared(f32, 2, 8)") -> Kernel:
    head = "@kernel(block=(8, 1, 1), grid=(n, 1, 1), warp_size=32)\n"
    head += "def k(x: Global[f32, n, 64], y: Global[f32, n, 8] | out, n: size):\n"
    rows = [tile, *lines, "y[block_id, thread_id] = f32(0.0)"]
    return parse(head + "".join(f"    {line}\n" for row in rows for line in row.split("\n")))


LOAD = "tile[{0}, thread_id] = x[block_id, 8 * {1} + thread_id]"
COPY = "memcpy_async(tile[{0}, thread_id], x[block_id, 8 * {1} + thread_id])"


@pytest.mark.parametrize(
    ("lines", "waited"),
    [
        ((LOAD.format(0, 0),), DRAM),
        ((LOAD.format(0, 0), LOAD.format(1, 1)), DRAM),
        ((LOAD.format(0, 0), "sync()", LOAD.format(1, 1)), 2 * DRAM),
        ((COPY.format(0, 0), "pipeline_commit()", "pipeline_wait_prior(0)"), DRAM),
        ((COPY.format(0, 0), "pipeline_commit()", "pipeline_wait_prior(1)"), 0),
        ((COPY.format(0, 0), "pipeline_commit()", COPY.format(1, 1), "pipeline_commit()", "pipeline_wait_prior(0)"), DRAM),
        ((COPY.format(0, 0), "pipeline_commit()", "sync()", "pipeline_wait_prior(0)"), DRAM),
        ((LOAD.format(0, 0), "sync()", LOAD.format(1, 0)), DRAM + L1),
        ((LOAD.format(0, 0), "sync()", COPY.format(1, 0), "pipeline_commit()", "pipeline_wait_prior(0)"), DRAM + L2),
        (("v: f32 = x[block_id, thread_id]", "sync()", "tile[0, thread_id] = v"), DRAM),
        (("v: f32 = x[block_id, thread_id]", "sync()"), 0),
        (("r = register(f32, 2)", "r[1] = x[block_id, thread_id]", "sync()", "tile[0, thread_id] = r[1]"), DRAM),
        (("r = register(f32, 2)", "r[0] = f32(0.0)", "r[1] = x[block_id, thread_id]", "tile[0, thread_id] = r[0]", "sync()"), 0),
        (("tile[0, thread_id] = x[0, thread_id]",), L1),
    ],
)  # fmt: skip
def test_what_is_waited_for(lines: tuple[str, ...], waited: float) -> None:
    """All that stands here takes fewer cycles than the difference between two latencies."""
    assert time_of(body(*lines)).waited == pytest.approx(waited, abs=25)


def test_the_sum_of_what_was_loaded_is_waited_for_where_it_is_stored() -> None:
    lines = ("total = accumulator(f32, op='+', init=0.0, finalize=__state)", "total.add(x[block_id, thread_id])", "sync()")
    assert time_of(body(*lines)).waited == pytest.approx(0, abs=1)
    assert time_of(body(*lines, "tile[0, thread_id] = total.value()", "sync()")).waited == pytest.approx(DRAM, abs=25)


def pipeline(buffers: int, work: int, tiles: int = 12) -> Kernel:
    """Tiles that are summed `work` times each, copied so many less one ahead."""
    ahead, row = buffers - 1, 8 * tiles
    copy = f"memcpy_async(tile[{{0}} % {buffers}, thread_id], x[block_id, ({{0}}) * 8 + thread_id])"
    lines = [f"tile = shared(f32, {buffers}, 8)", "total = accumulator(f32, op='+', init=0.0, finalize=__state)"]
    for step in range(ahead):
        lines += [copy.format(step), "pipeline_commit()"]
    lines += [
        f"for k in range({tiles}):", f"    if k < {tiles - ahead}:", "        " + copy.format(f"(k + {ahead})"),
        "    pipeline_commit()", f"    pipeline_wait_prior({ahead})", "    sync()", f"    for w in range({work}):",
        f"        total.add(tile[k % {buffers}, 7 - thread_id])", "    sync()", "y[block_id, thread_id] = total.value()",
    ]  # fmt: skip
    head = "@kernel(block=(8, 1, 1), grid=(n, 1, 1), warp_size=32)\n"
    head += f"def k(x: Global[f32, n, {row}], y: Global[f32, n, 8] | out, n: size):\n"
    return parse(head + "".join(f"    {line}\n" for line in lines))


def test_a_double_buffer_hides_the_shorter_of_work_and_latency() -> None:
    tiles = 4
    long, short = time_of(pipeline(2, WORK, tiles)), time_of(pipeline(2, 10, tiles))
    assert long.waited == pytest.approx(DRAM, rel=0.02)
    assert short.waited == pytest.approx(tiles / 2 * DRAM, rel=0.1)  # two tiles are on their way
    alone, one = time_of(pipeline(1, WORK, tiles)), time_of(pipeline(1, 10, tiles))
    assert alone.waited == pytest.approx(one.waited) == pytest.approx(tiles * DRAM, rel=0.02)
    assert alone.cycles - long.cycles == pytest.approx((tiles - 1) * DRAM, rel=0.02)


@pytest.mark.parametrize("buffers", [2, 3, 4, 5])
def test_more_buffers_share_a_latency(buffers: int) -> None:
    assert time_of(pipeline(buffers, 5)).waited == pytest.approx(-(-12 // buffers) * DRAM, rel=0.1)


def test_more_buffers_never_take_longer() -> None:
    for work in (1, 50):
        times = [time_of(pipeline(buffers, work, 6)).cycles for buffers in range(1, 6)]
        assert times == sorted(times, reverse=True)


def test_a_machine_without_asynchronous_copies_hides_nothing() -> None:
    """The copy is a load and a store there, which the next barrier waits for."""
    one, two = (time_of(pipeline(buffers, 50, 4), SM_75) for buffers in (1, 2))
    latency = SM_75.timing.dram_cycles.value
    assert (one.waited, two.waited) == pytest.approx((4 * latency, 3 * latency), rel=0.02)  # the first two begin together


def test_places_that_are_not_known_are_in_the_nearest_cache() -> None:
    kernel = body(LOAD.format(0, 0), "sync()")
    assert time_of(kernel, knows_places=False).waited == pytest.approx(L1, abs=25)
    copied = body(COPY.format(0, 0), "pipeline_commit()", "pipeline_wait_prior(0)")
    assert time_of(copied, knows_places=False).waited == pytest.approx(L2, abs=25)


def test_blocks_that_do_nothing_are_not_usual() -> None:
    lines = ("if block_id < 2:\n    tile[0, thread_id] = x[block_id, thread_id]",)
    assert time_of(body(*lines)).waited == pytest.approx(DRAM, abs=25)
    rare = ("if block_id < 1:\n    tile[0, thread_id] = x[block_id, thread_id]",)
    assert time_of(body(*rare)).waited == pytest.approx(0, abs=1)


def test_a_run_without_events_takes_no_time() -> None:
    assert block_time((), SM_90) == BlockTime()


def test_a_run_notes_only_what_it_is_asked_to() -> None:
    x = {"x": np.zeros((2, 32), np.float32)}
    kernel = parse(DOUBLE)
    plain, noted = run(kernel, x, {"n": 2}), run(kernel, x, {"n": 2}, note_waits=True)
    assert not plain.events and noted.events[-1].what == "end"
    issued = {"float_operations": 0, "integer_operations": 0, "selects": 0, "global_requests": 0, "repeated_sectors": 0}
    assert (plain.counts, plain.diagnostics) == (replace(noted.counts, **issued), noted.diagnostics)
    assert noted.counts.float_operations == 8 and noted.counts.global_requests == 10
    assert np.array_equal(plain.arrays["y"], noted.arrays["y"])
