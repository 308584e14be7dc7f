"""Elements of arrays at places that data give: `read.@.512(W[3], idx[7])` is element 3 + 512 * idx[7] of W.

The first operand stands for its place, not for what is there; so such a term has other elements where its operands do.
"""

from __future__ import annotations

from collections.abc import Iterable

from warploom.terms.term import Term, apply, serial

READ = "read"
"""Begins the operator of each read at an index from data."""
_AT = f"{READ}.@"


def element_behind(start: Term, words: Iterable[tuple[Term, int]]) -> Term:
    """The element that lies behind `start` by the sum of these words times their numbers."""
    parts = sorted(words, key=lambda part: serial(part[0]))
    if not parts:
        return start
    return apply(".".join([_AT, *(str(times) for _, times in parts)]), start, *(word for word, _ in parts))


def is_element_behind(term: Term) -> bool:
    return term.op.startswith(_AT)
