"""A family of functions of the states that contains one step of the loop and is closed under composition.

The step's normal form with its varying coefficients replaced by slots is a first guess. Composing two members, normalising and
laying the result on top of the guess either fits (then its coefficients, as functions of both members' slots, are the associative
operator), or widens the guess: another coefficient varies, another term or threshold appears.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Aligner, Role, Style
from warploom.scan.operators.expression import Expr, Sort
from warploom.scan.operators.forms import FormError
from warploom.scan.operators.normaliser import Normaliser
from warploom.scan.operators.relations import guessed_facts, guessed_relations
from warploom.scan.operators.samples import random_lists
from warploom.scan.operators.tables import Table, Tabulator
from warploom.scan.operators.transition import Loop

MAX_ROUNDS = 8
MAX_SLOTS = 48
SAMPLES, LONGEST = 90, 5


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
    """Tables by state whose varying coefficients are slot variables, or follow from slots by a relation."""

    tabulator: Tabulator
    fixed: frozenset[Expr]
    """Variables that are the same for every list."""
    tables: dict[Expr, Table] = field(default_factory=dict[Expr, Table])
    slots: dict[Expr, None] = field(default_factory=dict[Expr, None])
    changed: bool = False
    fitted: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])
    wanted: dict[Expr, Sort] = field(default_factory=dict[Expr, Sort])
    number: int = 0
    share: bool = False
    sharing: dict[tuple[Expr | None, Expr, Sort], Expr] = field(default_factory=dict[tuple[Expr | None, Expr, Sort], Expr])
    """New slots of this instance by the slot they split off, and their value."""

    def fit(self, instances: Mapping[Expr, Table], *, share: bool = False) -> None:
        """Lays one instance on top; its coefficients go to `fitted`; with `share`, equal ones to one slot, until they differ."""
        self.fitted = {}
        self.sharing = {}
        self.share = share
        for state, table in instances.items():
            self._fit(state, table)

    def _fit(self, state: Expr, table: Table) -> None:
        known = self.tables.get(state)
        few = state.sort.values

        def combine(shape: Expr, value: Expr, role: Role) -> Expr:
            if shape in self.slots and (shape not in self.fitted or self.fitted[shape] is value):
                self.fitted[shape] = value
                self.wanted[shape] = self.wanted.get(shape, shape.sort).joined(_slot_sort(value, role, few))
                return shape
            steady = self._is_steady(shape)
            if steady and shape is value:
                return shape
            if not steady and shape not in self.slots and {*ex.variables(shape)} <= {*self.slots, *self.fixed}:
                return shape  # a relation, which the laws will confirm or not
            sort = _slot_sort(shape, role, few).joined(_slot_sort(value, role, few))
            self.changed = True
            origin = shape if shape in self.slots else None
            if (origin, value, sort) in self.sharing:
                return self.sharing[origin, value, sort]
            self.number += 1
            slot = ex.variable(f"p{self.number}", sort)
            self.slots[slot] = None
            self.fitted[slot] = value
            self.wanted[slot] = sort
            if origin is not None or self.share:
                self.sharing[origin, value, sort] = slot
            return slot

        self.tables[state] = self.tabulator.overlaid(table if known is None else known, table, combine)
        if (
            known is None
            or [k for k, _ in known.axes] != [k for k, _ in self.tables[state].axes]
            or len(known.coefficients()) != len(self.tables[state].coefficients())
        ):
            self.changed = True

    def _is_steady(self, value: Expr) -> bool:
        return {*ex.variables(value)} <= self.fixed

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
                self.replace({slot: wider})
                self.slots = {wider if s is slot else s: None for s in self.slots}
                if slot in self.fitted:
                    self.fitted[wider] = self.fitted.pop(slot)
                self.wanted[wider] = self.wanted.pop(slot)

    def replace(self, values: Mapping[Expr, Expr]) -> None:
        self.tables = {v: t.replaced(values) for v, t in self.tables.items()}


def _slot_sort(value: Expr, role: Role, few: tuple[int, ...] | None) -> Sort:
    """Sort of a coefficient; only factors and states with few values keep the list of their values."""
    if value.sort.base in ("bool", "text"):
        return value.sort
    values = value.sort.values
    if values is not None and role == "factor":
        values = values if {*values} <= {0, 1} else None
    elif values is not None:
        values = values if few is not None and role == "offset" and {*values} <= {*few} else None
    return Sort(value.sort.base, value.sort.below, value.sort.above, values)


Start = Literal["step", "samples", "related samples", "endless"]
"""The first guess of a shape: that of one step (of which missing thresholds are infinite ones), of short lists of numbers, or of
these with relations between coefficients."""


def closure(loop: Loop, style: Style, start: Start) -> Closure:
    """Raises FormError, also if the family keeps growing. Relations found in samples are taken for granted: the laws tell."""
    aligner = Aligner(style)
    try:
        return _closed(loop, aligner, start)
    except FormError as error:
        error.is_in_every_style = not aligner.was_asked
        raise


def _closed(loop: Loop, aligner: Aligner, start: Start) -> Closure:
    states = [s.variable for s in loop.states]
    tabulator = Tabulator(aligner, endless=start == "endless")
    shape = _Shape(tabulator, frozenset(loop.constants))
    steps = _tables(tabulator, states, {s.variable: s.step for s in loop.states})
    if start not in ("step", "endless"):
        try:
            seen = _samples(loop, shape)
        except FormError as error:
            error.is_of_samples = True
            raise
        _from_samples(seen, shape, start == "related samples")
    for round_ in range(MAX_ROUNDS):
        shape.changed = False
        shape.fit(steps, share=start in ("step", "endless") and round_ == 0)
        lift = dict(shape.fitted)
        shape.widen()
        if len(shape.slots) > MAX_SLOTS:
            raise FormError("too many auxiliary values")
        first = {v: t.expr() for v, t in shape.tables.items()}
        other = {s: right(s) for s in shape.slots}
        second = {v: ex.substituted(e, other) for v, e in first.items()}
        composed = {v: ex.substituted(e, first) for v, e in second.items()}
        shape.fit(_tables(tabulator, states, composed))
        shape.widen()
        shape.forget()
        if not shape.changed:
            operator = {s: shape.fitted[s] for s in shape.slots}
            # where an element leaves a region empty, its slot may be anything, and where no element has the region at all
            free = {s: anything(s.sort) for s in shape.slots}
            lift = {s: ex.substituted(lift.get(s, s), free) for s in shape.slots}
            return Closure(tuple(shape.slots), {v: t.expr() for v, t in shape.tables.items()}, lift, operator, aligner.chosen)
    raise FormError("more and more auxiliary values")


def anything(sort: Sort) -> Expr:
    """Some value."""
    if sort.base == "bool":
        return ex.FALSE
    if sort.base == "text":
        return ex.constant("")
    return ex.constant(sort.values[0]) if sort.values else ex.ZERO


def _samples(loop: Loop, shape: _Shape) -> list[dict[Expr, Table]]:
    """The shape of the loop on lists of numbers, where every coefficient is a number; the tables of each list."""
    states = [s.variable for s in loop.states]
    seen: list[dict[Expr, Table]] = []
    for elements in random_lists(loop, SAMPLES, LONGEST, seed=7):
        now: dict[Expr, Expr] = {v: v for v in states}
        tables: dict[Expr, Table] = {}
        for element in elements:
            values = {f: ex.constant(v) for f, v in zip(loop.fields, element, strict=True)}
            step = {s.variable: ex.substituted(s.step, values) for s in loop.states}
            tables = _tables(shape.tabulator, states, {v: ex.substituted(e, now) for v, e in step.items()})
            now = {v: t.expr() for v, t in tables.items()}
        seen.append(tables)
        shape.fit(tables)
        shape.widen()
        if len(shape.slots) > 2 * MAX_SLOTS:
            raise FormError("too many auxiliary values")
    return seen


def _from_samples(seen: Sequence[dict[Expr, Table]], shape: _Shape, relate: bool) -> None:
    """With `relate`, what ties the coefficients together that lists of numbers have."""
    columns: dict[Expr, list[Expr]] = {}
    for _ in range(2):
        columns = {s: [] for s in shape.slots}
        shape.changed = False
        for tables in seen:
            shape.fit(tables)
            for slot, column in columns.items():
                column.append(shape.fitted.get(slot, ex.ZERO))
        if not shape.changed:
            break
    if relate and not shape.changed:
        relations = guessed_relations(columns)
        shape.replace(relations)
        shape.slots = {s: None for s in shape.slots if s not in relations}
        facts = guessed_facts({s: c for s, c in columns.items() if s in shape.slots})
        mirrored = {s: right(s) for s in shape.slots}
        shape.tabulator.assume([*facts, *(ex.substituted(f, mirrored) for f in facts)])


def _tables(tabulator: Tabulator, states: list[Expr], values: Mapping[Expr, Expr]) -> dict[Expr, Table]:
    normaliser = Normaliser(states, tabulator.merge, tabulator.work)
    try:
        return {v: tabulator.table(normaliser.tree(e)) for v, e in values.items()}
    except ex.UndefinedError as error:
        raise FormError(str(error)) from error
