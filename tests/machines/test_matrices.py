"""Instructions for matrices: rows that agree with the fragments of the layout engine, and rates."""

from __future__ import annotations

import pytest

from warploom.layout.distributed.fragments import fragment
from warploom.machines import ARCHITECTURES, MATRIX_INSTRUCTIONS, MatrixInstruction, matrix_instruction


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
