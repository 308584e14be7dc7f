"""Equality of addresses up to sums that do not wrap.

Canonical forms decide; where 32-bit indices were extended to 64 bits, equality may rest on sums that do not wrap, and those that
the facts do not prove come back as `NoWrap`.

    x, x + c in known ranges [l, h], [m, n] with m - h - c > -2^w and n - l - c < 2^w   ->   ext(x + c) = ext(x) + c exactly
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.comparisons import equal
from warploom.ptx.symbolic.emulation import Emulation
from warploom.ptx.symbolic.substitution import Substitution
from warploom.ptx.symbolic.term import Term, linear, signed


@dataclass(frozen=True, slots=True)
class NoWrap:
    """`term + offset`, read as signed or unsigned, is the sum over the integers: it stays within its width."""

    term: Term
    """The term of this thread."""
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
    """Skeleton of an address, for grouping and for guessing a delta only: never a proof of anything."""
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
    """Distance in bytes that an address moves when the atom grows by 1, if nothing wraps; None where it does not move evenly."""
    algebra = emulation.algebra(block)
    moved = Substitution(algebra, {atom: algebra.shifted(atom, 1)})(address)
    now, then = skeleton(algebra, address), skeleton(algebra, moved)
    return then.constant - now.constant if now.key == then.key else None


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
