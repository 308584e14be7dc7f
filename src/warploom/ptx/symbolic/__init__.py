"""Symbolic emulation of PTX: canonical bit-vector terms, memory traces, path conditions, addresses of other threads.

Takes a routine and the limits of its launch. Gives an `Emulation`: for each instruction its values as terms, its path
condition, and its accesses to memory. Open `emulate.py` first, then `term.py`.
"""

from warploom.ptx.symbolic import bitwise, comparisons
from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.building import Assumption
from warploom.ptx.symbolic.compare import Match, NoWrap, Skeleton, claim, difference, equal_if, holds, skeleton, stride
from warploom.ptx.symbolic.decide import Translation, are_equal, counterexample, is_proved
from warploom.ptx.symbolic.emulate import EmulationOptions, emulate, own_limits
from warploom.ptx.symbolic.emulation import BlockState, Emulation
from warploom.ptx.symbolic.evaluation import evaluate
from warploom.ptx.symbolic.facts import Facts
from warploom.ptx.symbolic.lanes import Lanes
from warploom.ptx.symbolic.limits import LANES, LaunchLimits
from warploom.ptx.symbolic.memory import Access, AccessKind, disjoint
from warploom.ptx.symbolic.neighbour import Neighbour
from warploom.ptx.symbolic.operations import MODELLED, Model, is_carrying
from warploom.ptx.symbolic.substitution import Substitution
from warploom.ptx.symbolic.term import Op, Term, TermTable, linear, signed, subterms, term_text

__all__ = [
    "LANES", "MODELLED", "Access", "AccessKind", "Algebra", "Assumption", "BlockState", "Emulation", "EmulationOptions", "Facts",
    "Lanes", "LaunchLimits", "Match", "Model", "Neighbour", "NoWrap", "Op", "Skeleton", "Substitution", "Term", "TermTable",
    "Translation",
    "are_equal", "bitwise", "claim", "comparisons", "counterexample", "difference", "disjoint", "emulate", "equal_if",
    "evaluate", "holds", "is_carrying", "is_proved", "linear", "own_limits", "signed", "skeleton", "stride", "subterms",
    "term_text",
]  # fmt: skip
