"""The tuples that each position concerns, listed for the engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.solve.space.engine import (
    ACTIVATED,
    LISTED,
    OBJECT_BITS,
    UNLISTED,
    WAKE,
    Bytes,
    Ints,
    Masks,
    Records,
    Tables,
    list_activated,
    list_instance,
    list_tuples,
)
from warploom.solve.space.forms import FormKind

MAX_RECORDS = 4_000_000
"""Numbers of one wake; the tuples of larger ones are enumerated each time."""
MAX_TOTAL = 64_000_000
"""Most numbers of all wakes and forms together; the rest is enumerated each time."""
MAX_TUPLES = 20_000_000
"""Most tuples of a form; those of larger ones are not listed by condition."""

MAX_CLAUSES = 1_000_000
"""Most tuples of a clause; those of larger ones are enumerated each time."""

_AT_ONCE = 4096
"""Rows that are moved in one step."""


def listed_tuples(tables: Tables, packed: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints) -> Records:
    """By position, where its wakes begin (those whose form has a tuple with it), by member, where the tuples begin that wait for
    it, and by instance, where its tuples begin. Then the wakes as three numbers: the wake, where its records begin (-1: they are
    enumerated each time) and where they end. Then these tuples, and the records, those of one position side by side. Says in
    `packed` which forms are listed. The state is that before any decision."""
    kind = tables.kind[tables.wake_form]
    slots = np.diff(tables.slots_start)[tables.wake_form]
    has_tuples = (kind == FormKind.RELATION) & (slots > 1) | (kind == FormKind.CLAUSE) & _has_few(tables)[tables.wake_form]
    is_listed = (has_tuples | (kind >= FormKind.COUNTER)) & (tables.wake_is_triangle == 0)
    none = np.zeros(0, dtype=np.int32)
    parts: list[Records] = [none]
    found: list[Ints] = [np.zeros((4, 0), dtype=np.int64)]
    total = size = 0
    for w, listed in enumerate(is_listed.tolist()):
        first, count = int(tables.class_first[tables.wake_class[w]]), int(tables.wake_positions[w])
        numbers = list_tuples(packed, domains, members, bounds, work, w, none) if listed else MAX_RECORDS + 1
        if numbers <= min(MAX_RECORDS, MAX_TOTAL - total):
            total += numbers
            part: Records = np.zeros(count + 1 + numbers, dtype=np.int32)
            list_tuples(packed, domains, members, bounds, work, w, part)
            head, rows = part[: count + 1].astype(np.int64), part[count + 1 :]
            counts = np.diff(head)
            begins = head[:-1] + size
            if kind[w] < FormKind.COUNTER:
                begins[counts > 0] = np.where(rows[head[:-1][counts > 0]] == UNLISTED, -1, begins[counts > 0])
            parts.append(rows)
            size += rows.size
        else:
            begin = int(tables.slot_reverse[tables.wake_slot[w]])
            of = np.arange(first, first + count)
            if tables.wake_turned[w]:
                of = tables.mirror[of]
            row = begin + of - first
            counts = tables.reverse_start[row + 1] - tables.reverse_start[row]
            begins = np.full(count, -1)
        if kind[w] == FormKind.RELATION and slots[w] == 1 and not tables.slot_indirect[tables.wake_slot[w]]:
            continue  # a value that is allowed stays so
        concerned = np.flatnonzero(counts)
        one = (concerned + first, np.full(concerned.size, w), begins[concerned], counts[concerned])
        found.append(np.stack(one).astype(np.int64))
    wakes = np.concatenate(found, axis=1)
    wakes = wakes[:, np.argsort(wakes[0], kind="stable")]
    waiting = _waiting(tables, packed, domains, members, bounds, work, MAX_TOTAL - total)
    positions = int(tables.mirror.size + tables.instance_form.size)
    left = MAX_TOTAL - total - int(waiting[1].size)
    lengths_of, of_instances = _instances(tables, packed, domains, members, bounds, work, left)
    heads = positions + members.size + lengths_of.size + 1
    numbers_of = (
        WAKE * np.bincount(wakes[0], minlength=positions),
        ACTIVATED * np.bincount(waiting[0], minlength=members.size),
        lengths_of,
    )
    starts = heads + np.concatenate([[0], np.cumsum(np.concatenate(numbers_of))])
    is_row = wakes[2] >= 0
    lengths = np.where(is_row, wakes[3], 0)
    ends = int(starts[-1]) + np.cumsum(lengths)
    assert int(starts[-1]) + size < 1 << 31, "rows begin where 32 bits can say"
    by_position = np.stack([wakes[1], np.where(is_row, ends - lengths, -1), np.where(is_row, ends, -1)], axis=1)
    by_member = waiting[1][np.argsort(waiting[0], kind="stable")].reshape(-1)
    rows = _gathered(np.concatenate(parts), wakes[2][is_row], lengths[is_row])
    return np.concatenate([starts.astype(np.int32), by_position.astype(np.int32).reshape(-1), by_member, of_instances, rows])


def _instances(
    tables: Tables, packed: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, left: int
) -> tuple[Ints, Records]:
    """How many numbers the tuples of each instance of a counter or quotient set are, at most `left` together, and these;
    `UNLISTED` alone: they are enumerated each time."""
    none = np.zeros(0, dtype=np.int32)
    fits = _has_few(tables)
    lengths: list[int] = []
    listed: list[bool] = []
    total = 0
    for i, f in enumerate(tables.instance_form.tolist()):
        if tables.kind[f] == FormKind.COVER:
            lengths.append(0)
            listed.append(False)
            continue
        numbers = list_instance(packed, domains, members, bounds, work, f, i, 0, none) if fits[f] else -1
        listed.append(0 <= numbers <= min(MAX_RECORDS, left - total))
        lengths.append(numbers if listed[-1] else 1)
        total += lengths[-1]
    found: Records = np.full(total, UNLISTED, dtype=np.int32)
    begins = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    for i, f in enumerate(tables.instance_form.tolist()):
        if listed[i] and lengths[i]:
            list_instance(packed, domains, members, bounds, work, f, i, int(begins[i]), found)
    return np.array(lengths, dtype=np.int64), found


def _gathered(numbers: Records, begins: Ints, lengths: Ints) -> Records:
    """Slices of an array, one after the other."""
    parts = [numbers[:0]]
    ends = np.cumsum(lengths)
    for first in range(0, begins.size, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        begin = ends[first] - lengths[first] if first < ends.size else 0
        shift = np.repeat(begins[some] - (ends[some] - lengths[some]), lengths[some])
        parts.append(numbers[shift + np.arange(begin, begin + shift.size)])
    return np.concatenate(parts)


def _has_few(tables: Tables) -> NDArray[np.bool_]:
    """Forms whose tuples are few enough to be listed, with numbers of objects that fit into a record."""
    sizes = [tables.set_size[tables.over_set[f, :n]].astype(float) for f, n in enumerate(tables.quantified.tolist())]
    return np.array(
        [np.prod(one) <= MAX_CLAUSES and one.max(initial=0) < (1 << OBJECT_BITS) - 1 for one in sizes], dtype=np.bool_
    )


def _waiting(
    tables: Tables, packed: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, left: int
) -> tuple[Ints, Records]:
    """The tuples of all relations that wait for members, of at most `left` numbers together: member and tuple, once for each
    member that it waits for. Says in `packed` which forms these are all of."""
    none = np.zeros(0, dtype=np.int32)
    found: list[Records] = [none.reshape(0, ACTIVATED)]
    triangles = set(tables.wake_form[tables.wake_is_triangle == 1].tolist())
    for f, kind in enumerate(tables.kind.tolist()):
        sizes = tables.set_size[tables.over_set[f, : tables.quantified[f]]]
        if kind != FormKind.RELATION or f in triangles or np.prod(sizes.astype(float)) > MAX_TUPLES:
            continue
        numbers = list_activated(packed, domains, members, bounds, work, f, none)
        if not 0 <= numbers <= min(MAX_RECORDS, left):
            continue
        left -= numbers
        packed[packed[LISTED] + f] = 1
        if numbers:
            part: Records = np.zeros(numbers, dtype=np.int32)
            list_activated(packed, domains, members, bounds, work, f, part)
            found.append(part.reshape(-1, ACTIVATED))
    listed = np.concatenate(found)
    waits = [listed[listed[:, k] >= 0] for k in (1, 2, 3)]
    of = np.concatenate([part[:, k] for k, part in zip((1, 2, 3), waits, strict=True)])
    return of.astype(np.int64), np.concatenate(waits)
