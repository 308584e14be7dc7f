"""Specs as sequential kernels."""

import pytest
from tests.sketch.helpers import body, problem, read, text

import warploom as wl
from warploom import f32, i32
from warploom.core import UnsupportedError, UserError
from warploom.ir import IndexConst
from warploom.sketch import parse_spec

n = wl.size("n")
K = 3


def kernel(x: wl.Global[f32, n + 2], w: wl.Constant[f32, K], y: wl.Global[f32, n], z: wl.Global[i32, 4, 4]):
    y[0] = x[0] * w[0]
    z[0, 0] = wl.literal(i32, 0)


KERNEL = read(kernel, grid=wl.ceil_div(n, 32)).kernel


def test_loops_over_sizes():
    def spec(n, y, w, x):
        """Computes a sum."""
        for i in range(n):
            for k in range(K):
                y[i] += w[k] * x[i + k]

    sequential = parse_spec(spec, KERNEL)
    assert body(sequential) == text("""
        for i in range(n):
            for k in range(3):
                y[i] = y[i] + w[k] * x[i + k]
    """)
    assert (sequential.name, sequential.params, sequential.sizes) == ("spec", KERNEL.params, ("n",))
    assert (sequential.block, sequential.grid, sequential.warp_size) == ((1, 1, 1), (IndexConst(1),) * 3, 1)


def test_local_scalars_start_as_numbers():
    def spec(x, y, z):
        for i in range(len(y)):
            total = 0
            best, count = x[i], 0
            for k in range(min(i + 1, 3)):
                total += x[i + k] / 2
                best = max(best, x[i + k])
                count = count + 1
            y[i] = total if i > 0 else best
            z[count, 0] = i * z[0][1]

    assert body(parse_spec(spec, KERNEL)) == text("""
        for i in range(n):
            total: f32 = f32(0.0)
            best: f32 = x[i]
            count = 0
            for k in range(min(i + 1, 3)):
                total: f32 = total + x[i + k] / f32(2.0)
                best: f32 = max(best, x[i + k])
                count = count + 1
            y[i] = total if i > 0 else best
            z[count, 0] = from_index(i32, i) * z[0, 1]
    """)


def half(v):
    return v / 2


def test_conditions_shapes_and_helpers():
    def spec(x, y):
        for i in range(0, y.shape[0], 2):
            if i == 0 or i % 3 == 1:
                y[i] = half(x[i])
            else:
                y[i] = -x[i - 1]

    assert body(parse_spec(spec, KERNEL)) == text("""
        for i in range(0, n, 2):
            if i == 0 or i % 3 == 1:
                v: f32 = x[i]
                y[i] = v / f32(2.0)
            else:
                y[i] = -x[i - 1]
    """)


def test_what_specs_cannot_say():
    def spec(x, y):
        y[0] = sum(x[i] for i in range(3))
        y[1] = x[wl.lane_id()]
        while True:
            pass

    with pytest.raises(UnsupportedError) as caught:
        parse_spec(spec, KERNEL)
    assert [d.span.line - spec.__code__.co_firstlineno for d in caught.value.diagnostics] == [1, 2, 3]
    assert "wl.lane_id is not part of the language of specs" in str(caught.value)


def test_spec_and_sketch_must_fit():
    def spec(x, q, y):
        x[0] = y[0]
        y[0] = x[0] if x[0] < 3 else y[0]

    with pytest.raises(UserError) as caught:
        parse_spec(spec, KERNEL)
    assert not isinstance(caught.value, UnsupportedError)
    assert [d.code for d in caught.value.diagnostics] == ["SPEC_MISMATCH", "INDEX_FROM_DATA", "SPEC_MISMATCH"]
    assert "parameter 'q' of the spec is neither an array nor a size of the sketch (those are: x, w, y, z, n)" in str(
        caught.value
    )
    assert "the spec stores to 'x', which the sketch 'kernel' never stores to" in str(caught.value)


def test_a_while_in_a_spec_is_refused_before_it_runs():
    def spec(x, y):
        for i in range(32):
            while True:
                y[i] = x[i]

    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_id()] = x[wl.lane_id()]

    found = problem(kernel, spec=spec)
    assert (found.code, found.fix) == ("UNBOUNDED_LOOP", "Use for ... in range(...).")
    assert found.message == "expected loops with a bound, got a `while`"
    assert found.span.line == spec.__code__.co_firstlineno + 2
