"""`bits`: an index made of bits of other indices (XOR swizzles, bit reversal, transposes of powers of two)."""

from __future__ import annotations

from typing import Any

from warploom.core import Diagnostic, UnsupportedError
from warploom.core.inside import inside_sketches
from warploom.ir.kernel.nodes import Hole
from warploom.ir.swizzle.bit_maps import MOST_RANK, BitInputs, BitMapSet, fields
from warploom.ir.swizzle.functions import FunctionSet, IntArray
from warploom.ir.swizzle.kinds.kind import HoleKind

MOST_VALUES = 1 << 15
"""Tables of functions hold 16-bit numbers."""


@inside_sketches
def bits(n: int, *values: Any, name: str | None = None) -> Any:
    """Hole: an index of n, a power of two, each bit of which is the XOR of some bits of `values`, or of those and 1."""


class Bits(HoleKind):
    word = staticmethod(bits)
    notes = """an index of n (a power of two), each bit of which is the XOR of some bits of the values: XOR swizzles as
  CUTLASS has them, butterflies, bit reversal, linear layouts. Space 1: one run of neighbouring bits of each value, moved, such as
  `i ^ (k >> 2 & 3)`. Space 2: and a constant. Space 3: every such function, as in a
  smaller space whose functions are too many to list."""
    operands = ("values",)
    n_counts = "the number of indices"

    def fault(self, hole: Hole) -> tuple[str, str] | None:
        if hole.n & (hole.n - 1) == 0 and 0 < hole.n <= MOST_VALUES:
            return None
        return (
            f"expected a power of two up to {MOST_VALUES} as the number of indices, got {hole.n}",
            "Write for example bits(32, i, k).",
        )

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        inputs, width = BitInputs(points), hole.n.bit_length() - 1
        listed = fields(inputs, width, with_constant=space > 1) if space < 3 else None
        if listed is not None:
            return listed
        if len(inputs.basis) > MOST_RANK:
            message = f"expected values with at most {MOST_RANK} independent bits, got {len(inputs.basis)}"
            raise UnsupportedError(Diagnostic("TOO_LARGE", message, hole.span, "pass smaller indices, or fewer of them"))
        return BitMapSet(inputs, width)

    def narrower(self, hole: Hole) -> str:
        return "give it fewer values, or smaller ones"

    def widens(self, hole: Hole) -> bool:
        return True
