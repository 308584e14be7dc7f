"""Solves dataflow programs.

Takes a program of `ir.dataflow`. Gives all members of the holes that meet the goal, one, the cheapest, or the proof that there
are none. Open `solve.py` first, then `program_model.py`.
"""

from warploom.synth.dataflow.code import program_movement
from warploom.synth.dataflow.composed import Member
from warploom.synth.dataflow.options import CONFIGURATIONS, EngineOptions
from warploom.synth.dataflow.parallel import PARTS, PartsResult, solve_in_parts
from warploom.synth.dataflow.prices import OF_MACHINES, ONLY_COST, Objective, machine_counts, objective_of, read_objective
from warploom.synth.dataflow.solve import ProgramResult, Solution, Solutions, size_of, solve_program

__all__ = [
    "CONFIGURATIONS",
    "OF_MACHINES",
    "ONLY_COST",
    "PARTS",
    "EngineOptions",
    "Member",
    "Objective",
    "PartsResult",
    "ProgramResult",
    "Solution",
    "Solutions",
    "machine_counts",
    "objective_of",
    "program_movement",
    "read_objective",
    "size_of",
    "solve_in_parts",
    "solve_program",
]
