"""The library's kernels, completed, compiled and proved down to the compiler's output."""

import pytest
from tests.kernels.solved import completions

from warploom.core import UserError
from warploom.gpu import compile_to_ptx, cuda_source, toolchain_available
from warploom.ir import IndexExpr
from warploom.kernels import NAMES, complete_example, find
from warploom.sketch import Sketch
from warploom.synth.compiled import prove_compiled

SEVERAL_SIZES = ("stencil1d-3", "aos-sum-crc-6", "aos-store-crc-4")
SEARCHED = ("aos-sum-crc-6", "aos-store-crc-4")
"""Completed here; the others are known."""
ONE_SIZE = tuple(name for name in NAMES if name not in {f"ffm-{degree}" for degree in range(96, 385, 32)})
DOMAINS = {
    "stencil": "real sums reordered",
    "conv": "real sums reordered",
    "mult": "xor/and ring",
    "ffm": "xor/and ring",
    "aos-sum": "int32 wrap",
    "aos-store": "elements moved unchanged",
}


def known(name: str) -> tuple[Sketch, dict[str, IndexExpr]]:
    """The sketch and its completion by hand."""
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    sketch = find(name).sketch
    units = next((hole.n for hole in sketch.kernel.holes if hole.name == "column"), 1)
    return sketch, completions(name, units)


@pytest.mark.parametrize("name", SEVERAL_SIZES)
def test_completed_kernels_are_proved_at_several_sizes(name: str) -> None:
    sketch, holes = known(name)
    if name in SEARCHED:
        holes = complete_example(find(name)).completions[0].holes
    proof = prove_compiled(sketch, holes)
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert len(proof.instances) == 4 and proof.instances[0] == tuple(sketch.complete_at.items())


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * n.endswith("2d-7")) for n in ONE_SIZE])
def test_kernels_with_known_completions_are_proved_where_they_were_completed(name: str) -> None:
    sketch, holes = known(name)
    proof = prove_compiled(sketch, holes, instances=(sketch.complete_at,))
    assert (proof.verdict, proof.reason) == ("proved", "")
    domain = next(d for start, d in DOMAINS.items() if name.startswith(start))
    vectors = ", x and y begin at multiples of 16 bytes" if name in ("conv1d-3", "stencil1d-3") else ""
    assert proof.domain == domain + vectors


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arch", ["sm_75", "sm_120"])
def test_every_kernel_is_proved_at_several_sizes(name: str, arch: str) -> None:
    proof = prove_compiled(*known(name), arch=arch)
    assert (proof.verdict, proof.reason) == ("proved", "")


def test_wrong_completion_is_refuted_in_the_compilers_output() -> None:
    sketch, right = known("aos-store-crc-4")
    swapped = {**right, "column": right["column_after"], "column_after": right["column"]}
    proof = prove_compiled(sketch, swapped)
    assert proof.verdict == "refuted" and proof.difference is not None
    assert proof.difference.array == "dst" and proof.difference.line is not None
    assert proof.reason.startswith("at tiles = 1: dst[")


def test_compiler_bug_is_found() -> None:
    """The compiler's output with one instruction changed stands for a compiler that is wrong."""
    sketch, holes = known("conv1d-9")
    text = compile_to_ptx(cuda_source(sketch.kernel, holes).text)
    first = text.index("fma.rn.f32")
    wrong = text[:first] + text[first:].replace("fma.rn.f32", "fma.rn.ftz.f32", 1)
    assert prove_compiled(sketch, holes, ptx=wrong).verdict == "proved"
    shuffle = text.index("shfl.sync.idx.b32")
    end = text.index(";", shuffle)
    operands = text[shuffle:end].split(", ")
    operands[2] = "3"
    moved = text[:shuffle] + ", ".join(operands) + text[end:]
    proof = prove_compiled(sketch, holes, ptx=moved)
    assert proof.verdict == "refuted" and proof.difference is not None and proof.difference.array == "y"


def test_missing_barrier_of_the_compilers_output_is_a_race() -> None:
    sketch, holes = known("mult32-shared")
    text = compile_to_ptx(cuda_source(sketch.kernel, holes).text)
    assert "bar.sync" in text
    proof = prove_compiled(sketch, holes, ptx=text.replace("bar.sync \t0;", "").replace("bar.sync 0;", ""))
    assert proof.verdict == "refuted" and proof.fault is not None and proof.fault.kind == "race"
    assert {a.what for a in proof.fault.accesses} == {"load", "store"}


def test_ptx_that_is_not_the_kernels_is_refused() -> None:
    sketch, holes = known("stencil1d-3")
    text = compile_to_ptx('extern "C" __global__ void stencil1d_3(float *y) { y[0] = 1; }')
    with pytest.raises(UserError, match=r"NO_KERNEL|ARGUMENTS"):
        prove_compiled(sketch, holes, ptx=text)
