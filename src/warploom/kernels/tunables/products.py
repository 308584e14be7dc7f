"""Products of polynomials and in fields: operands in registers or in shared memory, warps per block."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from warploom.ir import fill
from warploom.kernels import field, polynomial
from warploom.kernels.tiled import check_holes
from warploom.kernels.tunables.records import one_warp
from warploom.sketch import Sketch
from warploom.synth import complete

PAIR_SIZES = {"pairs": 1 << 14}


def mult(coefficients: int, memory: str, warps: int) -> Sketch:
    """Polynomials over GF(2) of 32 or 64 coefficients; a warp multiplies a pair."""
    if memory == "registers":
        return (polynomial.mult32_reg if coefficients == 32 else polynomial.mult64_reg)(warps=warps)
    one_warp(memory, warps)
    return (polynomial.mult32_shared if coefficients == 32 else polynomial.mult64_shared)()


def ffm(degree: int, memory: str) -> Sketch:
    """Elements of GF(2^degree); in registers filled as the product of 64 coefficients is, and proved as a whole."""
    return _filled(degree) if memory == "registers" else field.ffm_shared(degree)


@cache
def _filled(degree: int) -> Sketch:
    sketch, tile = field.ffm_reg(degree), polynomial.mult64_reg()
    check_holes(sketch, tile)
    return replace(sketch, kernel=fill(sketch.kernel, complete(tile).completions[0].holes))
