"""Invariants of all lists: orders of slots and bounds, guessed on random lists, kept if they are inductive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.family import Family, observations
from warploom.scan.operators.laws import Order, kept, kept_orders, met_by_elements
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.prover import Fails, Holds, Open

MAX_ROUNDS = 40


def invariants(family: Family) -> list[Expr]:
    """Conditions over the slots that hold for every list with at least one element."""
    candidates = _candidates(family)
    candidates = _kept_by_elements(family, candidates)
    return _inductive(family, candidates)


def orders(family: Family) -> list[Order]:
    """Orders of slots that may be infinite, that hold for every list with at least one element."""
    numeric = [s for s in family.slots if s.sort.is_numeric]
    if not any(s.sort.is_infinite for s in numeric):
        return []
    seen = [dict(zip(family.slots, o.values, strict=True)) for o in observations(family, seed=1)]
    found = [(a, b) for a in numeric for b in numeric if a is not b and (a.sort.is_infinite or b.sort.is_infinite)]
    likely = [(a, b) for a, b in found if all(cast(float, o[a]) >= cast(float, o[b]) for o in seen)]
    return kept_orders(family, likely)


def _candidates(family: Family) -> list[Expr]:
    numeric = [s for s in family.slots if s.sort.is_numeric and not s.sort.is_infinite and s.sort.values is None]
    flags = [s for s in family.slots if s.sort.base == "bool"]
    bounds: set[Value] = {0}
    for state in family.loop.states:
        if state.initial.op == "const" and isinstance(state.initial.value, int) and not isinstance(state.initial.value, bool):
            bounds.add(state.initial.value)
    found: list[Expr] = []
    for slot in numeric:
        for bound in sorted(bounds, key=str):
            found += [ex.at_least(slot, ex.constant(bound)), ex.at_least(ex.constant(bound), slot)]
        found += [ex.at_least(slot, ex.ONE)]
        found += [ex.at_least(slot, other) for other in numeric if other is not slot]
    found += [ex.either(ex.negation(a), b) for a in flags for b in flags if a is not b]
    found = [f for f in dict.fromkeys(found) if f.op != "const"]
    test = compiled(family.slots, found)
    seen = [test(*o.values) for o in observations(family, seed=1)]
    return [f for n, f in enumerate(found) if all(row[n] for row in seen)]


def _kept_by_elements(family: Family, candidates: list[Expr]) -> list[Expr]:
    """Filtered by counterexamples until the rest holds of every element."""
    lift = compiled([*family.loop.fields, *family.loop.constants], [family.lift[s] for s in family.slots])
    for _ in range(MAX_ROUNDS):
        if not candidates:
            return []
        verdict = met_by_elements(family, candidates)
        match verdict:
            case Holds():
                return candidates
            case Open():
                return [c for c in candidates if isinstance(met_by_elements(family, [c]), Holds)]
            case Fails(values):
                named = [values.get(str(f.value), 0) for f in (*family.loop.fields, *family.loop.constants)]
                candidates = _surviving(family, candidates, lift(*named))
    return []


def _inductive(family: Family, candidates: list[Expr]) -> list[Expr]:
    operator = compiled(
        [*family.slots, *(right(s) for s in family.slots), *family.loop.constants], [family.operator[s] for s in family.slots]
    )
    for _ in range(MAX_ROUNDS):
        if not candidates:
            return []
        verdict = kept(family, candidates, candidates)
        match verdict:
            case Holds():
                return candidates
            case Open():
                # One by one under all of them; those that fail go, and the rest is tried again.
                held = [c for c in candidates if isinstance(kept(family, candidates, [c]), Holds)]
                if len(held) == len(candidates):
                    return candidates
                candidates = held
            case Fails(values):
                names = [*family.slots, *(right(s) for s in family.slots), *family.loop.constants]
                joined = operator(*(values.get(str(n.value), 0) for n in names))
                survivors = _surviving(family, candidates, joined)
                if len(survivors) == len(candidates):
                    return []
                candidates = survivors
    return []


def multiplies(family: Family) -> bool:
    """Whether the operator multiplies slots by slots."""
    slots = {*family.slots, *map(right, family.slots)}
    sums = (e for e in ex.subexpressions(*family.operator.values()) if e.op == "poly")
    return any(sum(bool({*ex.variables(a)} & slots) for a in m) > 1 for e in sums for _, m in e.terms)


def _surviving(family: Family, candidates: Sequence[Expr], values: Sequence[Value]) -> list[Expr]:
    test = compiled(family.slots, candidates)
    return [c for c, holds in zip(candidates, test(*values), strict=True) if holds]
