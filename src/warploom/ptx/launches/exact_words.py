"""Whether two threads meet, as a question on words: for addresses with bitwise operations, which whole numbers do not show.

All widths and wraps are exact. z3 decides small questions of this kind, such as those of swizzled tiles in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warploom.ptx.launches.integers import AXES
from warploom.ptx.symbolic import LANES, Facts, LaunchLimits, Term, TermTable, Translation, subterms
from warploom.solve import Builder, Handle, Unsat, word

_BITWISE = frozenset({"and", "or", "xor", "shl", "lshr", "ashr"})


def has_bitwise(terms: Sequence[Term]) -> bool:
    """True where a term of more than one bit is made by operations on bits."""
    return any(part.op in _BITWISE and part.width > 1 for term in terms for part in subterms(term))


class Words:
    """Two threads of one block."""

    def __init__(
        self, table: TermTable, limits: LaunchLimits, shared: Callable[[Term], bool], is_same_warp: bool | None = None, *,
        are_different: bool = True, alike: int = 0,
    ) -> None:  # fmt: skip
        """shared: says of a term that both threads have the same value for it. is_same_warp: None: may be or not. alike: lanes of
        one warp whose numbers differ in these bits alone are not looked at."""
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
        if are_different:
            self._conditions.append(self.builder.either(differ))
        if limits.whole_rows:
            self._in_rows(table, limits, is_same_warp, alike)

    def _in_rows(self, table: TermTable, limits: LaunchLimits, is_same_warp: bool | None, alike: int) -> None:
        """Lanes and warps where rows of threads are of whole warps."""
        b = self.builder
        x, lane = table.special("tid.x"), table.special("laneid")
        last = b.constant(LANES - 1, word(x.width))
        for who in (1, 2):
            self._conditions.append(b.equal(self._word(lane, who), b.bitwise("&", self._word(x, who), last)))
        axes = [axis for axis in AXES[1:] if limits.bounds(f"ntid.{axis}") != (1, 1)]
        row = [b.equal(*(self._word(table.special(f"tid.{axis}"), who) for who in (1, 2))) for axis in axes]

        def same_but_for(bits: int) -> Handle:
            mask = b.constant(bits, word(x.width))
            return b.both([*row, b.equal(*(b.bitwise("|", self._word(x, who), mask) for who in (1, 2)))])

        if is_same_warp is not None:
            together = same_but_for(LANES - 1)
            self._conditions.append(together if is_same_warp else b.negation(together))
        if alike:
            self._conditions.append(b.negation(same_but_for(alike)))

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
