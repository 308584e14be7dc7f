"""Sums of products by whole warps: right on the PTX interpreter, in the instructions that are meant."""

from __future__ import annotations

import numpy as np
import pytest
from tests.schedule.choices.matrices import FUNCTIONS, GROUPS, SIZES, TILES, architecture_of, nest_of, stage

from warploom.gpu import machine_counts, toolchain_available
from warploom.schedule.backbone import evaluate, random_inputs
from warploom.schedule.calls import pack_cuda, unpack_cuda
from warploom.schedule.cuda import Options, compile_kernel, cuda_kernel, interpret_all, ptx_of

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


@pytest.mark.parametrize(
    ("name", "m"),
    [
        ("by rows", 120),
        ("by columns", 32),
        ("summed outside", 32),
        ("bytes", 32),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (("doubles", 32), ("rounded", 32), ("small floats", 32))),
    ],
)
def test_products_of_whole_warps_are_right(name: str, m: int) -> None:
    kernel = cuda_kernel(nest_of(name, m), Options(arch=architecture_of(name)))
    ptx = ptx_of(kernel)
    assert "mma.sync" in ptx
    assert "fma" not in ptx and "mad" not in ptx.replace("mad.lo.s32", "")
    backbone = stage(name, m)
    arrays = random_inputs(backbone.regions, 1)
    outcome = interpret_all([kernel], arrays)
    assert not outcome.findings
    wanted = evaluate(backbone, arrays)["C"].reshape(-1).astype(np.float32)
    np.testing.assert_allclose(outcome.arrays["C"].astype(np.float32), wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["group", *(pytest.param(name, marks=pytest.mark.slow) for name in GROUPS[1:])])
def test_products_of_groups_are_right(name: str) -> None:
    kernel = cuda_kernel(nest_of(name), Options(arch="sm_90"))
    assert kernel.arch == "sm_90a" and kernel.block == (4, 8, 4)
    ptx = ptx_of(kernel)
    assert "wgmma.mma_async" in ptx and "mma.sync" not in ptx and "fma.rn" not in ptx
    backbone = stage(name)
    arrays = random_inputs(backbone.regions, 1)
    outcome = interpret_all([kernel], arrays)
    assert not outcome.findings
    wanted = evaluate(backbone, arrays)["C"].reshape(-1).astype(np.float32)
    np.testing.assert_allclose(outcome.arrays["C"].astype(np.float32), wanted, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", GROUPS)
def test_machine_code_of_groups_keeps_sums_in_registers(name: str) -> None:
    kernel = cuda_kernel(nest_of(name), Options(arch="sm_90"))
    compiled = compile_kernel(kernel)
    assert compiled.arch == "sm_90a" and compiled.spill_bytes == compiled.local_bytes == 0
    opcodes = machine_counts(compiled.cubin)[kernel.name].opcodes
    parts = 2 if "wide" in name else 1
    found = {code: n for code, n in opcodes.items() if "GMMA" in code}
    assert sum(found.values()) == 4 * parts and not any("HMMA" in code or "IMMA" in code for code in opcodes)


def test_kernels_of_groups_are_kept_with_their_architecture() -> None:
    kernel = cuda_kernel(nest_of("group"), Options(arch="sm_90"))
    program = FUNCTIONS["group"].program(dict(zip("mnk", SIZES["group"], strict=True)), TILES["group"])
    packed = pack_cuda([kernel])
    assert packed[0]["arch"] == "sm_90a"
    (read,) = unpack_cuda(program, packed) or ()
    assert (read.arch, read.options.arch, read.has_groups, read.text) == ("sm_90a", "sm_90", True, kernel.text)


def test_machines_without_groups_multiply_by_single_warps() -> None:
    kernel = cuda_kernel(nest_of("group"), Options(arch="sm_100"))
    assert kernel.arch == "sm_100" and not kernel.has_groups
    assert "multiply_f16(" in kernel.text and "wgmma" not in kernel.text and "fence.proxy" not in kernel.text


def test_older_machines_convert_and_add() -> None:
    text = cuda_kernel(nest_of("by columns", 32), Options(arch="sm_75")).text
    assert "fmaf(static_cast<float>(" in text
    assert "multiply_bf16" not in text


def test_types_without_units_convert_and_add() -> None:
    """Architectures before matrices of doubles, and before those of small floats."""
    assert "multiply_f64" not in cuda_kernel(nest_of("doubles", 32), Options(arch="sm_75")).text
    text = cuda_kernel(nest_of("small floats", 32), Options(arch="sm_80")).text
    assert "multiply_e4m3" not in text and "static_cast<float>(" in text
