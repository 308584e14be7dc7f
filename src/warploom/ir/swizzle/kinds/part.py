"""`part`: a partition (Swizzle Inventor, section 5.2)."""

from __future__ import annotations

from typing import Any

from warploom.core.inside import inside_sketches
from warploom.ir.kernel.nodes import Hole
from warploom.ir.swizzle.functions import FunctionSet, IntArray
from warploom.ir.swizzle.kinds.cond import conditions
from warploom.ir.swizzle.kinds.kind import HoleKind
from warploom.ir.swizzle.partitions import PartitionSet


@inside_sketches
def part(n: int, *values: Any, name: str | None = None) -> Any:
    """Hole: a partition of the values into n parts, `0 if cond else 1 if cond else ...`."""


class Part(HoleKind):
    word = staticmethod(part)
    notes = "`0 if cond else 1 if cond else ... n-1`."
    operands = ("values",)
    n_counts = "the number of parts"

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        return PartitionSet(conditions(hole, points, space), hole.n)

    def narrower(self, hole: Hole) -> str:
        return "give it fewer values, or fewer parts"

    def wider(self, hole: Hole, points: IntArray) -> str:
        return "give it more values to compare"

    def widens(self, hole: Hole) -> bool:
        return hole.grammar == "full"
