"""Solves dataflow programs: all members of the holes that meet the goal, one, the cheapest, or the proof that there are none."""

from warploom.synth.dataflow.composed import Member
from warploom.synth.dataflow.options import EngineOptions
from warploom.synth.dataflow.solve import ProgramResult, Solution, Solutions, solve_program

__all__ = ["EngineOptions", "Member", "ProgramResult", "Solution", "Solutions", "solve_program"]
