"""`choose`: an alternative that the sketch writes out."""

from __future__ import annotations

from typing import Any

from warploom.core.inside import inside_sketches
from warploom.ir.kernel.nodes import Hole, HoleArg, IndexExpr
from warploom.ir.swizzle.functions import FunctionSet, IntArray
from warploom.ir.swizzle.kinds.kind import HoleKind
from warploom.ir.swizzle.partitions import AlternativeSet


@inside_sketches
def choose(*alternatives: Any, name: str | None = None) -> Any:
    """Hole: one of the written alternatives, all indices or all data."""


class Choose(HoleKind):
    word = staticmethod(choose)
    notes = "one of these alternatives (all indices or all data)."
    operands = ("alternatives",)
    takes = "alternatives"

    def numbers(self, hole: Hole) -> None:
        return None

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        return AlternativeSet(None, hole.n)

    def wider(self, hole: Hole, points: IntArray) -> str:
        return "give it more alternatives"

    def unused(self, hole: Hole) -> IndexExpr:
        return HoleArg(0)
