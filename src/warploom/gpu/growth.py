"""Growth of index expressions with the run-time sizes: polynomials below and above every value that they take.

Sizes are natural numbers and stay symbols, so a bound holds at every size. Where the exact bound is no polynomial a wider one
is given; an expression without a known bound has None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from warploom.core.polynomials import Polynomial, number, size
from warploom.ir import (
    Builtin,
    Compare,
    For,
    HoleArg,
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    SetIndex,
    SizeVar,
    Stmt,
)

_ROUNDS = 3
"""Rounds of joining the results of passes over a loop, before its iterations are followed one by one."""
_MOST_STEPS = 20_000
"""Statements that are followed."""


@dataclass(frozen=True, slots=True)
class Growth:
    """`low <= value <= high` at all sizes; None: no bound is known."""

    low: Polynomial | None
    high: Polynomial | None

    @property
    def is_natural(self) -> bool:
        return self.low is not None and self.low.is_natural

    @property
    def size(self) -> Polynomial | None:
        """A polynomial that is nowhere below the absolute value."""
        if self.low is None or self.high is None:
            return None
        return number(0).above(self.high).above(self.low.scaled(-1))

    def joined(self, other: Growth) -> Growth:
        low = None if self.low is None or other.low is None else self.low.scaled(-1).above(other.low.scaled(-1)).scaled(-1)
        high = None if self.high is None or other.high is None else self.high.above(other.high)
        return Growth(low, high)


ANYTHING = Growth(None, None)
_TRUTH = Growth(number(0), number(1))


def _from_size(most: Polynomial | None, is_natural: bool = False) -> Growth:
    if most is None:
        return Growth(number(0), None) if is_natural else ANYTHING
    return Growth(number(0) if is_natural else most.scaled(-1), most)


def _up_to(low: int, high: Polynomial | None) -> Growth:
    return Growth(number(low), high)


class Growths:
    """Bounds of the index expressions of one filled kernel, wherever its index variables have a value."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._fixed: dict[IndexExpr, Growth] = {}
        for name in kernel.sizes:
            self._fixed[SizeVar(name)] = Growth(size(name), size(name))
        for axis in range(3):
            extent = self.of(kernel.grid[axis])
            block = kernel.block[axis]
            self._fixed[Builtin("thread_id", axis)] = _up_to(0, number(block - 1))
            self._fixed[Builtin("block_dim", axis)] = Growth(number(block), number(block))
            # A block that runs shows that there is one.
            self._fixed[Builtin("block_id", axis)] = _up_to(0, None if extent.high is None else extent.high.plus(number(-1)))
            self._fixed[Builtin("grid_dim", axis)] = _up_to(1, extent.high)
        self._steps = 0
        self._all: dict[str, Growth] = {}
        """Every value that an index variable takes anywhere."""
        self._follow(kernel.body, {})

    # ------------------------------------------------------------ variables

    def _note(self, name: str, value: Growth) -> None:
        self._all[name] = self._all[name].joined(value) if name in self._all else value

    def _follow(self, body: tuple[Stmt, ...], now: dict[str, Growth]) -> None:
        """Runs `body` on bounds; `now`: of each variable at this point, changed in place."""
        for statement in body:
            self._steps += 1
            match statement:
                case SetIndex(name, expr):
                    value = self.of(expr, now)
                    now[name] = value
                    self._note(name, value)
                case For():
                    self._loop(statement, now)
                case If(_, then, other):
                    branches = [dict(now), dict(now)]
                    for branch, part in zip(branches, (then, other), strict=True):
                        self._follow(part, branch)
                    _replace(now, branches[0], branches[1])
                case _:
                    pass

    def _loop(self, loop: For, now: dict[str, Growth]) -> None:
        start, stop = self.of(loop.start, now), self.of(loop.stop, now)
        up = loop.step > 0
        # Inside of the loop the test holds; the number that ends it is a value of the variable, too.
        inside = Growth(start.low, _shifted(stop.high, -1)) if up else Growth(_shifted(stop.low, 1), start.high)
        after = (
            Growth(inside.low, _shifted(stop.high, loop.step - 1))
            if up
            else Growth(_shifted(stop.low, loop.step + 1), inside.high)
        )
        before, noted = dict(now), dict(self._all)
        for _ in range(_ROUNDS):
            known = dict(now)
            now[loop.var] = inside
            self._follow(loop.body, now)
            _replace(now, known, now)
            if all(now[name] == known.get(name) for name in now if name != loop.var):
                break
        else:
            numbers = _constants(start, stop, loop.step)
            if numbers is not None and self._steps + len(numbers) * len(loop.body) < _MOST_STEPS:
                now.clear()
                now.update(before)
                self._all = noted
                for value in numbers:
                    now[loop.var] = Growth(number(value), number(value))
                    self._follow(loop.body, now)
            else:
                for name in _set_in(loop.body):
                    now[name] = ANYTHING
                self._follow(loop.body, now)
        self._note(loop.var, start.joined(after))
        now[loop.var] = start.joined(after)

    # ------------------------------------------------------------ expressions

    def of(self, expr: IndexExpr, now: Mapping[str, Growth] | None = None) -> Growth:
        """Bounds of `expr`: with `now`, at a point of the program, else at all points."""
        match expr:
            case IndexConst(value):
                return Growth(number(int(value)), number(int(value)))
            case IndexVar(name):
                return (self._all if now is None else now).get(name, ANYTHING)
            case SizeVar() | Builtin():
                return self._fixed.get(expr, ANYTHING)
            case IndexBinary(op, lhs, rhs):
                return _binary(op, self.of(lhs, now), self.of(rhs, now))
            case Compare() | Logical():
                return _TRUTH
            case IndexSelect(_, then, other):
                return self.of(then, now).joined(self.of(other, now))
            case HoleUse() | HoleArg():
                return ANYTHING
            case _:
                assert_never(expr)


def _shifted(bound: Polynomial | None, by: int) -> Polynomial | None:
    return None if bound is None else bound.plus(number(by))


def _replace(now: dict[str, Growth], one: Mapping[str, Growth], other: Mapping[str, Growth]) -> None:
    """Sets the state after one of two ways here; a variable that only one of them sets has no value after the other."""
    joined = {n: one[n].joined(other[n]) if n in one and n in other else one.get(n) or other[n] for n in {**one, **other}}
    now.clear()
    now.update(joined)


def _constants(start: Growth, stop: Growth, step: int) -> range | None:
    for bound in (start, stop):
        if bound.low is None or bound.low != bound.high or not bound.low.is_constant:
            return None
    assert start.low is not None and stop.low is not None
    return range(int(start.low.constant), int(stop.low.constant), step)


def _set_in(body: tuple[Stmt, ...]) -> set[str]:
    found: set[str] = set()
    for statement in body:
        match statement:
            case SetIndex(name):
                found.add(name)
            case For():
                found |= {statement.var} | _set_in(statement.body)
            case If(_, then, other):
                found |= _set_in(then) | _set_in(other)
            case _:
                pass
    return found


def _only(value: Growth) -> int | None:
    """The value of a constant."""
    if value.low is None or value.low != value.high or not value.low.is_constant:
        return None
    return int(value.low.constant)


def _binary(op: str, a: Growth, b: Growth) -> Growth:
    match op:
        case "+":
            return Growth(_sum(a.low, b.low), _sum(a.high, b.high))
        case "-":
            return Growth(_sum(a.low, b.high, -1), _sum(a.high, b.low, -1))
        case "*":
            return _product(a, b)
        case "<<":
            by = _only(b)
            return _product(a, Growth(number(1 << by), number(1 << by))) if by is not None and 0 <= by < 63 else ANYTHING
        case "//":
            return _quotient(a, b)
        case ">>":
            by = _only(b)
            if by is not None and 0 <= by < 63:
                return _quotient(a, Growth(number(1 << by), number(1 << by)))
            return _from_size(a.size, a.is_natural)
        case "%":
            if b.low is None or not b.low.plus(number(-1)).is_natural:
                return _from_size(b.size)
            return _up_to(0, a.high if a.is_natural and b.high is None else _shifted(b.high, -1))
        case "min":
            return Growth(_lower(a.low, b.low), _least(a.high, b.high))
        case "max":
            highs = a.high is None or b.high is None
            low = a.low if b.low is None or (a.low is not None and a.low.plus(b.low, -1).is_natural) else b.low
            return Growth(low, None if highs else _sure(a.high).above(_sure(b.high)))
        case "&" if a.is_natural or b.is_natural:
            bounds = [x.high for x in (a, b) if x.is_natural]
            return _up_to(0, bounds[0] if len(bounds) == 1 else _least(bounds[0], bounds[1]))
        case _:
            # Bits of two numbers together: no more digits than the longer one has, so no more than the sum of both.
            both = _sum(_sum(a.size, b.size), number(0 if a.is_natural and b.is_natural else 1))
            return _from_size(both, a.is_natural and b.is_natural)


def _sum(a: Polynomial | None, b: Polynomial | None, factor: int = 1) -> Polynomial | None:
    return None if a is None or b is None else a.plus(b, factor)


def _sure(bound: Polynomial | None) -> Polynomial:
    assert bound is not None
    return bound


def _lower(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    """A polynomial that is nowhere above either of the two."""
    return None if a is None or b is None else a.scaled(-1).above(b.scaled(-1)).scaled(-1)


def _least(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    """The upper bound that says more: the other one unbounded or growing faster."""
    if a is None or b is None:
        return b if a is None else a
    return a if b.plus(a, -1).is_natural or a.is_constant else b


def _product(a: Growth, b: Growth) -> Growth:
    for x, y in ((a, b), (b, a)):
        factor = _only(x)
        if factor is not None:
            low, high = (y.low, y.high) if factor >= 0 else (y.high, y.low)
            return Growth(*(None if p is None else p.scaled(factor) for p in (low, high)))
    if a.is_natural and b.is_natural:
        low = _sure(a.low).times(_sure(b.low))
        return Growth(low, None if a.high is None or b.high is None else a.high.times(b.high))
    if a.size is None or b.size is None:
        return ANYTHING
    return _from_size(a.size.times(b.size))


def _quotient(a: Growth, b: Growth) -> Growth:
    by = _only(b)
    if by is not None and by > 0:
        low = None if a.low is None else number(0) if a.is_natural else a.low.scaled(Fraction(1, by)).plus(number(-1))
        return Growth(low, None if a.high is None else a.high.scaled(Fraction(1, by)))
    if b.low is not None and b.low.plus(number(-1)).is_natural:
        return Growth(number(0), a.high) if a.is_natural else _from_size(a.size)
    return _from_size(a.size)
