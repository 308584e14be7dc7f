"""A description compiled to forms, independent of any instance."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.solve.space.description import Space
from warploom.solve.space.forms import Form, FormKind, FormLiteral, LiteralKind, Part, Wake, facts_of
from warploom.solve.space.nodes import (
    Applied,
    Compared,
    Counter,
    Cover,
    EnumChoice,
    FactLiteral,
    InValues,
    Literal,
    Quotient,
    Requirement,
    Trigger,
)
from warploom.solve.space.relations import is_relational, relation_forms


class CompiledSpace:
    """The forms of a space; may be shared by any number of instances."""

    def __init__(self, space: Space) -> None:
        self.sets = dict(space.sets)
        self.choices = dict(space.choices)
        self.functions = tuple(space.functions)
        self.facts = {name: fact.arity for name, fact in space.facts.items()}
        self.constants = dict(space.constants)
        self.counters = dict(space.counters)
        self.quotients = dict(space.quotients)
        self.triggers = dict(space.triggers)
        relational = [r for r in space.requirements if is_relational(r, self.choices)]
        self.forms: tuple[Form, ...] = (
            *(_counter_form(counter, self) for counter in self.counters.values()),
            *(_cover_form(cover) for cover in space.covers),
            *(_quotient_form(quotient, self) for quotient in self.quotients.values()),
            *(_trigger_form(trigger, self) for trigger in self.triggers.values()),
            *relation_forms(relational, self.choices),
            *(form for r in space.requirements if r not in relational and (form := _clause_form(r, self)) is not None),
        )
        """Counters first, in their order."""

    def is_integer(self, name: str) -> bool:
        return name in self.choices and not isinstance(self.choices[name], EnumChoice)


class _Slots:
    """Numbers the variables that a form reads."""

    def __init__(self, space: CompiledSpace) -> None:
        self.space = space
        self.listed: list[Applied] = []

    def of(self, applied: Applied) -> int:
        if applied not in self.listed:
            self.listed.append(applied)
        return self.listed.index(applied)

    def literals(self, literals: tuple[Literal, ...], part: Part = Part.MEMBER) -> list[FormLiteral]:
        """Facts are left out: they are guards."""
        done: list[FormLiteral] = []
        for literal in literals:
            match literal:
                case InValues(choice, mask):
                    done.append(FormLiteral(LiteralKind.IN_MASK, self.of(choice), mask, part=part))
                case Compared(Applied() as left, comparator, Applied() as right) if self.space.is_integer(right.name):
                    slot, other = self.of(left), self.of(right)
                    done.append(FormLiteral(LiteralKind.COMPARE, slot, other_slot=other, comparator=comparator, part=part))
                case Compared(Applied() as left, comparator, right):
                    kind = LiteralKind.IN_MASK if self.space.is_integer(left.name) else LiteralKind.IN_RANGE
                    done.append(FormLiteral(kind, self.of(left), comparator=comparator, constant=right, part=part))
                case _:
                    assert isinstance(literal, FactLiteral), literal
        return done

    def wakes(self, idle: Mapping[int, int] | None = None) -> tuple[Wake, ...]:
        """One for each slot, whatever the direction."""
        return tuple(
            Wake(n, bool(getattr(self.space.choices.get(slot.name), "mirror", ())), (idle or {}).get(n, 0))
            for n, slot in enumerate(self.listed)
        )


def _clause_form(requirement: Requirement, space: CompiledSpace) -> Form | None:
    """None when it always holds."""
    masks: dict[Applied, int] = {}
    others: list[Literal] = []
    for literal in requirement.literals:
        if isinstance(literal, InValues):
            masks[literal.choice] = masks.get(literal.choice, 0) | literal.mask
        elif not isinstance(literal, FactLiteral):
            others.append(literal)
    slots = _Slots(space)
    enums = tuple(InValues(choice, mask) for choice, mask in masks.items())
    literals = slots.literals((*enums, *others))
    guards = tuple(~fact for fact in facts_of(requirement.literals))
    if any(~guard in guards for guard in guards):
        return None
    idle = {n: masks[s] for n, s in enumerate(slots.listed) if s in masks and not any(a.functions for a in s.arguments)}
    return Form(
        requirement.name,
        FormKind.CLAUSE,
        requirement.over,
        tuple(slots.listed),
        slots.wakes(idle),
        guards,
        literals=tuple(literals),
    )


def _counter_form(counter: Counter, space: CompiledSpace) -> Form:
    slots = _Slots(space)
    literals = slots.literals(counter.when)
    value = counter.value
    if isinstance(value, Applied) and value.name not in space.constants:
        slots.of(value)
    return Form(
        counter.name,
        FormKind.COUNTER,
        (*counter.of, *counter.over),
        tuple(slots.listed),
        slots.wakes(),
        facts_of(counter.when),
        len(counter.of),
        tuple(literals),
        is_product=counter.is_product,
        value=value,
        start=counter.start,
    )


def _cover_form(cover: Cover) -> Form:
    slots = (cover.outer, cover.tile)
    wakes = tuple(Wake(n, False) for n in range(2))
    over = (*cover.of, *cover.over)
    return Form(cover.name, FormKind.COVER, over, slots, wakes, parameters=len(cover.of), start=cover.total, exact=cover.exact)


def _quotient_form(quotient: Quotient, space: CompiledSpace) -> Form:
    slots = _Slots(space)
    slots.of(quotient.flag)
    literals = [
        *slots.literals(quotient.when, Part.MEMBER),
        *slots.literals(quotient.by, Part.BY),
        *slots.literals(quotient.when_other, Part.OTHER),
    ]
    return Form(
        quotient.name,
        FormKind.QUOTIENT,
        (*quotient.per, quotient.member, quotient.other),
        tuple(slots.listed),
        slots.wakes(),
        parameters=len(quotient.per) + 1,
        literals=tuple(literals),
    )


def _trigger_form(trigger: Trigger, space: CompiledSpace) -> Form:
    slots = _Slots(space)
    literals = slots.literals(trigger.when)
    guards = facts_of(trigger.when)
    return Form(
        trigger.name, FormKind.TRIGGER, trigger.over, tuple(slots.listed), slots.wakes(), guards, literals=tuple(literals)
    )
