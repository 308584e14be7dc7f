"""The dataflow language: programs of gathers and folds, with sets of gathers as holes.

Takes the text of a program. Gives a checked program (`parse_program`), its text again, its values under an interpreter. The
solver is `warploom.synth.dataflow`. Open `program.py` first, then `parse.py`.
"""

from warploom.ir.dataflow.gather_set import UNDEFINED, ZERO, GatherSet, Shape
from warploom.ir.dataflow.goals import GOALS, builtin_goal
from warploom.ir.dataflow.interp import meets_goal, only_member, run_program
from warploom.ir.dataflow.names import named_statements
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
from warploom.ir.dataflow.replay import is_member, replays
from warploom.ir.dataflow.sets import NAMES as SET_NAMES
from warploom.ir.dataflow.sets import gather_set
from warploom.ir.dataflow.text import program_text
from warploom.ir.dataflow.values import folded, operators_of, value_key, value_text
from warploom.ir.dataflow.verify import verify_program

__all__ = [
    "GOALS", "MISSING", "NOUGHT", "SET_NAMES", "UNDEFINED", "ZERO", "Block", "FoldOver", "Folded", "GatherSet", "Gathered",
    "Goal", "Literal", "Nothing", "Program", "Shape", "Statement", "Value", "builtin_goal", "folded", "gather_set", "is_member",
    "meets_goal", "named_statements", "only_member", "operators_of", "parse_program", "program_text", "replays", "run_program",
    "value_key", "value_text", "verify_program",
]  # fmt: skip
