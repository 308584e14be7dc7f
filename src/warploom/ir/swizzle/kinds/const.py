"""`const`: an integer of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warploom.core.inside import inside_sketches
from warploom.ir.kernel.nodes import Hole, IndexConst, IndexExpr
from warploom.ir.swizzle.functions import FunctionSet, IntArray
from warploom.ir.swizzle.kinds.kind import HoleKind
from warploom.ir.swizzle.partitions import AlternativeSet


@inside_sketches
def const(*values: int, name: str | None = None) -> Any:
    """Hole: one of the integers."""


class Const(HoleKind):
    word = staticmethod(const)
    notes = """one of these integers. `*range(32)` and other starred ranges, tuples and lists are allowed, here and in
  `constants=` and `coefficients=`."""
    operands = ("values",)
    takes = "integers"

    def values(self, hole: Hole) -> int:
        return len(self.numbers(hole))

    def numbers(self, hole: Hole) -> Sequence[int]:
        return hole.constants or (0,)

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        return AlternativeSet(tuple(self.numbers(hole)), self.values(hole))

    def narrower(self, hole: Hole) -> str:
        return "give it fewer integers"

    def wider(self, hole: Hole, points: IntArray) -> str:
        return "give it more integers, or a hole whose value depends on a lane or step"

    def unused(self, hole: Hole) -> IndexExpr:
        return IndexConst(self.numbers(hole)[0])
