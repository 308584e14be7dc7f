"""Means, variances and covariances that are updated by division, as the sums that they are made of.

    mean = s / n        m2 = q - s * t / n        variance = q / n - s * t / n**2

with n the count of elements so far, s and t the sums of two means. A state takes such a form if the sum's next value then is a
polynomial: dividing by n and by n + 1 leaves nothing. This holds where n >= 1; from n = 0, the first step is compared by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.transition import Loop, State


class _NotRationalError(Exception):
    """No fraction whose divisor is made of n and n + 1."""


@dataclass(frozen=True, slots=True)
class _Fraction:
    """`above / (n**low * (n + 1)**high)`, in least terms."""

    above: Expr
    low: int = 0
    high: int = 0


Recovered: TypeAlias = Callable[[Expr, Expr], Expr]
"""A state of a sum and a count."""


def summed(loop: Loop) -> Loop | None:
    """The loop with sums for means; None if there is none."""
    if not any(e.op == "div" for s in loop.states for e in ex.subexpressions(s.step)):
        return None
    for count in loop.states:
        start = count.initial.value
        if count.initial.op != "const" or type(start) is not int or start < 0 or not count.variable.sort.is_numeric:
            continue
        if count.step is ex.add(count.variable, ex.ONE) or _counted(count) is not None:
            for first in dict.fromkeys((start, 0, 1)):
                found = _Sums(*_counted_from(first, loop, count, start), first).loop()
                if found is not None:
                    return found
    return None


def _counted_from(first: int, loop: Loop, count: State, start: int) -> tuple[Loop, State]:
    """The loop with a count that begins at `first` in place of `start`: `enumerate` counts places, not elements so far."""
    if first == start:
        return loop, count
    n, grows = count.variable, _counted(count)
    known = {n: ex.add(n, ex.constant(start - first))}
    more = ex.add(n, ex.ONE)
    step = more if grows is None else ex.select(ex.substituted(grows, known), more, n)
    counted = replace(count, initial=ex.constant(first), step=step)
    states = tuple(counted if s is count else replace(s, step=ex.substituted(s.step, known)) for s in loop.states)
    return replace(loop, states=states, outputs=tuple(ex.substituted(o, known) for o in loop.outputs)), counted


def _counted(count: State) -> Expr | None:
    """The condition under which the count grows."""
    more = ex.add(count.variable, ex.ONE)
    if count.step.op == "ite" and count.step.args[1:] in ((more, count.variable), (count.variable, more)):
        test = count.step.args[0]
        return test if count.step.args[1] is more else ex.negation(test)
    return None


class _Sums:
    """The search for sums, state by state."""

    def __init__(self, loop: Loop, count: State, start: int) -> None:
        self._loop: Loop = loop
        self._n: Expr = count.variable
        self._start: int = start
        self._grows: Expr | None = _counted(count)
        self._states: dict[Expr, Expr] = {}
        """States as their sums say."""
        self._steps: dict[Expr, tuple[Expr, Expr]] = {}
        """Next values of sums, and what they start with."""
        self._means: list[Expr] = []
        self._initial: dict[Expr, Expr] = {s.variable: s.initial for s in loop.states}
        self._dividing: set[Expr] = {s.variable for s in loop.states if self._divides(s)}

    def loop(self) -> Loop | None:
        waiting = [s for s in self._loop.states if s.variable in self._dividing]
        while waiting:
            done = [s for s in waiting if self._taken(s)]
            if not done:
                return None
            waiting = [s for s in waiting if s not in done]
        if not self._states:
            return None
        states: list[State] = []
        for state in self._loop.states:
            total = self._sum_of(state.variable)
            if state.variable in self._states:
                step, start = self._steps[total]
                states.append(State(total, start, step))
            elif {*ex.variables(state.step)} & self._states.keys():
                return None
            else:
                states.append(state)
        have = ex.at_least(self._n, ex.ONE)
        values = {v: e if self._start else ex.select(have, e, self._initial[v]) for v, e in self._states.items()}
        outputs = tuple(ex.substituted(o, values) for o in self._loop.outputs)
        return replace(self._loop, states=tuple(states), outputs=outputs, kept=())

    def _divides(self, state: State) -> bool:
        return any(e.op == "div" for e in ex.subexpressions(state.step))

    def _sum_of(self, variable: Expr) -> Expr:
        return ex.variable(f"{variable.value}_sum", ex.REAL)

    def _taken(self, state: State) -> bool:
        """Whether a form fits the state, given those before it."""
        if not state.variable.sort.is_numeric or state.initial.op != "const" or state.initial.sort.is_infinite:
            return False
        step = state.step
        if self._grows is not None:
            step = ex.substituted(step, {self._grows: ex.TRUE, ex.negation(self._grows): ex.FALSE})
            other = ex.substituted(state.step, {self._grows: ex.FALSE, ex.negation(self._grows): ex.TRUE})
            if other is not state.variable:
                return False
        total = self._sum_of(state.variable)
        for value, back, is_mean in self._forms(total):
            known = {**self._states, state.variable: value}
            try:
                after = self._fraction(back(ex.substituted(step, known)))
                if after.low or after.high or {*ex.variables(after.above)} & self._dividing:
                    continue
                if not self._is_met_at_start(state, step, back, after.above, total):
                    continue
            except (_NotRationalError, ex.UndefinedError):
                continue
            first = ex.ZERO if not self._start else self._first(state, value, total)
            if first is None:
                continue
            grown = after.above if self._grows is None else ex.select(self._grows, after.above, total)
            self._states[state.variable] = value
            self._steps[total] = grown, first
            if is_mean:
                self._means.append(state.variable)
            return True
        return False

    def _forms(self, total: Expr) -> Iterator[tuple[Expr, Callable[[Expr], Expr], bool]]:
        """A state of its sum, the sum after a step of the state after it, and whether it is a mean."""
        n, more = self._n, ex.add(self._n, ex.ONE)
        yield ex.quotient(total, n), lambda z: ex.multiply(more, z), True
        for number, first in enumerate(self._means):
            for second in self._means[number:]:
                one, other = self._sum_of(first), self._sum_of(second)
                product = ex.multiply(one, other)
                later = ex.multiply(self._steps[one][0], self._steps[other][0])
                if self._grows is not None:
                    later = ex.substituted(later, {self._grows: ex.TRUE, ex.negation(self._grows): ex.FALSE})
                share, next_share = ex.quotient(product, n), ex.quotient(later, more)
                yield ex.subtract(total, share), lambda z, s=next_share: ex.add(z, s), False
                variance = ex.subtract(ex.quotient(total, n), ex.quotient(product, ex.multiply(n, n)))
                yield variance, lambda z, s=next_share: ex.add(ex.multiply(more, z), s), False

    def _is_met_at_start(self, state: State, step: Expr, back: Callable[[Expr], Expr], after: Expr, total: Expr) -> bool:
        """Whether the first step from no elements gives the sums that the later ones do."""
        if self._start:
            return True
        zeros: dict[Expr, Expr] = {total: ex.ZERO, **{self._sum_of(v): ex.ZERO for v in self._states}, self._n: ex.ZERO}
        first = {v: self._initial[v] for v in (*self._states, state.variable)}
        real = ex.substituted(back(ex.substituted(step, first)), zeros)
        return self._fraction(real) == self._fraction(ex.substituted(after, zeros))

    def _first(self, state: State, value: Expr, total: Expr) -> Expr | None:
        """The sum to start with so that the state has its initial value, where elements are counted already; None where the value
        does not grow by a constant per unit of the sum."""
        known: dict[Expr, Expr] = {self._n: ex.constant(self._start), **{t: s for t, (_, s) in self._steps.items()}}
        at_zero = ex.substituted(value, {**known, total: ex.ZERO})
        at_one = ex.substituted(value, {**known, total: ex.ONE})
        slope = ex.subtract(at_one, at_zero)
        return ex.quotient(ex.subtract(state.initial, at_zero), slope) if slope.op == "const" and slope is not ex.ZERO else None

    def _fraction(self, expr: Expr) -> _Fraction:
        """Raises _NotRationalError."""
        memory: dict[Expr, _Fraction] = {}
        for part in ex.subexpressions(expr):
            if part.op == "div":
                above, below = memory[part.args[0]], self._powers(part.args[1])
                memory[part] = self._least(above.above, above.low + below[0], above.high + below[1])
            elif part.op == "poly":
                memory[part] = self._total(part, memory)
            elif any(e.op == "div" for e in ex.subexpressions(part)):
                memory[part] = _Fraction(part)
                if {*ex.variables(part)} & {self._n, *self._states}:
                    raise _NotRationalError
            else:
                memory[part] = _Fraction(part)
        return memory[expr]

    def _total(self, expr: Expr, memory: Mapping[Expr, _Fraction]) -> _Fraction:
        parts: list[_Fraction] = []
        for coefficient, monomial in expr.terms:
            above, low, high = ex.constant(coefficient), 0, 0
            for atom in monomial:
                factor = memory[atom]
                above, low, high = ex.multiply(above, factor.above), low + factor.low, high + factor.high
            parts.append(_Fraction(above, low, high))
        low, high = max(p.low for p in parts), max(p.high for p in parts)
        more = ex.add(self._n, ex.ONE)
        total = ex.ZERO
        for part in parts:
            scaled = part.above
            for factor, times in ((self._n, low - part.low), (more, high - part.high)):
                for _ in range(times):
                    scaled = ex.multiply(scaled, factor)
            total = ex.add(total, scaled)
        return self._least(total, low, high)

    def _powers(self, divisor: Expr) -> tuple[int, int]:
        if divisor is ex.ZERO:
            raise _NotRationalError
        low = high = 0
        while divisor is not ex.ONE:
            if (found := self._divided(divisor, 0)) is not None:
                divisor, low = found, low + 1
            elif (found := self._divided(divisor, -1)) is not None:
                divisor, high = found, high + 1
            else:
                raise _NotRationalError
        return low, high

    def _least(self, above: Expr, low: int, high: int) -> _Fraction:
        while low and (found := self._divided(above, 0)) is not None:
            above, low = found, low - 1
        while high and (found := self._divided(above, -1)) is not None:
            above, high = found, high - 1
        return _Fraction(above, low, high)

    def _divided(self, value: Expr, root: int) -> Expr | None:
        """The polynomial divided by `n - root`; None if that leaves something."""
        powers: dict[int, Expr] = {}
        for monomial, coefficient in ex.polynomial(value).items():
            if any(self._n in ex.variables(a) and a is not self._n for a in monomial):
                return None
            degree = monomial.count(self._n)
            term = ex.from_polynomial({tuple(a for a in monomial if a is not self._n): coefficient})
            powers[degree] = ex.add(powers.get(degree, ex.ZERO), term)
        if value is ex.ZERO:
            return ex.ZERO
        result, carried = ex.ZERO, ex.ZERO
        for degree in range(max(powers), 0, -1):
            carried = ex.add(powers.get(degree, ex.ZERO), ex.multiply(ex.constant(root), carried))
            power = ex.ONE
            for _ in range(degree - 1):
                power = ex.multiply(power, self._n)
            result = ex.add(result, ex.multiply(carried, power))
        rest = ex.add(powers.get(0, ex.ZERO), ex.multiply(ex.constant(root), carried))
        return result if rest is ex.ZERO else None


__all__ = ["summed"]
