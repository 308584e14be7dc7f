"""Loads and stores of whole arrays."""

import numpy as np
from tests.sketch.helpers import body, read, text

import warploom as wl
from warploom import f32, f64, i32
from warploom.ir import run

n = wl.size("n")


def test_masked_load_and_unmasked_store():
    def kernel(x: wl.Global[f32, n + 2], y: wl.Global[f32, 64]):
        lane = wl.lane_id()
        r = wl.register(f32, 2)
        wl.global_to_register(x, r, offset=lane // 32)
        wl.register_to_global(r, y)

    assert body(read(kernel).kernel) == text("""
        lane = thread_id
        r = register(f32, 2)
        for round in range(2, note='wl.global_to_register(x, r, offset=lane // 32)'):
            at = lane // 32 + (round * 32 + lane)
            r[round] = x[at] if at < n + 2 else f32(0.0)
        for round_2 in range(2, note='wl.register_to_global(r, y)'):
            y[round_2 * 32 + lane] = r[round_2]
    """)


def test_slices_rounds_and_sizes():
    def kernel(x: wl.Global[i32, 200], y: wl.Global[i32, 200]):
        r = wl.register(i32, 6)
        wl.global_to_register(x, r, slice=3, size=100)
        wl.register_to_global(r, y, slice=3, rounds=1)

    assert body(read(kernel).kernel) == text("""
        r = register(i32, 6)
        for round in range(2, note='wl.global_to_register(x, r, slice=3, size=100)'):
            for item in range(3):
                at = (round * 32 + thread_id) * 3 + item
                r[round * 3 + item] = x[at] if at < 100 else i32(0)
        for item_2 in range(3, note='wl.register_to_global(r, y, slice=3, rounds=1)'):
            y[thread_id * 3 + item_2] = r[item_2]
    """)


def test_warps_of_a_block_with_their_own_offsets():
    def kernel(x: wl.Global[i32, 128], y: wl.Global[i32, 128]):
        first = wl.warp_id() * 32
        r = wl.register(i32, 1)
        wl.global_to_register(x, r, offset=first)
        wl.register_to_global(r, y, offset=first, size=120)

    assert body(read(kernel, block=128).kernel) == text("""
        first = thread_id // 32 * 32
        r = register(i32, 1)
        for round in range(1, note='wl.global_to_register(x, r, offset=first)'):
            r[0] = x[first + thread_id % 32]
        for round_2 in range(1, note='wl.register_to_global(r, y, offset=first, size=120)'):
            at = first + thread_id % 32
            if at < 120:
                y[at] = r[0]
    """)


def shuffled(lane, round):
    return wl.xform(lane, 32, round, name="from")


def test_shuffles_written_in_place_or_named():
    def kernel(x: wl.Global[i32, 96], y: wl.Global[i32, 96]):
        lane = wl.lane_id()
        r = wl.register(i32, 3)
        wl.global_to_register(x, r, shuffle=lambda t, k: wl.xform(t, 32, k, name="to"))
        wl.register_to_global(r, y, shuffle=shuffled)
        wl.register_to_global(r, y, shuffle=lambda t, k: (lane + k) % 32 if k > 1 else t)

    sketch = read_lines(kernel)
    call = kernel.__code__.co_firstlineno + 4
    assert (
        sketch[3:6]
        == text(f"""
        r[round] = x[round * 32 + hole('to', lane, round)]
        for round_2 in range(3, note='wl.register_to_global(r, y, shuffle=shuffled)'):
        y[round_2 * 32 + hole('from@{call}:45', lane, round_2)] = r[round_2]
    """).splitlines()
    )
    assert sketch[7] == "y[round_3 * 32 + ((lane + round_3) % 32 if round_3 > 1 else lane)] = r[round_3]"


def read_lines(kernel):
    return [line.strip() for line in body(read(kernel).kernel).splitlines()]


def test_two_dimensions():
    h, w = wl.size("h"), wl.size("w")

    def kernel(x: wl.Global[f32, h, 8], y: wl.Global[f32, h, w]):
        top = wl.block_id("y") * 8
        r = wl.register(f32, 2, 2)
        wl.global_to_register(
            x, r, offset=(top, 0), warp_shape=(8, 4), shuffle=(lambda row, k: (row + k) % 8, lambda col, k: 3 - col)
        )
        wl.register_to_global(r, y, rounds=(1, 2), warp_shape=(8, 4), size=(h - 1, w))

    lines = body(read(kernel).kernel).splitlines()
    assert lines[2].startswith("for round_y in range(2, note='wl.global_to_register(x, r, ")
    assert text("\n".join(lines[3:6])) == text("""
        for round_x in range(2):
            at_y = top + (round_y * 8 + (thread_id // 4 + round_y) % 8)
            r[round_y, round_x] = x[at_y, round_x * 4 + (3 - thread_id % 4)] if at_y < h else f32(0.0)
    """)
    assert text("\n".join(lines[7:])) == text("""
            at_y_2 = thread_id // 4
            at_x = round_x_2 * 4 + thread_id % 4
            if at_y_2 < h - 1 and at_x < w:
                y[at_y_2, at_x] = r[0, round_x_2]
    """)


def test_slices_along_both_axes():
    def kernel(x: wl.Global[f32, 16, 32], y: wl.Global[f32, 16, 16]):
        r = wl.register(f32, 4, 2)
        wl.global_to_register(x, r, slice=(2, 1), warp_shape=(4, 8))
        wl.register_to_global(r, y, slice=2, rounds=(1, 1), warp_shape=(4, 8))

    lines = body(read(kernel).kernel).splitlines()
    assert text("\n".join(lines[2:5])) == text("""
        for round_x in range(2):
            for item_y in range(2):
                r[round_y * 2 + item_y, round_x] = x[(round_y * 4 + thread_id // 8) * 2 + item_y, round_x * 8 + thread_id % 8]
    """)
    assert [line.strip() for line in lines[-2:]] == [
        "for item_x_2 in vector(2):", "y[thread_id // 8, thread_id % 8 * 2 + item_x_2] = r[0, item_x_2]"
    ]  # fmt: skip


def test_a_slice_that_lies_inside_is_one_vector():
    def kernel(x: wl.Global[f32, n], y: wl.Global[f32, n]):
        first = 128 * wl.block_id()
        r = wl.register(f32, 4)
        wl.global_to_register(x, r, offset=first, slice=4)
        wl.register_to_global(r, y, offset=first, slice=4)

    assert body(read(kernel, grid=wl.ceil_div(n, 128)).kernel) == text("""
        first = 128 * block_id
        r = register(f32, 4)
        if first + thread_id * 4 + 3 < n:
            for item in vector(4):
                r[item] = x[first + thread_id * 4 + item]
        else:
            for item in range(4, note='wl.global_to_register(x, r, offset=first, slice=4)'):
                at = first + thread_id * 4 + item
                r[item] = x[at] if at < n else f32(0.0)
        if first + thread_id * 4 + 3 < n:
            for item_2 in vector(4):
                y[first + thread_id * 4 + item_2] = r[item_2]
        else:
            for item_2 in range(4, note='wl.register_to_global(r, y, offset=first, slice=4)'):
                at_2 = first + thread_id * 4 + item_2
                if at_2 < n:
                    y[at_2] = r[item_2]
    """)


def test_slices_whose_place_or_type_makes_no_vector_are_moved_one_by_one():
    def odd(x: wl.Global[f32, 512], y: wl.Global[f32, 512]):
        r = wl.register(f32, 2)
        wl.global_to_register(x, r, offset=wl.block_id(), slice=2)
        wl.register_to_global(r, y, slice=2)

    def wide(x: wl.Global[f64, 512], y: wl.Global[f64, 512]):
        r = wl.register(f64, 4)
        wl.global_to_register(x, r, slice=4)
        wl.register_to_global(r, y, slice=4)

    def moved(x: wl.Global[f32, 512], y: wl.Global[f32, 512]):
        first = 2 * wl.block_id()
        r = wl.register(f32, 2)
        for _ in range(2):
            first = first + 1
        wl.global_to_register(x, r, offset=first, slice=2, size=500)
        wl.register_to_global(r, y, slice=2)

    def shared(x: wl.Global[f32, 512], y: wl.Global[f32, 512]):
        s = wl.shared(f32, 64)
        wl.global_to_shared(x, s, slice=2)
        wl.sync()
        y[wl.thread_id()] = s[wl.thread_id()]

    assert [body(read(kernel).kernel).count("vector") for kernel in (odd, wide, moved, shared)] == [1, 0, 1, 0]


def spec_moved(x, y, n):
    for i in range(n):
        y[i] = x[i]


def test_a_kernel_with_slices_computes_and_is_proved_for_every_size():
    """Also where the array ends inside a slice; the proof says where the arrays must begin."""

    def kernel(x: wl.Global[f32, n], y: wl.Global[f32, n]):
        first = 4 * (wl.global_id() - wl.lane_id())
        r = wl.register(f32, 4)
        wl.global_to_register(x, r, offset=first, slice=4)
        wl.register_to_global(r, y, offset=first, slice=4)

    sketch = read(kernel, grid=wl.ceil_div(n, 128), spec=spec_moved, complete_at={"n": 128})
    found = wl.complete(sketch).report
    assert found.verdict == "proved" and found.domain.endswith("x and y begin at multiples of 16 bytes")
    assert "every n from 0" in found.domain
    for size in (1, 127, 129, 130):
        arrays = {"x": np.arange(size, dtype=np.float32), "y": np.zeros(size, np.float32)}
        ran = run(sketch.kernel, arrays, {"n": size})
        assert not ran.diagnostics and (ran.arrays["y"] == arrays["x"]).all()


def test_a_hole_in_the_bound_of_a_slice_keeps_it_as_it_was():
    def kernel(x: wl.Global[f32, n], y: wl.Global[f32, 64]):
        r = wl.register(f32, 2)
        wl.global_to_register(x, r, slice=2, shuffle=shuffled)
        wl.register_to_global(r, y, slice=2)

    assert body(read(kernel, complete_at={"n": 64}).kernel).count("vector") == 1


def test_shared_memory_by_the_block_with_a_ragged_end():
    def kernel(x: wl.Global[f32, 500], y: wl.Global[f32, 500]):
        s = wl.shared(f32, 130)
        r = wl.register(f32, 2)
        wl.global_to_shared(x, s, offset=10)
        wl.sync()
        wl.shared_to_register(s, r, offset=wl.warp_id() * 32, rounds=2)
        wl.register_to_shared(r, s, rounds=1)
        wl.shared_to_global(s, y, rounds=1)

    assert body(read(kernel, block=64).kernel) == text("""
        s = shared(f32, 130)
        r = register(f32, 2)
        for round in range(3, note='wl.global_to_shared(x, s, offset=10)'):
            if round * 64 + thread_id < 130:
                s[round * 64 + thread_id] = x[10 + (round * 64 + thread_id)]
        sync()
        for round_2 in range(2, note='wl.shared_to_register(s, r, offset=wl.warp_id() * 32, rounds=2)'):
            r[round_2] = s[thread_id // 32 * 32 + (round_2 * 32 + thread_id % 32)]
        for round_3 in range(1, note='wl.register_to_shared(r, s, rounds=1)'):
            s[thread_id % 32] = r[0]
        for round_4 in range(1, note='wl.shared_to_global(s, y, rounds=1)'):
            y[thread_id] = s[thread_id]
    """)


def test_shared_tiles_by_a_two_dimensional_block():
    def kernel(x: wl.Global[f32, 32, 32], y: wl.Global[f32, 1]):
        s = wl.shared(f32, 10, 10)
        wl.global_to_shared(x, s, offset=(8, 16))

    assert body(read(kernel, block=(8, 8)).kernel) == text("""
        s = shared(f32, 10, 10)
        for round_y in range(2, note='wl.global_to_shared(x, s, offset=(8, 16))'):
            for round_x in range(2):
                if round_y * 8 + thread_id("y") < 10 and round_x * 8 + thread_id < 10:
                    s[round_y * 8 + thread_id("y"), round_x * 8 + thread_id] = \
x[8 + (round_y * 8 + thread_id("y")), 16 + (round_x * 8 + thread_id)]
    """)
