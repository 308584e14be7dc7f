"""Terms with other symbols."""

from __future__ import annotations

from collections.abc import Callable

from warploom.synth.compiled.data import Data
from warploom.terms import Term, iterate_post

SUM = "%sum"
"""Name of the symbols that stand for what the rounds of a loop add."""
LIMITED = "%limited"
"""Name of the symbols for a smaller or larger number that data decide."""


def rebuilt(root: Term, leaf: Callable[[Term], Term], data: Data, done: dict[Term, Term]) -> Term:
    """The term with `leaf` of each symbol in its place. done: terms for which that is known, and gets others."""
    for t in iterate_post(root, done):
        if t.op == "atom":
            done[t] = leaf(t)
        elif t.args and any(done[a] is not a for a in t.args):
            made = done[t] = t.rebuilt([done[a] for a in t.args])
            if t in data.kinds:
                done[t] = data.made(made, data.kinds[t])
        else:
            done[t] = t
    return done[root]
