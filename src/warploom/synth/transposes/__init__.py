"""Three-step transposes in the grown grammar.

Takes the shape of a transpose. Gives rotations and shuffles that perform it, their proof, and the comparison with the paper's
table. Open `solve.py` first, then `template.py`.
"""

from warploom.core import Status
from warploom.synth.transposes.code import transpose_movement
from warploom.synth.transposes.problem import KINDS, Kind
from warploom.synth.transposes.recover import SELF_CHECKS, random_composition, recover, tabulated
from warploom.synth.transposes.replay import replay
from warploom.synth.transposes.solve import DOMAIN, GRAMMARS, Grammar, TransposeReport, solve_transpose
from warploom.synth.transposes.table import table_cost

__all__ = [
    "DOMAIN", "GRAMMARS", "KINDS", "SELF_CHECKS", "Grammar", "Kind", "Status", "TransposeReport", "random_composition", "recover",
    "replay", "solve_transpose", "table_cost", "tabulated", "transpose_movement",
]  # fmt: skip
