"""`compose`: compositions of the paper's primitives (Swizzle Inventor, section 8)."""

from __future__ import annotations

from typing import Any

from warploom.core import Diagnostic, UnsupportedError
from warploom.core.inside import inside_sketches
from warploom.ir.kernel.nodes import Hole, HoleArg, IndexExpr
from warploom.ir.swizzle.functions import FunctionSet, IntArray
from warploom.ir.swizzle.grown import LENGTH, PARAMETERS, LongSet, ShortSet
from warploom.ir.swizzle.kinds.kind import HoleKind


@inside_sketches
def compose(i: Any, n: int, k: Any, grammar: str = "full", name: str | None = None) -> Any:
    """Hole: a composition of rot, fan, group, unit, xor and cm2linear on index i of n with parameter k."""


class Compose(HoleKind):
    word = staticmethod(compose)
    notes = """a composition of the primitives that the paper grows its grammar by, for index i of n with parameter k, both
  below 128: `rot`, `fan`, `group`, `unit`, `xor`, and `cm2linear`, which switches the two ([transposes.md](transposes.md)).
  Space 1: one primitive. From space 2 on: up to two, of any price at which there are at most 100,000. `grammar="long"`, in
  space 3: and up to five, where the other holes leave one value for each i and k; the values are then taken apart."""
    operands = ("i", "k")
    grammars = ("full", "long")
    n_counts = "the number of indices"

    def fault(self, hole: Hole) -> tuple[str, str] | None:
        if 0 < hole.n <= PARAMETERS:
            return None
        return f"expected 1 to {PARAMETERS} as the number of indices, got {hole.n}", "Use xform or bits for more indices."

    def first_below(self, hole: Hole) -> int | None:
        return hole.n

    def functions(self, hole: Hole, points: IntArray, space: int) -> FunctionSet:
        least, most = int(points[:, 1].min()), int(points[:, 1].max())
        if least < 0 or most >= PARAMETERS:
            message = f"expected a parameter from 0 to {PARAMETERS - 1}, got {least if least < 0 else most}"
            raise UnsupportedError(Diagnostic("TOO_LARGE", message, hole.span, "Use fewer of them, or a remainder."))
        short = ShortSet(hole.n, points, min(space, LENGTH))
        return LongSet(short) if space > LENGTH and hole.grammar == "long" else short

    def narrower(self, hole: Hole) -> str:
        return "leave out grammar, so that two primitives do" if hole.grammar == "long" else ""

    def wider(self, hole: Hole, points: IntArray) -> str:
        return "" if hole.grammar == "long" else 'grammar="long" has compositions of up to five primitives'

    def widens(self, hole: Hole) -> bool:
        return True

    def unused(self, hole: Hole) -> IndexExpr:
        return HoleArg(0)
