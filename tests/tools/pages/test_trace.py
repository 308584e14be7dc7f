"""The movement of the paper's figure 1, and of the library's kernels against NumPy."""

import re
from typing import Any

import numpy as np
import pytest
from tests.kernels.solved import completions
from tests.tools.small import COMPLETIONS, KERNEL, SIZES

from warploom.core import UserError
from warploom.ir import HoleArg, parse_kernel
from warploom.kernels import find
from warploom.tools.pages.movement import OTHER_WARP, MemoryCell, RegisterCell, Value, Write, combined, joined, short
from warploom.tools.pages.trace import trace


def test_figure_1() -> None:
    movement = trace(KERNEL, COMPLETIONS, SIZES)
    assert movement.lanes == 4
    assert movement.rows == ("inp[0]", "inp[1]", "sent", "got", "out")
    assert [step.kind for step in movement.steps] == ["load"] * 2 + ["choose", "shuffle", "accumulate"] * 3 + ["store"]
    second = [[write.value.text for write in step.writes] for step in movement.steps if step.loops == (("k", 1),)]
    assert second[0] == ["x[4]", "x[1]", "x[2]", "x[3]"]
    assert second[1] == ["x[1]", "x[2]", "x[3]", "x[4]"]
    assert second[2][0] == "w[0]*x[0] + w[1]*x[1]"
    assert [write.value.text for write in movement.steps[-1].writes][3] == "w[0]*x[3] + w[1]*x[4] + w[2]*x[5]"


def test_arrows_and_hole_values() -> None:
    movement = trace(KERNEL, COMPLETIONS, SIZES)
    shuffle = next(step for step in movement.steps if step.kind == "shuffle" and step.loops == (("k", 2),))
    value = Value("x[2]", ("x[2]",))
    assert shuffle.writes[0] == Write(RegisterCell(0, "got"), value, (RegisterCell(2, "sent"),), 0)
    assert [(found.hole, found.values) for found in shuffle.holes] == [("from", (2, 3, 0, 1))]
    load = movement.steps[1]
    assert load.writes[0].origins == (MemoryCell("x", (4,)),)
    assert (load.writes[3].value.text, load.writes[3].origins) == ("0", ())


def test_limit() -> None:
    movement = trace(KERNEL, COMPLETIONS, SIZES, max_steps=5)
    assert (len(movement.steps), movement.omitted) == (5, 7)


def test_second_block() -> None:
    movement = trace(KERNEL, COMPLETIONS, {"n": 6}, block=(1, 0, 0))
    assert [write.cell for write in movement.steps[-1].writes] == [MemoryCell("y", (4,)), MemoryCell("y", (5,))]


def test_undefined_read() -> None:
    text = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4, file="")
def broken(y: Global[f32, 4] | out):
    r = register(f32, 2)
    y[thread_id] = r[1]
"""
    with pytest.raises(UserError, match="TRACE_UNDEFINED"):
        trace(parse_kernel(text), {}, {})


def test_lanes_that_do_not_ask_have_no_value_of_a_hole() -> None:
    text = """
@hole("from", kind="xform", args=("lane",), n=4)
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4, file="")
def guarded(x: Global[f32, 4], y: Global[f32, 4] | out):
    lane = thread_id
    y[lane] = x[hole("from", lane)] if lane < 2 else f32(5)
"""
    (store,) = trace(parse_kernel(text), {"from": HoleArg(0)}, {}).steps
    assert [(found.hole, found.values) for found in store.holes] == [("from", (0, 1, None, None))]
    assert [write.value.text for write in store.writes] == ["x[0]", "x[1]", "5", "5"]
    assert [len(write.origins) for write in store.writes] == [1, 1, 0, 0]


def test_values_come_through_shuffles_of_expressions_and_results_of_accumulators() -> None:
    text = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4, file="")
def mixed(x: Global[f32, 4], y: Global[f32, 4] | out):
    lane = thread_id
    total = accumulator(f32, op="+", init=1, finalize=f32(2) * __state)
    got: f32 = shfl(x[lane] + x[3 - lane], (lane + 1) % 4, 4)
    total.add(got, when=lane < 2)
    y[lane] = total.value()
"""
    moved, first, last = trace(parse_kernel(text), {}, {}).steps
    assert (moved.kind, moved.writes[0].value.text) == ("shuffle", "x[1] + x[2]")
    assert moved.writes[0].origins == (MemoryCell("x", (1,)), MemoryCell("x", (2,)))
    assert (first.kind, [write.lane for write in first.writes]) == ("accumulate", [0, 1])
    assert first.writes[0].value.text == "1 + x[1] + x[2]"
    assert [write.value.text for write in last.writes] == ["2*(1 + x[1] + x[2])", "2*(1 + x[2] + x[1])", "2*1", "2*1"]
    assert last.writes[2].origins == (RegisterCell(2, "total"),)


@pytest.mark.parametrize(
    "name", ["conv1d-9", "stencil1d-3", "conv2d-3", "mult32-reg", "mult32-shared", "aos-store-crc-3", "aos-sum-crc-4"]
)
def test_stored_expressions_have_the_right_values(name: str) -> None:
    """Every expression that the trace stores, evaluated by Python, is what NumPy says the kernel must compute."""
    example = find(name)
    kernel, sizes = example.sketch.kernel, dict(example.sketch.complete_at)
    units = next((hole.n for hole in kernel.holes if hole.name == "column"), 1)
    arrays = example.arrays(sizes)
    expected = example.reference(**arrays)
    movement = trace(kernel, completions(name, units), sizes, max_steps=10_000)
    stored = {write.cell: write.value for step in movement.steps for write in step.writes if isinstance(write.cell, MemoryCell)}
    checked = 0
    for cell, value in stored.items():
        if cell.array in expected:
            got = eval(value.text, {"__builtins__": {}}, dict(arrays))
            np.testing.assert_allclose(got, expected[cell.array][cell.index], rtol=1e-4, atol=1e-5)
            checked += 1
    assert checked >= 32


def test_value_texts() -> None:
    x, y = Value("x[1]", ("x[1]",)), Value("y[2]", ("y[2]",))
    total = combined("+", (x, y))
    assert combined("*", (total, y)).text == "(x[1] + y[2])*y[2]"
    assert combined("-", (x, total)).text == "x[1] - (x[1] + y[2])"
    assert combined("min", (x, y)).text == "min(x[1], y[2])"
    assert combined("neg", (total,)).text == "-(x[1] + y[2])"
    assert joined("", [total], ".x").text == "(x[1] + y[2]).x"
    assert combined("*", (x, x)).atoms == ("x[1]",)
    assert [short(v) for v in (x, combined("*", (x, y)), Value("...", ("x[1]",), terms=3))] == ["x[1]", "x1·y2", "Σ3"]


def test_texts_are_python() -> None:
    values: Any = {"x": {1: 2.0}, "y": {2: 3.0}}
    x, y = Value("x[1]", ("x[1]",)), Value("y[2]", ("y[2]",))
    assert eval(combined("/", (x, combined("*", (x, y)))).text, values) == pytest.approx(1 / 3)
    assert re.fullmatch(r"x\[1\] / \(x\[1\]\*y\[2\]\)", combined("/", (x, combined("*", (x, y)))).text)


def test_other_warps_fill_shared_memory() -> None:
    text = """
@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=4, file="")
def reverse(x: Global[f32, 8], y: Global[f32, 8] | out):
    tile = shared(f32, 8)
    tile[thread_id] = x[thread_id]
    sync()
    y[thread_id] = tile[7 - thread_id]
"""
    fill, store = trace(parse_kernel(text), {}, {}).steps
    assert [(write.value.text, write.lane) for write in fill.writes] == [
        *((f"x[{i}]", i) for i in range(4)),
        *((f"x[{i}]", OTHER_WARP) for i in range(4, 8)),
    ]
    assert [write.value.text for write in store.writes] == ["x[7]", "x[6]", "x[5]", "x[4]"]
    assert store.writes[0].origins == (MemoryCell("tile", (7,)),)
