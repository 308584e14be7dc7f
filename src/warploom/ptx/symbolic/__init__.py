"""Symbolic emulation of PTX: canonical bit-vector terms, memory traces, path conditions."""

from warploom.ptx.symbolic import bitwise, comparisons
from warploom.ptx.symbolic.algebra import Algebra, Assumption
from warploom.ptx.symbolic.evaluation import evaluate
from warploom.ptx.symbolic.facts import Facts
from warploom.ptx.symbolic.limits import LaunchLimits
from warploom.ptx.symbolic.substitution import Substitution
from warploom.ptx.symbolic.term import Op, Term, TermTable, linear, signed, subterms
from warploom.ptx.symbolic.text import term_text

__all__ = [
    "Algebra", "Assumption", "Facts", "LaunchLimits", "Op", "Substitution", "Term", "TermTable", "bitwise", "comparisons",
    "evaluate", "linear", "signed", "subterms", "term_text",
]  # fmt: skip
