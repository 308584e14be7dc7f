"""The dataflow language: programs of gathers and folds with sets of gathers as holes."""

from warploom.ir.dataflow.gather_set import UNDEFINED, ZERO, GatherSet, Shape
from warploom.ir.dataflow.parse import parse_program
from warploom.ir.dataflow.program import (
    MISSING,
    NOUGHT,
    Block,
    Folded,
    FoldOver,
    Gathered,
    Goal,
    Literal,
    Nothing,
    Program,
    Statement,
    Value,
)
from warploom.ir.dataflow.sets import NAMES as SET_NAMES
from warploom.ir.dataflow.sets import gather_set
from warploom.ir.dataflow.values import folded, value_key, value_text

__all__ = [
    "MISSING", "NOUGHT", "SET_NAMES", "UNDEFINED", "ZERO", "Block", "FoldOver", "Folded", "GatherSet", "Gathered", "Goal",
    "Literal", "Nothing", "Program", "Shape", "Statement", "Value", "folded", "gather_set", "parse_program", "value_key",
    "value_text",
]  # fmt: skip
