"""Between which numbers values lie that are joined bit by bit, and of what they are multiples: offsets of swizzled tiles.

Where such a value depends on the number of the thread alone and blocks are small, it is computed for each thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from warploom.ptx.symbolic import LaunchLimits, Term, evaluate, subterms

_MOST_THREADS = 1024
_OPEN = frozenset({"load", "function", "other", "udiv", "sdiv"})
_LARGEST = 300
"""Terms of such a value."""


@dataclass(frozen=True, slots=True)
class Spread:
    least: int
    most: int
    step: int
    """A power of two of which all are multiples."""


class Spreads:
    def __init__(self, limits: LaunchLimits) -> None:
        self._limits = limits
        self._found: dict[Term, Spread | None] = {}

    def of(self, term: Term) -> Spread | None:
        """None: it depends on something else, or on too much."""
        if term not in self._found:
            self._found[term] = self._spread(term)
        return self._found[term]

    def _spread(self, term: Term) -> Spread | None:
        parts = list(subterms(term))
        leaves = [part for part in parts if not part.args and part.op != "const"]
        bounds = [self._limits.bounds(str(leaf.data[0])) if leaf.op == "special" else None for leaf in leaves]
        count = prod(b[1] + 1 if b else _MOST_THREADS + 1 for b in bounds)
        is_open = any(part.args and part.op in _OPEN for part in parts)
        if is_open or count > _MOST_THREADS or len(parts) > _LARGEST:
            return None
        values: set[int] = set()
        for numbers in product(*(range(b[1] + 1) for b in bounds if b)):
            given = dict(zip(leaves, numbers, strict=True))
            values.add(evaluate(term, lambda leaf, _, given=given: given[leaf]))
        step = min((value & -value for value in values if value), default=1)
        return Spread(min(values), max(values), step)
