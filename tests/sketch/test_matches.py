"""Matches of a warp: their values by plain loops, what is proved of them, what is printed, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.sketch.helpers import problem

import warploom as wl
from warploom import i32, i64, u32
from warploom.core import DType, UserError, to_numpy
from warploom.gpu import SketchCalls, compile_cuda, cuda_source, read_back, toolchain_available
from warploom.ir import kernel_text, parse_kernel, run, verify
from warploom.ptx import launch
from warploom.synth.lift.lift import lift
from warploom.synth.proof.check import check
from warploom.synth.proof.prove import prove
from warploom.terms import algebra_for

n = wl.size("n")
MACHINE = algebra_for(u32)


def matching(dtype: DType) -> wl.Sketch:
    @wl.sketch(block=64)
    def kernel(x: wl.Global[dtype, 64], y: wl.Global[u32, 2, 64]):
        i = wl.thread_id()
        y[0, i] = wl.match_any(x[i])
        y[1, i] = wl.match_all(x[i])

    return kernel


def expected(x: np.ndarray) -> np.ndarray:
    """By plain loops."""
    found = np.zeros((2, 64), np.uint32)
    for i in range(64):
        lanes = range(i // 32 * 32, i // 32 * 32 + 32)
        found[0, i] = sum(1 << (k % 32) for k in lanes if x[k] == x[i])
        found[1, i] = (2**32 - 1) * all(x[k] == x[i] for k in lanes)
    return found


@pytest.mark.parametrize("dtype", [i32, u32, i64])
def test_the_interpreter_the_printed_text_and_the_compiled_kernel_do_what_plain_loops_do(dtype: DType) -> None:
    kernel = matching(dtype).kernel
    assert parse_kernel(kernel_text(kernel)) == kernel
    rng = np.random.default_rng(0)
    source = cuda_source(kernel)
    assert "__match_any_sync(0xffffffffu" in source.text
    assert "__match_all_sync(mask, value, &is_same)" in source.text
    assert read_back(source.text, kernel).ok
    assert not read_back(source.text.replace("__match_any_sync(0xffffffffu", "__match_any_sync(0xfffffffeu"), kernel).ok
    with pytest.raises(UserError, match="READ_BACK_SYNTAX"):
        read_back(source.text.replace("&is_same", "is_same"), kernel)
    ptx = compile_cuda(source.text).ptx if toolchain_available() else None
    for x in (rng.integers(0, 5, 64), np.repeat([3, 2**30], 32), np.repeat([7, 8, 7], [32, 31, 1])):
        x = x.astype(to_numpy(dtype)) * (1 << 33 if dtype == i64 else 1)
        found = run(kernel, {"x": x}, {})
        assert not found.diagnostics
        np.testing.assert_array_equal(found.arrays["y"], expected(x))
        if ptx is not None:
            done = launch(ptx, source.name, grid=1, block=64, args=[x, np.zeros((2, 64), np.uint32)])
            assert done.status == "finished" and not done.findings
            np.testing.assert_array_equal(done.arrays[1], expected(x))


def groups_spec(x, group):
    for w in range(len(x) // 8):
        for i in range(8):
            for j in range(8):
                group[8 * w + i] |= wl.holds(x[8 * w + j], "==", x[8 * w + i]) << j


def groups_body(x: wl.Global[i32, 8 * n], group: wl.Global[u32, 8 * n]):
    i = wl.global_id()
    group[i] = wl.match_any(x[i])


def of_the_next(x: wl.Global[i32, 8 * n], group: wl.Global[u32, 8 * n]):
    i = wl.global_id()
    group[i] = wl.shfl(wl.match_any(x[i]), (wl.lane_id() + 1) % 8, 8)


def unanimous(x: wl.Global[i32, 8 * n], group: wl.Global[u32, 8 * n]):
    i = wl.global_id()
    group[i] = wl.match_all(x[i])


def _sketch(body: Any, spec: Any = groups_spec) -> wl.Sketch:
    return wl.sketch(spec=spec, block=8, grid=n, warp_size=8)(body)


@pytest.mark.parametrize(("body", "verdict"), [(groups_body, "proved"), (of_the_next, "refuted"), (unanimous, "refuted")])
def test_lanes_of_equal_values(body: Any, verdict: str) -> None:
    kernel = _sketch(body).kernel
    proof = prove(kernel, groups_spec, {"n": 2}, MACHINE)
    assert proof.verdict == verdict, proof.reason
    assert check(kernel, groups_spec, {"n": 2}).verdict == ("tested" if verdict == "proved" else "refuted")


def all_spec(x, group):
    for w in range(len(x) // 8):
        for i in range(8):
            same = wl.holds(x[8 * w], "==", x[8 * w])
            for j in range(8):
                same = same & wl.holds(x[8 * w + j], "==", x[8 * w])
            for j in range(8):
                group[8 * w + i] |= same << j


def test_a_match_of_all_lanes_is_proved() -> None:
    kernel = _sketch(unanimous, all_spec).kernel
    proof = prove(kernel, all_spec, {"n": 2}, MACHINE)
    assert proof.verdict == "proved", proof.reason
    assert prove(_sketch(groups_body, all_spec).kernel, all_spec, {"n": 2}, MACHINE).verdict == "refuted"
    assert check(kernel, all_spec, {"n": 2}).verdict == "tested"


def test_a_match_is_lifted_to_every_size() -> None:
    sketch = _sketch(groups_body)
    assert lift(sketch, sketch.kernel).verdict == "proved"


def test_a_sketch_with_a_match_is_completed() -> None:
    def spec(x, group):
        for i in range(32):
            for j in range(32):
                group[i] |= wl.holds(x[j], "==", x[i]) << j

    @wl.sketch(spec=spec, block=32)
    def kernel(x: wl.Global[i32, 32], group: wl.Global[u32, 32]):
        group[wl.thread_id()] = wl.match_any(x[wl.thread_id() ^ wl.const(1, 0, name="which")])

    found = wl.complete(kernel)
    assert found.verdict == "proved" and found.holes == {"which": "0"}, found.reason
    x = np.arange(32, dtype=np.int32) // 3
    np.testing.assert_array_equal(
        SketchCalls(found.kernel, lambda: cuda_source(found.kernel))((x,), {}), expected(np.tile(x, 2))[0, :32]
    )


def divergent(x: wl.Global[i32, 32], y: wl.Global[u32, 32]):
    i = wl.thread_id()
    if i < 20:
        y[i] = wl.match_any(x[i])


def narrow(x: wl.Global[wl.f32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.match_any(x[wl.thread_id()])


def of_index(x: wl.Global[i32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.match_all(wl.thread_id())


def test_what_is_refused() -> None:
    kernel = wl.sketch(block=32)(divergent).kernel
    assert [d.code for d in run(kernel, {"x": np.zeros(32, np.int32)}, {}).diagnostics] == ["VOTE_INACTIVE"]
    with pytest.raises(UserError, match="VOTE_DIVERGENT"):
        cuda_source(kernel)
    assert "expected a word of 32 or 64 bits, got" in problem(narrow, block=32).message
    assert "expected a word of 32 or 64 bits, got" in problem(of_index, block=32).message
    assert problem(groups_body, block=20, warp_size=8).code == "VOTE_LANES"
    text = kernel_text(matching(i32).kernel)
    with pytest.raises(UserError, match="expected an integer of 32 or 64 bits to match, got f32"):
        verify(parse_kernel(text.replace("i32", "f32")))
