"""Every ready kernel from sketch to machine code: completed, proved, printed, read back, compiled, run on data."""

from functools import cache

import numpy as np
import pytest

from warploom.gpu import Compiled, CudaSource, compile_cuda, cuda_source, read_back, toolchain_available
from warploom.ir import run
from warploom.kernels import NAMES, complete_example, fill_from_tile, find
from warploom.synth import Report

SIZES: dict[str, dict[str, int]] = {"n": {"n": 1031}, "h": {"h": 19, "w": 37}, "pairs": {"pairs": 3}, "tiles": {"tiles": 3}}
"""By the first run-time size; none is a multiple of what a block computes."""

PAPER_ACCUMULATES = {"mult32": 2, "mult64": 6, "ffm": 6, "stencil1d": 1, "conv1d": 1, "stencil2d": 1, "conv2d": 1}
"""Accumulate statements per iteration of the innermost loop (Swizzle Inventor, section 7)."""

BUDGET_S = 120.0
"""CPU time of one search; past it a case fails with its reason."""

LIKE_QUICK = [
    "aos-store-crc-8", "aos-store-rcr-8", "conv2d-5", "ffm-32", "ffm-64",
    "mult64-reg", "mult64-shared", "stencil1d-3", "stencil2d-3",
]  # fmt: skip
"""Made of what the quick ones are made of; tests/gpu and tests/synth/compiled compile and prove them as they are known."""
SLOW = [*LIKE_QUICK, "conv2d-7", "stencil2d-5", "stencil2d-7", *(f"ffm-{degree}" for degree in range(96, 385, 32))]
QUICK = [name for name in NAMES if name not in SLOW]


@cache
def completed(name: str) -> Report:
    example = find(name)
    if example.tile is None:
        report = complete_example(example, budget_s=BUDGET_S)
    else:  # as complete_example does, but the tile of all degrees is searched once
        report = fill_from_tile(example.sketch, completed("mult64-reg"))
    assert report.status == "solved", report.reason
    return report


def printed(name: str) -> CudaSource:
    return cuda_source(find(name).sketch.kernel, completed(name).completions[0].holes)


def expect_proved(name: str) -> None:
    report, example = completed(name), find(name)
    assert report.verdict == "proved", (report.lift, report.reason)
    assert report.lift.startswith("proved for"), report.lift
    assert report.kernel is not None
    assert not report.kernel.holes
    # A tile that is optimal alone need not be so inside a larger kernel.
    assert report.optimal_in == (None if example.tile else 3)
    assert report.completions[0].accumulates == expected_accumulates(name)


def expected_accumulates(name: str) -> int:
    """Units of a structure are added component by component."""
    if name.startswith("aos-store"):
        return 0
    if name.startswith("aos-sum"):
        return find(name).sketch.kernel.params[0].dtype.lanes
    return PAPER_ACCUMULATES[name.split("-")[0]]


def expect_right_results(name: str) -> None:
    example, kernel = find(name), completed(name).kernel
    assert kernel is not None
    sizes = SIZES[kernel.sizes[0]]
    arrays = example.arrays(sizes, seed=1)
    wanted = example.reference(**arrays)
    result = run(kernel, {n: a.copy() for n, a in arrays.items()}, sizes)
    assert not result.diagnostics, [d.render() for d in result.diagnostics]
    for output, array in wanted.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(result.arrays[output], array, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(result.arrays[output], array)


def expect_print_to_agree(name: str) -> None:
    kernel = completed(name).kernel
    assert kernel is not None
    result = read_back(printed(name).text, kernel, rounds=1)
    assert result.verdict == "tested", "\n".join(d.render() for d in result.diagnostics)


def expect_registers_only(name: str, compiled: Compiled) -> None:
    assert compiled.registers > 0
    assert (compiled.local_bytes, compiled.spill_bytes) == (0, 0)
    assert (compiled.shared_bytes > 0) == name.endswith("-shared")


def expect_pipeline(name: str) -> None:
    expect_proved(name)
    expect_right_results(name)
    expect_print_to_agree(name)


@pytest.mark.parametrize("name", QUICK)
def test_completed_proved_printed_and_run(name: str) -> None:
    expect_pipeline(name)


@pytest.mark.skipif(not toolchain_available(), reason="the CUDA compilers are not installed: pip install 'warploom[cuda]'")
@pytest.mark.parametrize("name", QUICK)
def test_compiled_to_registers(name: str) -> None:
    expect_registers_only(name, compile_cuda(printed(name).text))


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_completed_proved_printed_and_run_slow(name: str) -> None:
    expect_pipeline(name)


@pytest.mark.slow
@pytest.mark.skipif(not toolchain_available(), reason="the CUDA compilers are not installed: pip install 'warploom[cuda]'")
@pytest.mark.parametrize("name", SLOW)
def test_compiled_to_registers_slow(name: str) -> None:
    expect_registers_only(name, compile_cuda(printed(name).text))


@pytest.mark.parametrize("name", ["aos-store-crc-6-direct", "aos-sum-crc-6-direct"])
def test_six_words_need_units(name: str) -> None:
    report = complete_example(find(name), budget_s=BUDGET_S)
    assert (report.status, report.unsat_in) == ("unsat", (1, 2, 3))
