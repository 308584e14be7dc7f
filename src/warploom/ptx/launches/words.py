"""Whether two threads meet, as a question on words: for addresses with bitwise operations, which whole numbers do not show.

All widths and wraps are exact. z3 decides small questions of this kind, such as those of swizzled tiles in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warploom.ptx.launches.integers import AXES
from warploom.ptx.symbolic import Facts, LaunchLimits, Term, TermTable, Translation, subterms
from warploom.solve import Builder, Handle, Unsat, word

_BITWISE = frozenset({"and", "or", "xor", "shl", "lshr", "ashr"})


def has_bitwise(terms: Sequence[Term]) -> bool:
    """True where a term of more than one bit is made by operations on bits."""
    return any(part.op in _BITWISE and part.width > 1 for term in terms for part in subterms(term))


class Words:
    """Two threads of one block."""

    def __init__(self, table: TermTable, limits: LaunchLimits, shared: Callable[[Term], bool]) -> None:
        """shared: says of a term that both threads have the same value for it."""
        self.builder = Builder()
        facts = Facts(table, limits)
        self._threads = tuple(
            Translation(facts, self.builder, lambda term, who=who: "" if shared(term) else f"@{who}") for who in (1, 2)
        )
        self._conditions: list[Handle] = []
        differ: list[Handle] = []
        for axis in AXES:
            tid, ntid = table.special(f"tid.{axis}"), table.special(f"ntid.{axis}")
            if limits.bounds(f"ntid.{axis}") != (1, 1):
                differ.append(self.builder.negation(self.builder.equal(*(self._word(tid, who) for who in (1, 2)))))
            self._conditions += [
                self.builder.less(self._word(tid, who), self._word(ntid, who), is_signed=False) for who in (1, 2)
            ]
        self._conditions.append(self.builder.either(differ))

    def _word(self, term: Term, who: int) -> Handle:
        return self._threads[who - 1].vector(term)

    def require(self, predicate: Term, who: int) -> None:
        self._conditions.append(self._threads[who - 1].holds(self._word(predicate, who)))

    def are_apart(self, first: Term, first_bytes: int, second: Term, second_bytes: int, rlimit: int) -> bool:
        """Whether no byte of thread 1's access is one of thread 2's, proved."""
        b = self.builder
        apart = b.subtract(self._word(first, 1), self._word(second, 2))
        above = b.less(apart, b.constant(second_bytes, word(first.width)), is_signed=False)
        below = b.less(b.negate(apart), b.constant(first_bytes, word(first.width)), is_signed=False)
        bounds = [t.holds(h) for t in self._threads for h in t.bounds]
        return isinstance(b.check([*bounds, *self._conditions, b.either([above, below])], rlimit, "QF_BV"), Unsat)
