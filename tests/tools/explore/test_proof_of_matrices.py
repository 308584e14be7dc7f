"""Kernels whose sums whole warps make are proved at the size asked for, and planted bugs in them never are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.schedule.choices.matrices import GROUPS, SIZES, architecture_of, nest_of, stage

from warploom.gpu import toolchain_available
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof, parallel_threads

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
FEW_STEPS = 150_000
"""Enough only where threads that compute alike count once."""
ALL_STEPS = 20_000_000
"""Enough for every thread of a small block, so that what is not proved has another reason."""


def printed(name: str, m: int) -> CudaKernel:
    return cuda_kernel(nest_of(name, m), Options(arch=architecture_of(name)))


def judged(name: str, m: int, kernel: CudaKernel | None = None, most_steps: int = FEW_STEPS) -> CompiledProof:
    of, made = stage(name, m), kernel or printed(name, m)
    axes = parallel_threads(of, nest_of(name, m))
    return prove_blocks(of, made, compiled_for_proof(of, made), arguments_of(of, made), most_steps, axes)


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


# ------------------------------------------------------------ groups of four warps


def test_products_of_a_group_with_an_epilogue_are_proved() -> None:
    proof = judged("group", 64)
    assert proof.verdict == "proved", proof.reason
    assert "wgmma: its sums taken as sums of reals" in proof.domain and "mma.sync" not in proof.domain


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUPS[1:])
def test_products_of_groups_are_proved(name: str) -> None:
    proof = judged(name, 64)
    assert proof.verdict == "proved", proof.reason


COMMIT = "wgmma.commit_group.sync.aligned;"
REFUTED = {
    "no fence before the products": ('"wgmma.fence.sync.aligned;"', '""'),
    "no fence between stores and products": ("fence.proxy.async.shared::cta;", ""),
    "a fence for another memory": ("fence.proxy.async.shared::cta;", "fence.proxy.async.global;"),
    "a fence of threads alone": ("fence.proxy.async.shared::cta;", "fence.acq_rel.cta;"),
    "no wait": ('"wgmma.wait_group.sync.aligned 0;"', '""'),
    "no group that is waited for": ('"wgmma.commit_group.sync.aligned;"', '""'),
    "a wait for all groups but one": ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
    "a sum that is changed before the wait": (COMMIT, f"{COMMIT} mov.f32 %0, 0f00000000;"),
    "a factor that is changed before the wait": (COMMIT, f"{COMMIT} st.shared.u32 [%32], 0;"),
    "no barrier": ("__syncthreads();", ""),
}  # fmt: skip
QUICK = ("no fence before the products", "no fence between stores and products")


@pytest.mark.parametrize("bug", [bug if bug in QUICK else pytest.param(bug, marks=pytest.mark.slow) for bug in REFUTED])
def test_a_planted_bug_of_groups_is_refuted(bug: str) -> None:
    old, new = REFUTED[bug]
    kernel = printed("group", 64)
    assert old in kernel.text
    planted = replace(kernel, text=kernel.text.replace(old, new, 1))
    assert judged("group", 64, kernel=planted).verdict == "refuted"


EIGHT = ", ".join(f"%{n}" for n in range(8))
MISPLACED = {
    "copies that nobody waits for": ("await_copies<1>();", ""),
    "a wait for too few copies": ("await_copies<1>();", "await_copies<2>();"),
    "sums that are not added to": ("setp.eq.u32 adds, 0, 0;", "setp.ne.u32 adds, 0, 0;"),
    "rows further apart": ("rows, rows, 0x4000004000010000", "rows, rows, 0x4000008000010000"),
    "columns nearer to each other": ("columns, columns, 0x4000004000010000", "columns, columns, 0x4000002000010000"),
    "lines of 64 bytes": ("rows, rows, 0x4000004000010000", "rows, rows, 0x8000004000010000"),
    "no permutation": ("rows, rows, 0x4000004000010000", "rows, rows, 0x4000010000"),
    "another permutation where it is stored": (
        "tmp_load_A + (swizzled<3, 3, 3>(tmp_load_A_index)",
        "tmp_load_A + (swizzled<2, 3, 3>(tmp_load_A_index)",
    ),
    "another slice": ("add.u64 a, rows, 2;", "add.u64 a, rows, 4;"),
    "columns as rows of k": ("a, b, adds, 1, 1, 0, 0", "a, b, adds, 1, 1, 0, 1"),
    "a stage that is filled too early": ("(k0 + 2) % 3 * 4096", "k0 % 3 * 4096"),
    "a stage that is filled while it is read": ("(k0 + 2) % 3 * 1024", "(k0 + 3) % 3 * 1024"),
    "another stage is read": ("tmp_load_B + k0 % 3 * 4096", "tmp_load_B + (k0 + 1) % 3 * 4096"),
    "another type": ("f32.f16.f16", "f32.bf16.bf16"),
    "sums changed about": (f"{{{EIGHT}}}", "{%1, %0, %2, %3, %4, %5, %6, %7}"),
    "columns in a later line": ("add.u64 b, columns, 2;", "add.u64 b, columns, 8;"),
    "a base offset": ("rows, rows, 0x4000004000010000", "rows, rows, 0x4002004000010000"),
    "fewer columns": (f"m64n16k16.f32.f16.f16 {{{EIGHT}}}", "m64n8k16.f32.f16.f16 {%0, %1, %2, %3}"),
    "factors with the sign changed": ("a, b, adds, 1, 1, 0, 0", "a, b, adds, -1, 1, 0, 0"),
    "no more than 512 bytes to begin at": ("__align__(1024)", "__align__(512)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("bug", MISPLACED)
def test_misplaced_factors_of_groups_are_never_proved(bug: str) -> None:
    old, new = MISPLACED[bug]
    kernel = printed("group of few columns", 16)
    assert old in kernel.text
    planted = replace(kernel, text=kernel.text.replace(old, new, 3 if old.startswith("__align__") else 1))
    assert judged("group of few columns", 16, kernel=planted, most_steps=ALL_STEPS).verdict != "proved"


# ------------------------------------------------------------ two products that share a tile


@pytest.mark.parametrize("name", ["gated", pytest.param("gated, group", marks=pytest.mark.slow)])
def test_products_that_share_a_tile_are_proved(name: str) -> None:
    proof = judged(name, SIZES[name][0])
    assert proof.verdict == "proved", proof.reason


SHARED = {
    "no barrier": ("__syncthreads();", ""),
    "no wait": ("await_copies<0>();", ""),
    "a copy to the stage that both read": ("tmp_load_X + (k0 + 1) % 2 * 512", "tmp_load_X + k0 % 2 * 512"),
    "a copy to the stage that the second reads": ("tmp_load_U + (k0 + 1) % 2 * 2048", "tmp_load_U + k0 % 2 * 2048"),
}
UNEQUAL = {
    "the second product from the first one's tile": (
        "tmp_load_U_k0_2 + tmp_load_U_pieces_swizzled);",
        "tmp_load_G_k0_2 + tmp_load_U_pieces_swizzled);",
    ),
    "another part of the shared tile": ("up_columns", "^ 16"),
    "sums changed about": ("multiply_f16(up[0][0][0], up[0][1][0]", "multiply_f16(gate[0][0][0], gate[0][1][0]"),
}


def planted_in_gated(old: str, new: str) -> CudaKernel:
    kernel = printed("gated", SIZES["gated"][0])
    if old == "up_columns":
        head, found, tail = kernel.text.rpartition("tmp_load_X_k0_2 + tmp_load_X_pieces_swizzled)")
        assert found and "up[" in tail
        return replace(kernel, text=f"{head}tmp_load_X_k0_2 + (tmp_load_X_pieces_swizzled ^ 16)){tail}")
    assert old in kernel.text
    return replace(kernel, text=kernel.text.replace(old, new, 1))


@pytest.mark.slow
@pytest.mark.parametrize("bug", SHARED)
def test_a_planted_race_on_a_shared_tile_is_refuted(bug: str) -> None:
    assert judged("gated", SIZES["gated"][0], planted_in_gated(*SHARED[bug]), ALL_STEPS).verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("bug", UNEQUAL)
def test_a_planted_bug_of_a_shared_tile_is_never_proved(bug: str) -> None:
    assert judged("gated", SIZES["gated"][0], planted_in_gated(*UNEQUAL[bug])).verdict != "proved"
