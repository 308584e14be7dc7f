"""Grammars of holes, as sets of functions on the points where a hole is used.

Takes a hole with its grammar, and the index values at which it is evaluated. Gives every distinct function of the grammar on
those points, with the cost and text of its cheapest expression. Open `functions.py` first.
"""

from __future__ import annotations

from warploom.ir.kernel.nodes import Hole, HoleArg, IndexConst
from warploom.ir.swizzle.compositions import Composition, check_domains, shared_cost
from warploom.ir.swizzle.conditions import ConditionSet, condition_set
from warploom.ir.swizzle.functions import BoolArray, Functions, FunctionSet, IntArray, Supporting, Tables, UnusedSet
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
        return _unused(hole)
    match hole.kind:
        case "cond" | "part":
            grammar = "constant-free" if space == 1 and hole.grammar == "full" else hole.grammar
            conditions = condition_set(points, grammar, hole.constants or (), hole.modulus)
            return conditions if hole.kind == "cond" else PartitionSet(conditions, hole.n)
        case "xform":
            grammar_ = XformGrammar(
                n=hole.n,
                grouped=space == 3,
                fans=hole.grammar != "rotation",
                coefficients=hole.coefficients,
                constants=hole.constants,
                groups=hole.grammar == "full",
            )
            return XformSet(points, grammar_)
        case "const":
            return AlternativeSet(hole.constants or (0,), len(hole.constants or (0,)))
        case "choose":
            return AlternativeSet(None, hole.n)


def _unused(hole: Hole) -> UnusedSet:
    match hole.kind:
        case "cond":
            return UnusedSet(IndexConst(False), 2)
        case "part":
            return UnusedSet(IndexConst(0), hole.n)
        case "const":
            constants = hole.constants or (0,)
            return UnusedSet(IndexConst(constants[0]), len(constants))
        case "xform" | "choose":
            return UnusedSet(HoleArg(0), hole.n)


__all__ = [
    "SPACES", "AlternativeSet", "BoolArray", "Cm2Linear", "Composition", "ConditionSet", "Core", "Fan", "FunctionSet",
    "Functions", "Group", "IntArray", "NaiveSet", "PartitionSet", "Primitive", "Rot", "Supporting", "Tables", "Unit",
    "UnusedSet", "Window", "XformGrammar", "XformSet", "Xor", "check_domains", "condition_set", "core_cost", "divide_cost",
    "faults", "function_set", "image", "mask_range", "parse_composition", "scale_cost", "shared_cost", "window_cost", "windowed",
]  # fmt: skip
