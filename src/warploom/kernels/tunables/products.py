"""Products of polynomials and in fields: operands in registers, in shared memory, or one read by all alike; warps per block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from warploom.ir import IndexExpr, fill
from warploom.kernels import broadcast, field, polynomial
from warploom.kernels.tiled import check_holes
from warploom.kernels.tunables.windows import WARPS
from warploom.schedule.sketches import Tuning
from warploom.sketch import Sketch
from warploom.synth import complete

PAIR_SIZES = {"pairs": 1 << 14}
MEMORIES = ("registers", "shared", "broadcast")
_LARGEST_BROADCAST = 384


def of_a_product(_: int, memories: tuple[str, ...]) -> dict[str, tuple[Tuning, ...]]:
    return {"memory": memories, "warps": WARPS}


def of_a_field(degree: int) -> dict[str, tuple[Tuning, ...]]:
    return {"memory": MEMORIES if degree <= _LARGEST_BROADCAST else MEMORIES[:2], "warps": WARPS}


def mult(coefficients: int, memory: str, warps: int) -> Sketch:
    """Polynomials over GF(2) of 32 or 64 coefficients; a warp multiplies a pair."""
    if memory == "broadcast":
        return broadcast.mult_runs(coefficients // 32, warps)
    if memory == "registers":
        return (polynomial.mult32_reg if coefficients == 32 else polynomial.mult64_reg)(warps=warps)
    return (polynomial.mult32_shared if coefficients == 32 else polynomial.mult64_shared)(warps=warps)


def ffm(degree: int, memory: str, warps: int) -> Sketch:
    """Elements of GF(2^degree); in registers filled as the product of fewer coefficients is, and proved as a whole."""
    return field.ffm_shared(degree, warps) if memory == "shared" else _filled(degree, memory, warps)


@cache
def _filled(degree: int, memory: str, warps: int) -> Sketch:
    sketch = broadcast.ffm_runs(degree, warps) if memory == "broadcast" else field.ffm_reg(degree, warps=warps)
    tile, holes = _tile(memory)
    check_holes(sketch, tile)
    return replace(sketch, kernel=fill(sketch.kernel, holes))


@cache
def _tile(memory: str) -> tuple[Sketch, Mapping[str, IndexExpr]]:
    """The product of fewer coefficients, and its holes: the same whatever the degree and the warps of a block are."""
    tile = broadcast.mult_runs(1) if memory == "broadcast" else polynomial.mult64_reg()
    return tile, complete(tile).completions[0].holes
