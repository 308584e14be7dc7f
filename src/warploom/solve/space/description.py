"""The description of a space of choices: what a user writes, checked on the way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from warploom.solve.space.declarations import Condition, Declarations
from warploom.solve.space.nodes import (
    MAX_VALUES,
    Applied,
    Argument,
    Compared,
    ConstantFunction,
    Counter,
    Cover,
    EnumChoice,
    Fact,
    FactLiteral,
    Function,
    IntegerChoice,
    IntegerTerm,
    InValues,
    Literal,
    ObjectSet,
    Quantified,
    Quantifiers,
    Quantity,
    Quotient,
    Requirement,
    Trigger,
    quantity_of,
    wrong,
)

MAX_INSTANCES = 3


class Space(Declarations):
    """Sets, choices and constraints over them, for any number of instances. Every wrong declaration raises UserError."""

    def objects(self, names: str) -> tuple[Argument, ...]:
        """Names for quantified objects, separated by blanks."""
        return tuple(Argument(name) for name in names.split())

    def set(
        self,
        name: str,
        *,
        within: ObjectSet | None = None,
        of: ObjectSet | None = None,
        disjoint_from: Iterable[ObjectSet] | ObjectSet = (),
    ) -> ObjectSet:
        """A set of objects; with `of`, one set for each object of another: its members are pairs (owner, object)."""
        self._is_new(name)
        for other in (within, of):
            self._is_plain(other)
        disjoint = (disjoint_from,) if isinstance(disjoint_from, ObjectSet) else tuple(disjoint_from)
        self.sets[name] = ObjectSet(name, within, of, disjoint)
        return self.sets[name]

    def enum(
        self,
        name: str,
        sets: Sequence[ObjectSet],
        values: Sequence[str],
        *,
        antisymmetric: Mapping[str, str] | None = None,
        symmetric: bool = False,
    ) -> EnumChoice:
        """One of `values` for each tuple of distinct objects of `sets`.

        `antisymmetric`: the value for (b, a) by the value for (a, b), for those that change; read both ways.
        """
        self._is_new(name)
        arguments = self._choice_sets(name, sets)
        names = tuple(values)
        if not names or len(set(names)) != len(names) or len(names) > MAX_VALUES:
            raise wrong(f"expected 1 to {MAX_VALUES} different values for choice {name}, got {len(names)}: {', '.join(names)}")
        mirror: tuple[int, ...] = ()
        if antisymmetric is not None or symmetric:
            if len(arguments) != 2 or arguments[0] != arguments[1]:
                raise wrong(f"expected twice the same set for choice {name}, which is the same read both ways, got others")
            flipped = dict(antisymmetric or {})
            for value in (*flipped, *flipped.values()):
                if value not in names:
                    raise wrong(f"expected a value of choice {name} ({', '.join(names)}), got {value!r}")
            flipped |= {b: a for a, b in flipped.items()}
            if any(flipped[flipped[v]] != v for v in flipped):
                raise wrong(f"expected each value of choice {name} to have one opposite, got {antisymmetric}")
            mirror = tuple(names.index(flipped.get(v, v)) for v in names)
        choice = EnumChoice(name, arguments, names, mirror)
        self.choices[name] = choice
        return choice

    def integer(self, name: str, sets: Sequence[ObjectSet]) -> IntegerChoice:
        """An integer for each tuple of distinct objects of `sets`, out of a universe given with the instance."""
        self._is_new(name)
        choice = IntegerChoice(name, self._choice_sets(name, sets))
        self.choices[name] = choice
        return choice

    def function(self, name: str) -> Function:
        """A host map from objects to objects."""
        self._is_new(name)
        self.functions[name] = Function(name)
        return self.functions[name]

    def fact(self, name: str, arity: int = 1) -> Fact:
        """A host relation between `arity` objects."""
        self._is_new(name)
        self.facts[name] = Fact(name, arity)
        return self.facts[name]

    @overload
    def constant(self, name: str) -> IntegerTerm: ...
    @overload
    def constant(self, name: str, arity: int) -> ConstantFunction: ...
    def constant(self, name: str, arity: int | None = None) -> IntegerTerm | ConstantFunction:
        """A host number; with `arity`, one for each tuple of that many objects."""
        if self.constants.get(name) != (arity or 0):
            self._is_new(name)
        self.constants[name] = arity or 0
        return IntegerTerm(Applied(name, ())) if arity is None else ConstantFunction(name, arity)

    def require(self, name: str, over: Quantifiers, literals: Sequence[Literal]) -> None:
        """For all distinct objects of `over`, at least one of `literals` holds."""
        quantified, flags = self._quantified(name, over)
        scope = {q.argument.name: q.set for q in quantified}
        listed = tuple(self._checked(name, literals, scope))
        used = {literal.choice for literal in listed if isinstance(literal, InValues)}
        if len(used) > MAX_INSTANCES:
            raise wrong(
                f"expected at most {MAX_INSTANCES} enum choices in constraint {name!r}, got {len(used)}: "
                + ", ".join(sorted(map(str, used))),
                "split it with an additional choice",
            )
        excluded = tuple(InValues(flag.choice, 0b01) for flag in flags)
        self.requirements.append(Requirement(name, quantified, (*listed, *excluded)))

    def counter(
        self,
        name: str,
        *,
        sum: IntegerTerm | int | None = None,
        product: IntegerTerm | int | None = None,
        over: Quantifiers,
        of: Quantifiers | None = None,
        when: Condition = (),
        start: IntegerTerm | int | None = None,
    ) -> Counter:
        """The sum or product of a value over the tuples of `over` for which all of `when` hold; with `of`, one for each object.

        Values are at least 0 in a sum, at least 1 in a product.
        """
        self._is_new(name)
        value = product if sum is None else sum
        if value is None or (sum is not None and product is not None):
            raise wrong(f"expected either sum= or product= for counter {name}, got {'none' if value is None else 'both'}")
        parameters, parameter_flags = self._quantified(name, of or {})
        if parameter_flags:
            raise wrong(f"expected plain sets in `of` of counter {name}, got a quotient set")
        quantified, flags = self._quantified(name, over, {q.argument.name: q.set for q in parameters})
        self._count(name, (*parameters, *quantified))
        owners = {q.argument.name: q.set for q in parameters}
        scope = owners | {q.argument.name: q.set for q in quantified}
        listed = (*flags, *self._checked(name, self._literals(name, when, ()), scope))
        quantity = self._checked_quantity(name, quantity_of(value), scope)
        begin = self._checked_quantity(name, quantity_of(start if start is not None else int(sum is None)), owners)
        if isinstance(begin, Applied) and begin.name not in self.constants:
            raise wrong(f"expected a constant as start of counter {name}, got {begin}")
        self.counters[name] = Counter(name, parameters, quantified, sum is None, quantity, listed, begin)
        return self.counters[name]

    def cover(
        self,
        name: str,
        of: Quantifiers,
        *,
        total: IntegerTerm | int,
        outer: IntegerTerm,
        tiles: IntegerTerm,
        over: Quantifiers,
        exact: FactLiteral | bool = True,
    ) -> None:
        """outer == ceil(total / product of `tiles` over the objects of `over`); where `exact`, outer * product == total."""
        parameters, parameter_flags = self._quantified(name, of)
        owners = {q.argument.name: q.set for q in parameters}
        quantified, flags = self._quantified(name, over, owners)
        self._count(name, (*parameters, *quantified))
        if flags or parameter_flags:
            raise wrong(f"expected plain sets in cover {name!r}, got a quotient set")
        scope = owners | {q.argument.name: q.set for q in quantified}
        number = self._checked_quantity(name, quantity_of(total), owners)
        if isinstance(number, Applied) and number.name not in self.constants:
            raise wrong(f"expected a constant as total of cover {name!r}, got {number}")
        terms: list[Applied] = []
        for term, known in ((outer, owners), (tiles, scope)):
            quantity = self._checked_quantity(name, term.quantity, known)
            if not isinstance(quantity, Applied) or not isinstance(self.choices.get(quantity.name), IntegerChoice):
                raise wrong(f"expected integer choices in cover {name!r}, got {quantity}")
            terms.append(quantity)
        if isinstance(exact, FactLiteral):
            self._checked(name, [exact], owners)
        self.covers.append(Cover(name, parameters, quantified, number, terms[0], terms[1], exact))

    def quotient(
        self,
        name: str,
        *,
        of: ObjectSet,
        when: Condition,
        by: Condition,
        flag: str,
        per: Quantifiers | None = None,
        objects: tuple[Argument, Argument] | None = None,
    ) -> ObjectSet:
        """One representative, the lowest object, of each class of the objects of `of` for which `when` holds, related by `by`.

        Also declares the enum choice `flag` (FALSE, TRUE) over (`per`, `of`). `when` is about the first of `objects`, `by` about
        both; as properties of a choice they need no objects. A reserved object counts as long as it may still become active.
        """
        self._is_new(name)
        self._is_plain(of)
        parameters, parameter_flags = self._quantified(name, per or {})
        if parameter_flags or len(parameters) > 1:
            raise wrong(f"expected at most one plain set in `per` of quotient set {name}")
        member, other = objects or (Argument("$member"), Argument("$other"))
        owners = {q.argument.name: q.set for q in parameters}
        choice = self.enum(flag, (*owners.values(), of), ("FALSE", "TRUE"))
        scope = owners | {member.name: of}
        mine = self._checked(name, self._literals(name, when, (member,)), scope)
        both = self._checked(name, self._literals(name, by, (member, other)), scope | {other.name: of})
        if any(isinstance(literal, FactLiteral) for literal in (*mine, *both)):
            raise wrong(f"expected choices and comparisons in quotient set {name}, got a fact", "make a set of the objects")
        applied = Applied(choice.name, (*(q.argument for q in parameters), member))
        self.quotients[name] = Quotient(
            name,
            parameters,
            Quantified(member, of),
            Quantified(other, of),
            tuple(mine),
            tuple(_renamed(literal, member.name, other) for literal in mine),
            tuple(both),
            applied,
        )
        owner = parameters[0].set if parameters else None
        self.sets[name] = ObjectSet(name, within=of, of=owner, flag=flag)
        return self.sets[name]

    def trigger(self, name: str, over: Quantifiers, when: Condition, *, activates: Sequence[ObjectSet]) -> None:
        """For distinct objects of `over`, once all of `when` are certain: the instance's lowering of these objects, which adds
        reserved members to the sets `activates` and may restrict choices."""
        self._is_new(name)
        quantified, flags = self._quantified(name, over)
        scope = {q.argument.name: q.set for q in quantified}
        listed = (*flags, *self._checked(name, self._literals(name, when, ()), scope))
        for grown in activates:
            if grown.flag or self.sets.get(grown.name) != grown:
                raise wrong(f"expected declared sets in `activates` of trigger {name}, got {grown.name}")
        self.triggers[name] = Trigger(name, quantified, listed, tuple(activates))


def _renamed(literal: Literal, name: str, other: Argument) -> Literal:
    """The literal about another object."""

    def argument(old: Argument) -> Argument:
        return Argument(other.name, old.functions) if old.name == name else old

    def quantity(old: Quantity) -> Quantity:
        return Applied(old.name, tuple(map(argument, old.arguments))) if isinstance(old, Applied) else old

    match literal:
        case InValues(choice, mask):
            return InValues(Applied(choice.name, tuple(map(argument, choice.arguments))), mask)
        case Compared(left, comparator, right):
            return Compared(quantity(left), comparator, quantity(right))
        case FactLiteral(fact, arguments, expected):
            return FactLiteral(fact, tuple(map(argument, arguments)), expected)
