"""Two normal forms laid on top of each other, coefficient by coefficient; what one of them lacks is filled in.

A missing term of a maximum is minus infinity, a missing clause of a minimum is infinity. Two single terms with different slopes
can be one term (the missing products have coefficient zero) or a maximum or minimum of two: that is the `Style`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import FLAT, Clause, FormError, Leaf, Number, Plain, Slope, Term, slope_of

Style = Literal["affine", "greatest", "least", "scaled"]
Role = Literal["plain", "offset", "factor", "bound"]
Combine: TypeAlias = Callable[[Expr, Expr, Role], Expr]
"""A function that joins two coefficients in the same place, given their role."""


@dataclass(slots=True)
class Aligner:
    chosen: Style
    was_asked: bool = False
    """Whether the style made a difference."""

    @property
    def style(self) -> Style:
        self.was_asked = True
        return self.chosen

    def leaf(self, left: Leaf, right: Leaf, combine: Combine) -> Leaf:
        """Raises FormError if the two cannot have one shape."""
        if isinstance(left, Plain) and isinstance(right, Plain):
            return Plain(combine(left.value, right.value, "plain"))
        if not isinstance(left, Number) or not isinstance(right, Number):
            raise FormError("a number and a truth value")
        first, second = left.single, right.single
        if first is not None and second is not None:
            return self._single(first, second, combine)
        if len(left.clauses) == len(right.clauses) == 1:
            return Number((self._clause(left.clauses[0], right.clauses[0], combine),))
        return self._clauses(left, right, combine)

    def _single(self, left: Term, right: Term, combine: Combine) -> Number:
        alike = _monomials(left.slope) == _monomials(right.slope)
        if alike or (self.style == "affine" and FLAT in (left.slope, right.slope)):
            a, b = dict(left.slope.parts), dict(right.slope.parts)
            parts = {
                m: combine(a.get(m, ex.ZERO), b.get(m, ex.ZERO), "factor")
                for m in sorted({*a, *b}, key=lambda m: (len(m), [x.order for x in m]))
            }
            return Number(((Term(slope_of(parts), combine(left.offset, right.offset, "offset")),),))
        if self.style == "affine":
            raise FormError("sums of different states")
        if self.style in ("greatest", "scaled"):
            return Number((self._clause((left,), (right,), combine),))
        return self._clauses(Number(((left,),)), Number(((right,),)), combine)

    def _clause(self, left: Clause, right: Clause, combine: Combine) -> Clause:
        a, b = {t.slope: t.offset for t in left}, {t.slope: t.offset for t in right}
        if any(not s.is_constant for s in (*a, *b)) or ({*a} != {*b} and self.style == "scaled"):
            return self._scaled_clause(left, right, combine)
        slopes = sorted({*a, *b}, key=Slope.key)
        return tuple(Term(s, combine(a.get(s, ex.MINUS_INFINITY), b.get(s, ex.MINUS_INFINITY), "offset")) for s in slopes)

    def _scaled_clause(self, left: Clause, right: Clause, combine: Combine) -> Clause:
        """Multiples of products of states, greatest factor first, and terms with constant slopes."""
        a, b = _by_monomial(left), _by_monomial(right)
        result: list[Term] = []
        for monomials in sorted({*a, *b}, key=lambda ms: [[x.order for x in m] for m in ms]):
            if monomials not in a or monomials not in b:
                raise FormError("a multiple that one case lacks")
            first, second = a[monomials], b[monomials]
            count = max(len(first), len(second))
            if count % len(first) or count % len(second):
                raise FormError("different numbers of multiples")
            first, second = first * (count // len(first)), second * (count // len(second))
            for x, y in zip(first, second, strict=True):
                slope_x, slope_y = dict(x.slope.parts), dict(y.slope.parts)
                slope = slope_of({m: combine(slope_x[m], slope_y[m], "factor") for m in monomials})
                result.append(Term(slope, combine(x.offset, y.offset, "offset")))
        return tuple(result)

    def _clauses(self, left: Number, right: Number, combine: Combine) -> Number:
        waiting = list(right.clauses)
        pairs: list[tuple[Clause | None, Clause | None]] = []
        unmatched: list[Clause] = []
        for clause in left.clauses:
            same = next((c for c in waiting if _slopes(c) == _slopes(clause)), None)
            if same is None:
                unmatched.append(clause)
            else:
                waiting.remove(same)
                pairs.append((clause, same))
        for clause in unmatched:
            near = next((c for c in waiting if _slopes(c) <= _slopes(clause) or _slopes(clause) <= _slopes(c)), None)
            if near is not None and self.style != "least":
                waiting.remove(near)
                pairs.append((clause, near))
            else:
                pairs.append((clause, None))
        pairs += [(None, c) for c in waiting]
        result: list[Clause] = []
        for first, second in pairs:
            if first is not None and second is not None:
                result.append(self._clause(first, second, combine))
                continue
            present = first or second
            assert present is not None
            # One infinite term makes the whole clause infinite, which a minimum ignores.
            flat = any(t.slope == FLAT for t in present)
            missing = {t.slope: ex.INFINITY if t.slope == FLAT or not flat else t.offset for t in present}
            result.append(
                tuple(
                    Term(
                        t.slope,
                        combine(t.offset, missing[t.slope], "offset") if first else combine(missing[t.slope], t.offset, "offset"),
                    )
                    for t in present
                )
            )
        return Number(tuple(sorted(result, key=lambda c: tuple(t.slope.key() for t in c))))


def _monomials(slope: Slope) -> list[ex.Monomial]:
    return [m for m, _ in slope.parts]


def _slopes(clause: Clause) -> frozenset[object]:
    """Slopes that tell a clause apart: slopes with numbers, and the products of those with other factors."""
    return frozenset(t.slope if t.slope.is_constant else tuple(_monomials(t.slope)) for t in clause)


def _by_monomial(clause: Clause) -> dict[tuple[ex.Monomial, ...], list[Term]]:
    result: dict[tuple[ex.Monomial, ...], list[Term]] = {}
    for term in clause:
        result.setdefault(tuple(_monomials(term.slope)), []).append(term)
    return result


def is_flat(leaf: Leaf) -> bool:
    """Whether it depends on no state."""
    return isinstance(leaf, Plain) or (leaf.single is not None and leaf.single.slope == FLAT)
