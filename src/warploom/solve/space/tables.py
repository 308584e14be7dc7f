"""The engine's tables for one instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from warploom.solve.space.arrays import WIDTH, grid, ints, masks
from warploom.solve.space.engine import POSSIBLE, Ints, Masks, Tables
from warploom.solve.space.form_tables import FormTables
from warploom.solve.space.forms import Form, FormKind, FormLiteral, flipped
from warploom.solve.space.inputs import Inputs, Lowering, Things
from warploom.solve.space.nodes import Comparator, EnumChoice, FactLiteral, Number, ObjectSet, wrong
from warploom.solve.space.numbering import Numbering, concatenated
from warploom.solve.space.signatures import signature_of
from warploom.solve.space.supports import DIRECT_BITS, supports_of

_COMPARATORS = {Comparator.EQ: 0, Comparator.NE: 1, Comparator.LE: 2, Comparator.LT: 3}


class TableBuilder:
    def __init__(self, numbering: Numbering, inputs: Inputs) -> None:
        self.numbering = numbering
        self.space = numbering.space
        self.inputs = inputs
        self.classes = {name: n for n, name in enumerate(self.space.choices)}
        """Choices, then forms with instances, by name."""
        self.parts = FormTables(numbering, inputs)
        self.instances, self.firsts, self.form_numbers = self.parts.instances, self.parts.firsts, self.parts.form_numbers
        self._least: dict[str, int] = {}
        """By choice of numbers: the least of all its variables."""
        for universe, (choice, _) in zip(numbering.universes, numbering.arguments, strict=True):
            if universe:
                self._least[choice] = min(universe[0], self._least.get(choice, universe[0]))

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
        signatures: dict[tuple[int, ...], int] = {}
        wakes: list[list[tuple[int, int, int, int, int, int]]] = [[] for _ in range(len(self.classes) + len(forms))]
        for n, form in enumerate(forms):
            first_slot = len(slots)
            slots += [self.parts.slot(form, applied) for applied in form.slots]
            slots_start.append(len(slots))
            guards += [self.parts.guard(form, fact) for fact in form.guards]
            guards_start.append(len(guards))
            literals += [self.parts.literal(form, literal) for literal in form.literals]
            flat_literals += [(first_slot, literal) for literal in form.literals]
            literals_start.append(len(literals))
            values.append(self._value(form, first_slot) if form.kind is FormKind.COUNTER else (0, 0, *none))
            minimum = 1 if form.kind is FormKind.COVER or form.is_product else 0
            starts.append(
                self.parts.constant(form, form.start, minimum) if form.kind in (FormKind.COUNTER, FormKind.COVER) else none
            )
            exacts.append(self._exact(form) if form.kind is FormKind.COVER else none)
            for wake in form.wakes:
                is_direct = self._is_triangle(form)
                name = form.slots[wake.slot].name
                signature = signature_of(form, wake.slot, self.space.choices.get(name))
                for is_turned in (False, True) if wake.is_twofold and not is_direct else (False,):
                    seen = -1
                    if signature is not None:
                        mirror = getattr(self.space.choices[name], "mirror", ()) if is_turned else ()
                        by_domain = tuple(signature[flipped(d, mirror)] for d in range(len(signature))) if mirror else signature
                        seen = signatures.setdefault(by_domain, sum(map(len, signatures)))
                    wakes[self._class(name)].append(
                        (n, first_slot + wake.slot, int(is_turned), wake.idle_mask, int(is_direct), seen)
                    )
        relations = [supports_of(form.relation) for form in forms]
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
        first_made: dict[tuple[int, ...], int] = {}
        lowering_tables, lowering_offset = self._lowering_table(lowering_names)
        class_of = [self.classes[choice] for choice, _ in numbering.arguments]
        class_first = [self.parts.class_range(name)[0] for name in self.classes]
        class_size = [len(c.values) if isinstance(c, EnumChoice) else 0 for c in self.space.choices.values()]
        for n, count in enumerate(self.instances):
            class_of += [len(self.classes) + n] * count
            class_first.append(self.parts.variables + self.firsts[n])
            class_size.append(0)
        positions = np.bincount(class_of, minlength=len(wakes)).tolist()
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
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *self.parts.reverse_lengths])
        over = [
            [
                (numbering.set_ids[q.set.name], -1 if q.owner is None else self.parts.position_of(f, q.owner), q.set.sort)
                for q in f.over
            ]
            for f in forms
        ]
        sorts = list(numbering.objects)
        pad = [(0, -1, "")] * WIDTH
        over = [[*row, *pad][:WIDTH] for row in over]
        parameters = [[(k, self.numbering.size(form.over[k].set)) for k in range(form.parameters)] for form in forms]
        return Tables(
            mirror=self._mirrors(),
            class_of=ints(class_of),
            class_first=ints(class_first),
            class_size=ints(class_size),
            flip_offset=flip_offset,
            flips=flips,
            values_start=values_start,
            values=universe_values,
            argument_members=self._argument_members(),
            set_offset=numbering.offsets[:-1].copy(),
            set_size=ints([numbering.size(s) for s in numbering.sets]),
            set_row=set_row,
            items_start=items_start,
            items=items,
            touched_start=touched_start,
            touched=touched,
            uses_start=uses_start,
            use_form=ints([f for f, _ in flat_uses]),
            use_object=ints([k for _, k in flat_uses]),
            kind=ints([f.kind for f in forms]),
            quantified=ints([len(f.over) for f in forms]),
            parameters=ints([f.parameters for f in forms]),
            over_set=grid([[s for s, _, _ in row] for row in over]),
            over_owner=grid([[o for _, o, _ in row] for row in over]),
            over_sort=grid([[sorts.index(s) if s in sorts else -1 for _, _, s in row] for row in over]),
            slots_start=ints(slots_start),
            slot_offset=ints([s[0] for s in slots]),
            slot_strides=grid([s[1] for s in slots]),
            slot_indirect=ints([int(any(a.functions for a in s.arguments)) for f in forms for s in f.slots]),
            slot_axes=grid([s[2] for s in slots], 2),
            slot_sizes=grid([s[3] for s in slots], 2),
            slot_reverse=ints([s[4] for s in slots]),
            slot_table=np.concatenate([*self.parts.slot_tables, np.zeros(1, dtype=np.int64)]),
            reverse_start=np.cumsum(lengths, out=lengths),
            reverse=np.concatenate(self.parts.reverse_cells),
            guards_start=ints(guards_start),
            guard_offset=ints([g[0] for g in guards]),
            guard_strides=grid([g[1] for g in guards]),
            guard_table=self.parts.guard_table(),
            literals_start=ints(literals_start),
            literal_kind=ints([literal.kind for _, literal in flat_literals]),
            literal_slot=ints([first + literal.slot for first, literal in flat_literals]),
            literal_other=ints([first + literal.other_slot for first, literal in flat_literals]),
            literal_comparator=ints([_COMPARATORS.get(literal.comparator, 0) for _, literal in flat_literals]),
            literal_part=ints([literal.part for _, literal in flat_literals]),
            literal_offset=ints([entry[0] for entry in literals]),
            literal_strides=grid([entry[1] for entry in literals]),
            masks=masks(self.parts.masks),
            ranges=grid([list(r) for r in self.parts.ranges], 2),
            relation_offset=grid(relation_offset, 3),
            relation_sizes=grid([sizes for _, sizes, _ in relations], 3),
            relation_is_direct=ints([int(is_direct) for _, _, is_direct in relations]),
            supports=masks(supports),
            wakes_start=wakes_start,
            wake_form=ints([w[0] for w in flat_wakes]),
            wake_slot=ints([w[1] for w in flat_wakes]),
            wake_turned=ints([w[2] for w in flat_wakes]),
            wake_idle=masks([w[3] for w in flat_wakes]),
            wake_is_triangle=ints([w[4] for w in flat_wakes]),
            wake_class=ints([c for c, row in enumerate(wakes) for _ in row]),
            wake_positions=ints([positions[c] for c, row in enumerate(wakes) for _ in row]),
            wake_signature=ints([w[5] for w in flat_wakes]),
            signatures=ints([n for signature in signatures for n in signature]),
            listed=np.zeros(len(forms), dtype=np.int64),
            condition=ints(
                [first_made.setdefault(tuple(row), m) if numbering.members[m] == POSSIBLE else m for m, row in enumerate(makers)]
            ),
            instance_first=ints(self.firsts[:-1]),
            instance_strides=grid([self.parts.strides(f, range(f.parameters)) for f in forms]),
            instance_sizes=grid([[n for _, n in row] + [1] * (WIDTH - len(row)) for row in parameters]),
            instance_form=ints([n for n, count in enumerate(self.instances) for _ in range(count)]),
            is_product=ints([int(f.is_product) for f in forms]),
            value_kind=ints([v[0] for v in values]),
            value_slot=ints([v[1] for v in values]),
            value_offset=ints([v[2] for v in values]),
            value_strides=grid([v[3] for v in values]),
            start_offset=ints([s[0] for s in starts]),
            start_strides=grid([s[1] for s in starts]),
            exact_offset=ints([e[0] for e in exacts]),
            exact_strides=grid([e[1] for e in exacts]),
            constants=ints([*self.parts.constants, 0]),
            lowering_offset=ints(lowering_offset),
            lowering_strides=grid([self.parts.strides(f, range(len(f.over))) for f in forms]),
            lowering_table=ints([*lowering_tables, -1]),
            activated_start=activated_start,
            activated=activated_flat,
            restricted_start=restricted_start,
            restricted=restricted_flat,
            restricted_mask=masks([m for row in restricted for _, m in row]),
            makers_start=makers_start,
            makers=makers_flat,
            lowering_first=ints([numbering.members.size]),
        )

    def _class(self, name: str) -> int:
        return self.classes[name] if name in self.classes else len(self.classes) + self.form_numbers[name]

    def _is_triangle(self, form: Form) -> bool:
        return form.is_triangle and form.relation is not None and 2 * form.relation.shape[0] <= DIRECT_BITS

    def _value(self, form: Form, first_slot: int) -> tuple[int, int, int, list[int]]:
        """Kind, slot, offset and strides of the value of a counter."""
        value, minimum = form.value, int(form.is_product)
        if isinstance(value, Number) or value.name in self.space.constants:
            return (0, 0, *self.parts.constant(form, value, minimum))
        slot = first_slot + form.slots.index(value)
        if value.name in self.space.counters:
            if form.is_product and not self.space.counters[value.name].is_product:
                raise wrong(f"expected a product as value of counter {form.name}, a product, got sum {value.name}")
            return 2, slot, 0, [0] * WIDTH
        least = self._least.get(value.name, 1)
        if least < minimum:
            raise wrong(f"expected values of {minimum} or more in counter {form.name}, got {least} of {value.name}")
        return 1, slot, 0, [0] * WIDTH

    def _exact(self, form: Form) -> tuple[int, list[int]]:
        if isinstance(form.exact, FactLiteral):
            return self.parts.guard(form, form.exact)
        return self.parts.add_guards(np.array([form.exact], np.uint8)), [0] * WIDTH

    def _flips(self) -> tuple[Ints, Masks]:
        offsets: list[int] = []
        flips: list[int] = []
        for choice in self.space.choices.values():
            offsets.append(len(flips))
            if isinstance(choice, EnumChoice) and choice.mirror:
                for byte in range(0, len(choice.values), 8):
                    flips += [flipped(value << byte, choice.mirror) for value in range(256)]
        return ints([*offsets, 0]), masks(flips)

    def _mirrors(self) -> Ints:
        mirrors = np.full(self.parts.variables, -1, dtype=np.int64)
        for name, choice in self.space.choices.items():
            if isinstance(choice, EnumChoice) and choice.mirror:
                table = self.numbering.tables[name]
                mirrors[table[table >= 0]] = table.T[table >= 0]
        return mirrors

    def _argument_members(self) -> Ints:
        firsts = {
            name: [int(self.numbering.offsets[self.numbering.set_ids[one.name]]) for one in choice.sets]
            for name, choice in self.space.choices.items()
        }
        found = [[first + o for first, o in zip(firsts[c], at, strict=True)] for c, at in self.numbering.arguments]
        rows = np.full((self.parts.variables, 2), -1, dtype=np.int64)
        for k in range(2):
            rows[: len(found), k] = [row[k] if k < len(row) else -1 for row in found]
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
        return start, items, ints(set_row)

    def _touched(self) -> list[list[int]]:
        mirrors = self._mirrors()
        is_one_way = ((mirrors < 0) | (np.arange(mirrors.size) < mirrors)).tolist()
        by_sort: dict[str, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        by_choice = {name: [by_sort[one.sort] for one in choice.sets] for name, choice in self.space.choices.items()}
        for variable, (choice, objects) in enumerate(self.numbering.arguments):
            if is_one_way[variable]:
                for by_object, o in zip(by_choice[choice], objects, strict=True):
                    by_object[o].append(variable)
        rows: list[list[int]] = []
        for one in self.numbering.sets:
            owners = 1 if one.of is None else self.numbering.size(one.of)
            by_object = by_sort[one.sort]
            sort = [by_object[o] for o in range(self.numbering.size(one))]
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
            strides = self.parts.strides(form, range(len(form.over)))
            cells = [-1] * int(np.prod([self.numbering.size(q.set) for q in form.over], dtype=np.int64))
            for n, (trigger, things) in enumerate(names):
                if trigger != form.name:
                    continue
                if len(things) != len(form.over):
                    raise wrong(f"expected {len(form.over)} object(s) for trigger {trigger}, got {things!r}")
                objects = [self.numbering.number(q.set, t) for q, t in zip(form.over, things, strict=True)]
                for k, q in enumerate(form.over):
                    thing = things[k] if q.owner is None else (things[self.parts.position_of(form, q.owner)], things[k])
                    if not self.numbering.members[self.numbering.member(q.set, thing)]:
                        raise wrong(f"expected an object of {q.set.name} for trigger {trigger}, got {things[k]!r}")
                cells[sum(s * o for s, o in zip(strides, objects, strict=False))] = n
            table += cells
        return table, offsets


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
