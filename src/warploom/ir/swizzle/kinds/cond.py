"""`cond`: a condition (Swizzle Inventor, section 5.1)."""

from __future__ import annotations

from typing import Any

from warploom.core.inside import inside_sketches
from warploom.ir.kernel.nodes import Hole, IndexConst, IndexExpr
from warploom.ir.swizzle.conditions import condition_set
from warploom.ir.swizzle.functions import FunctionSet, IntArray, ListedSet
from warploom.ir.swizzle.kinds.kind import HoleKind


@inside_sketches
def cond(*values: Any, grammar: str = "full", constants: tuple[int, ...] = (), modulus: int = 0, name: str | None = None) -> Any:
    """Hole: true, false, or a comparison between two of `values` (paper section 3.2)."""


def conditions(hole: Hole, points: IntArray, space: int) -> ListedSet:
    grammar = "constant-free" if space == 1 and hole.grammar == "full" else hole.grammar
    return condition_set(points, grammar, hole.constants or (), hole.modulus)


class Cond(HoleKind):
    word = staticmethod(cond)
    notes = """`v op c`, `v op (c + v')` or `v op (c - v')` with op one of `== != < <= > >=`, or true, or false.
  Constant-free and in space 1: c = 0. Modular: `v op ((a*v' + b) % modulus)`."""
    operands = ("values",)
    grammars = ("full", "constant-free", "modular")
    is_condition = True

    def fault(self, hole: Hole) -> tuple[str, str] | None:
        if (hole.grammar == "modular") == (hole.modulus > 0):
            return None
        told = 'expected a positive modulus exactly with grammar="modular"'
        return told, 'Write cond(..., grammar="modular", modulus=32).'

    def values(self, hole: Hole) -> int:
        return 2

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        return conditions(hole, points, space)

    def narrower(self, hole: Hole) -> str:
        return 'grammar="constant-free", or fewer values' if hole.grammar == "full" else "give it fewer values"

    def wider(self, hole: Hole, points: IntArray) -> str:
        return "give it more values to compare, or constants=" if hole.grammar != "modular" else ""

    def widens(self, hole: Hole) -> bool:
        return hole.grammar == "full"

    def unused(self, hole: Hole) -> IndexExpr:
        return IndexConst(False)
