"""Finite automata whose other states recur linearly, in each mode by a matrix of its own: parsers, protocols, alternating sums.

    mode = next[mode](e);  s_i = sum of a_ij[mode](e) * s_j + b_i[mode](e)

A list's value says of every mode in which the loop may meet it where it ends, and what it does to the other states on the way.
Modes that no start reaches are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.closure import MAX_SLOTS, Closure, Start, right
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.parts import affine, reached
from warploom.scan.operators.transition import Loop, State

MOST = 16
"""Modes."""
MANY = 5
"""So many modes are more than what cases of thresholds tell quickly."""

Mode = tuple[Expr, ...]
"""A constant for each of the states that have few values."""


def closed(loop: Loop, style: Style, start: Start, *, every: bool = False) -> Closure:
    """Raises FormError where the loop is no automaton with linear recurrences. `every`: modes that no start reaches, too."""
    found = _Automaton(loop, every=every)
    factors, offsets = found.matrices()
    slots: list[Expr] = []

    def slot(sort: Sort) -> Expr:
        slots.append(ex.variable(f"m{len(slots) + 1}", sort))
        if len(slots) > MAX_SLOTS:
            raise FormError("too many auxiliary values")
        return slots[-1]

    ends = [slot(Sort("int", values=tuple(range(len(found.modes))))) for _ in found.modes]
    lift = {end: found.number(found.after[mode]) for end, mode in zip(ends, found.modes, strict=True)}
    operator = {end: found.by_number(end, [right(e) for e in ends]) for end in ends}
    rest = [s.variable for s in found.rest]
    sorts = {v: ex.REAL if any(v.sort.base == "real" for v in rest) or found.is_real else ex.INT for v in rest}
    scaled = [{k: slot(sorts[k[0]]) for k in factors[0] if any(f[k] is not _unit(k) for f in factors)} for _ in found.modes]
    added = [{v: slot(sorts[v]) for v in rest} for _ in found.modes]
    for number, mode_scaled in enumerate(scaled):
        lift |= {s: factors[number][k] for k, s in mode_scaled.items()} | {added[number][v]: offsets[number][v] for v in rest}
        for row in rest:
            own = [j for i, j in factors[0] if i is row]
            later = [{j: _mirrored(scaled[m], row, j) for j in own} for m in range(len(found.modes))]
            plus = [right(added[m][row]) for m in range(len(found.modes))]
            operator[added[number][row]] = found.by_number(
                ends[number],
                [ex.add(plus[m], *(ex.multiply(later[m][j], added[number][j]) for j in own)) for m in range(len(plus))],
            )
            for (i, j), s in mode_scaled.items():
                if i is row:
                    paths = [
                        ex.add(*(ex.multiply(later[m][k], _entry(mode_scaled, k, j)) for k in own if (k, j) in factors[0]))
                        for m in range(len(plus))
                    ]
                    operator[s] = found.by_number(ends[number], paths)
    transformers = {s.variable: found.moved(s.variable, ends) for s in found.told}
    for row in rest:
        own = [j for i, j in factors[0] if i is row]
        moved = [
            ex.add(added[m][row], *(ex.multiply(_entry(scaled[m], row, j), j) for j in own)) for m in range(len(found.modes))
        ]
        transformers[row] = found.by_mode(moved)
    return Closure(tuple(slots), {s.variable: transformers[s.variable] for s in loop.states}, lift, operator, style)


def is_likely(loop: Loop) -> bool:
    """Whether the loop has so many modes that other families would take long to see that they do not fit."""
    try:
        return len(_Automaton(loop).modes) >= MANY
    except FormError:
        return False


def _unit(place: tuple[Expr, Expr]) -> Expr:
    return ex.ONE if place[0] is place[1] else ex.ZERO


def _entry(slots: Mapping[tuple[Expr, Expr], Expr], row: Expr, column: Expr) -> Expr:
    """A factor of a list: its slot, or what it is of every list."""
    return slots.get((row, column), _unit((row, column)))


def _mirrored(slots: Mapping[tuple[Expr, Expr], Expr], row: Expr, column: Expr) -> Expr:
    found = _entry(slots, row, column)
    return right(found) if found.op == "var" else found


class _Automaton:
    """The states of few values as one automaton."""

    def __init__(self, loop: Loop, *, every: bool = False) -> None:
        """Raises FormError."""
        self._loop: Loop = loop
        self.told: list[State] = [s for s in loop.states if _values(s.variable)]
        """States of few values."""
        self.rest: list[State] = [s for s in loop.states if s not in self.told]
        if not self.told:
            raise FormError("no states of few values")
        if any(not s.variable.sort.is_numeric or s.variable.sort.is_infinite for s in self.rest):
            raise FormError("states that are no finite numbers beside an automaton")
        self.after: dict[Mode, Mode] = {}
        """By mode: the mode after an element, in expressions of the element."""
        first = tuple(s.initial for s in self.told)
        if any(e.op != "const" for e in first):
            raise FormError("an automaton whose start is not known")
        waiting = [first]
        if every:
            waiting += product(*(_every(s.variable) for s in self.told))
        carried = {s.variable for s in loop.states}
        while waiting:
            mode = waiting.pop()
            if mode in self.after:
                continue
            known = self.known(mode)
            step = tuple(ex.substituted(s.step, known) for s in self.told)
            if {*ex.variables(*step)} & carried:
                raise FormError("an automaton that depends on other states")
            self.after[mode] = step
            ends = [_constants(e, s.variable) for e, s in zip(step, self.told, strict=True)]
            if len(self.after) > MOST:
                raise FormError("an automaton of too many states")
            waiting += [m for m in product(*ends) if m not in self.after]
        self.modes: list[Mode] = sorted(self.after, key=lambda m: [cast(int, e.value) for e in m])

    @property
    def is_real(self) -> bool:
        return any(e.sort.base == "real" for s in self.rest for e in (s.step, s.initial))

    def known(self, mode: Mode) -> dict[Expr, Expr]:
        return {s.variable: e for s, e in zip(self.told, mode, strict=True)}

    def matrices(self) -> tuple[list[dict[tuple[Expr, Expr], Expr]], list[dict[Expr, Expr]]]:
        """By mode: factors of the other states, and what is added. Raises FormError where a step is not linear."""
        others = {s.variable for s in self.rest}
        rows: list[dict[Expr, dict[Expr | None, Expr]]] = []
        for mode in self.modes:
            known = self.known(mode)
            found = {s.variable: affine(ex.substituted(s.step, known), others) for s in self.rest}
            if any(f is None for f in found.values()):
                raise FormError("states beside an automaton that do not recur linearly")
            rows.append({v: f for v, f in found.items() if f is not None})
        near = {i: {j for row in rows for j, f in row[i].items() if j is not None and f is not ex.ZERO} for i in others}
        reach = reached({i: {*near[i], i} for i in others})
        places = [(i, j) for i in (s.variable for s in self.rest) for j in (s.variable for s in self.rest) if j in reach[i]]
        factors = [{(i, j): row[i].get(j, ex.ZERO) for i, j in places} for row in rows]
        return factors, [{i: row[i].get(None, ex.ZERO) for i in others} for row in rows]

    def number(self, ends: Mode) -> Expr:
        """The place of a mode that is given by expressions."""
        return self._told_apart(ends, [ex.constant(n) for n in range(len(self.modes))])

    def by_number(self, number: Expr, cases: Sequence[Expr]) -> Expr:
        """The case of this number."""
        found = cases[0]
        for place, case in enumerate(cases[1:], 1):
            found = ex.select(ex.at_least(number, ex.constant(place)), case, found)
        return found

    def by_mode(self, cases: Sequence[Expr]) -> Expr:
        """The case of the mode in which the states are."""
        return self._told_apart(tuple(s.variable for s in self.told), cases)

    def moved(self, state: Expr, ends: Sequence[Expr]) -> Expr:
        """A state after a list that ends in these modes, by where it begins."""
        place = [s.variable for s in self.told].index(state)
        values = [mode[place] for mode in self.modes]
        if state.sort.base != "bool":
            return self.by_mode([self.by_number(end, values) for end in ends])
        numbers = [ex.ONE if v is ex.TRUE else ex.ZERO for v in values]  # choices among truth values would be multiplied out
        return ex.at_least(self.by_mode([self.by_number(end, numbers) for end in ends]), ex.ONE)

    def _told_apart(self, values: Mode, cases: Sequence[Expr]) -> Expr:
        """The case of the mode that the values are, one value after the other."""
        return _chosen(values, list(zip(self.modes, cases, strict=True)))


def _values(variable: Expr) -> bool:
    return variable.sort.base == "bool" or variable.sort.values is not None


def _every(variable: Expr) -> list[Expr]:
    values = variable.sort.values
    return [ex.FALSE, ex.TRUE] if values is None else [ex.constant(v) for v in values]


def _chosen(values: Sequence[Expr], cases: Sequence[tuple[Mode, Expr]]) -> Expr:
    if len(cases) == 1 or not values:
        return cases[0][1]
    value, *rest = values
    groups: dict[Expr, list[tuple[Mode, Expr]]] = {}
    for (first, *others), case in cases:
        groups.setdefault(first, []).append((tuple(others), case))
    found: Expr | None = None
    for constant, group in sorted(groups.items(), key=lambda g: cast(int, g[0].value)):
        case = _chosen(rest, group)
        test = value if constant.sort.base == "bool" else ex.at_least(value, constant)
        found = case if found is None else ex.select(test, case, found)
    assert found is not None
    return found


def _constants(expr: Expr, state: Expr) -> list[Expr]:
    """The constants that an expression may be, which is the next value of the state."""
    if expr.op == "const":
        return [expr]
    if expr.op == "ite":
        return [*dict.fromkeys([*_constants(expr.args[1], state), *_constants(expr.args[2], state)])]
    values = state.sort.values if expr.sort.values is None else expr.sort.values
    return _every(state) if values is None else [ex.constant(v) for v in values]


__all__ = ["closed", "is_likely"]
