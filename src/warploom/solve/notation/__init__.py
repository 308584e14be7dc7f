"""The language of Telamon's paper for choices and constraints, as text: its listings, and kernels to decide.

Takes a text with sets, choices, counters, quotients and requirements, and the objects of kernels. Gives a `Space`, an `Instance`
for each kernel, a `Model` of its decisions for any search, and what is wrong with a full assignment. Open `parse.py` first, then
`declare.py`.
"""

from warploom.solve.notation.declare import Described, declare
from warploom.solve.notation.kernels import Assignment, Decisions, decisions_of
from warploom.solve.notation.meaning import broken
from warploom.solve.notation.parse import parse, read
from warploom.solve.notation.tree import Description, Kernel

__all__ = ["Assignment", "Decisions", "Described", "Description", "Kernel", "broken", "decisions_of", "declare", "parse", "read"]
