"""Kernels whose sums whole warps make are proved at the size asked for, and planted bugs in them never are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.schedule.choices.matrices import architecture_of, nest_of, stage

from warploom.gpu import toolchain_available
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof, parallel_threads

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
FEW_STEPS = 150_000
"""Enough only where threads that compute alike count once."""


def printed(name: str, m: int) -> CudaKernel:
    return cuda_kernel(nest_of(name, m), Options(arch=architecture_of(name)))


def judged(name: str, m: int, kernel: CudaKernel | None = None) -> CompiledProof:
    of, made = stage(name, m), kernel or printed(name, m)
    axes = parallel_threads(of, nest_of(name, m))
    return prove_blocks(of, made, compiled_for_proof(of, made), arguments_of(of, made), FEW_STEPS, axes)


def test_a_product_with_an_epilogue_is_proved() -> None:
    proof = judged("summed outside", 32)
    assert proof.verdict == "proved", proof.reason
    assert "mma.sync: its sums taken as sums of reals" in proof.domain
    assert "min and max of ordered values" in proof.domain


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "m"), [("by rows", 120), ("by columns", 32), ("bytes", 32), ("doubles", 32), ("rounded", 32), ("small floats", 32)]
)
def test_products_are_proved(name: str, m: int) -> None:
    proof = judged(name, m)
    assert proof.verdict == "proved", proof.reason


BUGS = {
    "a wait that is missing": ("await_copies<1>();", ""),
    "a wait for too little": ("await_copies<1>();", "await_copies<2>();"),
    "a barrier that is missing": ("__syncthreads();", ""),
    "a barrier before the wait": ("await_copies<1>();\n        __syncthreads();", "__syncthreads();\n        await_copies<1>();"),
    "a copy to the wrong stage": ("(k0 + 2) % 3 * 2048", "(k0 + 1) % 3 * 2048"),
    "a copy to a stage that is read": ("(k0 + 2) % 3 * 4096", "k0 % 3 * 4096"),
    "the wrong stage is read": ("tmp_load_B + k0 % 3 * 4096", "tmp_load_B + (k0 + 1) % 3 * 4096"),
    "both operands of other stages": ("tmp_load_A + k0 % 3 * 2048", "tmp_load_A + (k0 + 2) % 3 * 2048"),
    "the first round twice": ("m4 * 192 + 64);", "m4 * 192);"),
    "a copy too few": ("if (k0 < 1) {", "if (k0 < 0) {"),
    "a copy too many": ("if (k0 < 1) {", "if (k0 < 2) {"),
    "a round too few": ("k0 < 3", "k0 < 2"),
    "another swizzle where B is read": ("B_pieces_swizzled = swizzled<3, 3, 3>", "B_pieces_swizzled = swizzled<2, 3, 3>"),
    "another swizzle where A is read": ("A_pieces_swizzled = swizzled<3, 3, 3>", "A_pieces_swizzled = swizzled<3, 3, 4>"),
    "another swizzle where B is stored": (
        "tmp_load_B + (swizzled<3, 3, 3>(tmp_load_B_index)",
        "tmp_load_B + (swizzled<3, 4, 3>(tmp_load_B_index)",
    ),
    "pieces of the wrong lanes": ("lane % 8 * 64 + lane / 8 % 2 * 512", "lane % 4 * 64 + lane / 8 % 2 * 512"),
    "both halves of rows changed about": ("lane / 8 % 2 * 512 + lane / 16 % 2 * 8", "lane / 16 % 2 * 512 + lane / 8 % 2 * 8"),
    "both halves of columns changed about": ("lane / 16 % 2 * 512 + lane / 8 % 2 * 8", "lane / 8 % 2 * 512 + lane / 16 % 2 * 8"),
    "the wrong slice": ("(tmp_load_A_pieces_swizzled ^ 16)", "(tmp_load_A_pieces_swizzled ^ 32)"),
    "rows that are loaded twice": ("tmp_load_B_pieces_swizzled + 1024", "tmp_load_B_pieces_swizzled"),
    "the wrong rows": ("mad[0][0][1][3], rows[1], columns[0]", "mad[0][0][1][3], rows[0], columns[0]"),
    "the wrong columns": ("rows[1], columns[2]", "rows[1], columns[3]"),
    "results changed about": ("mad[0][0][0][0], mad[0][0][1][0]", "mad[0][0][1][0], mad[0][0][0][0]"),
    "registers of a fragment changed about": ("rows[0][0], rows[0][1], rows", "rows[0][1], rows[0][0], rows"),
    "transposed matrices": ("ldmatrix.sync.aligned.m8n8.x4.shared", "ldmatrix.sync.aligned.m8n8.x4.trans.shared"),
    "another type": ("row.col.f32.bf16.bf16.f32", "row.col.f32.f16.f16.f32"),
    "sums that do not begin at zero": ("= 0.0f;", "= 1.0f;"),
    "another factor at the end": ("= mad[m1][m2][m4][n2];", "= 2.0f * mad[m1][m2][m4][n2];"),
    "results in the wrong place": ("m4 * 64 + n2 * 8] = mad", "m4 * 8 + n2 * 64] = mad"),
    "a result that is left out": ("n2 * 8] = mad[m1][m2][m4][n2]", "n2 * 8] = mad[m1][m2][m4][n2 & 1]"),
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_never_proved(bug: str) -> None:
    old, new = BUGS[bug]
    kernel = printed("by columns", 32)
    assert old in kernel.text
    planted = replace(kernel, text=kernel.text.replace(old, new, 1))
    assert judged("by columns", 32, kernel=planted).verdict != "proved"
