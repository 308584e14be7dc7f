"""Hand-written nests as CUDA: compiled without local memory, and right on the PTX interpreter with all its checks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.schedule.cuda import nests

from warploom.core import BY_NAME
from warploom.gpu import toolchain_available
from warploom.schedule.cuda import CudaKernel, Options, Outcome, compile_kernel, cuda_kernel, facts_of, interpret
from warploom.schedule.nest import Cache, Space

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")

CASES: dict[str, Callable[[], nests.Case]] = {
    "axpy": nests.axpy,
    "axpy by scalars where vectors straddle the end": lambda: nests.axpy(n=130, threads=32, lanes=4, cache=Cache.L2),
    "axpy by pairs": lambda: nests.axpy(n=200, threads=32, lanes=2, cache=Cache.NONE),
    "matmul": nests.matmul,
    "matmul, two stages through registers": lambda: nests.matmul(stages=2),
    "matmul, two stages copied": lambda: nests.matmul(stages=2, is_async=True),
    "matmul, three stages copied, swizzled, idle threads": lambda: nests.matmul(
        stages=3, is_async=True, has_vectors=False, swizzle=nests.xor_of_bits(2, 2, 3)
    ),
    "matmul, copies without stages": lambda: nests.matmul(is_async=True),
    "matmul, more stages than iterations": lambda: nests.matmul(k=16, tile=(32, 32, 8), stages=4, is_async=True),
    "row sum": nests.row_sum,
    "row sum in one warp": lambda: nests.row_sum(threads=16, rows_at_once=2, lanes=4),
    "row sum by 20 threads": lambda: nests.row_sum(threads=20, rows_at_once=3, lanes=1),
    "row sum of 40 registers": lambda: nests.row_sum(threads=4, rows_at_once=1, lanes=40),
    "matrix times vector, rows combined in turn": nests.matvec,
    "transpose": nests.transpose,
    "stencil": nests.stencil,
    "softmax": nests.softmax,
    "softmax, two warps": lambda: nests.softmax(columns=128, threads=64),
    "dot over two thread dimensions": nests.dot,
    "dot over three thread dimensions": lambda: nests.dot(shape=(8, 4, 3)),
    "dot on some of the threads": lambda: nests.dot(shape=(40,), first=16),
    "dot on many threads": lambda: nests.dot(n=900, shape=(210,)),
    "reverse through global memory": nests.reverse,
    "reverse through shared memory": lambda: nests.reverse(space=Space.SHARED),
    "functions": nests.functions,
    "functions in double precision": lambda: nests.functions(dtype=BY_NAME["f64"]),
}


def checked(case: nests.Case, options: Options | None = None) -> tuple[CudaKernel, Outcome]:
    kernel = cuda_kernel(case.nest, options or Options())
    outcome = interpret(kernel, case.arrays, case.scalars, counts=True)
    assert not outcome.findings
    for name, expected in case.expected.items():
        np.testing.assert_allclose(outcome.arrays[name], expected, rtol=case.tolerance, atol=case.tolerance)
    return kernel, outcome


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_right(name: str) -> None:
    kernel, _ = checked(CASES[name]())
    facts = facts_of(kernel, compile_kernel(kernel))
    assert (facts.local_bytes, facts.spill_bytes) == (0, 0)
    assert facts.threads == int(np.prod(kernel.block))
    assert facts.shared_bytes <= kernel.shared_bytes


@pytest.mark.parametrize("name", ["matmul", "row sum", "matmul, two stages copied"])
def test_the_newest_machines_take_them_too(name: str) -> None:
    kernel = cuda_kernel(CASES[name]().nest, Options(arch="sm_90"))
    facts = facts_of(kernel, compile_kernel(kernel))
    assert (facts.local_bytes, facts.spill_bytes) == (0, 0)


def test_machines_without_asynchronous_copies_go_through_registers() -> None:
    kernel, _ = checked(nests.matmul(stages=2, is_async=True), Options(arch="sm_75"))
    assert "copy_async" not in kernel.text
    assert "a_copy" in kernel.text


def test_swizzled_tiles_have_no_bank_conflicts() -> None:
    _, plain = checked(nests.transpose(swizzle=None))
    _, swizzled = checked(nests.transpose())
    assert plain.counts is not None and swizzled.counts is not None
    assert swizzled.counts.shared_load_wavefronts == swizzled.counts.shared_load_requests
    assert plain.counts.shared_load_wavefronts == 32 * plain.counts.shared_load_requests


def test_vectors_are_single_requests() -> None:
    _, vectors = checked(nests.axpy(n=1024))
    _, scalars = checked(nests.axpy(n=1024, lanes=1))
    assert vectors.counts is not None and scalars.counts is not None
    assert scalars.counts.global_load_requests == 4 * vectors.counts.global_load_requests


def test_large_tiles_are_dynamic_shared_memory() -> None:
    case = nests.reverse(blocks=1, threads=1024, each=16, space=Space.SHARED)
    kernel, _ = checked(case)
    assert (kernel.static_shared_bytes, kernel.dynamic_shared_bytes) == (0, 64 * 1024)


def test_approximations_only_when_asked_for() -> None:
    case = nests.softmax()
    exact, approximate = (compile_kernel(cuda_kernel(case.nest, Options(approximate=a))).ptx for a in (False, True))
    assert len(approximate) < len(exact)
    kernel = cuda_kernel(case.nest, Options(approximate=True))
    outcome = interpret(kernel, case.arrays)
    np.testing.assert_allclose(outcome.arrays["y"], case.expected["y"], rtol=1e-4)


def test_loops_stay_loops() -> None:
    assert "#pragma unroll 1" in cuda_kernel(nests.matmul().nest).text
    assert "#pragma unroll 1" not in cuda_kernel(nests.matmul().nest, Options(keep_loops=False)).text


def test_compilers_are_told_not_to_store_registers_where_there_are_many() -> None:
    """For room for one more block."""
    few, many = nests.matmul(), nests.matmul(tile=(64, 64, 8), registers=(8, 8))
    assert "__launch_bounds__(64)\n" in cuda_kernel(few.nest).text
    assert "__launch_bounds__(128, 1)" in cuda_kernel(many.nest).text
    assert "__launch_bounds__(128, 2)" in cuda_kernel(many.nest, Options(blocks_together=2)).text


def test_registers_can_be_limited() -> None:
    kernel = cuda_kernel(nests.matmul().nest, Options(register_limit=40))
    assert compile_kernel(kernel).registers <= 40
