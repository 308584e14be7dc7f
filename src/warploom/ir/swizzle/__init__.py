"""Grammars of holes, as sets of functions on the points where a hole is used.

Takes a hole with its grammar, and the index values at which it is evaluated. Gives every distinct function of the grammar on
those points, with the cost and text of its cheapest expression. Open `functions.py` first;
`kinds` has one file for each kind of hole.
"""

from __future__ import annotations

from warploom.ir.kernel.nodes import Hole
from warploom.ir.swizzle.compositions import Composition, check_domains, shared_cost
from warploom.ir.swizzle.conditions import condition_set
from warploom.ir.swizzle.functions import (
    BoolArray,
    ByCost,
    EitherSet,
    Exact,
    Functions,
    FunctionSet,
    IntArray,
    ListedSet,
    Supporting,
    Tables,
    UnusedSet,
    distinct,
    row_hashes,
)
from warploom.ir.swizzle.kinds import HoleKind, kind_of
from warploom.ir.swizzle.naive import NaiveSet
from warploom.ir.swizzle.notation import parse_composition
from warploom.ir.swizzle.partitions import AlternativeSet, PartitionSet
from warploom.ir.swizzle.primitives import (
    Cm2Linear,
    Core,
    Fan,
    Group,
    Primitive,
    Rot,
    Unit,
    Window,
    Xor,
    core_cost,
    digit,
    divide_cost,
    faults,
    image,
    mask_range,
    scale_cost,
    window_cost,
    windowed,
)
from warploom.ir.swizzle.xforms import XformGrammar, XformSet

SPACES = (1, 2, 3)
"""Paper section 5.4: 1 = no constants, no groups; 2 = conditions with constants; 3 = the whole template."""


def function_set(hole: Hole, points: IntArray, space: int) -> FunctionSet:
    """The functions that `hole` may become in a search space, on its points ([points, arguments], distinct rows)."""
    if len(points) == 0:
        kind = kind_of(hole)
        return UnusedSet(kind.unused(hole), kind.values(hole))
    return kind_of(hole).functions(hole, points, space)


__all__ = [
    "SPACES", "AlternativeSet", "BoolArray", "ByCost", "Cm2Linear", "Composition", "Core", "EitherSet", "Exact", "Fan",
    "FunctionSet", "Functions", "Group", "HoleKind", "IntArray", "ListedSet", "NaiveSet", "PartitionSet", "Primitive",
    "Rot", "Supporting", "Tables", "Unit", "UnusedSet", "Window", "XformGrammar", "XformSet", "Xor", "check_domains",
    "condition_set", "core_cost", "digit", "distinct", "divide_cost", "faults", "function_set", "image", "kind_of",
    "mask_range", "parse_composition", "row_hashes", "scale_cost", "shared_cost", "window_cost", "windowed",
]  # fmt: skip
