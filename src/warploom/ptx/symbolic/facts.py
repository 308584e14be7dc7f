"""Facts about the values of terms that follow from a path condition and the launch limits: arcs and trailing zeros."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.ptx.symbolic import arcs
from warploom.ptx.symbolic.arcs import Arc
from warploom.ptx.symbolic.limits import LaunchLimits
from warploom.ptx.symbolic.term import Term, TermTable, linear, signed

_DEPTH = 60
"""Terms nested deeper than this are taken as unknown."""


def negated(condition: Term) -> Term | None:
    """The atom whose negation a condition is."""
    if condition.op == "sum" and condition.width == 1 and len(condition.args) == 1 and condition.data[0] == 1:
        return condition.args[0]
    return None


class Facts:
    """Arcs of terms under conditions that hold; every answer is sound, the full arc means unknown."""

    def __init__(
        self, table: TermTable, limits: LaunchLimits, conditions: Iterable[Term] = (), known: Facts | None = None
    ) -> None:
        """`known`: facts from all of the conditions but the last."""
        self._table = table
        self._limits = limits
        self.conditions = tuple(conditions)
        """Predicates that hold, conjunctions among them."""
        self._true = frozenset(p for c in self.conditions for p in (c.args if c.op == "and" else (c,)))
        self._known: dict[tuple[int, tuple[tuple[Term, int], ...]], Arc] = {}
        """Arcs of linear parts (a sum less its constant), by width."""
        self._arcs: dict[Term, Arc] = {}
        self._zeros: dict[Term, int] = {}
        self._depth = 0
        if known is not None:
            self._known.update(known._known)
        news = self.conditions if known is None else self.conditions[-1:]
        for _ in range(2 if len(news) > 1 else 1):
            for condition in news:
                self._learn(condition, holds=True)
                self._arcs.clear()

    def arc(self, term: Term) -> Arc:
        """The arc in which the term's value lies, modulo 2^width."""
        found = self._arcs.get(term)
        if found is None:
            if self._depth > _DEPTH:
                return arcs.full(term.width)
            self._depth += 1
            found = self._computed(term)
            self._depth -= 1
            constant, parts = linear(term)
            if parts and (known := self._known.get((term.width, parts))) is not None:
                found = arcs.intersection(found, (known[0] + constant, known[1] + constant), term.width)
            elif parts and (known := self._known.get((term.width, _opposite(parts, term.width)))) is not None:
                found = arcs.intersection(found, (constant - known[1], constant - known[0]), term.width)
            self._arcs[term] = found
        return found

    def unsigned(self, term: Term) -> Arc:
        """Least and greatest value, unsigned."""
        return arcs.unsigned(self.arc(term), term.width)

    def signed(self, term: Term) -> Arc:
        """Least and greatest value, signed."""
        return arcs.signed_bounds(self.arc(term), term.width)

    def trailing_zeros(self, term: Term) -> int:
        """Number of the lowest bits that are known to be 0."""
        constant, parts = linear(term)
        zeros = _zeros(constant, term.width)
        for atom, coefficient in parts:
            zeros = min(zeros, _zeros(coefficient, term.width) + self._atom_zeros(atom))
        return min(zeros, term.width)

    def _atom_zeros(self, atom: Term) -> int:
        zeros = self._zeros.get(atom)
        if zeros is None:
            if self._depth > _DEPTH:
                return 0
            self._depth += 1
            zeros = self._zeros[atom] = self._zeros_inside(atom)
            self._depth -= 1
        return zeros

    def _zeros_inside(self, atom: Term) -> int:
        match atom.op:
            case "zext" | "sext" | "trunc":
                return self.trailing_zeros(atom.args[0])
            case "product":
                return sum(self.trailing_zeros(a) for a in atom.args)
            case "select":
                return min(self.trailing_zeros(atom.args[1]), self.trailing_zeros(atom.args[2]))
            case "and":
                return max(self.trailing_zeros(a) for a in atom.args)
            case "or" | "xor":
                return min(self.trailing_zeros(a) for a in atom.args)
            case _:
                return 0

    def _computed(self, term: Term) -> Arc:
        width = term.width
        match term.op:
            case "const":
                value = int(term.data[0])
                return value, value
            case "sum":
                constant, parts = linear(term)
                low = high = constant
                for atom, coefficient in parts:
                    at = self.arc(atom)
                    factor = signed(coefficient, width)
                    low += factor * (at[0] if factor > 0 else at[1])
                    high += factor * (at[1] if factor > 0 else at[0])
                return arcs.widened(low, high, width)
            case "special":
                return self._limits.bounds(str(term.data[0])) or arcs.full(width)
            case "product":
                low = high = 1
                for factor in term.args:
                    arc = self.arc(factor)
                    corners = [x * y for x in (low, high) for y in arc]
                    low, high = min(corners), max(corners)
                return arcs.widened(low, high, width)
            case "zext":
                return self.unsigned(term.args[0])
            case "sext":
                return self.signed(term.args[0])
            case "trunc":
                arc = self.arc(term.args[0])
                return arcs.widened(arc[0], arc[1], width)
            case "high":
                low, high = self.unsigned(term.args[0])
                cut = int(term.data[0])
                return low >> cut, high >> cut
            case _:
                return self._operation(term)

    def _operation(self, term: Term) -> Arc:
        width = term.width
        full = arcs.full(width)
        match term.op:
            case "select":
                return arcs.union(self.arc(term.args[1]), self.arc(term.args[2]), width)
            case "and":
                return 0, min(self.unsigned(a)[1] for a in term.args)
            case "or" | "xor":
                ranges = [self.unsigned(a) for a in term.args]
                ceiling = (1 << max(r[1] for r in ranges).bit_length()) - 1
                return (max(r[0] for r in ranges) if term.op == "or" else 0), ceiling
            case "lshr":
                low, high = self.unsigned(term.args[0])
                least, most = self.unsigned(term.args[1])
                return low >> min(most, width), high >> min(least, width)
            case "udiv":
                low, high = self.unsigned(term.args[0])
                least, most = self.unsigned(term.args[1])
                return (low // most, high // least) if least else full
            case "sdiv":
                low, high = self.signed(term.args[0])
                least, most = self.signed(term.args[1])
                if least > 0:
                    return (low // most if low >= 0 else -(-low // least)), (high // least if high >= 0 else -(-high // most))
                return full
            case "umin" | "umax":
                pick = min if term.op == "umin" else max
                ranges = [self.unsigned(a) for a in term.args]
                return pick(r[0] for r in ranges), pick(r[1] for r in ranges)
            case "smin" | "smax":
                pick = min if term.op == "smin" else max
                ranges = [self.signed(a) for a in term.args]
                return pick(r[0] for r in ranges), pick(r[1] for r in ranges)
            case "function" if str(term.data[0]) in ("popc", "clz"):
                return 0, term.args[0].width
            case _:
                return full

    def _learn(self, condition: Term, *, holds: bool) -> None:
        match condition.op:
            case "sum" if (inner := negated(condition)) is not None:
                self._learn(inner, holds=not holds)
            case "and" if holds:
                for arg in condition.args:
                    self._learn(arg, holds=True)
            case "and":
                open_args = [a for a in condition.args if not self._holds(a)]
                if len(open_args) == 1:
                    self._learn(open_args[0], holds=False)
            case "eq":
                (zero,) = condition.args
                if holds:
                    self._record(zero, (0, 0))
                else:
                    self._record(zero, (1, (1 << zero.width) - 1))
            case "slt":
                left, right = condition.args
                less, more = (left, right) if holds else (right, left)
                top = (1 << (less.width - 1)) - 1
                strict = 1 if holds else 0
                self._record(less, (-top - 1, self.signed(more)[1] - strict))
                self._record(more, (self.signed(less)[0] + strict, top))
            case "ult":
                left, right = condition.args
                less, more = (left, right) if holds else (right, left)
                strict = 1 if holds else 0
                self._record(less, (0, self.unsigned(more)[1] - strict))
                self._record(more, (self.unsigned(less)[0] + strict, (1 << less.width) - 1))
            case _:
                constant, parts = linear(condition)
                if parts:
                    value = (int(holds) + constant) % 2
                    self._known[1, parts] = (value, value)

    def _holds(self, condition: Term) -> bool:
        return condition in self._true or self.arc(condition) == (1, 1)

    def _record(self, term: Term, arc: Arc) -> None:
        constant, parts = linear(term)
        if not parts or arc[0] > arc[1]:
            return  # a constant, or a condition that cannot hold
        arc = arc[0] - constant, arc[1] - constant
        key = (term.width, parts)
        known = self._known.get(key)
        self._known[key] = arc if known is None else arcs.intersection(known, arc, term.width)
        self._arcs.clear()
        if len(parts) == 1 and parts[0][1] == 1 and parts[0][0].op in ("zext", "sext"):
            extension = parts[0][0]
            inner = extension.args[0]
            half = 1 << (inner.width - 1)
            arc = arcs.intersection((-half, half - 1) if extension.op == "sext" else (0, 2 * half - 1), arc, term.width)
            if arc[1] - arc[0] < 2 * half - 1:
                self._record(inner, arc)  # congruent modulo the smaller width, too


def _zeros(value: int, width: int) -> int:
    return (value & -value).bit_length() - 1 if value else width


def _opposite(parts: tuple[tuple[Term, int], ...], width: int) -> tuple[tuple[Term, int], ...]:
    return tuple((a, -c % (1 << width)) for a, c in parts)
