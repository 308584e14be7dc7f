"""Asynchronous copies in the reference interpreter: exactly the programs that are in error have findings."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.async_programs import DOUBLE, FILL_MISTAKES, FILLED, MISTAKES, VALID, conditional_programs, programs

import warploom.ir as ir
from warploom.core import UserError
from warploom.ir import Kernel


def codes(kernel: Kernel, blocks: int = 2) -> set[str]:
    x = np.arange(blocks * kernel.params[0].shape[1].value, dtype=np.float32).reshape(blocks, -1)  # pyright: ignore
    return {d.code for d in ir.run(kernel, {"x": x}, {"n": blocks}).diagnostics}


def test_random_programs() -> None:
    for kernel, is_wrong in [*programs(50), *conditional_programs(30)]:
        found = codes(kernel, 3)
        assert found <= {"RACE", "COPY_PENDING"}
        assert bool(found) == is_wrong


def test_random_programs_with_zero_fill() -> None:
    for kernel, is_wrong in programs(30, VALID):
        assert bool(codes(kernel, 3)) == is_wrong


def test_a_double_buffer() -> None:
    x = np.random.default_rng(3).integers(-9, 9, (3, 32)).astype(np.float32)
    result = ir.run(ir.parse_kernel(DOUBLE.strip() + "\n"), {"x": x}, {"n": 3})
    assert not result.diagnostics
    assert np.array_equal(result.arrays["y"], x.reshape(3, 4, 8).sum(axis=1)[:, ::-1])


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_double_buffers(mistake: str) -> None:
    old, new, code = MISTAKES[mistake]
    assert old in DOUBLE
    assert code in codes(ir.parse_kernel(DOUBLE.strip().replace(old, new) + "\n"))


def test_an_array_that_a_loop_declares_keeps_its_content() -> None:
    """As in CUDA, where shared arrays are static; a copy to it goes on, too."""
    text = """\
@kernel(block=(2, 1, 1), grid=(1, 1, 1), warp_size=2)
def k(x: Global[f32, 2], y: Global[f32, 3, 2] | out):
    for k in range(3):
        tile = shared(f32, 2)
        if k < 1:
            memcpy_async(tile[thread_id], x[thread_id])
            pipeline_commit()
            pipeline_wait_prior(0)
        y[k, thread_id] = tile[thread_id]
"""
    x = np.array([3, 4], np.float32)
    result = ir.run(ir.parse_kernel(text), {"x": x})
    assert not result.diagnostics
    assert np.array_equal(result.arrays["y"], [x, x, x])
    never = text.replace("            pipeline_wait_prior(0)\n", "").replace("        y[k", "        if k > 0:\n            y[k")
    assert [d.code for d in ir.run(ir.parse_kernel(never), {"x": x}).diagnostics] == ["COPY_PENDING"]


def test_one_block_waits_and_another_does_not() -> None:
    text = """\
@kernel(block=(2, 1, 1), grid=(2, 1, 1), warp_size=2)
def k(x: Global[f32, 2], y: Global[f32, 4] | out):
    tile = shared(f32, 2)
    memcpy_async(tile[thread_id], x[thread_id])
    if block_id == 1:
        pipeline_commit()
    pipeline_wait_prior(0)
    if block_id < 2:
        y[2 * block_id + thread_id] = tile[thread_id]
"""
    x = np.ones(2, np.float32)
    (found,) = ir.run(ir.parse_kernel(text), {"x": x}).diagnostics
    assert (found.code, "block 0, thread 0" in found.message) == ("COPY_PENDING", True)
    late = text.replace("    pipeline_wait", "    if block_id == 0:\n        pipeline_commit()\n    pipeline_wait")
    assert not ir.run(ir.parse_kernel(late), {"x": x}).diagnostics


def test_a_commit_that_some_threads_miss() -> None:
    text = """\
@kernel(block=(2, 1, 1), grid=(1, 1, 1), warp_size=2)
def k(x: Global[f32, 2], y: Global[f32, 2] | out):
    WORD
    y[thread_id] = x[thread_id]
"""
    for word in ("pipeline_commit()", "pipeline_wait_prior(0)"):
        kernel = ir.parse_kernel(text.replace("WORD", f"if thread_id % 2 == 0:\n        {word}"))
        with pytest.raises(UserError, match=f"expected {word.partition('(')[0]}.* under a condition on thread ids"):
            ir.verify(kernel)


COPIES = """\
@kernel(block=(32, 1, 1), grid=(1, 1, 1), warp_size=32)
def k(x: Global[f32, 160], h: Global[f16, 64], w: Constant[f32, 64], z: Global[f32, 32] | inout, y: Global[f32, 32] | out):
    tile = shared(f32, 2, 132)
    half = shared(f16, 32)
    r = register(f32, 4)
    memcpy_async(tile[0, thread_id], x[thread_id])
    for j in vector(4):
        memcpy_async(tile[1, 4 * thread_id + j], x[32 + 4 * thread_id + j])
    pipeline_commit()
    pipeline_wait_prior(0)
    sync()
    z[thread_id] = tile[0, thread_id]
    y[thread_id] = tile[1, 4 * thread_id]
"""


def test_the_kernel_itself_is_fine() -> None:
    kernel = ir.parse_kernel(COPIES)
    ir.verify(kernel)
    assert ir.parse_kernel(ir.kernel_text(kernel)) == kernel
    assert ir.aligned_params(kernel) == {"x": 16}
    assert ir.aligned_shared(kernel) == {"tile": 16}


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        (
            "x[thread_id])\n    for",
            "w[thread_id])\n    for",
            "COPY_SOURCE",
            "expected an element of an array in global memory that",
        ),
        (
            "x[thread_id])\n    for",
            "z[thread_id])\n    for",
            "COPY_SOURCE",
            "expected an element of an array in global memory that",
        ),
        (
            "x[thread_id])\n    for",
            "tile[1, 0])\n    for",
            "COPY_SOURCE",
            "expected an element of an array in global memory that",
        ),
        (
            "x[thread_id])\n    for",
            "x[0] + x[1])\n    for",
            "COPY_SOURCE",
            "expected an element of an array in global memory that",
        ),
        ("(tile[0, thread_id],", "(r[0],", "COPY_TARGET", "expected an array in shared memory as target of memcpy_async, got r"),
        ("(tile[0, thread_id],", "(z[thread_id],", "COPY_TARGET", "expected an array in shared memory as target .*, got z"),
        (
            "memcpy_async(tile[0, thread_id], x",
            "memcpy_async(half[thread_id], h",
            "COPY_SIZE",
            "expected a copy of 4, .* got 2",
        ),
        ("wait_prior(0)", "wait_prior(-1)", "COPY_GROUPS", "expected a number of groups that may go on, 0 to .* got -1"),
        ("wait_prior(0)", f"wait_prior({1 << 31})", "COPY_GROUPS", "0 to 2147483647, at pipeline_wait_prior, got 2147483648"),
        ("(tile[1, 4 * thread_id + j]", "(tile[1, 4 * thread_id - j]", "VECTOR_INDEX", "expected consecutive elements of tile"),
        ("(tile[1, 4 * thread_id + j]", "(tile[j, thread_id]", "VECTOR_INDEX", "expected consecutive elements of tile"),
        ("(tile[1, 4 * thread_id + j]", "(tile[1, 2 * thread_id + j]", "VECTOR_ALIGNMENT", "expected the first element of tile"),
        ("f32, 2, 132", "f32, 2, 131", "VECTOR_ALIGNMENT", "expected the first element of tile at a multiple of 4"),
        ("x[32 + 4 *", "x[30 + 4 *", "VECTOR_ALIGNMENT", "expected the first element of x at a multiple of 4"),
        ("(tile[1, 4 * thread_id + j]", "(r[j]", "VECTOR_BODY", "expected registers as target of a vector load, got r"),
        (
            "memcpy_async(tile[1, 4 * thread_id + j], x[32 + 4 * thread_id + j])",
            "tile[1, 4 * thread_id + j] = x[32 + 4 * thread_id + j]",
            "VECTOR_BODY",
            "expected registers as target of a vector load, got tile",
        ),
        (
            "    pipeline_commit()",
            "    if thread_id < 4:\n        pipeline_commit()",
            "DIVERGENT_SYNC",
            r"expected pipeline_commit\(\) where every thread",
        ),
        (
            "    pipeline_wait_prior(0)",
            "    if thread_id < 4:\n        pipeline_wait_prior(0)",
            "DIVERGENT_SYNC",
            r"expected pipeline_wait_prior\(\) where every thread",
        ),
    ],
)
def test_kernels_that_break_one_rule(old: str, new: str, code: str, message: str) -> None:
    assert old in COPIES
    with pytest.raises(UserError) as caught:
        ir.verify(ir.parse_kernel(COPIES.replace(old, new)))
    assert code in {d.code for d in caught.value.diagnostics}
    assert any(re.search(message, d.message) for d in caught.value.diagnostics if d.code == code)


def test_vectors_take_one_access() -> None:
    x = {
        "x": np.arange(160, dtype=np.float32),
        "h": np.zeros(64, np.float16),
        "w": np.zeros(64, np.float32),
        "z": np.zeros(32, np.float32),
    }
    result = ir.run(ir.parse_kernel(COPIES), x, count_accesses=True)
    assert not result.diagnostics
    assert result.arrays["y"].tolist() == list(range(32, 160, 4))
    copies = [(a.array, a.units, a.least) for a in result.accesses if a.array == "x" or a.what == "store"]
    assert copies[:4] == [("x", 4, 4), ("tile", 1, 1), ("x", 16, 16), ("tile", 4, 4)]


def test_padding_before_an_aligned_array_counts() -> None:
    """An array that begins at a multiple of 16 leaves 12 of the 48 KB unused."""
    head = "@kernel(block=(1, 1, 1), grid=(1, 1, 1), warp_size=1)\ndef k(x: Global[f32, 4], y: Global[f32, 1] | out):\n"
    lines = [
        "a = shared(f32, 1)",
        "tile = shared(f32, 12284)",
        "for j in vector(4):",
        "    memcpy_async(tile[j], x[j])",
        "y[0] = x[0]",
    ]
    text = head + "".join(f"    {line}\n" for line in lines)
    ir.verify(ir.parse_kernel(text))
    with pytest.raises(UserError, match="got 49168 with tile"):
        ir.verify(ir.parse_kernel(text.replace("12284", "12288")))
    ir.verify(ir.parse_kernel(text.replace("12284", "12287").replace("vector", "range")))


def test_zeros_are_written_where_the_condition_does_not_hold() -> None:
    kernel = ir.parse_kernel(FILLED.strip() + "\n")
    assert ir.kernel_text(kernel) == FILLED.strip() + "\n"
    for n in (0, 1, 4, 5, 11):
        x = np.arange(1, n + 1, dtype=np.float32)
        result = ir.run(kernel, {"x": x}, {"n": n}, count_accesses=True)
        assert not result.diagnostics
        assert result.arrays["y"].tolist() == (x + np.append(x, [0])[1 : n + 1]).tolist()


@pytest.mark.parametrize("mistake", FILL_MISTAKES)
def test_mistakes_about_zeros(mistake: str) -> None:
    """The kernel has a finding, or another result."""
    old, new = FILL_MISTAKES[mistake]
    assert old in FILLED
    kernel = ir.parse_kernel(FILLED.strip().replace(old, new) + "\n")

    def is_wrong(n: int) -> bool:
        x = np.arange(1, n + 1, dtype=np.float32)
        result = ir.run(kernel, {"x": x}, {"n": n})
        return bool(result.diagnostics) or result.arrays["y"].tolist() != (x + np.append(x, [0])[1:]).tolist()

    assert any(is_wrong(n) for n in (4, 5, 8))


FILL_VECTORS = """\
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[f32, 16], y: Global[f32, 16] | out):
    tile = shared(f32, 16)
    for j in vector(4):
        memcpy_async(tile[4 * thread_id + j], x[4 * thread_id + j] if thread_id < 3 else f32(0.0))
    pipeline_commit()
    pipeline_wait_prior(0)
    for j in range(4):
        y[4 * thread_id + j] = tile[4 * thread_id + j]
"""


def test_whole_vectors_are_zeros() -> None:
    x = np.arange(1, 17, dtype=np.float32)
    result = ir.run(ir.parse_kernel(FILL_VECTORS), {"x": x})
    assert not result.diagnostics
    assert result.arrays["y"].tolist() == [*range(1, 13), 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("if thread_id < 3", "if j < 3", "COPY_VALID"),
        ("else f32(0.0)", "else f32(1.0)", "COPY_SOURCE"),
        ("else f32(0.0)", "else f32(-0.0)", "COPY_SOURCE"),
        ("else f32(0.0)", "else x[0]", "COPY_SOURCE"),
        (
            "x[4 * thread_id + j] if thread_id < 3 else f32(0.0)",
            "f32(0.0) if thread_id < 3 else x[4 * thread_id + j]",
            "COPY_SOURCE",
        ),
        ("x[4 * thread_id + j] if", "x[2 * thread_id + j] if", "VECTOR_ALIGNMENT"),
    ],
)
def test_zero_fill_of_another_form(old: str, new: str, code: str) -> None:
    assert old in FILL_VECTORS
    with pytest.raises(UserError) as caught:
        ir.verify(ir.parse_kernel(FILL_VECTORS.replace(old, new)))
    assert code in {d.code for d in caught.value.diagnostics}
