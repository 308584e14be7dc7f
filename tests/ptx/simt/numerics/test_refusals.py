"""Types and words that the arithmetic lacks: each function, asked directly, answers for none that belongs to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warploom.core import UnsupportedError
from warploom.ptx.simt.numerics import approximations, comparisons, conversions, float_formats, fragments
from warploom.ptx.simt.numerics.collectives import redux
from warploom.ptx.simt.numerics.float_arithmetic import float_min
from warploom.ptx.simt.numerics.integers import add_carry
from warploom.ptx.simt.numerics.mma import mma
from warploom.ptx.simt.numerics.operations import bind
from warploom.ptx.simt.numerics.scalars import scalar_type

A = np.ones(1, np.uint32)
LANES = np.zeros((1, 32), np.uint32)
ALL = np.array(0xFFFFFFFF, np.uint32)
ODD: Any = "odd"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: approximations.float_function("frob", "f32", A), "frob.approx.f32"),
        (lambda: approximations.float_div("f32", A, A, rounding=ODD), "rounding .odd"),
        (lambda: redux("mul", "u32", LANES, LANES == 0, ALL), "redux.sync.mul.u32"),
        (lambda: redux("add", "f32", LANES, LANES == 0, ALL), "redux.sync.add.f32"),
        (lambda: comparisons.compare("most", "u32", A, A), "comparison .most"),
        (lambda: comparisons.compare("equ", "u32", A, A), "integer comparison .equ"),
        (lambda: comparisons.compare("lo", "f32", A, A), "floating-point comparison .lo"),
        (lambda: comparisons.compare("eq", "tf32", A, A), "comparison of .tf32"),
        (lambda: comparisons.set_value("eq", "f64", "u32", A, A), "set with a result of .f64"),
        (lambda: conversions.convert_pack("u32", "s32", A, A), "cvt.pack.sat.u32.s32"),
        (lambda: conversions.convert_pack("u8", "b32", A, A), "cvt.pack.sat.u8.b32"),
        (lambda: conversions.convert("f32", "s32", A, rounding=ODD), "cvt with rounding .odd"),
        (lambda: conversions.convert("s32", "f32", A, rounding=""), "cvt to .s32 with rounding .(none)"),
        (lambda: float_min("tf32", A, A), "min or max of .tf32"),
        (lambda: float_min("u32", A, A), "floating-point type .u32"),
        (lambda: float_formats.decode("u32", A), "floating-point type .u32"),
        (lambda: float_formats.encode("e4m3", np.array([1.03]), ODD), "rounding .odd"),
        (lambda: fragments.mma_shape("m32n8k4"), "mma shape .m32n8k4"),
        (lambda: fragments.gather(fragments.fragment("c", "m16n8k8", "f32"), LANES[..., None]),
         "a fragment of 1 registers where the shape has 4"),
        (lambda: fragments.matrix_access(ODD, False), "ldmatrix or stmatrix .xodd"),
        (lambda: add_carry("u16", A, A), "extended-precision arithmetic on .u16"),
        (lambda: mma("m16n8k4", "f32", "f16", "f16", "f32", A, A, A), "mma.m16n8k4.f32.f16.f16.f32"),
        (lambda: mma("m16n8k16", "f32", "f16", "bf16", "f32", A, A, A), "mma.m16n8k16.f32.f16.bf16.f32"),
        (lambda: mma("m16n8k16", "f16", "bf16", "bf16", "f32", A, A, A), "mma.m16n8k16.f16.bf16.bf16.f32"),
        (lambda: mma("m16n8k16", "f32", "bf16", "bf16", "f16", A, A, A), "mma.m16n8k16.f32.bf16.bf16.f16"),
        (lambda: bind("frob", ("u32",)), "instruction frob"),
        (lambda: bind("mul", ("u32",)), "mul.u32"),
        (lambda: bind("add", ()), "add"),
        (lambda: bind("setp", ("lt",)), "setp.lt"),
        (lambda: bind("add", ("frob", "u32")), "modifier .frob in add.frob.u32"),
        (lambda: bind("min", ("xorsign", "f32")), "min.xorsign.f32"),
        (lambda: scalar_type("u23"), "type .u23"),
    ],
)  # fmt: skip
def test_refused(call: Callable[[], object], told: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        call()
    assert caught.value.diagnostics[0].message == f"expected an operation with known arithmetic, got {told}"
