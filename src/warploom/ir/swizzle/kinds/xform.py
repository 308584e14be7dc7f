"""`xform`: a transformation of an index (Swizzle Inventor, section 5.3)."""

from __future__ import annotations

from math import gcd
from typing import Any

from warploom.core.inside import inside_sketches
from warploom.ir.kernel.nodes import Hole, HoleArg, IndexExpr
from warploom.ir.swizzle.functions import FunctionSet, IntArray
from warploom.ir.swizzle.grown import PARAMETERS
from warploom.ir.swizzle.kinds.kind import HoleKind
from warploom.ir.swizzle.xforms import XformGrammar, XformSet


@inside_sketches
def xform(
    i: Any,
    n: int,
    k: Any,
    grammar: str = "full",
    coefficients: tuple[int, ...] | None = None,
    constants: tuple[int, ...] | None = None,
    name: str | None = None,
) -> Any:
    """Hole: the template of the paper's equations 5 to 7 on index i of n with parameter k."""


class Xform(HoleKind):
    word = staticmethod(xform)
    notes = """the template of the paper's equations 5 to 7 for index i of n with parameter k. `coefficients` restricts cf and cr,
  `constants` restricts c."""
    operands = ("i", "k")
    grammars = ("full", "ungrouped", "rotation")
    n_counts = "the number of indices"

    def first_below(self, hole: Hole) -> int | None:
        return hole.n

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        grammar = XformGrammar(
            n=hole.n,
            grouped=space == 3,
            fans=hole.grammar != "rotation",
            coefficients=hole.coefficients,
            constants=hole.constants,
            groups=hole.grammar == "full",
        )
        return XformSet(points, grammar)

    def narrower(self, hole: Hole) -> str:
        return {"full": 'grammar="ungrouped" or "rotation"', "ungrouped": 'grammar="rotation", or coefficients='}.get(
            hole.grammar, ""
        )

    def wider(self, hole: Hole, points: IntArray) -> str:
        if hole.grammar != "full":
            return "leave out grammar: the whole template has more"
        parameters = int(points[:, 1].max()) + 1
        if hole.n > PARAMETERS or parameters > PARAMETERS or int(points[:, 1].min()) < 0:
            return ""
        common = gcd(hole.n, parameters)
        index, parameter = hole.arg_names
        found = f'wl.compose({index}, {hole.n}, {parameter}, grammar="long") has unit, xor and cm2linear'
        return found + (f", which {hole.n} and {parameters} with their common factor {common} need" if common > 1 else "")

    def unused(self, hole: Hole) -> IndexExpr:
        return HoleArg(0)
