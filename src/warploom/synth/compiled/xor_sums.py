"""Equality of many sums modulo 2 at once: each sum is one long integer with a bit per distinct summand.

A product of field elements has tens of thousands of summands, each in several outputs: the ordinary normal form, which takes one
output apart after the other, needs four times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.terms import Normaliser, Term


def equal_sums(pairs: Sequence[tuple[Term, Term]], normaliser: Normaliser) -> list[bool]:
    """Whether the two terms of each pair are the same exclusive or of the same summands: never wrongly True."""
    order, users = _sums([t for pair in pairs for t in pair])
    for pair in pairs:
        for term in pair:
            users[term] = users.get(term, 0) + 1
    numbers: dict[object, int] = {}
    values: dict[Term, int] = {}

    def value(term: Term) -> int:
        known = values.get(term)
        if known is None:
            return 1 << numbers.setdefault(_key(term, normaliser), len(numbers))
        users[term] -= 1
        return known if users[term] else values.pop(term)

    for term in order:
        a, b = term.args
        values[term] = value(a) ^ value(b)
    return [value(a) == value(b) for a, b in pairs]


def _sums(roots: Sequence[Term]) -> tuple[list[Term], dict[Term, int]]:
    """Every exclusive or below the roots, operands first, and how often each is used."""
    users: dict[Term, int] = {}
    seen: set[Term] = set()
    stack = [r for r in roots if r.op == "^"]
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        for argument in term.args:
            if argument.op == "^":
                users[argument] = users.get(argument, 0) + 1
                stack.append(argument)
    return sorted(seen, key=lambda t: t.serial), users


def _key(term: Term, normaliser: Normaliser) -> object:
    """Equal for summands that are equal."""
    if term.op == "&":
        a, b = term.args
        if a.op == b.op == "atom" and a is not b:
            return (a.serial, b.serial) if a.serial < b.serial else (b.serial, a.serial)
    return normaliser.canonical(term)
