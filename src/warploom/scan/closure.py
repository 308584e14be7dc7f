"""A family of functions of the states that contains one step of the loop and is closed under composition.

The step's normal form with its varying coefficients replaced by slots is a first guess. Composing two members, normalising and
laying the result on top of the guess either fits (then its coefficients, as functions of both members' slots, are the associative
operator), or widens the guess: another coefficient varies, another term or threshold appears.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom.scan import expression as ex
from warploom.scan.alignment import Aligner, Role, Style
from warploom.scan.expression import BOOL, Expr, Sort
from warploom.scan.forms import FormError, Normaliser
from warploom.scan.loop import Loop
from warploom.scan.tables import Table, Tabulator

MAX_ROUNDS = 8
MAX_SLOTS = 48


@dataclass(frozen=True, slots=True)
class Closure:
    """`step_v(states) = transformers[v](states; slots)`, closed under composition."""

    slots: tuple[Expr, ...]
    transformers: Mapping[Expr, Expr]
    """By state: its value after a list, from the states before it and the list's slots."""
    lift: Mapping[Expr, Expr]
    """By slot: its value for one element."""
    operator: Mapping[Expr, Expr]
    """By slot: its value for two lists, over the slots of the first as they are and of the second by `right`."""
    style: Style


def right(slot: Expr) -> Expr:
    """The second list's slot."""
    return ex.variable(f"{slot.value}'", slot.sort)


@dataclass(slots=True)
class _Shape:
    """Tables by state whose varying coefficients are slot variables."""

    tabulator: Tabulator
    tables: dict[Expr, Table] = field(default_factory=dict[Expr, Table])
    slots: dict[Expr, None] = field(default_factory=dict[Expr, None])
    changed: bool = False
    fitted: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])
    wanted: dict[Expr, Sort] = field(default_factory=dict[Expr, Sort])
    number: int = 0

    def fit(self, state: Expr, table: Table) -> None:
        """Lays one instance on top; its coefficients go to `fitted`."""
        known = self.tables.get(state)
        few = state.sort.values

        def combine(shape: Expr, value: Expr, role: Role) -> Expr:
            if shape in self.slots:
                self.fitted[shape] = value
                self.wanted[shape] = self.wanted.get(shape, shape.sort).joined(_slot_sort(value, role, few))
                return shape
            if shape is value:
                return shape
            sort = _slot_sort(shape, role, few).joined(_slot_sort(value, role, few))
            self.changed = True
            self.number += 1
            slot = ex.variable(f"p{self.number}", sort)
            self.slots[slot] = None
            self.fitted[slot] = value
            self.wanted[slot] = sort
            return slot

        start = known if known is not None else _open(table)
        self.tables[state] = self.tabulator.overlaid(start, table, combine)
        if known is None or [k for k, _ in known.axes] != [k for k, _ in self.tables[state].axes]:
            self.changed = True
        elif len(known.coefficients()) != len(self.tables[state].coefficients()):
            self.changed = True

    def forget(self) -> None:
        """Slots that no table has any more."""
        used = {v for t in self.tables.values() for v in ex.variables(*t.coefficients())}
        self.slots = {s: None for s in self.slots if s in used}

    def widen(self) -> None:
        """Slots whose values have turned out to be of a wider sort."""
        for slot, sort in list(self.wanted.items()):
            if slot in self.slots and sort != slot.sort:
                self.changed = True
                wider = ex.variable(str(slot.value), sort)
                self.slots = {wider if s is slot else s: None for s in self.slots}
                self.tables = {v: t.replaced({slot: wider}) for v, t in self.tables.items()}
                self.fitted[wider] = self.fitted.pop(slot)
                self.wanted[wider] = self.wanted.pop(slot)


def _open(table: Table) -> Table:
    return table


def _slot_sort(value: Expr, role: Role, few: tuple[int, ...] | None) -> Sort:
    """Of a coefficient; only factors and states with few values keep them."""
    if value.sort.base == "bool":
        return BOOL
    values = value.sort.values
    if values is not None and role == "factor":
        values = values if {*values} <= {0, 1} else None
    elif values is not None:
        values = values if few is not None and role == "offset" and {*values} <= {*few} else None
    return Sort(value.sort.base, value.sort.below, value.sort.above, values)


def closure(loop: Loop, style: Style) -> Closure:
    """Raises FormError, also if the family keeps growing."""
    states = [s.variable for s in loop.states]
    tabulator = Tabulator(Aligner(style))
    steps = _tables(tabulator, states, {s.variable: s.step for s in loop.states})
    free = {*loop.fields}
    shape = _Shape(tabulator)
    for state, table in steps.items():
        shape.fit(state, _varying(table, free, shape, state))
    for _ in range(MAX_ROUNDS):
        if len(shape.slots) > MAX_SLOTS:
            raise FormError("too many auxiliary values")
        shape.changed = False
        first = {v: t.expr() for v, t in shape.tables.items()}
        other = {s: right(s) for s in shape.slots}
        second = {v: ex.substituted(e, other) for v, e in first.items()}
        composed = {v: ex.substituted(e, first) for v, e in second.items()}
        shape.fitted = {}
        for state, table in _tables(tabulator, states, composed).items():
            shape.fit(state, table)
        shape.widen()
        shape.forget()
        if not shape.changed:
            operator = {s: shape.fitted[s] for s in shape.slots}
            shape.fitted = {}
            for state, table in steps.items():
                shape.fit(state, table)
            shape.widen()
            if not shape.changed:
                lift = {s: shape.fitted[s] for s in shape.slots}
                return Closure(tuple(shape.slots), {v: t.expr() for v, t in shape.tables.items()}, lift, operator, style)
            continue
        for state, table in steps.items():
            shape.fit(state, table)
        shape.widen()
    raise FormError("more and more auxiliary values")


def _varying(table: Table, fields: set[Expr], shape: _Shape, state: Expr) -> Table:
    """Coefficients that depend on the element become slots."""
    values: dict[Expr, Expr] = {}
    few = state.sort.values

    def combine(one: Expr, _: Expr, role: Role) -> Expr:
        if not fields & {*ex.variables(one)}:
            return one
        sort = _slot_sort(one, role, few)
        shape.number += 1
        slot = ex.variable(f"p{shape.number}", sort)
        shape.slots[slot] = None
        shape.wanted[slot] = sort
        values[slot] = one
        return slot

    return shape.tabulator.overlaid(table, table, combine)


def _tables(tabulator: Tabulator, states: list[Expr], values: Mapping[Expr, Expr]) -> dict[Expr, Table]:
    normaliser = Normaliser(states, tabulator.merge)
    try:
        return {v: tabulator.table(normaliser.tree(e)) for v, e in values.items()}
    except ex.UndefinedError as error:
        raise FormError(str(error)) from error
