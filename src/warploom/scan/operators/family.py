"""A closed family made small: slots that never vary, that follow another slot, or that no result needs, are removed.

What holds of random lists is a guess; it is kept only if it holds of every element and is kept by the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce

from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import Closure, right
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.prover import Holds, Translator, UntranslatableError, decide
from warploom.scan.operators.relations import guessed_relations
from warploom.scan.operators.samples import constant_values, random_lists
from warploom.scan.operators.transition import Loop

LISTS, LONGEST = 120, 7


@dataclass(frozen=True, slots=True)
class Family:
    """A family as `Closure` finds it, with the results that are asked of the states at the start."""

    loop: Loop
    slots: tuple[Expr, ...]
    transformers: Mapping[Expr, Expr]
    lift: Mapping[Expr, Expr]
    operator: Mapping[Expr, Expr]

    def projection(self) -> tuple[Expr, ...]:
        """Results of a list, over its slots."""
        final = self._final()
        return tuple(ex.substituted(o, final) for o in self.loop.outputs)

    def finals(self, names: Iterable[str]) -> list[Expr]:
        """States after a list, over its slots."""
        final = {str(v.value): e for v, e in self._final().items()}
        return [final[n] for n in names]

    def _final(self) -> dict[Expr, Expr]:
        initial = {s.variable: s.initial for s in self.loop.states}
        return {v: ex.substituted(e, initial) for v, e in self.transformers.items()}

    def replaced(self, values: Mapping[Expr, Expr]) -> Family:
        """The family with slots expressed by others."""
        kept = tuple(s for s in self.slots if s not in values)
        both = {**values, **{right(s): ex.substituted(e, {k: right(k) for k in self.slots}) for s, e in values.items()}}
        return replace(
            self,
            slots=kept,
            transformers={v: ex.substituted(e, values) for v, e in self.transformers.items()},
            lift={s: self.lift[s] for s in kept},
            operator={s: ex.substituted(self.operator[s], both) for s in kept},
        )

    def restricted(self, slots: Iterable[Expr]) -> Family:
        kept = tuple(slots)
        return replace(self, slots=kept, lift={s: self.lift[s] for s in kept}, operator={s: self.operator[s] for s in kept})

    def needed(self, roots: Iterable[Expr]) -> tuple[Expr, ...]:
        """Slots that the roots depend on, by way of the operator."""
        wanted = {v for r in roots for v in ex.variables(r)}
        mirrored = {right(s): s for s in self.slots}
        while True:
            more = {mirrored.get(v, v) for s in self.slots if s in wanted for v in ex.variables(self.operator[s])} | wanted
            if more == wanted:
                return tuple(s for s in self.slots if s in wanted)
            wanted = more


@dataclass(frozen=True, slots=True)
class Observation:
    """One list and its slots."""

    elements: tuple[tuple[Value, ...], ...]
    values: tuple[Value, ...]


def observations(family: Family, seed: int = 0) -> list[Observation]:
    """Slots of random lists, by the family's own lift and operator."""
    fixed = constant_values(family.loop, seed)
    constants = list(family.loop.constants)
    lift = compiled([*family.loop.fields, *constants], [family.lift[s] for s in family.slots])
    operator = compiled(
        [*family.slots, *(right(s) for s in family.slots), *constants], [family.operator[s] for s in family.slots]
    )
    result: list[Observation] = []
    for elements in random_lists(family.loop, LISTS, LONGEST, seed):
        with suppress(OverflowError, ZeroDivisionError):  # numbers that no float holds, divisors of 0: other lists tell as much
            lifted = [lift(*e, *fixed) for e in elements]
            values = reduce(lambda a, b: operator(*a, *b, *fixed), lifted)
            if all(v == v for v in values):  # so do they where infinities meet to NaN
                result.append(Observation(tuple(elements), values))
    return result


def family_of(loop: Loop, closure: Closure) -> Family:
    return Family(loop, closure.slots, closure.transformers, closure.lift, closure.operator)


def tidy(family: Family) -> Family:
    """Removes slots until none can be."""
    while True:
        roots = [*family.transformers.values()]
        smaller = family.restricted(family.needed(roots))
        relations = _proved(smaller, _guessed(smaller))
        if not relations:
            return smaller
        family = smaller.replaced(relations)


def _guessed(family: Family) -> dict[Expr, Expr]:
    """Slots that on random lists follow from others."""
    seen = observations(family)
    return guessed_relations({s: [ex.constant(o.values[n]) for o in seen] for n, s in enumerate(family.slots)})


def _proved(family: Family, guessed: dict[Expr, Expr]) -> dict[Expr, Expr]:
    """The guesses that follow from each other by induction."""
    while guessed:
        reduced = family.replaced(guessed)
        failed = [s for s, e in guessed.items() if not _follows(family, reduced, s, e, guessed)]
        if not failed:
            return guessed
        guessed = {s: e for s, e in guessed.items() if s not in failed}
    return {}


def _follows(family: Family, reduced: Family, slot: Expr, expr: Expr, guessed: Mapping[Expr, Expr]) -> bool:
    both = {**guessed, **{right(s): ex.substituted(e, {k: right(k) for k in family.slots}) for s, e in guessed.items()}}
    try:
        laws = [
            (family.lift[slot], ex.substituted(expr, reduced.lift)),
            (ex.substituted(family.operator[slot], both), ex.substituted(expr, reduced.operator)),
        ]
    except ex.UndefinedError:
        return False
    return all(a is b or _equal(family.loop, a, b) for a, b in laws)


def _equal(loop: Loop, left: Expr, right: Expr) -> bool:
    translator = Translator()
    try:
        claim = translator.equal(translator.number(left), translator.number(right))
        given = [translator.condition(a) for a in loop.assumed]
    except UntranslatableError:
        return False
    return isinstance(decide(translator, given, [claim], [], rlimit=400_000), Holds)
