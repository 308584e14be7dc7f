"""Addresses of two threads of one warp (the paper's section 5.1).

For a load of this thread at B and one of another thread, whose `tid.x` is this one's plus N, at A: does A(tid.x + N) = B(tid.x)
hold for every two such threads that both satisfy the path conditions of their loads?

Where an index x grows by c from each thread to the next and is extended, that asks for x + N c not to wrap. In a full warp it is
enough that no single step wraps: the threads T + 1 ... T + N - 1 between the two have run the same code, so the path conditions
hold for every two adjacent threads, and if under these x + c does not wrap, over the integers

    x(T + N) = x(T + N - 1) + c = ... = x(T) + N c        read as signed, or read as unsigned

A path with x < n (signed) keeps x from the greatest value and hence from wrapping in steps of 1, with no lower bound; in steps of
c the path has to exclude the c greatest, or the c least, values. A bound on another word, say x + 1 < n for the index x, is not
enough: x may be the greatest value in the first lane. Steps are the deltas divided by their greatest common divisor: the threads
between are then in the same warp, and in the row or plane of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.compare import Match, NoWrap, claim, equal_if, holds
from warploom.ptx.symbolic.comparisons import less
from warploom.ptx.symbolic.decide import are_equal, is_proved
from warploom.ptx.symbolic.emulation import Emulation
from warploom.ptx.symbolic.facts import Facts
from warploom.ptx.symbolic.substitution import Substitution
from warploom.ptx.symbolic.term import Term, signed


@dataclass(slots=True)
class Neighbour:
    """Another thread of the same warp, `deltas` away, seen from this one; both are in blocks of the same emulation.

    Thread indices that `deltas` does not name are the same for both, as are block indices and sizes; a lane index moves only if
    it is named.
    """

    emulation: Emulation
    deltas: Mapping[Term, int]
    """Special registers, and how much more the other thread has of them: {tid.x: N}, with laneid: N where rows hold warps."""
    in_step: frozenset[int] = frozenset()
    """Headers of loops that both threads are in the same iteration of, besides those proved to be so."""
    given: tuple[Term, ...] = ()
    """Further predicates that hold, in terms of this thread."""
    whole_warp: bool = True
    """Every thread between the two, in equal steps, runs both accesses too, in the same iteration of the loops around them: so it
    is where only warps with all lanes active exchange values, within a row, or along the rows of a plane."""
    _algebras: dict[tuple[int, int], tuple[Algebra, Substitution]] = field(
        default_factory=dict[tuple[int, int], tuple[Algebra, Substitution]]
    )
    _elsewhere: Substitution | None = None
    _step: Neighbour | None = None

    def elsewhere(self, term: Term) -> Term:
        """The other thread's value of a term, in terms of this thread where they are related at all."""
        if self._elsewhere is None:
            root = Algebra(self.emulation.table, Facts(self.emulation.table, self.emulation.limits))
            self._elsewhere = self._moved(root)
        return self._elsewhere(term)

    def _moved(self, algebra: Algebra) -> Substitution:
        table, lanes = self.emulation.table, self.emulation.lanes
        replaced = {atom: algebra.shifted(atom, delta) for atom, delta in self.deltas.items()}

        def leaf(term: Term) -> Term | None:
            match term.op:
                case "special":
                    same = lanes.is_uniform(term) or str(term.data[0]).startswith("tid.")
                case "counter":
                    same = lanes.in_step(int(term.data[0])) or int(term.data[0]) in self.in_step
                case "opaque" | "loop" | "other" | "parameter":
                    same = lanes.is_uniform(term)
                case "load":
                    same = False
                    if term.data[2] == "read-only":
                        return None
                case _:
                    return None
            return term if same else table.make("other", term.width, (term,), ("lane",))

        return Substitution(algebra, replaced, leaf)

    def _under(self, here: int, there: int) -> tuple[Algebra, Substitution]:
        """Algebra under the path conditions of this thread in block `here` and of the other in block `there`."""
        found = self._algebras.get((here, there))
        if found is None:
            emulation = self.emulation
            mine, theirs = emulation.path_condition(here), emulation.path_condition(there)
            if self.whole_warp:
                mine = theirs = tuple(dict.fromkeys((*mine, *theirs)))
            conditions = [*mine, *map(self.elsewhere, theirs), *self._ranges(), *self.given]
            facts = Facts(emulation.table, emulation.limits, [c for c in conditions if c.value is None])
            algebra = Algebra(emulation.table, facts)
            found = self._algebras[here, there] = (algebra, self._moved(algebra))
        return found

    def _ranges(self) -> Iterable[Term]:
        """The other thread's special registers are in range, too."""
        emulation = self.emulation
        root = emulation.algebra(emulation.order[0])
        for atom, delta in self.deltas.items():
            bounds = emulation.limits.bounds(str(atom.data[0]))
            if bounds is not None:
                yield less(root, root.shifted(atom, delta), root.const(bounds[1] + 1, atom.width), is_signed=False)

    def match(self, here: Term, here_block: int, there: Term, there_block: int, *, rlimit: int = 0) -> Match | None:
        """Whether this thread's address `here` equals the other thread's address `there`; None: not known to be equal.

        With an `rlimit`, z3 may spend so many resource units on each question that the canonical forms leave open.
        """
        algebra, moved = self._under(here_block, there_block)
        target = Substitution(algebra, {})(here)
        source = moved(there)
        found = equal_if(algebra, target, source)
        if found is None:
            return Match(()) if rlimit and are_equal(algebra, target, source, rlimit) else None
        conditions = found.conditions
        if conditions and self.whole_warp:
            conditions = tuple(c for c in conditions if not self._is_walked(c, here_block, there_block))
        if rlimit:
            conditions = tuple(c for c in conditions if not is_proved(algebra, claim(algebra, c), rlimit))
        return Match(conditions)

    def _is_walked(self, condition: NoWrap, here: int, there: int) -> bool:
        """Whether the sum leads over values of the threads between, none of whose steps wraps."""
        count = gcd(*self.deltas.values())
        if count == 0:
            return False
        if self._step is None:
            self._step = Neighbour(self.emulation, {a: d // count for a, d in self.deltas.items()}, self.in_step)
        algebra, moved = self._step._under(here, there)
        own, _ = self._under(here, there)
        end = own.shifted(condition.term, condition.offset)
        for term, offset in ((condition.term, condition.offset), (end, -condition.offset)):
            grown = algebra.sub(moved(term), Substitution(algebra, {})(term)).value
            if grown is None:
                continue
            by = signed(grown, condition.width)
            rest = offset - by * count  # between two values of one thread
            for first in (term, own.shifted(term, rest)):
                last = own.shifted(first, by * count)
                jump = NoWrap(last if first is term else term, rest, condition.width, condition.is_signed)
                if holds(algebra, NoWrap(first, by, condition.width, condition.is_signed)) and (not rest or holds(own, jump)):
                    return True
        return False
