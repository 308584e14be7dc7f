"""A description as a `Space`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeVar

from warploom.core import Diagnostic, Span, UserError
from warploom.core.diagnostics import placed
from warploom.solve.notation.tree import (
    Applied,
    Code,
    Compared,
    Condition,
    Constant,
    Counter,
    Description,
    Enum,
    Holds,
    Integer,
    Is,
    Name,
    Number,
    Over,
    Quantity,
    Quotient,
    Require,
)
from warploom.solve.space import Argument, EnumChoice, IntegerChoice, ObjectSet, Space
from warploom.solve.space import Counter as SpaceCounter
from warploom.solve.space.nodes import EnumTerm, FactLiteral, IntegerTerm, InValues, Literal, Property, Quantifiers

_T = TypeVar("_T")
_COMPARED: Mapping[str, Callable[[IntegerTerm, IntegerTerm | int], Literal]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b, ">": lambda a, b: a > b,
}  # fmt: skip


@dataclass(slots=True)
class Described:
    """A space, and how its host code is written."""

    description: Description
    space: Space
    facts: dict[str, Code] = field(default_factory=dict[str, Code])
    """Code that is true or false, by the name of the fact."""
    constants: dict[str, Code] = field(default_factory=dict[str, Code])
    integers: dict[str, Integer] = field(default_factory=dict[str, Integer])


def declare(description: Description, name: str = "description") -> Described:
    """Raises UserError at what means nothing, or is beyond what `Space` takes."""
    return _Declarer(description, name).described()


def expanded(description: Description, choice: str, values: Sequence[Name]) -> tuple[str, ...]:
    """The values, aliases as what they stand for."""
    aliases = {a: v for c in description.choices if isinstance(c, Enum) and c.name.text == choice for a, v in c.aliases.items()}
    found: list[str] = []
    for value in values:
        found += [v.text for v in aliases[value.text]] if value.text in aliases else [value.text]
    return tuple(dict.fromkeys(found))


def _unknown(name: Name, what: str, known: Iterable[str]) -> UserError:
    listed = ", ".join(known) or "none"
    return UserError(Diagnostic("SPACE", f"expected {what}, got {name}", name.span, f"Declare it. There are: {listed}."))


class _Declarer:
    def __init__(self, description: Description, name: str) -> None:
        self._description = description
        self._space = Space(name)
        self._described = Described(description, self._space)
        self._choices: dict[str, EnumChoice | IntegerChoice] = {}
        self._counters: dict[str, SpaceCounter] = {}

    def described(self) -> Described:
        description = self._description
        for one in description.sets:
            self._at(
                one.name.span,
                lambda s=one: self._space.set(
                    s.name.text,
                    within=None if s.within is None else self._set(s.within),
                    of=None if s.owner is None else self._set(s.owner.set),
                    disjoint_from=[self._set(d) for d in s.disjoint],
                ),
            )
        for choice in self._whole(description.choices):
            self._choices[choice.name.text] = self._at(choice.name.span, lambda c=choice: self._choice(c))
        for quotient in description.quotients:
            self._at(quotient.name.span, lambda q=quotient: self._quotient(q))
        for counter in description.counters:
            self._counters[counter.name.text] = self._at(counter.name.span, lambda c=counter: self._counter(c))
        for requirement in description.requirements:
            self._at(requirement.span, lambda r=requirement: self._require(r))
        return self._described

    def _at(self, span: Span, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except UserError as error:
            raise placed(error, span) from None

    def _whole(self, choices: Sequence[Enum | Integer]) -> list[Enum | Integer]:
        """Without those whose values are left out and stand elsewhere."""
        kept = [c for c in choices if isinstance(c, Integer) or c.values]
        for choice in choices:
            if choice.name.text not in {k.name.text for k in kept}:
                message = f"expected values of choice {choice.name}, got none in the text"
                raise UserError(Diagnostic("SPACE", message, choice.name.span, "Write them: value NAME:"))
        return kept

    def _set(self, name: Name) -> ObjectSet:
        found = self._space.sets.get(name.text)
        if found is None:
            raise _unknown(name, "a set that is declared before", self._space.sets)
        return found

    def _sets(self, over: Sequence[Over]) -> list[ObjectSet]:
        for one in over:
            if one.owner is not None:
                raise UserError(Diagnostic("SPACE", "expected a plain set of a choice, got one of an owner", one.set.span))
        return [self._set(o.set) for o in over]

    def _choice(self, choice: Enum | Integer) -> EnumChoice | IntegerChoice:
        sets = self._sets(choice.over)
        name = choice.name.text
        if isinstance(choice, Integer):
            self._described.integers[name] = choice
            known = {o.name.text for o in choice.over}
            for used in choice.values.objects:
                if used not in known:
                    message = f"expected objects of {name} in code ({', '.join(known) or 'none'}), got {used}"
                    raise UserError(Diagnostic("SPACE", message, choice.values.span, "Use the choice's own objects."))
            return self._space.integer(name, sets)
        mirror = choice.mirror
        values = [v.text for v in choice.values]
        for alias, names in choice.aliases.items():
            for one in names:
                if alias in values or one.text not in values:
                    message = f"expected an alias of values ({', '.join(values)}), got {alias} = {one}"
                    raise UserError(Diagnostic("SPACE", message, one.span, "Use values, and names that no value has."))
        return self._space.enum(name, sets, values, antisymmetric=mirror, symmetric=choice.is_symmetric)

    def _quantifiers(self, over: Sequence[Over]) -> Quantifiers:
        found: Quantifiers = {}
        for one in over:
            argument = Argument(one.name.text)
            if argument in found:
                raise UserError(Diagnostic("SPACE", f"expected a new object, got {argument} again", one.name.span, "Rename it."))
            chosen = self._set(one.set)
            found[argument] = chosen if one.owner is None else chosen(Argument(one.owner.text))
        return found

    def _quotient(self, quotient: Quotient) -> None:
        member = Argument(quotient.of.name.text)
        self._space.quotient(
            quotient.name.text,
            of=self._set(quotient.of.set),
            when=[literal for c in quotient.when for literal in self._conjunct(c)],
            by=self._property(quotient.by),
            flag=quotient.flag.text,
            per=None if quotient.owner is None else self._quantifiers([quotient.owner]),
            objects=(member, Argument("$other")),
        )
        flag = self._space.choices[quotient.flag.text]
        assert isinstance(flag, EnumChoice)
        self._choices[quotient.flag.text] = flag

    def _property(self, condition: Is) -> Property | InValues:
        choice = self._enum(condition.choice)
        names = expanded(self._description, condition.choice.text, condition.values)
        if condition.objects is None:
            return choice.is_(*names) if condition.expected else choice.is_not(*names)
        return self._in_values(condition)

    def _counter(self, counter: Counter) -> SpaceCounter:
        value = self._quantity(counter.value)
        over, of = self._quantifiers(counter.over), self._quantifiers(counter.of)
        when = [literal for c in counter.when for literal in self._conjunct(c)]
        name = counter.name.text
        if counter.kind == "sum":
            return self._space.counter(name, sum=value, over=over, of=of, when=when)
        return self._space.counter(name, product=value, over=over, of=of, when=when)

    def _conjunct(self, condition: Condition) -> list[Literal]:
        """A condition beside others that all hold."""
        clauses = self._clauses(condition)
        if any(len(c) != 1 for c in clauses):
            message = "expected a value of a choice, a comparison of numbers, or code as a condition, got one of another kind"
            raise UserError(Diagnostic("SPACE", message, _place(condition), "Say it with an additional choice."))
        return [c[0] for c in clauses]

    def _require(self, requirement: Require) -> None:
        over = self._quantifiers(requirement.over)
        known = {o.name.text for o in requirement.over}
        for name in _objects(requirement.conditions):
            if name.text not in known:
                fix = f"Write: require forall {name} in ...:"
                raise UserError(Diagnostic("SPACE", f"expected an object after `forall`, got {name}", name.span, fix))
        clauses = [self._clauses(c) for c in requirement.conditions]
        for parts in product(*clauses):
            literals = [literal for part in parts for literal in part]
            if not literals:
                message = "expected conditions of which one can hold, got false"
                raise UserError(Diagnostic("SPACE", message, requirement.span, "Remove the requirement."))
            self._space.require(requirement.title, over, literals)

    def _clauses(self, condition: Condition) -> list[list[Literal]]:
        """A condition as clauses that all hold, each of literals one of which holds."""
        match condition:
            case Constant(value):
                return [] if value else [[]]
            case Is():
                return [[self._in_values(condition)]]
            case Holds(code, expected):
                return [[self._fact(code) if expected else ~self._fact(code)]]
            case Compared(Applied() as left, sign, Applied() as right) if isinstance(
                self._choices.get(left.name.text), EnumChoice
            ):
                return self._same_values(left, sign, right)
            case Compared(left, sign, right):
                first, second = self._quantity(left), self._quantity(right)
                if isinstance(first, int):
                    first, second, sign = second, first, {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
                if isinstance(first, int):
                    message = "expected a choice or counter in a comparison, got numbers on both sides"
                    raise UserError(Diagnostic("SPACE", message, condition.span, "Compare a choice or counter."))
                return [[_COMPARED[sign](first, second)]]

    def _same_values(self, left: Applied, sign: str, right: Applied) -> list[list[Literal]]:
        """Two enum choices compared, value by value."""
        first, second = self._enum(left.name), self._enum(right.name)
        if sign not in ("==", "!=") or first.values != second.values:
            message = f"expected == or != between choices of the same values, got {left.name} {sign} {right.name}"
            raise UserError(Diagnostic("SPACE", message, left.name.span, "Compare values: ... is VALUE."))
        one, other = first(*_arguments(left.objects)), second(*_arguments(right.objects))
        is_equal = sign == "=="
        return [[one.is_not(v), other.is_(v) if is_equal else other.is_not(v)] for v in first.values]

    def _in_values(self, condition: Is) -> InValues:
        assert condition.objects is not None
        term: EnumTerm = self._enum(condition.choice)(*_arguments(condition.objects))
        names = expanded(self._description, condition.choice.text, condition.values)
        for name in names:
            if name not in term.values:
                where = next((v for v in condition.values if v.text == name), condition.choice)
                raise _unknown(where, f"a value of choice {condition.choice}", term.values)
        return term.is_(*names) if condition.expected else term.is_not(*names)

    def _enum(self, name: Name) -> EnumChoice:
        found = self._choices.get(name.text)
        if not isinstance(found, EnumChoice):
            raise _unknown(name, "an enum choice", [n for n, c in self._choices.items() if isinstance(c, EnumChoice)])
        return found

    def _quantity(self, quantity: Quantity) -> IntegerTerm | int:
        match quantity:
            case Number(value):
                return value
            case Code():
                name = self._named(quantity, self._described.constants, "")
                objects = _arguments([Name(o, quantity.span) for o in quantity.objects])
                return self._space.constant(name, len(objects))(*objects) if objects else self._space.constant(name)
            case Applied(name, objects):
                found = self._counters.get(name.text) or self._choices.get(name.text)
                if found is None or isinstance(found, EnumChoice):
                    known = [*self._counters, *(n for n, c in self._choices.items() if isinstance(c, IntegerChoice))]
                    raise _unknown(name, "a counter or integer choice", known)
                return self._at(name.span, lambda: found(*_arguments(objects)))

    def _fact(self, code: Code) -> FactLiteral:
        known = dict(self._described.facts)
        name = self._named(code, self._described.facts, "?")
        objects = _arguments([Name(o, code.span) for o in code.objects])
        fact = self._space.facts[name] if name in known else self._space.fact(name, len(objects))
        return fact(*objects)

    def _named(self, code: Code, known: dict[str, Code], after: str) -> str:
        """The name under which the space knows the code: its own text where it came first."""
        for name, other in known.items():
            if other.pattern == code.pattern:
                return name
        known[f"{code.text}{after}"] = code
        return f"{code.text}{after}"


def _arguments(objects: Iterable[Name]) -> list[Argument]:
    return [Argument(o.text) for o in objects]


def _objects(conditions: Iterable[Condition]) -> list[Name]:
    found: list[Name] = []
    for condition in conditions:
        match condition:
            case Is(_, objects):
                found += objects or ()
            case Holds(code):
                found += [Name(o, code.span) for o in code.objects]
            case Compared(left, _, right):
                for side in (left, right):
                    found += side.objects if isinstance(side, Applied) else ()
                    found += [Name(o, side.span) for o in side.objects] if isinstance(side, Code) else ()
            case Constant():
                pass
    return found


def _place(condition: Condition) -> Span:
    match condition:
        case Is(choice):
            return choice.span
        case Holds(code):
            return code.span
        case Compared():
            return condition.span
        case Constant():
            return Span("<text>", 0, 0, 0, 0)
