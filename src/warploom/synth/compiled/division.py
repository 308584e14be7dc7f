"""Quotients by constants in the words that compilers write for them: a product with a magic number, shifts, a sign added.

Such words are functions of one word x: sums of x and of floors `floor((a x + b) / 2^s)`. In a range in which nothing wraps they
are one floor. It is the wanted quotient `floor((c x + e) / D)` wherever the two fractions differ by less than the step of one of
them. The ends of the range decide that, since both are linear in x: two comparisons of integers for each sign cover words of any
width. (Granlund and Montgomery, Division by invariant integers using multiplication.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from warploom.core import BY_NAME, DType, integer_range
from warploom.core.linear import Linear, variable
from warploom.synth.compiled.numbers import wrapped
from warploom.terms import Term, apply, constant, iterate_post

_MOST_FLOORS = 4
_LAST_STEPS = frozenset({">>", "+", "-", "neg", "mul.hi.u64", "mul.hi.i64"})
"""Operations with which compilers end a quotient."""
_RING = frozenset({"+", "-", "*", "neg", "&", "|", "^", "~"})


@dataclass(frozen=True, slots=True)
class _Floor:
    """floor(inner / 2^bits)."""

    inner: Linear[_Floor | None]
    bits: int


_Sum = Linear["_Floor | None"]
"""A sum of x (None) and floors, as an integer of any length."""


@dataclass(frozen=True, slots=True)
class _Ratio:
    """floor((a x + b) / by): it rises or falls with x."""

    a: int
    b: int
    by: int

    def at(self, x: int) -> int:
        return (self.a * x + self.b) // self.by


@dataclass(frozen=True, slots=True)
class Quotient:
    """x by a constant."""

    op: str
    """div: towards zero. floordiv: down."""
    word: Term
    kind: DType
    """The type in which x is read."""
    divisor: int

    def over(self, low: int) -> _Ratio:
        """The quotient as a floor, for x of the sign of `low`."""
        sign = 1 if self.divisor > 0 else -1
        by = abs(self.divisor)
        if self.op == "floordiv" or (low >= 0) == (sign > 0):
            return _Ratio(sign, 0, by)
        return _Ratio(sign, by - 1, by)  # upwards


def quotients(roots: Collection[Term], kinds: Mapping[Term, DType]) -> list[Quotient]:
    """Every quotient by a constant in the terms."""
    found: dict[Quotient, None] = {}
    for root in roots:
        for t in iterate_post(root):
            words = t.op.split(".")
            if words[0] not in ("div", "floordiv") or t.args[1].op != "constant" or t.args[0].op == "constant":
                continue
            divisor = wrapped(int(t.args[1].data[0]), BY_NAME[words[1]])
            if divisor not in (0, -1) and t.args[0] in kinds:
                found[Quotient(words[0], t.args[0], BY_NAME[words[1]], divisor)] = None
    return list(found)


class Words:
    """Terms as functions of the word that a quotient divides."""

    def __init__(self, quotient: Quotient, kinds: Mapping[Term, DType], shifted_by: int = 0) -> None:
        """shifted_by: the word is what a larger one leaves, shifted to the right by so many bits."""
        self.quotient, self._kinds, self._same = quotient, kinds, {quotient.word}
        low, high = (n >> shifted_by for n in integer_range(quotient.kind))
        self._ranges = [(low, -1), (0, 0), (1, high)] if low else [(0, high)]
        self._sums: list[dict[Term, _Sum | None]] = [{} for _ in self._ranges]

    def is_quotient(self, root: Term) -> bool:
        """Whether a term is the quotient, modulo its width, for every x."""
        return all(self._holds(root, k) for k in range(len(self._ranges)))

    def is_shifted(self, root: Term) -> int:
        """The number of bits by which a term is the word shifted to the right; 0: it is something else."""
        found = [None if (s := self._sum(root, k)) is None else _flat(s) for k in range(len(self._ranges))]
        ratio = found[0]
        if ratio is None or any(f != ratio for f in found) or (ratio.a, ratio.b) != (1, 0):
            return 0
        low, high = self._ends(ratio)
        own = integer_range(self._kinds[root])
        return ratio.by.bit_length() - 1 if own[0] <= low and high <= own[1] else 0

    def _ends(self, ratio: _Ratio) -> tuple[int, int]:
        return ratio.at(self._ranges[0][0]), ratio.at(self._ranges[-1][1])

    def _holds(self, root: Term, k: int) -> bool:
        total = self._sum(root, k)
        found = None if total is None else _flat(total)
        if found is None:
            return False
        low, high = self._ranges[k]
        wanted = self.quotient.over(low)
        off = found.at(low) - wanted.at(low)
        if off % (1 << self._kinds[root].bits):
            return False
        return _is_same(_Ratio(found.a, found.b - off * found.by, found.by), wanted, low, high)

    def _sum(self, root: Term, k: int) -> _Sum | None:
        done = self._sums[k]
        stack = [root]
        while stack:
            t = stack[-1]
            if t in done:
                stack.pop()
                continue
            operands = () if t in self._same else t.args
            missing = [a for a in operands if a not in done]
            if any(done[a] is None for a in operands if a in done):
                done[t] = None
            elif missing:
                stack.append(missing[0])
                continue
            else:
                made = self._made(t, [s for a in operands if (s := done[a]) is not None], k)
                done[t] = made if made is None else self._settled(made, k)
            stack.pop()
        return done[root]

    def _made(self, t: Term, sums: list[_Sum], k: int) -> _Sum | None:
        """The term as an integer that its word is congruent to; None: it is no such function."""
        if t in self._same:
            return variable(None)
        if t.op == "constant":
            return Linear((), int(t.data[0])) if t.data[0] == int(t.data[0]) else None
        if t not in self._kinds or self._kinds[t].is_float or not sums:
            return None
        words = t.op.split(".")
        if words[0] == "cast":
            source, target = BY_NAME[words[1]], BY_NAME[words[2]]
            if source.is_float or target.is_float:
                return None
            return self._read(sums[0], source, k) if target.bits > source.bits else sums[0]
        if words[0] == "slice":
            return _floor(sums[0], int(words[1]))
        if t.op.startswith("mul.hi."):
            kind = BY_NAME[words[2]]
            a, b = (self._read(s, kind, k) for s in sums)
            product = None if a is None or b is None else _product(a, b)
            return None if product is None else _floor(product, kind.bits)
        match t.op, sums:
            case "+", [a, b]:
                return a.plus(b)
            case "-", [a, b]:
                return a.plus(b, -1)
            case "neg", [a]:
                return a.scaled(-1)
            case "*", [a, b]:
                return _product(a, b)
            case "<<", [a, b] if not b.terms and 0 <= b.constant < self._kinds[t].bits:
                return a.scaled(1 << b.constant)
            case ">>", [a, b] if not b.terms and 0 <= b.constant < self._kinds[t].bits:
                read = self._read(a, self._kinds[t], k)
                return None if read is None else _floor(read, b.constant)
            case (("&" | "|" | "^"), [a, b]) if not a.terms and not b.terms:
                x, y = a.constant, b.constant
                return Linear((), x & y if t.op == "&" else x | y if t.op == "|" else x ^ y)
            case _:
                return None

    def _settled(self, total: _Sum, k: int) -> _Sum:
        """A number where x does not matter in its range."""
        found = _flat(total)
        low, high = self._ranges[k]
        return total if found is None or found.at(low) != found.at(high) else Linear((), found.at(low))

    def _read(self, total: _Sum, kind: DType, k: int) -> _Sum | None:
        """The word as the number of type `kind` that it is; None where it may wrap."""
        found = _flat(total)
        if found is None:
            return None
        ends = [found.at(x) for x in self._ranges[k]]
        low, high = integer_range(kind)
        turns = (min(ends) - low) >> kind.bits
        return total.shifted(-(turns << kind.bits)) if max(ends) - (turns << kind.bits) <= high else None


def _product(a: _Sum, b: _Sum) -> _Sum | None:
    if a.terms and b.terms:
        return None
    return b.scaled(a.constant) if not a.terms else a.scaled(b.constant)


def _floor(total: _Sum, bits: int) -> _Sum:
    return total if not bits else variable(_Floor(total, bits))


def _flat(total: _Sum, floors: int = _MOST_FLOORS) -> _Ratio | None:
    """A sum as one floor: F + n is the floor of what F divides and n times its divisor, -F that of its negative, and a floor of a
    floor is one."""
    parts = [(atom, c) for atom, c in total.terms if atom is not None]
    if not parts:
        return _Ratio(total.coefficient(None), total.constant, 1)
    if len(parts) > floors:
        return None
    for atom, times in parts:
        if abs(times) != 1:
            continue
        rest = total.without((atom,))
        inner = atom.inner if times == 1 else atom.inner.scaled(-1).shifted((1 << atom.bits) - 1)
        found = _flat(inner.plus(rest, 1 << atom.bits), floors - 1)
        if found is not None:
            return _Ratio(found.a, found.b, found.by << atom.bits)
    return None


def _is_same(found: _Ratio, wanted: _Ratio, low: int, high: int) -> bool:
    """Whether two floors are equal for every x from `low` to `high`: sure where this says so."""
    apart = [Fraction(found.a * x + found.b, found.by) - Fraction(wanted.a * x + wanted.b, wanted.by) for x in (low, high)]
    above = all(0 <= d < Fraction(1, wanted.by) for d in apart)
    below = all(-Fraction(1, found.by) < d <= 0 for d in apart)
    return above or below


def with_quotients(roots: list[Term], known: Mapping[Term, DType], wanted: list[Quotient], made: dict[Term, DType]) -> list[Term]:
    """The terms with each of these quotients in place of the words that compute it. made: types of the new terms, added here.

    A quotient has the bits of the word that it replaces; where the sign of that word counts it is converted.
    """
    functions = [(q, words) for q in wanted for words in _ways(q, roots, known)]
    done: dict[Term, Term] = {}
    for root in roots:
        for t in iterate_post(root, done):
            kind = known.get(t)
            fits = [q for q, words in functions if kind is not None and _may_be(t, kind, q) and words.is_quotient(t)]
            done[t] = _quotient(fits[0], kind, made) if fits and kind is not None else _rebuilt(t, done, known, made)
    return [done[root] for root in roots]


def _ways(quotient: Quotient, roots: list[Term], known: Mapping[Term, DType]) -> Iterator[Words]:
    """The quotient as one of the word, and of each shifted word that divides by a power of two first."""
    first = Words(quotient, known)
    yield first
    if quotient.divisor % 2 or (quotient.kind.kind == "int" and quotient.op == "div"):
        return
    for root in roots:
        for t in iterate_post(root):
            count = first.is_shifted(t) if t.op == ">>" and t in known else 0
            if count and not quotient.divisor % (1 << count) and quotient.divisor >> count not in (0, 1, -1):
                yield Words(replace(quotient, word=t, divisor=quotient.divisor >> count), known, count)


def _may_be(term: Term, kind: DType, quotient: Quotient) -> bool:
    return not kind.is_float and kind.bits >= quotient.kind.bits and (term.op in _LAST_STEPS or term.op.startswith("slice."))


def _quotient(quotient: Quotient, kind: DType, made: dict[Term, DType]) -> Term:
    own = quotient.kind
    term = apply(f"{quotient.op}.{own.name}", quotient.word, constant(quotient.divisor))
    made[term] = own
    return term if own.bits == kind.bits else _cast(term, own, kind, made)


def _cast(term: Term, source: DType, target: DType, made: dict[Term, DType]) -> Term:
    found = apply(f"cast.{source.name}.{target.name}", term)
    made[found] = target
    return found


def _rebuilt(term: Term, done: Mapping[Term, Term], known: Mapping[Term, DType], made: dict[Term, DType]) -> Term:
    """The term with what its operands became, each read in the type that it had."""
    args = [done[a] for a in term.args]
    if all(a is b for a, b in zip(args, term.args, strict=True)):
        return term
    words = term.op.split(".")
    if words[0] == "cast" and made.get(args[0]) is BY_NAME[words[2]]:
        return args[0]
    if term.op not in _RING:
        for k, (new, old) in enumerate(zip(args, term.args, strict=True)):
            own, before = made.get(new), known.get(old)
            if new is not old and own is not None and before is not None and own is not before:
                args[k] = _cast(new, own, before, made)
    found = term.rebuilt(args)
    if term in known:
        made[found] = known[term]
    return found
