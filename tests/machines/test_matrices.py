"""Instructions for matrices: rows that agree with the fragments of the layout engine, and rates."""

from __future__ import annotations

import pytest

from warploom.layout.distributed.fragments import fragment
from warploom.machines import (
    ARCHITECTURES,
    MATRIX_INSTRUCTIONS,
    MatrixInstruction,
    Work,
    by_groups,
    fastest,
    matrix_instruction,
    usual,
)


@pytest.mark.parametrize("on", MATRIX_INSTRUCTIONS.values(), ids=lambda on: on.factor)
def test_registers_are_those_of_the_fragments(on: MatrixInstruction) -> None:
    factor, total = on.ptx.split()
    for operand, name, registers in (
        ("A", factor, on.halves * on.groups),
        ("B", factor, on.groups),
        ("D", total, 2 * on.halves),
    ):
        layout = fragment(f"mma:{on.shape}:{operand}:{name}")
        assert layout is not None
        assert layout.elements.size == 32 * registers * (on.together if operand in "AB" else 1)


def test_an_instruction_has_one_type_of_sums() -> None:
    assert matrix_instruction("i8", "i32") is MATRIX_INSTRUCTIONS["i8"]
    assert matrix_instruction("i8", "f32") is matrix_instruction("f32", "f32") is None


def test_no_rate_exceeds_the_peak() -> None:
    for on in ARCHITECTURES.values():
        peak = on.timing.matrix_peak.by_factor
        for name, rate in on.timing.matrix_products.by_factor.items():
            assert rate <= peak[name]
            assert on.number >= MATRIX_INSTRUCTIONS[name].since
        for name, rate in on.timing.group_products.by_factor.items():
            assert on.timing.matrix_products.by_factor[name] < rate <= peak[name] and on.name == "sm_90"


def test_groups_are_faster_than_single_warps_and_named_apart() -> None:
    """H100's white paper has 989.4 TFLOP/s of f16 at 1830 MHz, dense; mma.sync reaches 63 % of that."""
    on = ARCHITECTURES["sm_90"]
    assert on.group_matrices == {"f16", "bf16", "i8", "u8"}
    assert 2 * 132 * 1.83e9 * on.timing.group_products.f16.value == pytest.approx(989.4e12, rel=1e-3)
    for speeds in (usual(on), fastest(on)):
        single, group = (speeds.product_cycles(Work(products=((name, 1e6),))) for name in ("f16", by_groups("f16")))
        assert group == pytest.approx(1e6 / 2048) and single >= group
    assert by_groups("f16") not in usual(ARCHITECTURES["sm_100"]).matrix_products
