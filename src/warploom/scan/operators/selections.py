"""Loops that keep some of their elements: the greatest two or three, with their places, or with what stands beside them.

What such a loop has kept of a list says all that it needs to know of it: instead of the list, the loop may read the elements that
were kept. So a list's value is the loop's state after it, from a start that keeps anything, and two lists combine by feeding what
the second kept to the first. The order, and which states belong to one element, are tried on short lists; the laws decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations, product

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, right
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.samples import constant_values, random_lists
from warploom.scan.operators.transition import Loop, State, exact_loop

MOST_KEPT = 3
MOST_ALIKE = 5
"""Elements of which one part alone is kept."""
LISTS, LONGEST = 40, 7


def what_is_kept(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where the states are not elements that were kept."""
    found = _Kept(loop)
    for records in found.arrangements():
        with suppress(ex.UndefinedError):
            made = _Feeding(loop, found, records).closure(style)
            if agrees(loop, made):
                return made
    raise FormError("what is kept of a list does not say what the loop needs to know")


def kept_alike(loop: Loop) -> tuple[Expr, list[Expr]]:
    """The part of elements that is kept, and the states that keep it. Raises FormError where other parts are kept, too."""
    (part, states), *others = _Kept(loop, MOST_ALIKE).columns
    if others or part.shift is not None:
        raise FormError("several parts of elements that are kept")
    return part.value, states


def keeps_several(loop: Loop) -> bool:
    """Whether the states are two or more elements that were kept, which other families take long to tell."""
    try:
        return len(_Kept(loop).columns[0][1]) > 1
    except FormError:
        return False


@dataclass(frozen=True, slots=True)
class _Part:
    """A value that an element gives to a state: an expression of the element, or its place, `counter + shift`."""

    value: Expr
    shift: Expr | None = None


class _Kept:
    """The states by what they keep."""

    def __init__(self, loop: Loop, most: int = MOST_KEPT) -> None:
        """Raises FormError."""
        states = {s.variable for s in loop.states}
        counters = [s for s in loop.states if s.step is ex.add(s.variable, ex.ONE) and s.initial.op == "const"]
        used = [c for c in counters if any(c.variable in ex.variables(s.step) for s in loop.states if s is not c)]
        if len(used) > 1:
            raise FormError("several counters")
        self.counter: State | None = used[0] if used else None
        others = [s for s in loop.states if s is not self.counter]
        leaves = {s.variable: leaves_of(s.step) for s in others}
        self.parts: dict[Expr, _Part] = {}
        """By state."""
        while len(self.parts) < len(others):
            before = len(self.parts)
            for variable, found in leaves.items():
                own = {p for leaf in found if (p := self._part(leaf, states)) is not None}
                own |= {self.parts[leaf] for leaf in found if leaf in self.parts}
                if len(own) > 1:
                    raise FormError("a state that keeps different parts of elements")
                if own and variable not in self.parts:
                    self.parts[variable] = own.pop()
            if len(self.parts) == before:
                raise FormError("a state that keeps no part of an element")
        if any(leaf not in states and self._part(leaf, states) is None for found in leaves.values() for leaf in found):
            raise FormError("a state that keeps something else than parts of elements")
        self.columns: list[tuple[_Part, list[Expr]]] = []
        for part in dict.fromkeys(self.parts[s.variable] for s in others):
            self.columns.append((part, [s.variable for s in others if self.parts[s.variable] == part]))
        if not self.columns or not 1 <= len(self.columns[0][1]) <= most or len({len(c) for _, c in self.columns}) != 1:
            raise FormError("parts of elements that are kept in different numbers")
        if len(self.columns) > MOST_KEPT or all(p.shift is not None for p, _ in self.columns):
            raise FormError("too many parts of elements")

    def _part(self, leaf: Expr, states: set[Expr]) -> _Part | None:
        carried = {*ex.variables(leaf)} & states
        if not carried:
            return _Part(leaf) if leaf.op != "const" else None
        if self.counter is None or carried != {self.counter.variable}:
            return None
        shift = ex.subtract(leaf, self.counter.variable)
        return _Part(self.counter.variable, shift) if shift.op == "const" else None

    def arrangements(self) -> Iterator[list[tuple[Expr, ...]]]:
        """Kept elements, each as its states by column, in the order in which they are fed."""
        (_, first), *rest = self.columns
        for others in product(*(permutations(c) for _, c in rest)):
            records = list(zip(first, *others, strict=True))
            for order in permutations(records):
                yield list(order)


def leaves_of(step: Expr) -> list[Expr]:
    """The values that nested choices (`ite`, `max`, `min`) choose from."""
    match step.op:
        case "ite":
            return [*leaves_of(step.args[1]), *leaves_of(step.args[2])]
        case "max" | "min":
            return [leaf for a in step.args for leaf in leaves_of(a)]
        case _:
            return [step]


class _Feeding:
    """The family for one arrangement."""

    def __init__(self, loop: Loop, found: _Kept, records: Sequence[tuple[Expr, ...]]) -> None:
        self._loop: Loop = loop
        self._found: _Kept = found
        self._records: Sequence[tuple[Expr, ...]] = records
        self._slots: dict[Expr, Expr] = {}
        self._starts: dict[Expr, Expr] = {}
        self._keys: list[Expr] = []
        """By kept element: the state that is infinite where there is none."""
        counter = found.counter
        self._starts = {s.variable: s.initial for s in loop.states}
        for record in records:
            endless = [v for v in record if ex.is_infinite(self._starts[v])]
            if not endless:
                raise ex.UndefinedError("a start that keeps not everything")
            self._keys.append(endless[0])
        if counter is not None:
            self._starts[counter.variable] = ex.ZERO
        first = self._step(self._starts, None)
        for number, state in enumerate(loop.states, 1):
            sort = replace(state.variable.sort, values=None)
            if not first[state.variable].sort.is_infinite:
                sort = replace(sort, below=False, above=False)
            self._slots[state.variable] = ex.variable(f"q{number}", sort)

    def closure(self, style: Style) -> Closure:
        states = {s.variable: s.variable for s in self._loop.states}
        own = {v: self._shown(v, s) for v, s in self._slots.items()}
        other = {v: right(s) for v, s in self._slots.items()}
        operator = self._fed(own, other)
        lift = self._step(self._starts, None)
        if any(operator[v].sort.is_infinite and not s.sort.is_infinite for v, s in self._slots.items()):
            raise ex.UndefinedError("a value that may be missing")
        return Closure(
            tuple(self._slots.values()),
            self._fed(states, self._slots),
            {s: self._hidden(v, lift[v]) for v, s in self._slots.items()},
            {s: self._hidden(v, operator[v]) for v, s in self._slots.items()},
            style,
        )

    def _shift(self, variable: Expr) -> Expr:
        part = self._found.parts.get(variable)
        return ex.ZERO if part is None or part.shift is None else part.shift

    def _shown(self, variable: Expr, slot: Expr) -> Expr:
        """The state's value, of that of the slot, which counts from the element's place."""
        return ex.add(slot, self._shift(variable))

    def _hidden(self, variable: Expr, value: Expr) -> Expr:
        return ex.subtract(value, self._shift(variable))

    def _step(self, states: Mapping[Expr, Expr], element: Mapping[Expr, Expr] | None) -> dict[Expr, Expr]:
        """One step, from an element of the list or from parts of one that was kept."""
        known = {**states, **(element or {})}
        return {s.variable: ex.substituted(s.step, known) for s in self._loop.states}

    def _fed(self, states: Mapping[Expr, Expr], kept: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """The states after all that was kept."""
        now = dict(states)
        counter = None if self._found.counter is None else self._found.counter.variable
        for record, key in zip(self._records, self._keys, strict=True):
            element: dict[Expr, Expr] = {}
            for (part, _), state in zip(self._found.columns, record, strict=True):
                if part.shift is None:
                    element[part.value] = kept[state]
                elif counter is not None:
                    element[counter] = ex.add(states[counter], kept[state])
            after = self._step(now, element)
            missing = ex.equal(kept[key], self._starts[key])
            now = {v: e if v is counter else ex.select(missing, now[v], e) for v, e in after.items()}
            if counter is not None:
                now[counter] = states[counter]
        if counter is not None:
            now[counter] = ex.add(states[counter], kept[counter])
        return now


def agrees(loop: Loop, closure: Closure) -> bool:
    """Whether a family gives what the loop gives, on short lists."""
    fixed, constants = constant_values(loop), list(loop.constants)
    slots = closure.slots
    lift = compiled([*loop.fields, *constants], [closure.lift[s] for s in slots])
    operator = compiled([*slots, *map(right, slots), *constants], [closure.operator[s] for s in slots])
    initial = {s.variable: s.initial for s in loop.states}
    results = [ex.substituted(closure.transformers[s.variable], initial) for s in loop.states]
    final = compiled([*slots, *constants], results)
    run = exact_loop(replace(loop, outputs=tuple(s.variable for s in loop.states), is_tuple=True))
    for elements in random_lists(loop, LISTS, LONGEST, seed=6):
        value = reduce(lambda a, b: operator(*a, *b, *fixed), [lift(*e, *fixed) for e in elements])
        if final(*value, *fixed) != run(elements, fixed):
            return False
    return True


__all__ = ["agrees", "keeps_several", "kept_alike", "leaves_of", "what_is_kept"]
