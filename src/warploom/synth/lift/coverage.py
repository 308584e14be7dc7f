"""Matches a kernel's stores with a spec's cells, element by element of a period, for all sizes at once.

In every dimension a store goes to c * block + e and a cell of the spec to a * iteration + k. With M the least common multiple of
the coefficients an element is M * Q + R; R is enumerated, Q stays a symbol, and both block number and iteration are affine in Q.
Where all of a dimension's coefficients are 0, R is the constant itself: stores to different ones never meet.
A store may go c * s further, where s is a sum of sizes and of their quotients: the same for every block, so that each element
still belongs to one block number, which lies s lower.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import gcd, lcm
from typing import Generic, TypeVar

from warploom.core.linear import Linear, variable
from warploom.solve import Constraint, Formula, conjunction, substitute
from warploom.synth.lift.affine import UnliftableError
from warploom.synth.lift.trace import Cell, Event, Place

T = TypeVar("T")
Residue = tuple[int, ...]
Quotients = Mapping[tuple[Linear[str], int], Linear[str]]
"""The symbol of each `linear // d`, in the order in which they were made."""
_NONE: Linear[str] = Linear((), 0)
_MOST_PERIOD = 1024
_MOST_RESIDUES = 20_000


@dataclass(frozen=True, slots=True)
class Match(Generic[T]):
    """A store or a cell at one residue."""

    source: T
    values: dict[str, Linear[str]]
    """Block numbers or loop symbols in terms of the quotients."""
    present: Formula
    """Condition under which it touches the element, in terms of the quotients."""


@dataclass(slots=True)
class Residues:
    """Everything that can touch the elements of one residue."""

    events: list[Match[Event]] = field(default_factory=list["Match[Event]"])
    cells: list[Match[Cell]] = field(default_factory=list["Match[Cell]"])


@dataclass(frozen=True, slots=True)
class _Axis:
    """One dimension of a place: coefficient * (symbol + shift) + constant; coefficient 0 without symbol."""

    symbol: str
    coefficient: int
    constant: int
    shift: Linear[str] = _NONE
    """Over sizes and their quotients."""


def quotient(array: str, axis: int) -> str:
    """Name of the symbol Q of one dimension."""
    return f"{array}.{axis}"


def match(
    array: str,
    events: list[Event],
    cells: dict[Place, Cell],
    blocks: Collection[str],
    of_kernel: Quotients | None = None,
    of_spec: Quotients | None = None,
    sizes: Collection[str] = (),
) -> dict[Residue, Residues]:
    """Stores and cells of `array` by residue. Raises UnliftableError for places that are not of the form above.

    sizes: names of run-time sizes.
    of_kernel, of_spec: symbols for `linear // d` that conditions may hold; where M is a multiple of d they are affine in Q, too.
    """
    of_kernel, of_spec = of_kernel or {}, of_spec or {}
    uniform = _of_sizes(sizes, of_kernel)
    of_events = [(e, [_axis(f, blocks, array, uniform) for f in e.place]) for e in events]
    of_cells = [(c, [_axis(f, c.iteration, array) for f in place]) for place, c in cells.items()]
    for cell, axes in of_cells:
        if unused := set(cell.iteration) - {a.symbol for a in axes}:
            raise UnliftableError(
                f"the spec's loop {sorted(unused)[0].split('@')[0]} over a size stores to {array} again and again"
            )
    axes_of_all = [axes for _, axes in of_events] + [axes for _, axes in of_cells]
    if not axes_of_all:
        return {}
    for axes in axes_of_all:
        used = [a.symbol for a in axes if a.coefficient]
        if len(used) != len(set(used)):
            raise UnliftableError(f"one block number or loop in two dimensions of {array}")
    periods = [lcm(*(a[d].coefficient or 1 for a in axes_of_all)) for d in range(len(axes_of_all[0]))]
    fixed = [not any(a[d].coefficient for a in axes_of_all) for d in range(len(periods))]
    for d, period in enumerate(periods):
        symbols = {a[d].symbol: a[d].coefficient for a in axes_of_all if a[d].coefficient}
        wider = lcm(period, *_wanted(symbols, {**of_kernel, **of_spec}))
        periods[d] = wider if wider <= _MOST_PERIOD else period
    result: dict[Residue, Residues] = {}
    guards: dict[tuple[Formula, tuple[tuple[str, Linear[str]], ...]], Formula] = {}
    for event, axes in of_events:
        for residue, values, equations in _instances(array, axes, periods, fixed):
            _add_quotients(values, of_kernel)
            key = event.guard, tuple(values.items())
            guard = guards.get(key)
            if guard is None:
                guard = guards[key] = substitute(event.guard, values)
            present = conjunction([*equations, guard])
            result.setdefault(residue, Residues()).events.append(Match(event, values, present))
    for cell, axes in of_cells:
        for residue, values, equations in _instances(array, axes, periods, fixed):
            _add_quotients(values, of_spec)
            present = conjunction([*equations, substitute(cell.stored, values)])
            result.setdefault(residue, Residues()).cells.append(Match(cell, values, present))
    if len(result) > _MOST_RESIDUES:
        raise UnliftableError(f"more than {_MOST_RESIDUES} different elements per period of {array}")
    return result


def _wanted(symbols: Mapping[str, int], quotients: Quotients) -> Iterator[int]:
    """Periods that make a quotient of one of `symbols`, with their coefficients in places, affine."""
    for linear, d in quotients:
        for name, coefficient in linear.terms:
            if name in symbols:
                yield symbols[name] * d // gcd(coefficient, d)


def _add_quotients(values: dict[str, Linear[str]], quotients: Quotients) -> None:
    """Symbols of quotients whose value follows exactly from `values`, where something does: inner ones first."""
    for (linear, d), symbol in quotients.items():
        if any(name in values for name, _ in linear.terms):
            form = linear.substituted(values)
            exact = form.shifted(-(form.constant % d)).divided(d)
            if exact is not None:
                ((name, _),) = symbol.terms
                values[name] = exact


def _of_sizes(sizes: Collection[str], quotients: Quotients) -> set[str]:
    """Names whose value the sizes give: they, and the quotients of sums of them."""
    found = set(sizes)
    for (linear, _), symbol in quotients.items():
        if all(name in found for name, _ in linear.terms):
            found |= {name for name, _ in symbol.terms}
    return found


def _axis(form: Linear[str], symbols: Collection[str], array: str, uniform: Collection[str] = ()) -> _Axis:
    if not form.terms:
        return _Axis("", 0, form.constant)
    moving = [(name, c) for name, c in form.terms if name not in uniform]
    if len(moving) == 1:
        ((symbol, coefficient),) = moving
        if symbol in symbols and coefficient > 0:
            shift = form.plus(variable(symbol), -coefficient).shifted(-form.constant).divided(coefficient)
            if shift is not None:
                return _Axis(symbol, coefficient, form.constant, shift)
    raise UnliftableError(
        f"an index {form} of {array}: expected one block number or loop over a size, times a constant, plus a constant"
    )


def _instances(
    array: str, axes: list[_Axis], periods: list[int], fixed: list[bool]
) -> Iterator[tuple[Residue, dict[str, Linear[str]], list[Constraint]]]:
    ranges = [range(period // a.coefficient) if a.coefficient else range(1) for a, period in zip(axes, periods, strict=True)]
    for phases in product(*ranges):
        residue: list[int] = []
        values: dict[str, Linear[str]] = {}
        equations: list[Constraint] = []
        for d, (axis, phase, period) in enumerate(zip(axes, phases, periods, strict=True)):
            if fixed[d]:
                residue.append(axis.constant)
                continue
            offset, rest = divmod(axis.coefficient * phase + axis.constant, period)
            residue.append(rest)
            q = variable(quotient(array, d))
            if axis.coefficient:
                number = q.shifted(-offset).scaled(period // axis.coefficient).shifted(phase)
                values[axis.symbol] = number.plus(axis.shift, -1)
            else:
                equations.append(Constraint(q.shifted(-offset), "=="))
        yield tuple(residue), values, equations
