"""Index values of one generic thread block: affine in block numbers, sizes and loop symbols, one constant per thread.

value := form | cases (guarded forms, from min, max and conditional expressions) | condition
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from warploom.core.linear import Linear
from warploom.operations import COMPARISONS
from warploom.solve import Constraint, Formula, conjunction, disjunction, negation

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class UnliftableError(Exception):
    """The kernel or spec is outside of what the lift can follow; the message says where."""


@dataclass(frozen=True, slots=True, eq=False)
class ThreadSum:
    """`base[thread] + sum of coefficient * symbol`; terms sorted by symbol."""

    base: Ints
    terms: tuple[tuple[str, int], ...] = ()

    def at(self, thread: int) -> Linear[str]:
        return Linear(self.terms, int(self.base[thread]))

    @property
    def linear(self) -> Linear[str] | None:
        """The form when it is the same for all threads."""
        return Linear(self.terms, int(self.base[0])) if (self.base == self.base[0]).all() else None

    def plus(self, other: ThreadSum, factor: int = 1) -> ThreadSum:
        total = Linear(self.terms).plus(Linear(other.terms), factor)
        return ThreadSum(self.base + factor * other.base, tuple(sorted(total.terms)))


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Decided for every thread."""

    flags: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """`form <= 0` or `form == 0`."""

    form: ThreadSum
    is_equation: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Both:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Negated:
    part: Condition


Condition: TypeAlias = Known | Test | Both | Either | Negated


@dataclass(frozen=True, slots=True, eq=False)
class Extreme:
    """The least or the greatest of some forms."""

    forms: tuple[ThreadSum, ...]
    is_max: bool

    def cases(self) -> Cases:
        """The forms, each under the condition that it is the extreme one, the first of equal ones."""
        op, before = (">=", ">") if self.is_max else ("<=", "<")
        chosen: list[tuple[Condition, ThreadSum]] = []
        for k, form in enumerate(self.forms):
            wins = [compare(before, form, f) for f in self.forms[:k]] + [compare(op, form, f) for f in self.forms[k + 1 :]]
            chosen.append((both(wins), form))
        return tuple(chosen)


Cases: TypeAlias = tuple[tuple[Condition, ThreadSum], ...]
"""Exactly one condition holds."""
Number: TypeAlias = ThreadSum | Extreme | Cases


def formula_at(condition: Condition, thread: int) -> Formula:
    """The condition for one thread."""
    match condition:
        case Known(flags):
            return conjunction(()) if flags[thread] else disjunction(())
        case Test(form, is_equation):
            return Constraint(form.at(thread), "==" if is_equation else "<=")
        case Both(parts):
            return conjunction(formula_at(p, thread) for p in parts)
        case Either(parts):
            return disjunction(formula_at(p, thread) for p in parts)
        case Negated(part):
            return negation(formula_at(part, thread))
        case _:
            assert_never(condition)


def limits(condition: Condition) -> Iterator[ThreadSum]:
    """Sums that are 0 or less in each thread in which the condition holds: its inequalities, if all of them hold."""
    match condition:
        case Test(form):
            yield form
        case Negated(Test(form, is_equation=False)):
            yield ThreadSum(1 - form.base, tuple((name, -c) for name, c in form.terms))
        case Both(parts):
            for part in parts:
                yield from limits(part)
        case _:
            return


def factors(goal: Mapping[str, int], known: Iterable[tuple[str, int]]) -> Iterator[int]:
    """Numbers f > 0 for which `goal - f * known` lacks a symbol of `goal`; both are coefficients of sums."""
    for name, coefficient in known:
        factor = goal.get(name, 0) // coefficient
        if factor > 0 and factor * coefficient == goal[name]:
            yield factor


def is_uniform(condition: Condition) -> bool:
    """Whether the condition is textually the same for all threads."""
    match condition:
        case Known(flags):
            return bool((flags == flags[0]).all())
        case Test(form):
            return form.linear is not None
        case Both(parts) | Either(parts):
            return all(is_uniform(p) for p in parts)
        case Negated(part):
            return is_uniform(part)
        case _:
            assert_never(condition)


def test(form: ThreadSum, is_equation: bool = False) -> Condition:
    """`form <= 0` or `form == 0`, decided when no symbol is left."""
    if form.terms:
        return Test(form, is_equation)
    return Known(form.base == 0 if is_equation else form.base <= 0)


def both(parts: Iterable[Condition]) -> Condition:
    return _joined(parts, Both, lambda a, b: a & b, absorbing=False)


def either(parts: Iterable[Condition]) -> Condition:
    return _joined(parts, Either, lambda a, b: a | b, absorbing=True)


def _joined(
    parts: Iterable[Condition], kind: type[Both] | type[Either], join: Callable[[Flags, Flags], Flags], absorbing: bool
) -> Condition:
    known: Flags | None = None
    rest: list[Condition] = []
    for part in parts:
        if isinstance(part, Known):
            known = part.flags if known is None else join(known, part.flags)
        else:
            rest.append(part)
    if known is not None and ((known == absorbing).all() or not rest):
        return Known(known)
    if known is not None and (known == absorbing).any():
        rest.insert(0, Known(known))
    return rest[0] if len(rest) == 1 else kind(tuple(rest))


def negated(condition: Condition) -> Condition:
    return Known(~condition.flags) if isinstance(condition, Known) else Negated(condition)


def compare(op: str, a: Number, b: Number) -> Condition:
    """`a op b`."""
    if isinstance(a, Extreme) and op in ("==", "!="):
        a = a.cases()
    if isinstance(a, Extreme):
        parts = [compare(op, f, b) for f in a.forms]
        return both(parts) if a.is_max == (op in ("<", "<=")) else either(parts)
    if isinstance(a, tuple):
        return either(both([c, compare(op, f, b)]) for c, f in a)
    if not isinstance(b, ThreadSum):
        return compare(COMPARISONS[op].mirrored, b, a)
    one = ThreadSum(np.ones_like(a.base))
    match op:
        case "<=":
            return test(a.plus(b, -1))
        case "<":
            return test(a.plus(b, -1).plus(one))
        case ">=":
            return test(b.plus(a, -1))
        case ">":
            return test(b.plus(a, -1).plus(one))
        case "==":
            return test(a.plus(b, -1), is_equation=True)
        case _:
            assert op == "!="
            return negated(test(a.plus(b, -1), is_equation=True))
