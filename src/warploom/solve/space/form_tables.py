"""Places of the slots, facts, constants and literals of forms in the flat tables of an instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np

from warploom.core import UnsupportedError
from warploom.solve.space.arrays import WIDTH
from warploom.solve.space.engine import SATURATED, Bytes, Ints
from warploom.solve.space.forms import Form, FormKind, FormLiteral, LiteralKind
from warploom.solve.space.inputs import HostFact, Inputs, Thing, Things, apply_function, constant_of
from warploom.solve.space.nodes import Applied, Argument, Comparator, FactLiteral, ObjectSet, Quantity, wrong
from warploom.solve.space.numbering import Numbering

_ABSENT = object()


class FormTables:
    """Grows with every form that asks for a slot, a guard, a constant or a literal. Slots that read alike are shared, and so are
    guards."""

    def __init__(self, numbering: Numbering, inputs: Inputs) -> None:
        self.numbering = numbering
        self.space = numbering.space
        self.inputs = inputs
        self.variables = len(numbering.arguments)
        self.slot_tables: list[Ints] = []
        self.slot_rows: dict[tuple[str, tuple[tuple[str, tuple[str, ...]], ...], bool], tuple[int, int]] = {}
        """Offset among the slot tables and row among the reverses."""
        self.table_size = 0
        self.reverse_lengths: list[Ints] = [np.zeros(0, np.int64)]
        """The number of cells of each position, for the reverse of each slot table."""
        self.reverse_cells: list[Ints] = [np.zeros(0, np.int64)]
        self._reverses = 0
        self._guards: list[Bytes] = []
        self._guard_size = 0
        self._guard_offsets: dict[tuple[str, bool, tuple[str, ...], tuple[int, ...]], int] = {}
        """By fact, sets of the objects quantified and which of them the fact is about."""
        self._things: dict[tuple[str, ...], list[Things | None]] = {}
        self.constants: list[int] = []
        self.masks: list[int] = []
        self.ranges: list[tuple[int, int]] = []
        self.instances = [self._instances(f) for f in self.space.forms]
        self.firsts: list[int] = np.concatenate([[0], np.cumsum(self.instances)]).astype(int).tolist()
        self.form_numbers = {f.name: n for n, f in enumerate(self.space.forms) if f.kind is FormKind.COUNTER}

    def _instances(self, form: Form) -> int:
        """0 for forms without."""
        if form.kind < FormKind.COUNTER:
            return 0
        return int(np.prod([self.numbering.size(q.set) for q in form.over[: form.parameters]], dtype=np.int64))

    def strides(self, form: Form, quantified: Sequence[int]) -> list[int]:
        """Row-major strides of a table over these objects of a form."""
        strides = [0] * WIDTH
        step = 1
        for k in reversed(quantified):
            strides[k] = step
            step *= self.numbering.size(form.over[k].set)
        return strides

    def position_of(self, form: Form, argument: Argument) -> int:
        return next(n for n, q in enumerate(form.over) if q.argument.name == argument.name)

    def images(self, form: Form, argument: Argument, target: ObjectSet) -> Ints:
        """By object quantified: the number of what the argument stands for, -1 for objects out of the question."""
        quantified = form.over[self.position_of(form, argument)].set
        possible = self.numbering.eligible(quantified)
        images = np.full(self.numbering.size(quantified), -1, dtype=np.int64)
        for o in np.flatnonzero(possible).tolist():
            thing = self.numbering.objects[quantified.sort][o]
            for function in argument.functions:
                given = self.inputs.get("functions", {})
                if function not in given:
                    raise wrong(f"expected function {function} to be given with the instance, got {', '.join(given) or 'none'}")
                thing = apply_function(function, given[function], thing)
            images[o] = self.numbering.number(target, thing)
        return images

    def slot(self, form: Form, applied: Applied) -> tuple[int, list[int], list[int], list[int], int]:
        """Offset, strides, axes, their sizes and row among the reverses of the positions that a slot reads."""
        choice = self.space.choices.get(applied.name)
        if choice is not None:
            sets = choice.sets
            positions = self.numbering.tables[applied.name].astype(np.int64)
        else:
            sets = tuple(q.set for q in self.space.counters[applied.name].of)
            n = self.form_numbers[applied.name]
            shape = [self.numbering.size(s) for s in sets]
            positions = self.variables + self.firsts[n] + np.arange(self.instances[n], dtype=np.int64).reshape(shape)
        quantified = [self.position_of(form, a) for a in applied.arguments]
        axes = list(dict.fromkeys(quantified))
        key = (
            applied.name,
            tuple((form.over[k].set.name, a.functions) for k, a in zip(quantified, applied.arguments, strict=True)),
            len(axes) < len(quantified),
        )
        if key not in self.slot_rows:
            images = [self.images(form, a, s) for a, s in zip(applied.arguments, sets, strict=True)]
            if len(axes) < len(quantified):
                grid = images
            else:
                grid = list(np.ix_(*images)) if images else []
            if not grid:
                table = positions.reshape(-1)
            elif positions.size:
                table = positions[tuple(grid)]
            else:
                table = np.full(np.broadcast_shapes(*(image.shape for image in grid)), -1, np.int64)
            for image in grid:
                table = np.where(image < 0, -1, table)
            if len(axes) == 2 and form.over[axes[0]].set.sort == form.over[axes[1]].set.sort:
                np.fill_diagonal(table, -1)
            self.slot_rows[key] = (self.table_size, self._reverses)
            self._add_reverse(applied.name, table.reshape(-1))
            self.slot_tables.append(table.reshape(-1))
            self.table_size += table.size
        offset, row = self.slot_rows[key]
        sizes = [self.numbering.size(form.over[k].set) for k in axes]
        padding = [-1] * (2 - len(axes))
        return offset, self.strides(form, axes), [*axes, *padding], [*sizes, *padding], row

    def _add_reverse(self, name: str, table: Ints) -> None:
        """By position of a class: the cells of the table that hold it, in order."""
        first, count = self.class_range(name)
        cells = np.flatnonzero(table >= 0)
        rows = table[cells] - first
        self.reverse_lengths.append(np.bincount(rows, minlength=count))
        self.reverse_cells.append(cells[np.argsort(rows, kind="stable")])
        self._reverses += count

    def class_range(self, name: str) -> tuple[int, int]:
        """First position, number of positions."""
        if name in self.space.choices:
            table = self.numbering.tables[name]
            taken = table[table >= 0]
            return (int(taken.min()) if taken.size else 0), taken.size
        n = self.form_numbers[name]
        return self.variables + self.firsts[n], self.instances[n]

    def over_things(self, form: Form, quantified: Sequence[int]) -> list[Things | None]:
        """Row-major: the host's objects, None where one of them cannot be a member."""
        key = tuple(form.over[k].set.name for k in quantified)
        if key not in self._things:
            columns: list[list[Thing]] = []
            for k in quantified:
                one = form.over[k].set
                possible = self.numbering.eligible(one)
                things = self.numbering.objects[one.sort]
                columns.append([thing if is_possible else _ABSENT for thing, is_possible in zip(things, possible, strict=True)])
            self._things[key] = [None if any(c is _ABSENT for c in cells) else cells for cells in product(*columns)]
        return self._things[key]

    def guard(self, form: Form, fact: FactLiteral) -> tuple[int, list[int]]:
        given = self.inputs.get("facts", {})
        if fact.name not in given:
            raise wrong(f"expected fact {fact.name} to be given with the instance, got {', '.join(given) or 'none'}")
        quantified = [self.position_of(form, a) for a in fact.arguments]
        axes = list(dict.fromkeys(quantified))
        places = tuple(axes.index(k) for k in quantified)
        key = (fact.name, fact.expected, tuple(form.over[k].set.name for k in axes), places)
        if key not in self._guard_offsets:
            sets = [form.over[k].set for k in axes]
            self._guard_offsets[key] = self.add_guards(self._held(sets, places, given[fact.name], is_expected=fact.expected))
        return self._guard_offsets[key], self.strides(form, axes)

    def add_guards(self, values: Bytes) -> int:
        """Offset of new guards."""
        self._guards.append(values)
        self._guard_size += values.size
        return self._guard_size - values.size

    def guard_table(self) -> Bytes:
        return np.concatenate([*self._guards, np.zeros(1, np.uint8)])

    def _held(self, sets: Sequence[ObjectSet], places: Sequence[int], fact: HostFact, *, is_expected: bool) -> Bytes:
        """Row-major over the objects of `sets`: whether a fact about those at `places` is as expected; 0 where one of them cannot
        be a member."""
        columns = [self.numbering.objects[one.sort] for one in sets]
        shape = [len(column) for column in columns]
        held, possible = np.zeros(shape, dtype=np.bool_), np.ones(shape, dtype=np.bool_)
        for n, one in enumerate(sets):
            along = [-1 if k == n else 1 for k in range(len(sets))]
            possible &= np.array(self.numbering.eligible(one), dtype=np.bool_).reshape(along)
        if isinstance(fact, bool):
            held[...] = fact
        elif callable(fact):
            for cell in map(tuple, np.argwhere(possible).tolist()):
                held[cell] = bool(fact(*(columns[n][cell[n]] for n in places)))
        else:
            index = [self.numbering.index[one.sort] for one in sets]
            cells = (_cell((thing,) if len(places) == 1 else thing, places, index) for thing in fact)
            for cell in (c for c in cells if c is not None):
                held[cell] = True
        return ((held == is_expected) & possible).reshape(-1).astype(np.uint8)

    def constant(self, form: Form, quantity: Quantity | None, minimum: int | None = None) -> tuple[int, list[int]]:
        """Offset and strides among the constants; 0 where an object cannot be a member."""
        offset = len(self.constants)
        if isinstance(quantity, Applied):
            axes, evaluate = self._constant(form, quantity)
            self.constants += [minimum or 0 if t is None else evaluate(t) for t in self.over_things(form, axes)]
            strides = self.strides(form, axes)
        else:
            self.constants.append(quantity.value if quantity is not None else 0)
            strides = [0] * WIDTH
        if minimum is not None and any(value < minimum for value in self.constants[offset:]):
            raise wrong(f"expected numbers of {minimum} or more in {form.name!r}, got {min(self.constants[offset:])}")
        return offset, strides

    def _constant(self, form: Form, applied: Applied) -> tuple[list[int], Callable[[Things], int]]:
        given = self.inputs.get("constants", {})
        if applied.name not in given:
            raise wrong(f"expected constant {applied.name} to be given with the instance, got {', '.join(given) or 'none'}")
        quantified = [self.position_of(form, a) for a in applied.arguments]
        axes = list(dict.fromkeys(quantified))
        value = given[applied.name]

        def evaluate(things: Things) -> int:
            by_axis = dict(zip(axes, things, strict=True))
            return constant_of(applied.name, value, tuple(by_axis[k] for k in quantified))

        return axes, evaluate

    def literal(self, form: Form, literal: FormLiteral) -> tuple[int, list[int]]:
        """Offset and strides among the masks, or the ranges for counters."""
        if literal.kind is LiteralKind.COMPARE:
            return 0, [0] * WIDTH
        if literal.constant is None:
            self.masks.append(literal.mask)
            return len(self.masks) - 1, [0] * WIDTH
        first, strides = self.constant(form, literal.constant)
        values = self.constants[first:]
        if literal.kind is LiteralKind.IN_RANGE:
            offset = len(self.ranges)
            self.ranges += [_range(literal.comparator, value) for value in values]
            return offset, strides
        slot = form.slots[literal.slot]
        table_offset, slot_strides, slot_axes, _, _ = self.slot(form, slot)
        axes = [k for k in range(len(form.over)) if strides[k] or slot_strides[k] or k in slot_axes]
        axes = [k for k in axes if k in slot_axes or self._is_argument(form, literal.constant, k)]
        positions = np.concatenate(self.slot_tables)
        known: dict[tuple[tuple[int, ...], int], int] = {}
        offset = len(self.masks)
        for objects in product(*(range(self.numbering.size(form.over[k].set)) for k in axes)):
            cell = table_offset + sum(slot_strides[k] * o for k, o in zip(axes, objects, strict=True))
            value = values[sum(strides[k] * o for k, o in zip(axes, objects, strict=True))]
            variable = int(positions[cell])
            universe = self.numbering.universes[variable] if variable >= 0 else ()
            if (universe, value) not in known:
                known[universe, value] = sum(1 << n for n, v in enumerate(universe) if _compares(v, literal.comparator, value))
            self.masks.append(known[universe, value])
        return offset, self.strides(form, axes)

    def _is_argument(self, form: Form, constant: Quantity | None, k: int) -> bool:
        return isinstance(constant, Applied) and any(self.position_of(form, a) == k for a in constant.arguments)


def _cell(things: Thing, places: Sequence[int], index: Sequence[Mapping[Thing, int]]) -> tuple[int, ...] | None:
    """Numbers of the objects that a fact is about, by place; None: no such objects."""
    listed = cast("Things", things) if isinstance(things, tuple) else None
    if listed is None or len(listed) != len(places):
        return None
    found: dict[int, int] = {}
    for place, thing in zip(places, listed, strict=True):
        number = index[place].get(thing)
        if number is None or found.setdefault(place, number) != number:
            return None
    return tuple(found[n] for n in range(len(index)))


def _compares(value: int, comparator: Comparator, other: int) -> bool:
    match comparator:
        case Comparator.EQ:
            return value == other
        case Comparator.NE:
            return value != other
        case Comparator.LE:
            return value <= other
        case Comparator.LT:
            return value < other
        case Comparator.GE:
            return value >= other
        case Comparator.GT:
            return value > other


def _range(comparator: Comparator, value: int) -> tuple[int, int]:
    match comparator:
        case Comparator.EQ:
            return value, value
        case Comparator.LE:
            return -SATURATED, value
        case Comparator.LT:
            return -SATURATED, value - 1
        case Comparator.GE:
            return value, SATURATED
        case Comparator.GT:
            return value + 1, SATURATED
        case Comparator.NE:
            raise UnsupportedError(*wrong("expected <=, <, ==, >= or > beside a counter, got !=").diagnostics)
