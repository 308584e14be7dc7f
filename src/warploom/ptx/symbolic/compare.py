"""Equality of addresses: of one thread, and of two threads of one warp (the paper's section 5.1).

For a load of this thread at B and one of another thread, whose `tid.x` is this one's plus N, at A: does A(tid.x + N) = B(tid.x)
hold for every two such threads that both satisfy the path conditions of their loads? Canonical forms decide; where 32-bit indices
were extended to 64 bits, equality may rest on sums that do not wrap, and those that the facts do not prove come back as `NoWrap`.

    x, x + c in known ranges [l, h], [m, n] with m - h - c > -2^w and n - l - c < 2^w   ->   ext(x + c) = ext(x) + c exactly
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.comparisons import equal, less
from warploom.ptx.symbolic.decide import are_equal, is_proved
from warploom.ptx.symbolic.emulation import Emulation
from warploom.ptx.symbolic.facts import Facts
from warploom.ptx.symbolic.substitution import Substitution
from warploom.ptx.symbolic.term import Term, linear, signed


@dataclass(frozen=True, slots=True)
class NoWrap:
    """`term + offset`, read as signed or unsigned, is the sum over the integers: it stays within its width."""

    term: Term
    """Of this thread."""
    offset: int
    width: int
    is_signed: bool

    def __str__(self) -> str:
        return f"{'signed' if self.is_signed else 'unsigned'} {self.width}-bit {self.term} + {self.offset} does not wrap"


@dataclass(frozen=True, slots=True)
class Match:
    """Two addresses are equal if the conditions hold."""

    conditions: tuple[NoWrap, ...]
    """None of them proved; () where the equality is."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """An address as if no extension wrapped, split into its changing part and its constant."""

    key: tuple[tuple[Term, int], ...]
    """Addresses with equal keys differ by a constant, if nothing wraps: group by it."""
    constant: int
    """Signed."""


def difference(algebra: Algebra, x: Term, y: Term) -> int | None:
    """x - y modulo 2^width, unsigned, where the canonical forms give a constant."""
    return algebra.sub(x, y).value


def skeleton(algebra: Algebra, address: Term) -> Skeleton:
    """For grouping and for guessing a delta only: never a proof of anything."""
    constant, parts = linear(address)
    total: dict[Term, int] = {}
    for atom, coefficient in parts:
        if atom.op in ("zext", "sext"):
            inner = atom.args[0]
            offset, _ = linear(inner)
            bare = algebra.table.make(atom.op, atom.width, (algebra.shifted(inner, -offset),), ())
            constant += coefficient * signed(offset, inner.width)
            atom = bare
        total[atom] = total.get(atom, 0) + coefficient
    mask = (1 << address.width) - 1
    key = tuple(sorted(((a, c & mask) for a, c in total.items() if c & mask), key=lambda p: p[0].serial))
    return Skeleton(key, signed(constant & mask, address.width))


def stride(emulation: Emulation, block: int, address: Term, atom: Term) -> int | None:
    """How far an address moves, in bytes, when the atom grows by 1, if nothing wraps; None where it does not move evenly."""
    algebra = emulation.algebra(block)
    moved = Substitution(algebra, {atom: algebra.shifted(atom, 1)})(address)
    now, then = skeleton(algebra, address), skeleton(algebra, moved)
    return then.constant - now.constant if now.key == then.key else None


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
    _algebras: dict[tuple[int, int], tuple[Algebra, Substitution]] = field(
        default_factory=dict[tuple[int, int], tuple[Algebra, Substitution]]
    )
    _elsewhere: Substitution | None = None

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
            other = [self.elsewhere(p) for p in emulation.path_condition(there)]
            conditions = [*emulation.path_condition(here), *other, *self._ranges(), *self.given]
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
        if not rlimit or (found is not None and not found.conditions):
            return found
        if found is None:
            return Match(()) if are_equal(algebra, target, source, rlimit) else None
        return Match(tuple(c for c in found.conditions if not is_proved(algebra, claim(algebra, c), rlimit)))


def equal_if(algebra: Algebra, target: Term, source: Term) -> Match | None:
    """Conditions under which two terms are equal; None where no such conditions are found."""
    rest = algebra.sub(target, source)
    if rest.value is not None:
        return Match(()) if rest.value == 0 else None
    preferred = {a for a, _ in linear(target)[1]}
    constant, parts = linear(rest)
    total: dict[Term, int] = {}
    references: dict[tuple[int, tuple[tuple[Term, int], ...]], list[Term]] = {}
    conditions: list[NoWrap] = []
    for atom, coefficient in sorted(parts, key=lambda p: (p[0] not in preferred, p[0].serial)):
        if atom.op in ("zext", "sext"):
            inner = atom.args[0]
            offset, shape = linear(inner)
            known = references.setdefault((inner.width, shape), [])
            for reference in known:
                is_signed = _common_sign(algebra, reference, atom)
                if is_signed is None:
                    continue
                near = reference.args[0]
                step = signed((offset - linear(near)[0]) % (1 << inner.width), inner.width)
                condition = NoWrap(near, step, inner.width, is_signed)
                if not holds(algebra, condition):
                    conditions.append(condition)
                constant += coefficient * step
                atom = reference
                break
            else:
                known.append(atom)
        total[atom] = total.get(atom, 0) + coefficient
    if algebra.sum_of(rest.width, constant, total).value == 0:
        return Match(tuple(dict.fromkeys(conditions)))
    return None


def _common_sign(algebra: Algebra, first: Term, second: Term) -> bool | None:
    """Whether two extensions are both signed (True) or both unsigned (False); a word that is not negative is both."""

    def may_be(atom: Term, op: str) -> bool:
        return atom.op == op or (op == "sext" and algebra.facts.signed(atom.args[0])[0] >= 0)

    for op in ("zext", "sext") if first.op == second.op == "zext" else ("sext",):
        if may_be(first, op) and may_be(second, op):
            return op == "sext"
    return None


def claim(algebra: Algebra, condition: NoWrap) -> Term:
    """The condition as a predicate."""
    wide = condition.width + 1
    extend = algebra.sext if condition.is_signed else algebra.zext
    inside = algebra.shifted(condition.term, condition.offset)
    return equal(algebra, extend(inside, wide), algebra.shifted(extend(condition.term, wide), condition.offset))


def holds(algebra: Algebra, condition: NoWrap) -> bool:
    """Whether the facts prove that a sum does not wrap."""
    x, y = condition.term, algebra.shifted(condition.term, condition.offset)
    ranged = algebra.facts.signed if condition.is_signed else algebra.facts.unsigned
    (low, high), (least, most) = ranged(x), ranged(y)
    size = 1 << condition.width
    return least - high - condition.offset > -size and most - low - condition.offset < size
