"""Asynchronous copies in the reference interpreter: exactly the programs that are in error have findings."""

from __future__ import annotations

import numpy as np
import pytest
from tests.async_programs import DOUBLE, MISTAKES, programs

import warploom.ir as ir
from warploom.core import UserError
from warploom.ir import Kernel


def codes(kernel: Kernel, blocks: int = 2) -> set[str]:
    x = np.arange(blocks * kernel.params[0].shape[1].value, dtype=np.float32).reshape(blocks, -1)  # pyright: ignore
    return {d.code for d in ir.run(kernel, {"x": x}, {"n": blocks}).diagnostics}


def test_random_programs() -> None:
    for kernel, is_wrong in programs(60):
        found = codes(kernel)
        assert found <= {"RACE", "COPY_PENDING"}
        assert bool(found) == is_wrong


def test_a_double_buffer() -> None:
    x = np.random.default_rng(3).integers(-9, 9, (3, 128)).astype(np.float32)
    result = ir.run(ir.parse_kernel(DOUBLE.strip() + "\n"), {"x": x}, {"n": 3})
    assert not result.diagnostics
    assert np.array_equal(result.arrays["y"], x.reshape(3, 4, 32).sum(axis=1)[:, ::-1])


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_double_buffers(mistake: str) -> None:
    old, new, code = MISTAKES[mistake]
    assert old in DOUBLE
    assert code in codes(ir.parse_kernel(DOUBLE.strip().replace(old, new) + "\n"))


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
