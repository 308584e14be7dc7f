"""PTX: syntax, SIMT interpreter, symbolic emulator, shuffle synthesis; usable without the rest of Warploom.

Takes the text of a PTX module. Gives its syntax tree, findings of the verifier, results and counts of a run, addresses and
conditions as terms, and a rewritten module. Open `syntax/nodes.py` first, then `routine.py`, on which all passes work.
"""

from warploom.ptx.routine import Program, Routine, lower
from warploom.ptx.simt import SUPPORTED, Counts, Finding, Launch, is_supported, launch
from warploom.ptx.syntax import Module, exact, normal, parse

__all__ = [
    "SUPPORTED", "Counts", "Finding", "Launch", "Module", "Program", "Routine", "exact", "is_supported", "launch", "lower",
    "normal", "parse",
]  # fmt: skip
