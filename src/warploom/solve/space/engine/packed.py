"""The tables of an instance, one by one and packed in one array: a call with a hundred arrays takes minutes to compile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Masks = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

NEVER, POSSIBLE, MEMBER = 0, 1, 2
"""A reserved tuple that can no longer become a member of a set; one that may; a member."""
PENDING, FIRED, CLOSED = 0, 1, 2
"""States of a lowering."""
SATURATED = 1 << 60
FALSE, UNKNOWN, TRUE = 0, 1, 2
RELATION, CLAUSE, TRIGGER, COUNTER, COVER, QUOTIENT = 0, 1, 2, 3, 4, 5
"""Kinds of forms; those with instances last."""
IN_MASK, COMPARE, IN_RANGE = 0, 1, 2
"""Kinds of literals."""
EQ, NE, LE, LT = 0, 1, 2, 3


class Tables(NamedTuple):
    """Tables that do not change during a search. CSR arrays come as `*_start` (one more than there are rows) and contents.

    Strides are by quantified object: element = offset + sum of stride * object.
    """

    # variables and positions
    mirror: Ints
    """By variable: the one for the arguments exchanged, -1."""
    class_of: Ints
    """By position: the choice; after the choices, the form."""
    class_first: Ints
    """By class: its first position."""
    class_size: Ints
    """By class: number of values of an enum choice, else 0."""
    flip_offset: Ints
    flips: Masks
    """By class, byte of the mask, value of the byte."""
    values_start: Ints
    values: Ints
    """By variable: the integers of its universe, ascending."""
    argument_members: Ints
    """[variable, 2]: members that say whether its objects take part, -1."""
    # sets
    set_offset: Ints
    set_size: Ints
    """Number of objects of its sort."""
    set_row: Ints
    """First row of `items_start`: of all its objects, then, if parametric, of those of each owner."""
    items_start: Ints
    items: Ints
    touched_start: Ints
    touched: Ints
    """By member: the variables of its object (the first of two directions)."""
    uses_start: Ints
    use_form: Ints
    use_object: Ints
    """By set: forms that quantify over it, triangles excepted."""
    # forms
    kind: Ints
    quantified: Ints
    parameters: Ints
    over_set: Ints
    over_owner: Ints
    over_sort: Ints
    slots_start: Ints
    slot_offset: Ints
    slot_strides: Ints
    slot_indirect: Ints
    """1: through a function, so that its objects may not take part."""
    slot_axes: Ints
    """[slot, 2]: quantified objects that number its cells, -1."""
    slot_sizes: Ints
    slot_reverse: Ints
    slot_table: Ints
    """Positions, -1 for none."""
    reverse_start: Ints
    reverse: Ints
    """Cells by position of the slot's class."""
    guards_start: Ints
    guard_offset: Ints
    guard_strides: Ints
    guard_table: Bytes
    """1: the guard holds. Packed, a word has eight."""
    literals_start: Ints
    literal_kind: Ints
    literal_slot: Ints
    literal_other: Ints
    literal_comparator: Ints
    literal_part: Ints
    literal_offset: Ints
    """Offsets into `masks`, or `ranges` for counters."""
    literal_strides: Ints
    masks: Masks
    ranges: Ints
    """[entry, 2]: least and greatest."""
    relation_offset: Ints
    """[form, 3]: into `supports`, by slot that is narrowed."""
    relation_sizes: Ints
    relation_is_direct: Ints
    """1: supports are by masks of the other slots; 0: by their values."""
    supports: Masks
    wakes_start: Ints
    wake_form: Ints
    wake_slot: Ints
    wake_turned: Ints
    """1: about the variable for the arguments exchanged."""
    wake_idle: Masks
    """Without signatures: while one of these values is possible, the change has no effect."""
    wake_is_triangle: Ints
    wake_class: Ints
    wake_positions: Ints
    """Positions that wake, within the class of the variable."""
    wake_signature: Ints
    """Positions in `signatures`, by domain: while it stays, there is no change; -1: every change is one."""
    signatures: Ints
    listed: Ints
    """By form: 1 where its tuples with reserved objects are listed by condition."""
    condition: Ints
    """By member: one that becomes a member, or can no longer, whenever it does."""
    # instances of counters, covers, quotient sets; lowerings
    instance_first: Ints
    """By form: the first of its instances."""
    instance_strides: Ints
    instance_sizes: Ints
    instance_form: Ints
    is_product: Ints
    value_kind: Ints
    """0: constant, 1: integer choice, 2: counter."""
    value_slot: Ints
    value_offset: Ints
    value_strides: Ints
    start_offset: Ints
    start_strides: Ints
    exact_offset: Ints
    exact_strides: Ints
    constants: Ints
    lowering_offset: Ints
    lowering_strides: Ints
    lowering_table: Ints
    activated_start: Ints
    activated: Ints
    restricted_start: Ints
    restricted: Ints
    restricted_mask: Masks
    makers_start: Ints
    makers: Ints
    """By member: lowerings that may make it one."""
    lowering_first: Ints
    """One element: where the states of lowerings begin among the members."""

    def packed(self) -> Ints:
        """One array: where each table begins, numbers of things, then the tables."""
        header = len(self) + 5
        parts = [_words(np.ascontiguousarray(part).reshape(-1)) for part in self]
        begins = header + np.concatenate([[0], np.cumsum([part.size for part in parts])])
        counts = [self.mirror.size, self.kind.size, self.wake_form.size, self.set_offset.size, self.instance_form.size]
        return np.concatenate([begins[:-1], np.array(counts, dtype=np.int64), *parts])

    def within(self, packed: Ints) -> Tables:
        """The same tables, those of words as views of the packed ones: large spaces have hundreds of megabytes."""
        parts: list[NDArray[np.generic]] = []
        for part, begin in zip(self, packed, strict=False):
            is_word = part.itemsize == packed.itemsize
            parts.append(packed[begin : begin + part.size].view(part.dtype).reshape(part.shape) if is_word else part)
        return Tables(*parts)  # pyright: ignore[reportArgumentType]


def _words(part: NDArray[np.generic]) -> Ints:
    if part.dtype != np.uint8:
        return part.astype(np.int64, copy=False)
    return np.pad(part, (0, -part.size % 8)).view("<i8").astype(np.int64, copy=False)


(
    MIRROR,
    CLASS_OF,
    CLASS_FIRST,
    CLASS_SIZE,
    FLIP_OFFSET,
    FLIPS,
    VALUES_START,
    VALUES,
    ARGUMENT_MEMBERS,
    SET_OFFSET,
    SET_SIZE,
    SET_ROW,
    ITEMS_START,
    ITEMS,
    TOUCHED_START,
    TOUCHED,
    USES_START,
    USE_FORM,
    USE_OBJECT,
    KIND,
    QUANTIFIED,
    PARAMETERS,
    OVER_SET,
    OVER_OWNER,
    OVER_SORT,
    SLOTS_START,
    SLOT_OFFSET,
    SLOT_STRIDES,
    SLOT_INDIRECT,
    SLOT_AXES,
    SLOT_SIZES,
    SLOT_REVERSE,
    SLOT_TABLE,
    REVERSE_START,
    REVERSE,
    GUARDS_START,
    GUARD_OFFSET,
    GUARD_STRIDES,
    GUARD_TABLE,
    LITERALS_START,
    LITERAL_KIND,
    LITERAL_SLOT,
    LITERAL_OTHER,
    LITERAL_COMPARATOR,
    LITERAL_PART,
    LITERAL_OFFSET,
    LITERAL_STRIDES,
    MASKS,
    RANGES,
    RELATION_OFFSET,
    RELATION_SIZES,
    RELATION_IS_DIRECT,
    SUPPORTS,
    WAKES_START,
    WAKE_FORM,
    WAKE_SLOT,
    WAKE_TURNED,
    WAKE_IDLE,
    WAKE_IS_TRIANGLE,
    WAKE_CLASS,
    WAKE_POSITIONS,
    WAKE_SIGNATURE,
    SIGNATURES,
    LISTED,
    CONDITION,
    INSTANCE_FIRST,
    INSTANCE_STRIDES,
    INSTANCE_SIZES,
    INSTANCE_FORM,
    IS_PRODUCT,
    VALUE_KIND,
    VALUE_SLOT,
    VALUE_OFFSET,
    VALUE_STRIDES,
    START_OFFSET,
    START_STRIDES,
    EXACT_OFFSET,
    EXACT_STRIDES,
    CONSTANTS,
    LOWERING_OFFSET,
    LOWERING_STRIDES,
    LOWERING_TABLE,
    ACTIVATED_START,
    ACTIVATED,
    RESTRICTED_START,
    RESTRICTED,
    RESTRICTED_MASK,
    MAKERS_START,
    MAKERS,
    LOWERING_FIRST,
    VARIABLES,
    FORMS,
    WAKES,
    SETS,
    INSTANCES,
) = range(len(Tables._fields) + 5)
"""Header of the packed tables, in the order of the fields of `Tables`."""
