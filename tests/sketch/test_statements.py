"""Ids, arrays, scalars, loops, conditions, vectors, shuffles, accumulators."""

import math

import numpy as np
from tests.sketch.helpers import body, read, text

import warploom as wl
from warploom import f32, i32, int2, u32
from warploom import shfl as exchange

LANES = 32


def test_ids_in_one_warp():
    def kernel(y: wl.Global[i32, 32]):
        lane = wl.lane_id()
        y[lane] = wl.cast(i32, wl.warp_id() + wl.global_id())

    assert body(read(kernel).kernel) == text("""
        lane = thread_id
        y[lane] = from_index(i32, block_id * block_dim + thread_id)
    """)


def test_ids_in_three_dimensions():
    def kernel(y: wl.Global[i32, 256]):
        lane = wl.lane_id()
        row, col = wl.lane_grid(8, 4)
        y[lane + row + col + wl.thread_id("z") + wl.block_dim("y") + wl.grid_dim("x")] = wl.literal(i32, 1)

    assert body(read(kernel, block=(4, 8, 2)).kernel) == text("""
        lane = ((thread_id("z") * 8 + thread_id("y")) * 4 + thread_id) % 32
        row = lane // 4
        col = lane % 4
        y[lane + row + col + thread_id("z") + block_dim("y") + grid_dim] = i32(1)
    """)


def test_constants_assigned_once_are_not_variables():
    def kernel(y: wl.Global[f32, 32]):
        rows = 2 * LANES // 32
        r = wl.register(f32, rows, fill=0)
        y[wl.lane_id()] = r[rows - 1]

    assert body(read(kernel).kernel) == text("""
        r = register(f32, 2)
        for i in range(2, note='fill r'):
            r[i] = f32(0.0)
        y[thread_id] = r[1]
    """)


def test_names_survive_the_assignment_of_a_tuple():
    def kernel(y: wl.Global[f32, 32]):
        first, (second, third) = wl.register(f32, 1), [wl.register(f32, 2), wl.shared(f32, 3)]
        second[0] = wl.literal(f32, 1)
        first[0] = second[0]
        third[0] = first[0]
        y[wl.lane_id()] = third[0]

    assert body(read(kernel).kernel) == text("""
        first = register(f32, 1)
        second = register(f32, 2)
        third = shared(f32, 3)
        second[0] = f32(1.0)
        first[0] = second[0]
        third[0] = first[0]
        y[thread_id] = third[0]
    """)


def test_shared_fill_by_all_threads():
    def kernel(y: wl.Global[f32, 32]):
        s = wl.shared(f32, 5, 8, fill=1.5)
        wl.sync()
        y[wl.lane_id()] = s[4, 7]

    assert body(read(kernel).kernel) == text("""
        s = shared(f32, 5, 8)
        for round in range(2, note='fill s'):
            if round * 32 + thread_id < 40:
                s[(round * 32 + thread_id) // 8, (round * 32 + thread_id) % 8] = f32(1.5)
        sync()
        y[thread_id] = s[4, 7]
    """)


def test_scalars_loops_and_branches():
    def kernel(x: wl.Global[f32, 40], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        v = x[lane] * 2
        step = lane
        for k in range(1, 8, 3):
            for j in range(k):
                step = step + j
            if k > 4 and not lane == 3:  # noqa: SIM201
                v += x[lane + k]
            elif lane < k:
                v = -v
            else:
                v = max(v, 0.5) if lane != 0 else x[0]
        y[lane] = v
        y[lane] += wl.cast(f32, step)

    assert body(read(kernel).kernel) == text("""
        lane = thread_id
        v: f32 = x[lane] * f32(2.0)
        step = lane
        for k in range(1, 8, 3):
            for j in range(k):
                step = step + j
            if k > 4 and not lane == 3:
                v: f32 = v + x[lane + k]
            else:
                if lane < k:
                    v: f32 = -v
                else:
                    v: f32 = max(v, f32(0.5)) if lane != 0 else x[0]
        y[lane] = v
        y[lane] = y[lane] + from_index(f32, step)
    """)


def test_swap_keeps_old_values():
    def kernel(y: wl.Global[i32, 32]):
        a = wl.lane_id() + 1
        b = a * 2
        a, b = b, a
        y[a] = wl.cast(i32, b)

    assert body(read(kernel).kernel) == text("""
        a = thread_id + 1
        b = a * 2
        value = b
        value_2 = a
        a = value
        b = value_2
        y[a] = from_index(i32, b)
    """)


def test_nested_loops_of_one_name_and_names_used_again():
    def kernel(y: wl.Global[i32, 32]):
        for k in range(2):
            for k in range(3):
                y[k] = wl.literal(i32, 0)
        for k in range(4):
            y[k] = wl.literal(i32, 1)

    assert body(read(kernel).kernel) == text("""
        for k in range(2):
            for k_2 in range(3):
                y[k_2] = i32(0)
        for k in range(4):
            y[k] = i32(1)
    """)


def test_chained_comparison_min_max_and_shape():
    def kernel(x: wl.Global[f32, 7, 32], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        if 0 <= lane - 1 < x.shape[1] - 4:
            y[lane] = x[min(lane, len(x) - 1), max(lane - 1, 0, lane // 2)]

    assert body(read(kernel).kernel) == text("""
        lane = thread_id
        if 0 <= lane - 1 and lane - 1 < 28:
            y[lane] = x[min(lane, 6), max(max(lane - 1, 0), lane // 2)]
    """)


def test_rows_of_arrays():
    def kernel(x: wl.Global[f32, 2, 32], y: wl.Global[f32, 2, 32]):
        row = x[1]
        y[0][wl.lane_id()] = row[wl.lane_id()]

    assert body(read(kernel).kernel) == "y[0, thread_id] = x[1, thread_id]"


def test_vectors_and_shuffles():
    def kernel(x: wl.Global[int2, 32], y: wl.Global[i32, 32]):
        lane = wl.lane_id()
        v = wl.pack(int2, x[lane].y, 7)
        v = exchange(v, lane + 1)
        w = wl.shfl_xor(wl.shfl_up(v.x, 1, 8), 3) + wl.shfl_down(v.y, delta=2, width=16)
        y[lane] = ~w & 255

    assert body(read(kernel).kernel) == text("""
        lane = thread_id
        v: int2 = pack(int2, x[lane].y, i32(7))
        v: int2 = shfl(v, lane + 1, 32)
        w: i32 = shfl_xor(shfl_up(v.x, 1, 8), 3, 32) + shfl_down(v.y, 2, 16)
        y[lane] = ~w & i32(255)
    """)


def test_warp_size_is_the_default_width():
    def kernel(x: wl.Global[f32, 8], y: wl.Global[f32, 8]):
        y[wl.lane_id()] = wl.shfl(x[wl.lane_id()], wl.warp_size() - 1)

    assert body(read(kernel, block=8, warp_size=4).kernel) == "y[thread_id % 4] = shfl(x[thread_id % 4], 3, 4)"


def test_accumulators():
    def kernel(x: wl.Global[f32, 64], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        acc = wl.accumulator(f32, op="min", inner=("max", "+", "*"), finalize=lambda s: s / 9 + 1)
        many = wl.accumulator(f32, shape=(2, 3), init=1)
        for k in range(2):
            acc.add([x[lane], [x[k], 2]], x[lane + k], when=lane < k)
            many[k, 1].add(x[lane], wl.shfl(x[lane], k), when=k == lane)
        y[lane] = acc.value() + many[1, 1].value()

    kernel_ir = read(kernel).kernel
    assert body(kernel_ir) == text("""
        lane = thread_id
        acc = accumulator(f32, op='min', init='inf', finalize=__state / f32(9.0) + f32(1.0))
        many = accumulator(f32, 2, 3, op='+', init=1.0, finalize=__state)
        for k in range(2):
            acc.add(max(x[lane] + x[k] * f32(2.0), x[lane + k]), when=lane < k)
            term: f32 = x[lane] * shfl(x[lane], k, 32)
            many[k, 1].add(term, when=k == lane)
        y[lane] = acc.value() + many[1, 1].value()
    """)


def test_identities_of_operators():
    def kernel(y: wl.Global[u32, 32]):
        low = wl.accumulator(u32, op="min")
        both = wl.accumulator(u32, op="&")
        many = wl.accumulator(i32, op="max")
        y[0] = low.value() + both.value() + wl.cast(u32, many.value())

    starts = [s.init for s in read(kernel).kernel.body[:3]]
    assert starts == [2**32 - 1, 2**32 - 1, -(2**31)]


plus7 = wl.operator("plus7", lambda a, b: (a + b) & 7, identity=0)


def test_declared_operator():
    def kernel(x: wl.Global[u32, 32], y: wl.Global[u32, 32]):
        acc = wl.accumulator(u32, op=plus7)
        acc.add(x[0])
        y[0] = plus7(acc.value(), 3)

    sketch = read(kernel)
    assert body(sketch.kernel).splitlines()[0] == "acc = accumulator(u32, op='plus7', init=0, finalize=__state)"
    (operator,) = sketch.kernel.operators
    assert (operator.name, operator.identity) == ("plus7", 0)
    assert operator.body.op == "&"


def test_lambdas_on_one_line_are_told_apart():
    first, second = wl.operator("p", lambda a, b: a + b, 0), wl.operator("q", lambda a, b: a * b, 1)

    def kernel(y: wl.Global[i32, 1]):
        p = wl.accumulator(i32, op=first)
        q = wl.accumulator(i32, op=second)
        y[0] = p.value() + q.value()

    assert [o.body.op for o in read(kernel).kernel.operators] == ["+", "*"]


def test_run_time_sizes_in_order_and_uses_of_parameters():
    h, w, k = wl.size("h"), wl.size("w"), wl.size("k")

    def kernel(x: wl.Global[f32, h + 2, w], c: wl.Constant[f32, 3], y: wl.Global[f32, w], z: wl.Global[f32, 1]):
        z[0] += c[0] + x[0, k]
        y[0] = c[1]

    kernel_ir = read(kernel, grid=(wl.ceil_div(w, 32), h)).kernel
    assert kernel_ir.sizes == ("h", "w", "k")
    assert [(p.name, p.is_input, p.is_output) for p in kernel_ir.params] == [
        ("x", True, False),
        ("c", True, False),
        ("y", False, True),
        ("z", True, True),
    ]


def test_python_numbers():
    weights = (0.25, np.float32(0.5))
    first = np.int64(3)

    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[first] = x[0] * (1 / 4) + weights[1] - math.pi * 2

    assert body(read(kernel).kernel) == f"y[3] = x[0] * f32(0.25) + f32(0.5) - f32({math.pi * 2})"
