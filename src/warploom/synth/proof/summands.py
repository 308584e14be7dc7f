"""Stored values that are sums of products of elements, compared without building a term per element of an output.

All threads of a kernel store the same sum up to a shift of its indices. A value is taken apart once, into summands over leaves
(elements, or a choice of elements by a condition); each residue of an output then only shifts the leaves' indices, as integers,
into the coordinates of the spec's iteration. Agreement is a proof of equality; everything else says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from warploom.core.linear import Linear
from warploom.solve import All, Constraint, Formula, negation, substitute
from warploom.synth.lift.conditions import Conditions
from warploom.terms import FormTooLargeError, NormalForm, Normaliser, Term, constant

Key: TypeAlias = tuple[int, ...]
"""An element: its label, then the number of its symbols and the constant per dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class _Element:
    """An element, or a component of one."""

    label: int
    index: tuple[tuple[int, int], ...]
    """Per dimension the number of the symbols, and the constant."""


@dataclass(frozen=True, slots=True, eq=False)
class _Zero:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """One of two leaves, by a condition on symbols."""

    condition: Formula
    parts: tuple[tuple[int, int], ...] | None
    """The condition as inequalities that all hold (number of the symbols, constant); None: of another form."""
    then: _Leaf
    other: _Leaf


_Leaf: TypeAlias = _Element | _Zero | _Choice


@dataclass(frozen=True, slots=True)
class _Sum:
    """A canonical form, its generators as leaves."""

    kind: str
    summands: tuple[tuple[tuple[_Leaf, ...], Any], ...]
    """Factors with the coefficient."""
    has_choice: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """The context in which a value is looked at: its symbols in terms of quotients, and the facts that hold there."""

    values: Mapping[str, Linear[str]]
    guard: Formula


class Summands:
    """Sums of one output, with numbers for the symbols and elements they are made of."""

    def __init__(self, normaliser: Normaliser, conditions: Conditions) -> None:
        self.normaliser = normaliser
        self.conditions = conditions
        self._zero = constant(0)
        self._sums: dict[Term, _Sum | None] = {}
        self._leaves: dict[Term, _Leaf | None] = {}
        self._labels: dict[tuple[Any, ...], int] = {}
        self._numbers: dict[Linear[str], int] = {}
        self._symbols: list[Linear[str]] = []
        self._plain: dict[Term, tuple[str, dict[tuple[Key, ...], Any]] | None] = {}

    def agree(self, got: Term, event: Frame, want: Term, iteration: Mapping[str, Linear[str]]) -> bool:
        """Whether both values are seen to be equal where the event's guard holds.

        got: over the symbols of `event`; want: over those of `iteration`, which are given in terms of the same quotients.
        """
        first, second = self._sum(got), self._sum(want)
        if first is None or second is None:
            return False
        back = _inverse(iteration)
        if back is None or second.has_choice:
            expected = _Shift(self, Frame(iteration, event.guard), back or {}).apply(second)
        else:
            if want not in self._plain:
                self._plain[want] = _Shift(self, Frame({}, event.guard), {}).apply(second)
            expected = self._plain[want]
        return expected is not None and _Shift(self, event, back or {}).apply(first) == expected

    # ------------------------------------------------------------ taking apart

    def _sum(self, term: Term) -> _Sum | None:
        if term not in self._sums:
            self._sums[term] = self._apart(term)
        return self._sums[term]

    def _apart(self, term: Term) -> _Sum | None:
        has_choice = False
        seen: set[Term] = set()
        stack = [term]
        while stack:
            t = stack.pop()
            if t in seen:
                continue
            seen.add(t)
            if t.op == "select":
                has_choice = True
                if self._leaf(t) is None:
                    return None
                continue
            stack.extend(t.args)
        try:
            canonical = self.normaliser.canonical(term)
        except FormTooLargeError:
            return None
        form = canonical.data[0] if canonical.op == "form" else None
        if not isinstance(form, NormalForm):
            leaf = self._leaf(canonical)
            return None if leaf is None else _Sum("", (((leaf,), 1),), has_choice)
        if form.kind not in ("polynomial", "bits"):
            return None
        summands: list[tuple[tuple[_Leaf, ...], Any]] = []
        for monomial, coefficient in form.items:
            leaves: list[_Leaf] = []
            for generator in monomial:
                leaf = self._leaf(generator)
                if leaf is None:
                    return None
                leaves.append(leaf)
            summands.append((tuple(leaves), coefficient))
        return _Sum(form.kind, tuple(summands), has_choice)

    def _leaf(self, term: Term) -> _Leaf | None:
        if term not in self._leaves:
            self._leaves[term] = self._made_leaf(term)
        return self._leaves[term]

    def _made_leaf(self, term: Term) -> _Leaf | None:
        match term.op:
            case "atom":
                return self._element(term, -1)
            case "component" if term.args[0].op == "atom":
                return self._element(term.args[0], term.data[0])
            case "constant" if self.normaliser.canonical(term) is self._zero:
                return _Zero()
            case "select":
                then, other = self._leaf(term.args[1]), self._leaf(term.args[2])
                if then is None or other is None:
                    return None
                condition: Formula = term.args[0].data[1][0]
                return _Choice(condition, self._inequalities(condition), then, other)
            case _:
                return None

    def _element(self, atom: Term, position: int) -> _Element | None:
        array, index, lanes = atom.data
        if not all(isinstance(part, Linear) for part in index):
            return None
        label = self._labels.setdefault((array, lanes, position, len(index)), len(self._labels))
        return _Element(label, tuple((self.number(part), part.constant) for part in index))

    def _inequalities(self, condition: Formula) -> tuple[tuple[int, int], ...] | None:
        found: list[tuple[int, int]] = []
        for part in condition.parts if isinstance(condition, All) else (condition,):
            if not isinstance(part, Constraint) or part.op != "<=":
                return None
            found.append((self.number(part.linear), part.linear.constant))
        return tuple(found)

    def number(self, form: Linear[str]) -> int:
        """One number per linear sum without its constant."""
        symbols = form.shifted(-form.constant)
        found = self._numbers.get(symbols)
        if found is None:
            found = self._numbers[symbols] = len(self._symbols)
            self._symbols.append(symbols)
        return found

    def symbols(self, number: int) -> Linear[str]:
        return self._symbols[number]


class _Shift:
    """Sums at one frame, in the coordinates that `back` leads to."""

    def __init__(self, sums: Summands, frame: Frame, back: Mapping[str, tuple[str, int, int]]) -> None:
        self.sums = sums
        self.frame = frame
        self.back = back
        self._moved: dict[int, tuple[int, int] | None] = {}
        self._keys: dict[_Leaf, Key | None] = {}
        self._decided: dict[tuple[int, int], bool] = {}

    def apply(self, value: _Sum) -> tuple[str, dict[tuple[Key, ...], Any]] | None:
        """The sum over keys of elements; None when it is not of that form any more."""
        result: dict[tuple[Key, ...], Any] = {}
        keys = self._keys
        for leaves, coefficient in value.summands:
            factors: list[Key] = []
            for leaf in leaves:
                if leaf not in keys:
                    keys[leaf] = self._key(leaf)
                key = keys[leaf]
                if key is None:
                    return None
                if not key:
                    break
                factors.append(key)
            else:
                factors.sort()
                monomial = tuple(factors)
                if monomial in result:
                    return None
                result[monomial] = coefficient
        if not result:
            return "", {}
        if len(result) == 1:
            ((monomial, coefficient),) = result.items()
            if len(monomial) == 1 and self.is_unit(value.kind, coefficient):
                return "", {monomial: 1}
        return value.kind, result

    def is_unit(self, kind: str, coefficient: Any) -> bool:
        ones = (1 << self.sums.normaliser.algebra.dtype.bits) - 1
        return coefficient == (ones if kind == "bits" else 1)

    def _key(self, leaf: _Leaf) -> Key | None:
        """The element; () for zero; None when undecided or not integral in the new coordinates."""
        while isinstance(leaf, _Choice):
            taken = self._holds(leaf)
            if taken is None:
                return None
            leaf = leaf.then if taken else leaf.other
        if isinstance(leaf, _Zero):
            return ()
        key = [leaf.label]
        for number, base in leaf.index:
            moved = self._move(number)
            if moved is None:
                return None
            key += (moved[0], base + moved[1])
        return tuple(key)

    def _move(self, number: int) -> tuple[int, int] | None:
        """The number of the symbols in the new coordinates, and what is added to the constant."""
        if number not in self._moved:
            linear = self.sums.symbols(number).substituted(self.frame.values)
            total = Linear((), linear.constant)
            self._moved[number] = None
            for name, coefficient in linear.terms:
                symbol, period, offset = self.back.get(name, (name, 1, 0))
                if coefficient % period:
                    return None
                factor = coefficient // period
                total = total.plus(Linear(((symbol, 1),), -offset), factor)
            self._moved[number] = (self.sums.number(total), total.constant)
        return self._moved[number]

    def _holds(self, choice: _Choice) -> bool | None:
        if choice.parts is not None and all(self._is_seen(part) for part in choice.parts):
            return True
        condition = substitute(choice.condition, self.frame.values)
        implies = self.sums.conditions.under(self.frame.guard)
        return True if implies(condition) else False if implies(negation(condition)) else None

    def _is_seen(self, part: tuple[int, int]) -> bool:
        found = self._decided.get(part)
        if found is None:
            linear = self.sums.symbols(part[0]).shifted(part[1]).substituted(self.frame.values)
            found = self._decided[part] = self.sums.conditions.is_seen(self.frame.guard, Constraint(linear))
        return found


def _inverse(values: Mapping[str, Linear[str]]) -> dict[str, tuple[str, int, int]] | None:
    """quotient -> (symbol, period, offset), for symbol = period * quotient + offset; None for anything else."""
    result: dict[str, tuple[str, int, int]] = {}
    for symbol, linear in values.items():
        if len(linear.terms) != 1 or linear.terms[0][1] <= 0 or linear.terms[0][0] in result:
            return None
        ((quotient, period),) = linear.terms
        result[quotient] = (symbol, period, linear.constant)
    return result
