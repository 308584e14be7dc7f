"""PTX: syntax, SIMT interpreter, symbolic emulator, shuffle synthesis; usable without the rest of Warploom.

Takes the text of a PTX module. Gives its syntax tree, findings of the verifier, results and counts of a run, addresses and
conditions as terms, and a rewritten module. Open `syntax/nodes.py` first, then `routine.py`, on which all passes work.
"""

from warploom.ptx.flow import FlowGraph, branch_targets, flow_graph
from warploom.ptx.liveness import live_before, liveness, pressure
from warploom.ptx.places import Place, Places
from warploom.ptx.routine import TYPE_BITS, Program, Routine, Variable, lower
from warploom.ptx.simt import SUPPORTED, SWIZZLES, Counts, Finding, Launch, Surface, TensorMap, Texture, is_supported, launch
from warploom.ptx.syntax import Module, exact, normal, parse
from warploom.ptx.verify import WARNINGS, verify

__all__ = [
    "SUPPORTED", "SWIZZLES", "TYPE_BITS", "WARNINGS", "Counts", "Finding", "FlowGraph", "Launch", "Module", "Place", "Places",
    "Program", "Routine", "Surface", "TensorMap", "Texture", "Variable", "branch_targets", "exact", "flow_graph",
    "is_supported", "launch", "live_before", "liveness", "lower", "normal", "parse", "pressure", "verify",
]  # fmt: skip
