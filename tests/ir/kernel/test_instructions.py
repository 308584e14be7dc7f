"""Instructions that warps issue, counted by hand for small kernels."""

import numpy as np

import warploom as wl
from warploom import f32, i32
from warploom.ir import Counts, fill, run

n = wl.size("n")


def counts(sketch: wl.Sketch, **arrays: np.ndarray) -> Counts:
    result = run(fill(sketch.kernel, {}), arrays, {"n": 1}, note_waits=True)
    assert not result.diagnostics
    return result.counts


def test_a_product_is_one_with_its_sum_and_a_vector_is_one_request() -> None:
    @wl.sketch(block=64, grid=n, complete_at={"n": 1})
    def kernel(x: wl.Global[f32, 256 * n], y: wl.Global[f32, 64 * n]):
        part = wl.register(f32, 4)
        for j in wl.vector(4):
            part[j] = x[4 * wl.thread_id() + j]
        out = wl.accumulator(f32, inner="*")
        for j in range(4):
            out.add(part[j], part[j])
        y[wl.thread_id()] = out.value() - part[0]

    found = counts(kernel, x=np.ones(256, np.float32))
    assert (found.float_operations, found.integer_operations) == (2 * (4 + 1), 0)
    assert (found.global_requests, found.global_sectors, found.repeated_sectors) == (2 * 2, 2 * (16 + 4), 0)


def test_registers_by_lane_are_selects_and_a_warp_issues_for_one_lane() -> None:
    @wl.sketch(block=32, grid=n, complete_at={"n": 1})
    def kernel(x: wl.Global[i32, 32 * n], y: wl.Global[i32, 32 * n]):
        part = wl.register(i32, 4)
        for j in range(4):
            part[j] = x[wl.lane_id()]
        out = wl.accumulator(i32)
        out.add(part[wl.lane_id() % 4])
        out.add(part[wl.lane_id() % 2], when=wl.lane_id() == 3)
        y[wl.lane_id()] = out.value() if wl.lane_id() < 7 else 0

    found = counts(kernel, x=np.ones(32, np.int32))
    assert (found.integer_operations, found.float_operations) == (2, 0)
    assert found.selects == 2 + 1 + 1
    assert (found.global_requests, found.global_sectors, found.repeated_sectors) == (5, 20, 12)
