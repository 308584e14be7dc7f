"""The engine's tables for one instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from warploom.core import UnsupportedError
from warploom.schedule.space.engine import Ints, Masks, Tables
from warploom.schedule.space.forms import Form, FormKind, FormLiteral, LiteralKind, Relation, flipped
from warploom.schedule.space.inputs import Inputs, Lowering, Thing, Things, apply_function, constant_of, holds
from warploom.schedule.space.nodes import (
    MAX_VALUES,
    Applied,
    Argument,
    Comparator,
    EnumChoice,
    FactLiteral,
    Number,
    ObjectSet,
    Quantity,
    wrong,
)
from warploom.schedule.space.numbering import Numbering, concatenated

WIDTH = 4
"""Quantified objects of a form."""
DIRECT_BITS = 16
"""Supports are tabulated by masks up to this many bits."""
SATURATED = 1 << 60
_COMPARATORS = {Comparator.EQ: 0, Comparator.NE: 1, Comparator.LE: 2, Comparator.LT: 3}


class TableBuilder:
    def __init__(self, numbering: Numbering, inputs: Inputs) -> None:
        self.numbering = numbering
        self.space = numbering.space
        self.inputs = inputs
        self.variables = len(numbering.arguments)
        self.classes = {name: n for n, name in enumerate(self.space.choices)}
        """Choices, then forms with instances, by name."""
        self.slot_tables: list[Ints] = []
        self.slot_rows: dict[tuple[str, tuple[tuple[str, tuple[str, ...]], ...], bool], tuple[int, int]] = {}
        """Offset among the slot tables and row among the reverses."""
        self.table_size = 0
        self.reverse_rows: list[list[int]] = []
        self.guards: list[int] = []
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
        """Row-major, of a table over these of a form's objects."""
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
            self.slot_rows[key] = (self.table_size, len(self.reverse_rows))
            self.reverse_rows += self._reversed(applied.name, table)
            self.slot_tables.append(table.reshape(-1))
            self.table_size += table.size
        offset, row = self.slot_rows[key]
        sizes = [self.numbering.size(form.over[k].set) for k in axes]
        padding = [-1] * (2 - len(axes))
        return offset, self.strides(form, axes), [*axes, *padding], [*sizes, *padding], row

    def _reversed(self, name: str, table: Ints) -> list[list[int]]:
        first, count = self.class_range(name)
        rows: list[list[int]] = [[] for _ in range(count)]
        for cell, position in enumerate(table.reshape(-1).tolist()):
            if position >= 0:
                rows[position - first].append(cell)
        return rows

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
        columns: list[list[Thing]] = []
        for k in quantified:
            one = form.over[k].set
            possible = self.numbering.eligible(one)
            things = self.numbering.objects[one.sort]
            columns.append([thing if is_possible else _ABSENT for thing, is_possible in zip(things, possible, strict=True)])
        return [None if any(c is _ABSENT for c in cells) else cells for cells in product(*columns)]

    def guard(self, form: Form, fact: FactLiteral) -> tuple[int, list[int]]:
        given = self.inputs.get("facts", {})
        if fact.name not in given:
            raise wrong(f"expected fact {fact.name} to be given with the instance, got {', '.join(given) or 'none'}")
        quantified = [self.position_of(form, a) for a in fact.arguments]
        axes = list(dict.fromkeys(quantified))
        offset = len(self.guards)
        for things in self.over_things(form, axes):
            by_axis = None if things is None else dict(zip(axes, things, strict=True))
            is_held = by_axis is not None and holds(given[fact.name], tuple(by_axis[k] for k in quantified)) == fact.expected
            self.guards.append(int(is_held))
        return offset, self.strides(form, axes)

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

    def build(self) -> Tables:
        numbering, forms = self.numbering, self.space.forms
        slots: list[tuple[int, list[int], list[int], list[int], int]] = []
        slots_start, guards_start, literals_start = [0], [0], [0]
        guards: list[tuple[int, list[int]]] = []
        literals: list[tuple[int, list[int]]] = []
        flat_literals: list[tuple[int, FormLiteral]] = []
        values: list[tuple[int, int, int, list[int]]] = []
        starts: list[tuple[int, list[int]]] = []
        exacts: list[tuple[int, list[int]]] = []
        none = (0, [0] * WIDTH)
        wakes: list[list[tuple[int, int, int, int, int]]] = [[] for _ in range(len(self.classes) + len(forms))]
        for n, form in enumerate(forms):
            first_slot = len(slots)
            slots += [self.slot(form, applied) for applied in form.slots]
            slots_start.append(len(slots))
            guards += [self.guard(form, fact) for fact in form.guards]
            guards_start.append(len(guards))
            literals += [self.literal(form, literal) for literal in form.literals]
            flat_literals += [(first_slot, literal) for literal in form.literals]
            literals_start.append(len(literals))
            values.append(self._value(form, first_slot) if form.kind is FormKind.COUNTER else (0, 0, *none))
            minimum = 1 if form.kind is FormKind.COVER or form.is_product else 0
            starts.append(self.constant(form, form.start, minimum) if form.kind in (FormKind.COUNTER, FormKind.COVER) else none)
            exacts.append(self._exact(form) if form.kind is FormKind.COVER else none)
            for wake in form.wakes:
                is_direct = self._is_triangle(form)
                wakes[self._class(form.slots[wake.slot].name)].append(
                    (n, first_slot + wake.slot, int(wake.is_twofold), wake.idle_mask, int(is_direct))
                )
        relations = [self._relation(form) for form in forms]
        supports: list[int] = []
        relation_offset: list[list[int]] = []
        for parts, _, _ in relations:
            row: list[int] = []
            for part in parts:
                row.append(len(supports))
                supports += part
            relation_offset.append([*row, *[0] * (3 - len(row))])
        lowering_names = list(self.inputs.get("lowerings", {}))
        lowerings = [self.inputs.get("lowerings", {})[key] for key in lowering_names]
        activated = [self._activated(lowering) for lowering in lowerings]
        restricted = [self._restricted(lowering) for lowering in lowerings]
        makers: list[list[int]] = [[] for _ in range(numbering.members.size)]
        for n, row in enumerate(activated):
            for member in row:
                makers[member].append(n)
        lowering_tables, lowering_offset = self._lowering_table(lowering_names)
        class_of = [self.classes[choice] for choice, _ in numbering.arguments]
        class_first = [self.class_range(name)[0] for name in self.classes]
        class_size = [len(c.values) if isinstance(c, EnumChoice) else 0 for c in self.space.choices.values()]
        for n, count in enumerate(self.instances):
            class_of += [len(self.classes) + n] * count
            class_first.append(self.variables + self.firsts[n])
            class_size.append(0)
        flip_offset, flips = self._flips()
        values_start, universe_values = concatenated(numbering.universes)
        items_start, items, set_row = self._items()
        touched_start, touched = concatenated(self._touched())
        uses = [self._uses(one) for one in numbering.sets]
        uses_start, _ = concatenated([[0] * len(row) for row in uses])
        flat_uses = [use for row in uses for use in row]
        wakes_start, _ = concatenated([[0] * len(row) for row in wakes])
        flat_wakes = [wake for row in wakes for wake in row]
        activated_start, activated_flat = concatenated(activated)
        restricted_start, restricted_flat = concatenated([[v for v, _ in row] for row in restricted])
        makers_start, makers_flat = concatenated(makers)
        reverse_start, reverse = concatenated(self.reverse_rows)
        over = [
            [(numbering.set_ids[q.set.name], -1 if q.owner is None else self.position_of(f, q.owner), q.set.sort) for q in f.over]
            for f in forms
        ]
        sorts = list(numbering.objects)
        pad = [(0, -1, "")] * WIDTH
        over = [[*row, *pad][:WIDTH] for row in over]
        parameters = [[(k, self.numbering.size(form.over[k].set)) for k in range(form.parameters)] for form in forms]
        return Tables(
            mirror=self._mirrors(),
            class_of=_ints(class_of),
            class_first=_ints(class_first),
            class_size=_ints(class_size),
            flip_offset=flip_offset,
            flips=flips,
            values_start=values_start,
            values=universe_values,
            argument_members=self._argument_members(),
            set_offset=numbering.offsets[:-1].copy(),
            set_size=_ints([numbering.size(s) for s in numbering.sets]),
            set_row=set_row,
            items_start=items_start,
            items=items,
            touched_start=touched_start,
            touched=touched,
            uses_start=uses_start,
            use_form=_ints([f for f, _ in flat_uses]),
            use_object=_ints([k for _, k in flat_uses]),
            kind=_ints([f.kind for f in forms]),
            quantified=_ints([len(f.over) for f in forms]),
            parameters=_ints([f.parameters for f in forms]),
            over_set=_grid([[s for s, _, _ in row] for row in over]),
            over_owner=_grid([[o for _, o, _ in row] for row in over]),
            over_sort=_grid([[sorts.index(s) if s in sorts else -1 for _, _, s in row] for row in over]),
            slots_start=_ints(slots_start),
            slot_offset=_ints([s[0] for s in slots]),
            slot_strides=_grid([s[1] for s in slots]),
            slot_indirect=_ints([int(any(a.functions for a in s.arguments)) for f in forms for s in f.slots]),
            slot_axes=_grid([s[2] for s in slots], 2),
            slot_sizes=_grid([s[3] for s in slots], 2),
            slot_reverse=_ints([s[4] for s in slots]),
            slot_table=np.concatenate([*self.slot_tables, np.zeros(1, dtype=np.int64)]),
            reverse_start=reverse_start,
            reverse=reverse,
            guards_start=_ints(guards_start),
            guard_offset=_ints([g[0] for g in guards]),
            guard_strides=_grid([g[1] for g in guards]),
            guard_table=np.array([*self.guards, 0], dtype=np.uint8),
            literals_start=_ints(literals_start),
            literal_kind=_ints([literal.kind for _, literal in flat_literals]),
            literal_slot=_ints([first + literal.slot for first, literal in flat_literals]),
            literal_other=_ints([first + literal.other_slot for first, literal in flat_literals]),
            literal_comparator=_ints([_COMPARATORS.get(literal.comparator, 0) for _, literal in flat_literals]),
            literal_part=_ints([literal.part for _, literal in flat_literals]),
            literal_offset=_ints([entry[0] for entry in literals]),
            literal_strides=_grid([entry[1] for entry in literals]),
            masks=_masks(self.masks),
            ranges=_grid([list(r) for r in self.ranges], 2),
            relation_offset=_grid(relation_offset, 3),
            relation_sizes=_grid([sizes for _, sizes, _ in relations], 3),
            relation_is_direct=_ints([int(is_direct) for _, _, is_direct in relations]),
            supports=_masks(supports),
            wakes_start=wakes_start,
            wake_form=_ints([w[0] for w in flat_wakes]),
            wake_slot=_ints([w[1] for w in flat_wakes]),
            wake_twofold=_ints([w[2] for w in flat_wakes]),
            wake_idle=_masks([w[3] for w in flat_wakes]),
            wake_is_triangle=_ints([w[4] for w in flat_wakes]),
            instance_first=_ints(self.firsts[:-1]),
            instance_strides=_grid([self.strides(f, range(f.parameters)) for f in forms]),
            instance_sizes=_grid([[n for _, n in row] + [1] * (WIDTH - len(row)) for row in parameters]),
            instance_form=_ints([n for n, count in enumerate(self.instances) for _ in range(count)]),
            is_product=_ints([int(f.is_product) for f in forms]),
            value_kind=_ints([v[0] for v in values]),
            value_slot=_ints([v[1] for v in values]),
            value_offset=_ints([v[2] for v in values]),
            value_strides=_grid([v[3] for v in values]),
            start_offset=_ints([s[0] for s in starts]),
            start_strides=_grid([s[1] for s in starts]),
            exact_offset=_ints([e[0] for e in exacts]),
            exact_strides=_grid([e[1] for e in exacts]),
            constants=_ints([*self.constants, 0]),
            lowering_offset=_ints(lowering_offset),
            lowering_strides=_grid([self.strides(f, range(len(f.over))) for f in forms]),
            lowering_table=_ints([*lowering_tables, -1]),
            activated_start=activated_start,
            activated=activated_flat,
            restricted_start=restricted_start,
            restricted=restricted_flat,
            restricted_mask=_masks([m for row in restricted for _, m in row]),
            makers_start=makers_start,
            makers=makers_flat,
            lowering_first=_ints([numbering.members.size]),
        )

    def _class(self, name: str) -> int:
        return self.classes[name] if name in self.classes else len(self.classes) + self.form_numbers[name]

    def _is_triangle(self, form: Form) -> bool:
        return form.is_triangle and form.relation is not None and 2 * form.relation.shape[0] <= DIRECT_BITS

    def _value(self, form: Form, first_slot: int) -> tuple[int, int, int, list[int]]:
        """Kind, slot, offset and strides of the value of a counter."""
        value, minimum = form.value, int(form.is_product)
        if isinstance(value, Number) or value.name in self.space.constants:
            return (0, 0, *self.constant(form, value, minimum))
        slot = first_slot + form.slots.index(value)
        if value.name in self.space.counters:
            if form.is_product and not self.space.counters[value.name].is_product:
                raise wrong(f"expected a product as value of counter {form.name}, a product, got sum {value.name}")
            return 2, slot, 0, [0] * WIDTH
        least = min(
            (u[0] for u, (c, _) in zip(self.numbering.universes, self.numbering.arguments, strict=True) if c == value.name),
            default=1,
        )
        if least < minimum:
            raise wrong(f"expected values of {minimum} or more in counter {form.name}, got {least} of {value.name}")
        return 1, slot, 0, [0] * WIDTH

    def _exact(self, form: Form) -> tuple[int, list[int]]:
        if isinstance(form.exact, FactLiteral):
            return self.guard(form, form.exact)
        self.guards.append(int(form.exact))
        return len(self.guards) - 1, [0] * WIDTH

    def _relation(self, form: Form) -> tuple[list[list[int]], list[int], bool]:
        """Supports by slot, numbers of values, whether the supports are by masks."""
        relation = form.relation
        if relation is None:
            return [], [0] * 3, False
        sizes = list(relation.shape)
        is_direct = sum(sorted(sizes)[-2:]) <= DIRECT_BITS if len(sizes) > 2 else max(sizes) <= DIRECT_BITS
        parts = [_supports(np.moveaxis(relation, k, -1), is_direct) for k in range(relation.ndim)]
        return parts, [*sizes, *[0] * (3 - len(sizes))], is_direct

    def _flips(self) -> tuple[Ints, Masks]:
        offsets: list[int] = []
        flips: list[int] = []
        for choice in self.space.choices.values():
            offsets.append(len(flips))
            if isinstance(choice, EnumChoice) and choice.mirror:
                for byte in range(0, len(choice.values), 8):
                    flips += [flipped(value << byte, choice.mirror) for value in range(256)]
        return _ints([*offsets, 0]), _masks(flips)

    def _mirrors(self) -> Ints:
        mirrors = np.full(self.variables, -1, dtype=np.int64)
        for name, choice in self.space.choices.items():
            if isinstance(choice, EnumChoice) and choice.mirror:
                table = self.numbering.tables[name]
                mirrors[table[table >= 0]] = table.T[table >= 0]
        return mirrors

    def _argument_members(self) -> Ints:
        rows = np.full((self.variables, 2), -1, dtype=np.int64)
        for variable, (choice, objects) in enumerate(self.numbering.arguments):
            for k, (one, o) in enumerate(zip(self.space.choices[choice].sets, objects, strict=True)):
                rows[variable, k] = self.numbering.offsets[self.numbering.set_ids[one.name]] + o
        return rows

    def _items(self) -> tuple[Ints, Ints, Ints]:
        rows: list[list[int]] = []
        set_row: list[int] = []
        for one in self.numbering.sets:
            set_row.append(len(rows))
            if one.of is None:
                rows.append(np.flatnonzero(self.numbering.possible(one)).tolist())
            else:
                matrix = self.numbering.matrix(one)
                rows.append(np.flatnonzero(matrix.any(axis=0)).tolist())
                rows += [np.flatnonzero(row).tolist() for row in matrix]
        start, items = concatenated(rows)
        return start, items, _ints(set_row)

    def _touched(self) -> list[list[int]]:
        mirrors = self._mirrors()
        by_object: dict[tuple[str, int], list[int]] = {}
        for variable, (choice, objects) in enumerate(self.numbering.arguments):
            if mirrors[variable] < 0 or variable < mirrors[variable]:
                for one, o in zip(self.space.choices[choice].sets, objects, strict=True):
                    by_object.setdefault((one.sort, o), []).append(variable)
        rows: list[list[int]] = []
        for one in self.numbering.sets:
            owners = 1 if one.of is None else self.numbering.size(one.of)
            sort = [by_object.get((one.sort, o), []) for o in range(self.numbering.size(one))]
            rows += sort * owners
        reserved = self.numbering.members == 1
        return [row if is_reserved else [] for row, is_reserved in zip(rows, reserved.tolist(), strict=True)]

    def _uses(self, one: ObjectSet) -> list[tuple[int, int]]:
        return [
            (n, k)
            for n, form in enumerate(self.space.forms)
            if not self._is_triangle(form)
            for k, q in enumerate(form.over)
            if q.set == one
        ]

    def _activated(self, lowering: Lowering) -> list[int]:
        members: list[int] = []
        for name, thing in lowering.members:
            members += self.numbering.with_outer_sets(self.space.sets[name], thing)
        return list(dict.fromkeys(members))

    def _restricted(self, lowering: Lowering) -> list[tuple[int, int]]:
        done: list[tuple[int, int]] = []
        for choice, things, values in lowering.restrictions:
            variable = self.numbering.variable(choice, things)
            done.append((variable, values if isinstance(values, int) else mask_of_values(self.numbering, variable, values)))
        return done

    def _lowering_table(self, names: Sequence[tuple[str, Things]]) -> tuple[list[int], list[int]]:
        table: list[int] = []
        offsets: list[int] = []
        for form in self.space.forms:
            offsets.append(len(table))
            if form.kind is not FormKind.TRIGGER:
                continue
            strides = self.strides(form, range(len(form.over)))
            cells = [-1] * int(np.prod([self.numbering.size(q.set) for q in form.over], dtype=np.int64))
            for n, (trigger, things) in enumerate(names):
                if trigger != form.name:
                    continue
                if len(things) != len(form.over):
                    raise wrong(f"expected {len(form.over)} object(s) for trigger {trigger}, got {things!r}")
                objects = [self.numbering.number(q.set, t) for q, t in zip(form.over, things, strict=True)]
                for k, q in enumerate(form.over):
                    thing = things[k] if q.owner is None else (things[self.position_of(form, q.owner)], things[k])
                    if not self.numbering.members[self.numbering.member(q.set, thing)]:
                        raise wrong(f"expected an object of {q.set.name} for trigger {trigger}, got {things[k]!r}")
                cells[sum(s * o for s, o in zip(strides, objects, strict=False))] = n
            table += cells
        return table, offsets


_ABSENT = object()


def mask_of_values(numbering: Numbering, variable: int, values: Sequence[str | int]) -> int:
    """Bits of an enum choice's names or an integer choice's numbers."""
    choice, _ = numbering.arguments[variable]
    declared = numbering.space.choices[choice]
    known: Sequence[str | int] = declared.values if isinstance(declared, EnumChoice) else numbering.universes[variable]
    mask = 0
    for value in values:
        if value not in known:
            raise wrong(f"expected a value of choice {choice} ({', '.join(map(str, known))}), got {value!r}")
        mask |= 1 << known.index(value)
    return mask


def _supports(relation: Relation, is_direct: bool) -> list[int]:
    """By the other slots' masks (first in the low bits) or values: the values of the last axis that go with them."""
    rows = relation @ (np.uint64(1) << np.arange(relation.shape[-1], dtype=np.uint64))
    if not is_direct:
        return rows.reshape(-1).tolist()
    for axis in range(rows.ndim):
        rows = _by_masks(rows, axis)
    return rows.T.reshape(-1).tolist()


def _by_masks(rows: Masks, axis: int) -> Masks:
    """Unions of the rows along one axis, for all masks of its values."""
    moved = np.moveaxis(rows, axis, 0)
    table = np.zeros((1 << moved.shape[0], *moved.shape[1:]), dtype=np.uint64)
    for value in range(moved.shape[0]):
        table[1 << value : 2 << value] = table[: 1 << value] | moved[value]
    return np.moveaxis(table, 0, axis)


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


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _grid(rows: Sequence[Sequence[int]], width: int = WIDTH) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _masks(values: Sequence[int]) -> Masks:
    full = (1 << MAX_VALUES) - 1
    return np.array([value & full for value in values], dtype=np.uint64)
