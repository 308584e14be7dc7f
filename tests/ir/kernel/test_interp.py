"""The interpreter's results against plain NumPy and against loops over threads in Python."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from tests.ir.random_kernels import index_exprs

import warploom.ir as ir
from warploom.core import UserError, i64

from .test_text import outcome, python_value


def run(text, arrays, sizes=None, **options):
    return ir.run(ir.parse_kernel(text), arrays, sizes, **options)


@settings(max_examples=150, deadline=None)
@given(index_exprs(args=False))
def test_an_index_of_every_thread_is_what_python_computes(expr):
    kernel = ir.parse_kernel("""
@kernel(block=(3, 2, 1), grid=(2, 1, 2), warp_size=4)
def k(y: Global[i64, 4, 6] | out, n: size):
    y[block_id + 2 * block_id("z"), thread_id + 3 * thread_id("y")] = i64(0)
""")
    (store,) = kernel.body
    place = store.index
    result = ir.FromIndex(ir.IndexBinary("%", expr, ir.IndexConst(1009)), i64)
    sets = (
        ir.SetIndex("i", ir.IndexBinary("-", ir.Builtin("thread_id", 0), ir.IndexConst(1))),
        ir.SetIndex("j", ir.IndexConst(5)),
    )
    kernel = ir.Kernel("k", kernel.params, ("n",), kernel.block, kernel.grid, 4, (*sets, ir.Store("y", place, result)))
    try:
        got = ir.run(kernel, {}, {"n": 7})
    except UserError as error:
        assert error.diagnostics[0].code == "INDEX_OVERFLOW"
        return
    fails = False
    for block in range(4):
        for thread in range(6):
            x, y, bx, bz = thread % 3, thread // 3, block % 2, block // 2
            env = {"i": x - 1, "j": 5, "n": 7, "thread_id0": x, "thread_id1": y, "thread_id2": 0}
            env |= {"block_id0": bx, "block_id1": 0, "block_id2": bz, "block_dim0": 3, "block_dim1": 2, "block_dim2": 1}
            env |= {"grid_dim0": 2, "grid_dim1": 1, "grid_dim2": 2}
            expected = outcome(lambda env=env: python_value(expr, env) % 1009)
            if expected is ZeroDivisionError:
                fails = True
            else:
                assert got.arrays["y"][block, thread] == expected[0]
    assert [d.code for d in got.diagnostics] == ["INDEX_DIVISION_BY_ZERO"] * fails


CONV = """
@kernel(block=(64, 1, 1), grid=((n + 63) // 64, 1, 1), warp_size=32)
def conv1d(x: Global[f32, n + 2], w: Constant[f32, 3], y: Global[f32, n] | out, n: size):
    inp = register(f32, 2)
    lane = thread_id % 32
    first = block_id * 64 + thread_id - lane
    for r in range(2):
        inp[r] = x[first + 32 * r + lane] if first + 32 * r + lane < n + 2 else f32(0)
    out = accumulator(f32, op='+', init=0, finalize=__state)
    for k in range(3):
        got: f32 = shfl(inp[1 if lane < k else 0], lane + k, 32)
        out.add(w[k] * got)
    if first + lane < n:
        y[first + lane] = out.value()
"""


@pytest.mark.parametrize("n", [0, 1, 31, 64, 1000])
def test_convolution_with_a_tail(n):
    rng = np.random.default_rng(n)
    x, w = rng.random(n + 2, np.float32), rng.random(3, np.float32)
    result = run(CONV, {"x": x, "w": w}, {"n": n})
    assert not result.diagnostics
    np.testing.assert_allclose(result.arrays["y"], sum(w[k] * x[k : k + n] for k in range(3)), rtol=1e-6)
    assert result.counts.executed == (3 if n else 0)


def test_a_large_image_takes_seconds():
    text = """
@kernel(block=(256, 1, 1), grid=(64, 16, 1), warp_size=32)
def conv2d(x: Global[f32, 518, 518], w: Constant[f32, 7, 7], y: Global[f32, 512, 512] | out):
    t = register(f32, 3, 3)
    row = thread_id % 32 // 4
    col = thread_id % 4
    y0 = block_id * 8
    x0 = (block_id("y") * 8 + thread_id // 32) * 4
    for r in range(3):
        for c in range(3):
            t[r, c] = x[y0 + 8 * r + row, x0 + 4 * c + col] if y0 + 8 * r + row < 518 and x0 + 4 * c + col < 518 else f32(0)
    out = accumulator(f32, op='+', init=0, finalize=__state)
    for i in range(7):
        for j in range(7):
            part = (0 if col >= j else 1) if j < 4 else (1 if col >= j - 4 else 2)
            got: f32 = shfl(t[1 if row < i else 0, part], (row + i) % 8 * 4 + (col + j) % 4, 32)
            out.add(w[i, j] * got)
    y[y0 + row, x0 + col] = out.value()
"""
    rng = np.random.default_rng(0)
    x, w = rng.random((518, 518), np.float32), rng.random((7, 7), np.float32)
    start = time.process_time()
    result = run(text, {"x": x, "w": w})
    assert time.process_time() - start < 10
    assert not result.diagnostics
    expected = sum(w[i, j].astype(np.float64) * x[i : i + 512, j : j + 512] for i in range(7) for j in range(7))
    np.testing.assert_allclose(result.arrays["y"], expected, rtol=1e-5)


def shuffle_by_definition(kind, lane, operand, width, lanes=32):
    """CUDA's words: segments of `width` lanes, each counting from 0."""
    base = lane // width * width
    if kind == "idx":
        return base + operand % width
    if kind == "xor":
        other = lane ^ operand
        return other if other < base + width else lane
    other = lane - operand if kind == "up" else lane + operand
    return other if base <= other < base + width else lane


@pytest.mark.parametrize("kind", ["idx", "up", "down", "xor"])
@pytest.mark.parametrize("width", [4, 16, 32])
@pytest.mark.parametrize("operand", ["3", "thread_id * 7 % 32", "(thread_id + block_id) * 5 % 16"])
def test_shuffles(kind, width, operand):
    word = ir.kernel.text.SHUFFLES[kind]
    text = f"""
@kernel(block=(64, 1, 1), grid=(2, 1, 1), warp_size=32)
def k(x: Global[i32, 128], y: Global[i32, 128] | out):
    y[block_id * 64 + thread_id] = {word}(x[block_id * 64 + thread_id], {operand}, {width})
"""
    x = np.random.default_rng(1).integers(-100, 100, 128, np.int32)
    result = run(text, {"x": x})
    assert not result.diagnostics
    for g in range(128):
        block, thread = divmod(g, 64)
        number = eval(operand, {"thread_id": thread, "block_id": block})
        source = shuffle_by_definition(kind, thread % 32, number, width)
        assert result.arrays["y"][g] == x[block * 64 + thread // 32 * 32 + source]


def test_divergent_code_keeps_each_threads_values():
    text = """
@kernel(block=(8, 1, 1), grid=(3, 1, 1), warp_size=8)
def k(x: Global[i32, 24], y: Global[i32, 24] | out):
    g = block_id * 8 + thread_id
    v: i32 = x[g]
    i = 0
    r = register(i32, 3)
    for k in range(3):
        r[k] = i32(0)
    if thread_id % 2 == 0:
        v: i32 = v + i32(100)
        i = thread_id
        if block_id == 1:
            r[thread_id % 3] = v
        else:
            i = i + 1
    else:
        v: i32 = -v
    y[g] = v + from_index(i32, i) + r[0] + r[i % 3] * i32(2)
"""
    x = np.arange(24, dtype=np.int32) * 3
    expected = []
    for g in range(24):
        b, t = divmod(g, 8)
        v, i, r = int(x[g]), 0, [0, 0, 0]
        if t % 2 == 0:
            v, i = v + 100, t
            if b == 1:
                r[t % 3] = v
            else:
                i += 1
        else:
            v = -v
        expected.append(v + i + r[0] + 2 * r[i % 3])
    result = run(text, {"x": x})
    assert not result.diagnostics
    assert result.arrays["y"].tolist() == expected


def test_shared_memory_transposes_a_tile():
    text = """
@kernel(block=(16, 4, 1), grid=(2, 3, 1), warp_size=32)
def transpose(x: Global[u8, 48, 32], y: Global[u8, 32, 48] | out):
    tile = shared(u8, 16, 17)
    for r in range(0, 16, 4):
        tile[thread_id("y") + r, thread_id] = x[block_id("y") * 16 + thread_id("y") + r, block_id * 16 + thread_id]
    sync()
    for r in range(0, 16, 4):
        y[block_id * 16 + thread_id("y") + r, block_id("y") * 16 + thread_id] = tile[thread_id, thread_id("y") + r]
"""
    x = np.random.default_rng(2).integers(0, 256, (48, 32), np.uint8)
    result = run(text, {"x": x})
    assert not result.diagnostics
    assert (result.arrays["y"] == x.T).all()
    assert result.counts.syncs == 6


def test_chunks_of_blocks_see_the_same_memory(monkeypatch):
    n = 1000
    x, w = np.random.default_rng(3).random(n + 2, np.float32), np.ones(3, np.float32)
    whole = run(CONV, {"x": x, "w": w}, {"n": n})
    monkeypatch.setattr(ir.kernel.interp, "CHUNK_THREADS", 100)
    parts = run(CONV, {"x": x, "w": w}, {"n": n})
    assert (parts.arrays["y"] == whole.arrays["y"]).all()
    assert parts.counts == whole.counts


def test_vectors_move_as_units():
    text = """
@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=8)
def k(x: Global[int2, 8], y: Global[int4, 8] | out, z: Global[i32, 8] | out):
    v: int2 = shfl(x[thread_id], 7 - thread_id, 8)
    y[thread_id] = pack(int4, v.x, v.y, v.x * i32(2), i32(7)) if thread_id < 6 else int4(5)
    z[thread_id] = x[thread_id].y
"""
    x = np.arange(16, dtype=np.int32).reshape(8, 2)
    result = run(text, {"x": x})
    back = x[::-1]
    expected = np.stack([back[:, 0], back[:, 1], back[:, 0] * 2, np.full(8, 7, np.int32)], axis=1)
    expected[6:] = 5
    assert (result.arrays["y"] == expected).all()
    assert (result.arrays["z"] == x[:, 1]).all()
    assert result.counts.shuffles == 2


def test_arrays_of_accumulators_nested_operators_and_finalize():
    text = """
@operator('both', identity=-1, body=__a & __b)
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[i32, 4, 8], y: Global[i32, 3, 4] | out):
    acc = accumulator(i32, 2, op='max', init=-5, finalize=__state + i32(1))
    all_ = accumulator(i32, op='both', init=-1, finalize=__state)
    for j in range(8):
        acc[(j + thread_id) % 2].add(x[thread_id, j] * i32(2), when=j != thread_id)
        all_.add(both(x[thread_id, j], i32(-8), i32(-4)))
    y[0, thread_id] = acc[0].value()
    y[1, thread_id] = acc[1].value()
    y[2, thread_id] = all_.value()
"""
    x = np.random.default_rng(4).integers(-9, 9, (4, 8), np.int32)
    result = run(text, {"x": x})
    for t in range(4):
        state = [-5, -5]
        for j in range(8):
            if j != t:
                state[(j + t) % 2] = max(state[(j + t) % 2], 2 * int(x[t, j]))
        assert result.arrays["y"][:2, t].tolist() == [state[0] + 1, state[1] + 1]
        assert result.arrays["y"][2, t] == np.bitwise_and.reduce(x[t]) & -8
    assert result.counts.accumulates == 4 * 7 + 4 * 8
    assert result.counts.executed == 15


def test_a_spec_is_a_kernel_of_one_thread():
    text = """
@kernel(block=(1, 1, 1), grid=(1, 1, 1), warp_size=1)
def spec(x: Global[i32, n], y: Global[i32, n] | inout, n: size):
    for i in range(n):
        for k in range(i):
            y[i] = y[i] + x[k]
"""
    x = np.arange(10, dtype=np.int32)
    result = run(text, {"x": x, "y": np.full(10, 2, np.int32)}, {"n": 10})
    assert not result.diagnostics
    assert result.arrays["y"].tolist() == [2 + sum(range(i)) for i in range(10)]


COPY = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[i32, n], y: Global[i32, n] | out, n: size):
    y[thread_id] = x[thread_id]
"""


@pytest.mark.parametrize(
    ("arrays", "sizes", "code"),
    [
        ({"x": np.zeros(4, np.int32)}, {}, "SIZE_MISSING"),
        ({"x": np.zeros(4, np.int32)}, {"n": -1}, "SIZE_MISSING"),
        ({}, {"n": 4}, "ARRAY_MISSING"),
        ({"x": np.zeros(5, np.int32)}, {"n": 4}, "SHAPE_MISMATCH"),
        ({"x": np.zeros(4, np.int64)}, {"n": 4}, "DTYPE_MISMATCH"),
        ({"x": np.zeros(4, np.int32), "q": np.zeros(1)}, {"n": 4}, "UNKNOWN_ARRAY"),
    ],
)
def test_bad_arguments_are_user_errors(arrays, sizes, code):
    with pytest.raises(UserError) as caught:
        run(COPY, arrays, sizes)
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_arrays_without_elements_are_arrays():
    empty = np.zeros(0, np.int32)
    text = COPY.replace("    y[", "    if thread_id < n:\n        y[")
    assert run(text, {"x": empty}, {"n": 0}).arrays["y"].shape == (0,)


def test_arguments_are_left_as_they_are():
    y = np.full(4, 9, np.int32)
    result = run(COPY, {"x": np.arange(4, dtype=np.int32), "y": y}, {"n": 4})
    assert result.arrays["y"].tolist() == [0, 1, 2, 3]
    assert (y == 9).all()


def test_a_kernel_with_holes_is_refused():
    text = "@hole('h', kind='const', args=(), constants=(1, 2))" + COPY.replace("x[thread_id]", "x[hole('h')]")
    with pytest.raises(UserError, match=r"error\[HOLE_UNFILLED\]: expected a kernel without holes, got hole h"):
        run(text, {"x": np.zeros(4, np.int32)}, {"n": 4})
