"""Terms that are other terms of elements which lie further on in their arrays.

    2 * x[3] + y[7]   ->   2 * x[5] + y[7]      x by 2 places, y by none

Laws hold of any elements. So where they make the first one equal to a third term, they make the second one equal to that term of
the elements further on, each array by as many places. Of results that a kernel makes all alike, one is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from warploom.synth.compiled.rescaled import ROUNDED
from warploom.terms import GREATEST, Term

Moves: TypeAlias = Mapping[str, int]
"""By array: places."""
_OPERATIONS = frozenset({"+", "-", "*", "/", "neg", "abs", "min", "max", "exp", "ex2", "log", "lg2", "sqrt", "rsqrt", GREATEST})
"""Operations that are nothing but functions of their operands, beside conversions."""
_IN_ANY_ORDER = frozenset({"+", "*", "min", "max"})
_Shape: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]
"""A number that terms have in common whose places alone differ, and by array the first place."""
_MOST_TRIED = 16
"""Terms compared with all others, of which a further one may be one of elements further on."""


class Shifts:
    """sums: symbols that stand for all steps of a loop, and what each step adds or offers."""

    def __init__(self, sums: Mapping[Term, Term]) -> None:
        self._sums = sums
        self._known: dict[tuple[Term, Term], Moves | None] = {}
        self._in_order: dict[Term, list[Term]] = {}
        self._shapes: dict[Term, _Shape] = {}
        self._firsts: list[tuple[Term, ...]] = []

    def is_first(self, terms: tuple[Term, ...]) -> bool:
        """False: all of them are terms of earlier ones for which it was true, of elements further on by the same places."""
        for first in self._firsts[-_MOST_TRIED:]:
            moves = (self.between(one, other) for one, other in zip(first, terms, strict=True))
            if len(first) == len(terms) and _joined(moves) is not None:
                return False
        self._firsts.append(terms)
        return True

    def between(self, one: Term, other: Term) -> Moves | None:
        """By which places the elements of `other` lie further on than those of `one`; None: it is not seen to be such a term."""
        known = self._known
        stack = [(one, other)]
        inside: dict[tuple[Term, Term], list[tuple[Term, Term]] | None] = {}
        while stack:
            pair = stack[-1]
            if pair in known:
                stack.pop()
                continue
            if pair not in inside:
                inner = inside[pair] = self._inner(*pair)
                if inner is not None and (missing := [p for p in inner if p not in known]):
                    stack += missing
                    continue
            inner = inside[pair]
            known[pair] = self._of_leaves(*pair) if inner is None else _joined(known[p] for p in inner)
        return known[one, other]

    def _inner(self, one: Term, other: Term) -> list[tuple[Term, Term]] | None:
        """The pairs of their operands, or of the steps that they stand for; None for what has none, or is not alike."""
        if one in self._sums and other in self._sums:
            return [(self._sums[one], self._sums[other])]
        is_function = one.op in _OPERATIONS or one.op.startswith(("cast.", ROUNDED))
        if not is_function or (one.op, one.data, len(one.args)) != (other.op, other.data, len(other.args)):
            return None
        operands, others = self._operands(one), self._operands(other)
        return list(zip(operands, others, strict=True)) if len(operands) == len(others) else None

    def _operands(self, term: Term) -> Sequence[Term]:
        """Its operands; those of nested sums, products and maxima in an order that does not depend on how they were made, nor on
        where their elements lie."""
        if term.op not in _IN_ANY_ORDER:
            return term.args
        if term not in self._in_order:
            found, stack = list[Term](), list(term.args)
            while stack:
                operand = stack.pop()
                if operand.op == term.op:
                    stack.extend(operand.args)
                else:
                    found.append(operand)
            found = list(dict.fromkeys(found)) if term.op in ("min", "max") else found
            self._in_order[term] = sorted(found, key=self._shape)
        return self._in_order[term]

    def _shape(self, root: Term) -> _Shape:
        """The same for terms of elements further on, but for the places."""
        shapes, stack = self._shapes, [root]
        while stack:
            term = stack[-1]
            if term in shapes:
                stack.pop()
                continue
            parts = (self._sums[term],) if term in self._sums else term.args
            if missing := [p for p in parts if p not in shapes]:
                stack += missing
                continue
            stack.pop()
            if term.op == "atom" and not parts and term.data[1]:
                name, place, lanes = term.data
                shapes[term] = hash((name, lanes, place[1:])), ((name, place[0]),)
            elif not parts:
                shapes[term] = term.serial, ()
            else:
                own = [shapes[p] for p in parts]
                codes = [code for code, _ in own]
                least: dict[str, int] = {}
                for _, places in own:
                    for name, place in places:
                        least[name] = min(place, least.get(name, place))
                is_ordered = term.op not in _IN_ANY_ORDER
                shapes[term] = hash((term.op, *(codes if is_ordered else sorted(codes)))), tuple(sorted(least.items()))
        return shapes[root]

    def _of_leaves(self, one: Term, other: Term) -> Moves | None:
        if one.op == other.op == "constant":
            return {} if one is other else None
        if one.op != "atom" or other.op != "atom" or one in self._sums or other in self._sums:
            return None
        (name, place, lanes), (name_of_other, place_of_other, lanes_of_other) = one.data, other.data
        if (name, lanes, len(place)) != (name_of_other, lanes_of_other, len(place_of_other)) or name.startswith("%"):
            return None
        if not place:
            return {}
        return {name: place_of_other[0] - place[0]} if place[1:] == place_of_other[1:] else None


def _joined(several: Iterable[Moves | None]) -> Moves | None:
    """All of them; None where one is missing, or one array moves by two numbers of places."""
    found: Moves = {}
    for moves in several:
        if moves is None:
            return None
        if moves is found:
            continue
        if any(found.get(name, by) != by for name, by in moves.items()):
            return None
        if not moves.keys() <= found.keys():
            found = {**found, **moves} if found else moves
    return found
