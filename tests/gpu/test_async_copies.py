"""Asynchronous copies as text: printed, read back, compiled; mistakes in the text are noticed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.async_programs import DOUBLE, FILL_MISTAKES, FILLED, MISTAKES, VALID, programs
from tests.synth.kernels import parse

from warploom.core import UserError
from warploom.gpu import compile_to_ptx, cuda_source, read_back, toolchain_available
from warploom.gpu.cmachine import CMachine
from warploom.gpu.cparse import parse_cuda

VECTORS = """
@kernel(block=(8, 1, 1), grid=(n, 1, 1), warp_size=8)
def vectors(x: Global[f32, n, 64], y: Global[f32, n, 8] | out, n: size):
    tile = shared(f32, 2, 32)
    for j in vector(4):
        memcpy_async(tile[1, 4 * thread_id + j], x[block_id, 32 + 4 * thread_id + j])
    pipeline_commit()
    pipeline_wait_prior(0)
    sync()
    y[block_id, thread_id] = tile[1, 31 - thread_id]
"""
"""Four elements are one copy of 16 bytes."""


def codes(text: str, x: np.ndarray, elements: int) -> set[str]:
    """Problems of a run of the text on two blocks."""
    y = np.zeros(2 * elements, np.float32)
    machine = CMachine(parse_cuda(text), (2, 1, 1), {"x": x.ravel().copy(), "y": y}, {"n": 2})
    machine.run()
    return {d.code for d in machine.problems.values()}


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_random_programs_with_zero_fill(count: int) -> None:
    for kernel, is_wrong in programs(count, VALID):
        elements = int(np.prod([e.value for e in kernel.params[1].shape[1:]]))  # pyright: ignore[reportAttributeAccessIssue]
        assert bool(codes(cuda_source(kernel).text, np.ones(6, np.float32), elements)) == is_wrong


@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_random_programs(count: int) -> None:
    for kernel, is_wrong in programs(count):
        elements = int(np.prod([e.value for e in kernel.params[1].shape[1:]]))  # pyright: ignore[reportAttributeAccessIssue]
        found = codes(cuda_source(kernel).text, np.ones(6, np.float32), elements)
        assert found <= {"RACE", "COPY_PENDING"}
        assert bool(found) == is_wrong


def test_a_double_buffer_is_printed_and_read_back() -> None:
    kernel = parse(DOUBLE)
    text = cuda_source(kernel).text
    for line in (
        "#include <cuda_pipeline_primitives.h>",
        "__pipeline_memcpy_async(&tile[0][thread], &x[block * 32 + thread], 4);",
        "__pipeline_memcpy_async(&tile[(k + 1) & 1][thread], &x[block * 32 + k * 8 + thread + 8], 4);",
        "__pipeline_commit();",
        "__pipeline_wait_prior(1);",
    ):
        assert line in text
    assert read_back(text, kernel).verdict == "tested"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_double_buffers(mistake: str) -> None:
    """The text of the wrong kernel, read back as that of the right one."""
    old, new, code = MISTAKES[mistake]
    result = read_back(cuda_source(parse(DOUBLE, (old, new))).text, parse(DOUBLE))
    assert result.verdict == "refuted"
    assert code in {d.code for d in result.diagnostics}


def test_vectors_are_one_copy() -> None:
    kernel = parse(VECTORS)
    text = cuda_source(kernel).text
    assert "__shared__ __align__(16) float tile[2][32];" in text
    assert "__pipeline_memcpy_async(&tile[1][thread * 4], &x[(block * 16 + thread + 8) * 4], 16);" in text
    assert "reinterpret_cast<size_t>(x) % 16 != 0" in text
    assert read_back(text, kernel).verdict == "tested"


def test_a_copy_goes_on_while_its_array_is_declared_again() -> None:
    text = """
@kernel(block=(2, 1, 1), grid=(2, 1, 1), warp_size=2)
def k(x: Global[f32, 2], y: Global[f32, 2] | out):
    for k in range(2):
        tile = shared(f32, 2)
        memcpy_async(tile[thread_id], x[thread_id])
        pipeline_commit()
        if k == 1:
            pipeline_wait_prior(0)
    y[thread_id] = x[thread_id]
"""
    printed = cuda_source(parse(text)).text
    machine = CMachine(parse_cuda(printed), (2, 1, 1), {"x": np.zeros(2, np.float32), "y": np.zeros(2, np.float32)}, {})
    machine.run()
    assert "COPY_PENDING" in {d.code for d in machine.problems.values()}
    once = printed.replace("k < 2", "k < 1").replace("k == 1", "k == 0")
    machine = CMachine(parse_cuda(once), (1, 1, 1), {"x": np.zeros(2, np.float32), "y": np.zeros(2, np.float32)}, {})
    machine.run()
    assert not machine.problems


def test_elements_that_are_vectors() -> None:
    text = """
@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=8)
def k(x: Global[float4, 8], y: Global[float4, 8] | out):
    tile = shared(float4, 8)
    memcpy_async(tile[thread_id], x[thread_id])
    pipeline_commit()
    pipeline_wait_prior(0)
    sync()
    y[thread_id] = tile[7 - thread_id]
"""
    kernel = parse(text)
    printed = cuda_source(kernel).text
    assert "__pipeline_memcpy_async(&tile[thread], &x[thread], 16);" in printed
    assert "__align__" not in printed
    assert read_back(printed, kernel).verdict == "tested"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("__align__(16) ", "", "MISALIGNED"),
        ("[thread * 4]", "[thread * 2]", "MISALIGNED"),
        ("+ 8) * 4]", "+ 8) * 4 - 2]", "MISALIGNED"),
        (" 16);", " 8);", "UNDEFINED_READ"),
        ("&x[(block", "&x[4 * (block", "OUT_OF_BOUNDS"),
    ],
)
def test_planted_errors_of_vectors(old: str, new: str, code: str) -> None:
    kernel = parse(VECTORS)
    text = cuda_source(kernel).text
    assert old in text
    result = read_back(text.replace(old, new), kernel)
    assert code in {d.code for d in result.diagnostics}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("&tile[1][thread * 4], &x", "tile[1][thread * 4], &x"),
        ("&x[(", "x[("),
        (" 16);", " 12);"),
        (" 16);", " n);"),
        ("&tile[1][thread * 4], &x[(block * 16 + thread + 8) * 4]", "&y[0], &x[0]"),
        ("&x[(block * 16 + thread + 8) * 4]", "&tile[0][0]"),
        ("float tile", "double tile"),
    ],
)
def test_copies_of_another_form_are_not_read(old: str, new: str) -> None:
    kernel = parse(VECTORS)
    text = cuda_source(kernel).text
    assert old in text
    with pytest.raises(UserError, match="READ_BACK_SYNTAX"):
        read_back(text.replace(old, new), kernel)


@pytest.mark.skipif(not toolchain_available(), reason="needs NVRTC")
def test_copies_are_compiled() -> None:
    text = cuda_source(parse(VECTORS)).text
    new, old = compile_to_ptx(text, "sm_80"), compile_to_ptx(text, "sm_75")
    assert "cp.async.cg.shared.global" in new
    assert "cp.async.wait_group" in new
    assert "cp.async" not in old


def test_zeros_are_printed_and_read_back() -> None:
    kernel = parse(FILLED)
    text = cuda_source(kernel).text
    assert "__pipeline_memcpy_async(&tile[thread], &x[i < n ? i : 0], 4, i < n ? 0 : 4);" in text
    assert read_back(text, kernel).verdict == "tested"


@pytest.mark.parametrize("mistake", FILL_MISTAKES)
def test_mistakes_about_zeros(mistake: str) -> None:
    """The text of the wrong kernel, read back as that of the right one."""
    assert read_back(cuda_source(parse(FILLED, FILL_MISTAKES[mistake])).text, parse(FILLED)).verdict == "refuted"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("4, i < n ? 0 : 4", "4", ""),
        ("i < n ? 0 : 4", "i < n ? 4 : 0", ""),
        ("i < n ? 0 : 4", "i < n ? 0 : 2", "COPY_SIZE"),
        ("i < n ? 0 : 4", "i < n ? 0 : 8", "COPY_SIZE"),
        ("i < n ? 0 : 4", "i < n ? 0 : -4", "COPY_SIZE"),
        ("i + 4 < n ? i + 4 : 0], 4, i + 4 < n ? 0 : 4", "i + 4], 4, 0", "OUT_OF_BOUNDS"),
    ],
)
def test_planted_errors_of_zeros(old: str, new: str, code: str) -> None:
    kernel = parse(FILLED)
    text = cuda_source(kernel).text
    assert old in text
    result = read_back(text.replace(old, new), kernel)
    assert result.verdict == "refuted"
    assert not code or code in {d.code for d in result.diagnostics}


def test_vectors_of_zeros() -> None:
    valid = ("x[block_id, 32 + 4 * thread_id + j]", "x[block_id, 32 + 4 * thread_id + j] if thread_id < 5 else f32(0.0)")
    kernel = parse(VECTORS, valid)
    text = cuda_source(kernel).text
    assert "&x[(thread < 5 ? block : 0) * 64 + (thread < 5 ? (thread + 8) * 4 : 0)], 16, thread < 5 ? 0 : 16);" in text
    assert read_back(text, kernel).verdict == "tested"
    assert read_back(text.replace("? 0 : 16", "? 0 : 8"), kernel).verdict == "refuted"


@pytest.mark.parametrize(("condition", "end"), [("block_id >= 0", ", 16);"), ("block_id < 0", ", &x[0], 16, 16);")])
def test_a_condition_that_is_decided(condition: str, end: str) -> None:
    valid = ("x[block_id, 32 + 4 * thread_id + j]", f"x[block_id, 32 + 4 * thread_id + j] if {condition} else f32(0.0)")
    kernel = parse(VECTORS, valid)
    text = cuda_source(kernel).text
    assert read_back(text, kernel).verdict == "tested"
    assert end in text
