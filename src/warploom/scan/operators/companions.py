"""Extremes with companions: where the greatest sum begins and ends, the place of the longest run.

    best, at = max(best, v), (at if best >= v else w)

A number and its companions are one vector, and vectors are ordered by the number first, then by the companions: of equal sums the
one that is kept. Vectors add, and maxima distribute over sums, as of numbers. So the loop with vectors for numbers is lifted as
if they were numbers, and what was found is written out, number by number. Which companion decides between equals, and
which way, is tried on short lists; the laws decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from typing import TypeAlias

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import Closure, Start, closure, right
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.selections import agrees
from warploom.scan.operators.transition import Loop, State

MOST = 3
"""Columns of companions: every order of them, with every sign, is tried."""
Vector: TypeAlias = tuple[Expr, ...]
"""A number, then its companions by column."""


def closed(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError where no number has companions."""
    found = _Vectors(loop)
    inner = closure(found.loop(), style, start)
    for order in permutations(range(1, found.columns + 1)):
        for signs in product((-1, 1), repeat=found.columns):
            with suppress(ex.UndefinedError):
                made = _Written(found, inner, list(zip(order, signs, strict=True))).closure()
                if agrees(loop, made):
                    return made
    raise FormError("companions that no order of equals explains")


def is_likely(loop: Loop) -> bool:
    """Whether companions go with numbers that depend on other states, which thresholds take long to tell, if they do."""
    try:
        return _Vectors(loop).is_deep
    except FormError:
        return False


def counted_from_end(loop: Loop) -> Loop:
    """The loop with companions that count from a number, as `i - run + 1` beside `run`, as the sum of both, which is `i + 1`."""
    numbers = {s.variable for s in loop.states if s.step is not ex.add(s.variable, ex.ONE)}
    for state in loop.states:
        for number in loop.states:
            if number.step.op not in ("max", "min") or number.variable not in number.step.args or state.step.op != "ite":
                continue
            rest = [a for a in number.step.args if a is not number.variable]
            other = ex.maximum(*rest) if number.step.op == "max" else ex.minimum(*rest)
            total = ex.variable(f"{state.name}_and_{number.name}", state.variable.sort)
            test, *sides = state.step.args
            moved = [total if side is state.variable else ex.add(side, other) for side in sides]
            taken = [m for m in moved if m is not total]
            if len(taken) != 1 or not {*ex.variables(other)} & numbers or {*ex.variables(taken[0])} & numbers:
                continue
            if not _decides(test, number.variable, other, number.step.op, is_kept_first=moved[0] is total):
                continue
            back = {state.variable: ex.subtract(total, number.variable)}
            begun = State(total, ex.add(state.initial, number.initial), ex.select(test, *moved))
            states = (begun if s is state else replace(s, step=ex.substituted(s.step, back)) for s in loop.states)
            return replace(loop, states=tuple(states), outputs=tuple(ex.substituted(o, back) for o in loop.outputs))
    return loop


def _decides(test: Expr, number: Expr, other: Expr, op: ex.Op, *, is_kept_first: bool) -> bool:
    """Whether the test asks which of the two the extreme is, so that the first side goes with the one that is kept."""
    first, second = (number, other) if is_kept_first == (op == "max") else (other, number)
    return test in (ex.at_least(first, second), ex.more_than(first, second))


# ------------------------------------------------------------ a step with its companions


@dataclass(frozen=True, slots=True)
class _Leaf:
    value: Expr
    companions: Vector


@dataclass(frozen=True, slots=True)
class _Extreme:
    """The greater of two, or the lesser."""

    op: ex.Op
    first: _Tree
    second: _Tree


@dataclass(frozen=True, slots=True)
class _Choice:
    test: Expr
    then: _Tree
    otherwise: _Tree


_Tree: TypeAlias = "_Leaf | _Extreme | _Choice"


def _paired(value: Expr, companions: Vector) -> _Tree | None:
    """The step of a number beside those of companions that are chosen with it; None where they are chosen otherwise."""
    inner = _extreme_within(value)
    if inner is not None:
        return _of_sum(value, inner, companions)
    if value.op == "ite":
        test = value.args[0]
        return _both(lambda a, b: _Choice(test, a, b), value.args[1], value.args[2], companions, test)
    if value.op not in ("max", "min"):
        return None if any(c.op == "ite" for c in companions) else _Leaf(value, companions)
    extremum = ex.maximum if value.op == "max" else ex.minimum
    test = next((c.args[0] for c in companions if c.op == "ite"), None)
    for size in range(1, len(value.args)):
        for chosen in combinations(value.args, size):
            first, second = extremum(*chosen), extremum(*(a for a in value.args if a not in chosen))
            order = (first, second) if value.op == "max" else (second, first)
            if test is None or test in (ex.at_least(*order), ex.more_than(*order)):
                found = _both(lambda a, b: _Extreme(value.op, a, b), first, second, companions, test)
                if found is not None:
                    return found
    return None


def _extreme_within(value: Expr) -> Expr | None:
    """The only maximum or minimum of a sum, `price - min(low, price)`."""
    if value.op != "poly":
        return None
    found = [(a, m) for _, m in value.terms for a in m if a.op in ("max", "min")]
    if len(found) != 1 or len(found[0][1]) != 1 or len(found[0][0].args) != 2:
        return None
    return found[0][0]


def _of_sum(value: Expr, inner: Expr, companions: Vector) -> _Tree | None:
    """A sum with an extreme as the extreme of sums."""
    first, second = inner.args
    order = (first, second) if inner.op == "max" else (second, first)
    test = next((c.args[0] for c in companions if c.op == "ite"), None)
    is_greater = ex.polynomial(value)[(inner,)] > 0
    op: ex.Op = "max" if (inner.op == "max") == is_greater else "min"
    sums = [ex.substituted(value, {inner: a}) for a in (first, second)]
    if test is None or test in (ex.at_least(*order), ex.more_than(*order)):
        return _both(lambda a, b: _Extreme(op, a, b), sums[0], sums[1], companions, test)
    if test in (ex.at_least(*reversed(order)), ex.more_than(*reversed(order))):
        return _both(lambda a, b: _Extreme(op, a, b), sums[1], sums[0], companions, test)
    return None


def _both(
    made: Callable[[_Tree, _Tree], _Tree], first: Expr, second: Expr, companions: Vector, test: Expr | None
) -> _Tree | None:
    known: list[dict[Expr, Expr]] = [{}, {}]
    if test is not None:
        known = [{test: ex.TRUE, ex.negation(test): ex.FALSE}, {test: ex.FALSE, ex.negation(test): ex.TRUE}]
    sides = [_paired(v, tuple(ex.substituted(c, k) for c in companions)) for v, k in zip((first, second), known, strict=True)]
    return None if sides[0] is None or sides[1] is None else made(sides[0], sides[1])


def _leaves(tree: _Tree) -> Iterator[_Leaf]:
    match tree:
        case _Leaf():
            yield tree
        case _Extreme(_, first, second) | _Choice(_, first, second):
            yield from _leaves(first)
            yield from _leaves(second)


# ------------------------------------------------------------ the loop over vectors


class _Vectors:
    """Numbers with companions, and the columns of these."""

    def __init__(self, loop: Loop) -> None:
        """Raises FormError."""
        self.loop_read: Loop = loop
        counters = [s for s in loop.states if s.step is ex.add(s.variable, ex.ONE)]
        self.counter: Expr | None = counters[0].variable if counters else None
        numbers = [s for s in loop.states if s.variable.sort.is_numeric and s.variable is not self.counter]
        owners: dict[Expr, State] = {}
        for state in numbers:
            others = (o for o in numbers if o is not state and o.step.op in ("max", "min"))
            owner = next((o for o in others if state.step.op == "ite" and _paired(o.step, (state.step,)) is not None), None)
            if owner is not None:
                owners[state.variable] = owner
        if not owners or any(o.variable in owners for o in owners.values()):
            raise FormError("no numbers with companions")
        self._owned: dict[Expr, list[Expr]] = {o.variable: [] for o in owners.values()}
        for companion, owner in owners.items():
            self._owned[owner.variable].append(companion)
        steps = {s.variable: s.step for s in loop.states}
        self._trees: dict[Expr, _Tree] = {}
        for owner, companions in self._owned.items():
            tree = _paired(steps[owner], tuple(steps[c] for c in companions))
            if tree is None:
                raise FormError("companions that are not chosen together")
            self._trees[owner] = tree
        self._numbers: list[Expr] = [s.variable for s in numbers if s.variable not in owners]
        self.column: dict[Expr, int] = {}
        """By companion."""
        self._numbered()
        self.sign: dict[Expr, int] = self._signs()
        """By companion: -1 where it goes with its number's negative."""
        self.meant: dict[Expr, Vector] = {s.variable: self._vector(s.variable) for s in loop.states}
        """By variable of the loop over vectors."""
        self._counting: dict[int, State] = {}

    @property
    def is_deep(self) -> bool:
        """Whether a number with companions depends on others."""
        values = ((o, leaf.value) for o, tree in self._trees.items() for leaf in _leaves(tree))
        return any({*ex.variables(value)} & ({*self._numbers} - {owner}) for owner, value in values)

    @property
    def columns(self) -> int:
        return max(self.column.values())

    def _numbered(self) -> None:
        """Gives companions that pass into each other one column."""
        groups: list[set[Expr]] = [{c} for companions in self._owned.values() for c in companions]
        for owner, companions in self._owned.items():
            for leaf in _leaves(self._trees[owner]):
                for companion, value in zip(companions, leaf.companions, strict=True):
                    for other in ex.variables(value):
                        if any(other in owned for owned in self._owned.values()):
                            joined = [g for g in groups if companion in g or other in g]
                            groups = [g for g in groups if g not in joined] + [set[Expr]().union(*joined)]
        if len(groups) > MOST:
            raise FormError("too many companions")
        order = [s.variable for s in self.loop_read.states]
        for number, group in enumerate(sorted(groups, key=lambda g: min(order.index(v) for v in g)), 1):
            self.column |= dict.fromkeys(group, number)

    def _signs(self) -> dict[Expr, int]:
        """A companion that passes to another number's beside the negative of its own, `p - low` with the place of `low`, is
        negative in its vector."""
        found = dict.fromkeys(self.column, 1)
        for owner in self._owned:
            for leaf in _leaves(self._trees[owner]):
                factors = ex.polynomial(leaf.value)
                for value in leaf.companions:
                    for other in (o for o in ex.variables(value) if o in found):
                        number = next(n for n, owned in self._owned.items() if other in owned)
                        if number is not owner and factors.get((number,), 0) < 0:
                            found[other] = -1
        return found

    def _vector(self, variable: Expr) -> Vector:
        found = [variable, *([ex.ZERO] * self.columns)]
        for companion in self._owned.get(variable, ()):
            found[self.column[companion]] = companion if self.sign[companion] > 0 else ex.negate(companion)
        return tuple(found)

    def loop(self) -> Loop:
        """The loop whose numbers stand for vectors. Raises FormError."""
        states: list[State] = []
        for state in self.loop_read.states:
            if state.variable in self.column:
                continue
            tree = self._trees.get(state.variable)
            if tree is not None:
                owned = {self.column[c]: n for n, c in enumerate(self._owned[state.variable])}
                signs = [self.sign[c] for c in self._owned[state.variable]]
                step = self._joined(
                    tree,
                    lambda leaf, owned=owned, signs=signs: {
                        c: leaf.companions[n] if signs[n] > 0 else ex.negate(leaf.companions[n]) for c, n in owned.items()
                    },
                )
            else:
                step = state.step
                if {*ex.variables(step)} & {*self.column, *self._owned}:
                    raise FormError("a state that depends on a number with companions")
            states.append(replace(state, step=step))
        fields = [v for v in self.meant if v.op == "var" and str(v.value).startswith("vector")]
        states += self._counting.values()
        return replace(self.loop_read, states=tuple(states), fields=(*self.loop_read.fields, *fields), outputs=())

    def _joined(self, tree: _Tree, companions: Callable[[_Leaf], Mapping[int, Expr]]) -> Expr:
        match tree:
            case _Extreme(op, first, second):
                sides = self._joined(first, companions), self._joined(second, companions)
                return ex.maximum(*sides) if op == "max" else ex.minimum(*sides)
            case _Choice(test, then, otherwise):
                if {*ex.variables(test)} & {*self.column, *self._owned}:
                    raise FormError("a choice by a number with companions")
                return ex.select(test, self._joined(then, companions), self._joined(otherwise, companions))
            case _Leaf(value):
                return self._sum(value, companions(tree))

    def _sum(self, value: Expr, companions: Mapping[int, Expr]) -> Expr:
        """A leaf as a sum of vectors of states, places, and what the element gives."""
        total, rest = ex.ZERO, [value, *(companions.get(c, ex.ZERO) for c in range(1, self.columns + 1))]
        carried = {*self._numbers, *self.column}
        for monomial, factor in ex.polynomial(value).items():
            if len(monomial) == 1 and monomial[0] in self._numbers:
                part = ex.constant(factor)
                total = ex.add(total, ex.multiply(part, monomial[0]))
                rest = [ex.subtract(r, ex.multiply(part, own)) for r, own in zip(rest, self.meant[monomial[0]], strict=True)]
        for column in range(1, self.columns + 1):
            times = ex.polynomial(rest[column]).get((self.counter,), 0) if self.counter is not None else 0
            if times:
                assert self.counter is not None
                total = ex.add(total, ex.multiply(ex.constant(times), self._counted(column)))
                rest[column] = ex.subtract(rest[column], ex.multiply(ex.constant(times), self.counter))
        if {*ex.variables(*rest)} & (carried | {s.variable for s in self.loop_read.states}):
            raise FormError("a companion that is no sum of what is kept")
        if all(r is ex.ZERO for r in rest[1:]):
            return ex.add(total, rest[0])
        return ex.add(total, self._given(rest))

    def _counted(self, column: int) -> Expr:
        """The place of an element, as a vector of this column alone."""
        if column not in self._counting:
            assert self.counter is not None
            variable = ex.variable(f"place{column}", ex.INT)
            self.meant[variable] = self._unit(column, self.counter)
            self._counting[column] = State(variable, ex.ZERO, ex.add(variable, self._given(self._unit(column, ex.ONE))))
        return self._counting[column].variable

    def _unit(self, column: int, value: Expr) -> Vector:
        return tuple(value if n == column else ex.ZERO for n in range(self.columns + 1))

    def _given(self, parts: Sequence[Expr]) -> Expr:
        """A field of the element that stands for a vector."""
        is_real = any(p.sort.base == "real" for p in parts)
        known = next((v for v, m in self.meant.items() if m == tuple(parts) and str(v.value).startswith("vector")), None)
        if known is not None:
            return known
        made = ex.variable(f"vector{len(self.meant)}", Sort("real" if is_real else "int"))
        self.meant[made] = tuple(parts)
        return made


# ------------------------------------------------------------ what was found, number by number


class _Written:
    """A family over vectors as one over numbers, for one order of equals."""

    def __init__(self, vectors: _Vectors, inner: Closure, order: Sequence[tuple[int, int]]) -> None:
        self._vectors: _Vectors = vectors
        self._inner: Closure = inner
        self._order: Sequence[tuple[int, int]] = order
        self._columns: int = vectors.columns
        self._nonzero: dict[Expr, set[int]] = {s: set() for s in inner.slots}
        while True:  # until no further column of a slot is seen to hold something
            before = sum(map(len, self._nonzero.values()))
            for slot in inner.slots:
                for value in (inner.lift[slot], inner.operator[slot]):
                    self._nonzero[slot] |= {n for n, p in enumerate(self._parts(value)[1:], 1) if p is not ex.ZERO}
            if before == sum(map(len, self._nonzero.values())):
                break

    def closure(self) -> Closure:
        inner, vectors = self._inner, self._vectors
        slots: list[Expr] = []
        lift: dict[Expr, Expr] = {}
        operator: dict[Expr, Expr] = {}
        for slot in inner.slots:
            values = self._parts(inner.lift[slot]), self._parts(inner.operator[slot])
            for number, part in enumerate(self._slot(slot)):
                if part is not ex.ZERO:
                    slots.append(part)
                    lift[part], operator[part] = (self._kept(slot, v, number) for v in values)
        transformers: dict[Expr, Expr] = {}
        moved = {v: self._parts(e) for v, e in inner.transformers.items()}
        for state in vectors.loop_read.states:
            v = state.variable
            if v in vectors.column:
                owner = next(o for o, m in vectors.meant.items() if (v in m or ex.negate(v) in m) and o is not v)
                part = moved[owner][vectors.column[v]]
                transformers[v] = part if vectors.sign[v] > 0 else ex.negate(part)
            else:
                transformers[v] = moved[v][0]
        return Closure(tuple(slots), transformers, lift, operator, inner.style)

    def _kept(self, slot: Expr, value: Vector, number: int) -> Expr:
        """A part of a slot's value; nothing goes with an infinite number."""
        if not number or not slot.sort.is_infinite:
            return value[number]
        ends = [e for e, may_be in ((ex.MINUS_INFINITY, slot.sort.below), (ex.INFINITY, slot.sort.above)) if may_be]
        return ex.select(ex.either(*(ex.equal(value[0], e) for e in ends)), ex.ZERO, value[number])

    def _slot(self, slot: Expr) -> Vector:
        mirrored = next((s for s in self._inner.slots if right(s) is slot), None)
        name, own = (slot, slot) if mirrored is None else (mirrored, slot)
        made = [own]
        for column in range(1, self._columns + 1):
            part = ex.variable(f"{name.value}c{column}", Sort("int" if name.sort.base == "bool" else name.sort.base))
            made.append((part if mirrored is None else right(part)) if column in self._nonzero[name] else ex.ZERO)
        return tuple(made)

    def _parts(self, value: Expr) -> Vector:
        memory: dict[Expr, Vector] = {}
        for part in ex.subexpressions(value):
            memory[part] = self._written(part, memory)
        return memory[value]

    def _plain(self, value: Expr) -> Vector:
        return (value, *([ex.ZERO] * self._columns))

    def _written(self, part: Expr, memory: Mapping[Expr, Vector]) -> Vector:
        match part.op:
            case "var":
                if part in self._nonzero or any(right(s) is part for s in self._nonzero):
                    return self._slot(part)
                return self._vectors.meant.get(part, self._plain(part))
            case "poly":
                return self._total(part, memory)
            case "max" | "min":
                found = memory[part.args[0]]
                for other in part.args[1:]:
                    found = self._extreme(part.op, found, memory[other])
                return found
            case "ite":
                test, then, otherwise = (memory[a] for a in part.args)
                return tuple(ex.select(test[0], a, b) for a, b in zip(then, otherwise, strict=True))
            case "ge" | "gt":
                return self._plain(self._ordered(memory[part.args[0]], self._plain(ex.ZERO), strict=part.op == "gt"))
            case "eq":
                pairs = zip(memory[part.args[0]], memory[part.args[1]], strict=True)
                return self._plain(ex.both(*(ex.equal(a, b) for a, b in pairs if a is not b)))
            case _:
                if any(p is not ex.ZERO for a in part.args for p in memory[a][1:]):
                    raise FormError("an operation on a number with companions")
                return self._plain(ex.rebuilt(part, tuple(memory[a][0] for a in part.args)))

    def _total(self, part: Expr, memory: Mapping[Expr, Vector]) -> Vector:
        total = [ex.ZERO] * (self._columns + 1)
        for coefficient, monomial in part.terms:
            vectors = [a for a in monomial if any(p is not ex.ZERO for p in memory[a][1:])]
            if len(vectors) > 1:
                raise FormError("a product of numbers with companions")
            factor = ex.constant(coefficient)
            for atom in monomial:
                factor = factor if atom in vectors else ex.multiply(factor, memory[atom][0])
            own = memory[vectors[0]] if vectors else self._plain(ex.ONE)
            total = [ex.add(t, ex.multiply(factor, p)) for t, p in zip(total, own, strict=True)]
        return tuple(total)

    def _extreme(self, op: ex.Op, first: Vector, second: Vector) -> Vector:
        extremum = ex.maximum if op == "max" else ex.minimum
        if first[1:] == second[1:]:
            return (extremum(first[0], second[0]), *first[1:])
        is_first = self._ordered(first, second) if op == "max" else self._ordered(second, first)
        own = [ex.select(is_first, a, b) for a, b in zip(first[1:], second[1:], strict=True)]
        for end in (ex.MINUS_INFINITY, ex.INFINITY):  # infinities have no difference by which they would be compared
            if all(v[0].sort.below if end is ex.MINUS_INFINITY else v[0].sort.above for v in (first, second)):
                lost, kept = (second, first) if (op == "max") == (end is ex.MINUS_INFINITY) else (first, second)
                own = [ex.select(ex.equal(kept[0], end), b, o) for b, o in zip(lost[1:], own, strict=True)]
                own = [ex.select(ex.equal(lost[0], end), a, o) for a, o in zip(kept[1:], own, strict=True)]
        return (extremum(first[0], second[0]), *own)

    def _ordered(self, first: Vector, second: Vector, *, strict: bool = False) -> Expr:
        """Whether the first is at least the second; with `strict`, more than it."""
        found = ex.FALSE if strict else ex.TRUE
        for column, sign in reversed(self._order):
            a, b = first[column], second[column]
            if a is not b:
                a, b = (a, b) if sign > 0 else (b, a)
                found = ex.either(ex.more_than(a, b), ex.both(ex.equal(a, b), found))
        a, b = first[0], second[0]
        if found is ex.TRUE or found is ex.FALSE:
            return ex.at_least(a, b) if found is ex.TRUE else ex.more_than(a, b)
        return ex.either(ex.more_than(a, b), ex.both(ex.at_least(a, b), found))


__all__ = ["closed", "counted_from_end", "is_likely"]
