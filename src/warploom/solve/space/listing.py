"""The tuples that each position concerns, listed for the engine."""

from __future__ import annotations

import numpy as np

from warploom.solve.space.engine import (
    ACTIVATED,
    LISTED,
    WAKE_ROW,
    Bytes,
    Ints,
    Masks,
    Records,
    Tables,
    list_activated,
    list_tuples,
)
from warploom.solve.space.forms import FormKind

MAX_RECORDS = 4_000_000
"""Numbers of one wake; the tuples of larger ones are enumerated each time."""
MAX_TOTAL = 64_000_000
"""Most numbers of all wakes and forms together; the rest is enumerated each time."""
MAX_TUPLES = 20_000_000
"""Most tuples of a form; those of larger ones are not listed by condition."""


def listed_tuples(tables: Tables, packed: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints) -> Records:
    """By position, where its wakes begin (those whose form has a tuple with it), and by member, where the
    tuples begin that wait for it; these; the rows and records of each wake, whose
    beginnings `packed` is told. The state is that before any decision."""
    kind = tables.kind[tables.wake_form]
    slots = np.diff(tables.slots_start)[tables.wake_form]
    is_listed = ((kind == FormKind.RELATION) & (slots > 1) | (kind >= FormKind.COUNTER)) & (tables.wake_is_triangle == 0)
    none = np.zeros(0, dtype=np.int32)
    parts: list[Records] = []
    rows: list[int] = []
    pairs: list[Ints] = []
    total = 0
    for w, listed in enumerate(is_listed.tolist()):
        first, count = int(tables.class_first[tables.wake_class[w]]), int(tables.wake_positions[w])
        numbers = list_tuples(packed, domains, members, bounds, work, w, none) if listed else MAX_RECORDS + 1
        if numbers <= min(MAX_RECORDS, MAX_TOTAL - total):
            total += numbers
            part: Records = np.zeros(count + 1 + numbers, dtype=np.int32)
            list_tuples(packed, domains, members, bounds, work, w, part)
            counts = np.diff(part[: count + 1])
            rows.append(len(parts))
            parts.append(part)
        else:
            begin = int(tables.slot_reverse[tables.wake_slot[w]])
            of = np.arange(first, first + count)
            if tables.wake_turned[w]:
                of = tables.mirror[of]
            row = begin + of - first
            counts = tables.reverse_start[row + 1] - tables.reverse_start[row]
            rows.append(-1)
        if kind[w] == FormKind.RELATION and slots[w] == 1 and not tables.slot_indirect[tables.wake_slot[w]]:
            continue  # a value that is allowed stays so
        concerned = np.flatnonzero(counts) + first
        pairs.append(np.stack([concerned, np.full(concerned.size, w)]))
    found = np.concatenate([np.zeros((2, 0), dtype=np.int64), *pairs], axis=1)
    waiting = _waiting(tables, packed, domains, members, bounds, work, MAX_TOTAL - total)
    positions = int(tables.mirror.size + tables.instance_form.size)
    heads = positions + members.size + 1
    wakes = np.bincount(found[0], minlength=positions)
    activated = ACTIVATED * np.bincount(waiting[0], minlength=members.size)
    starts = heads + np.concatenate([[0], np.cumsum(np.concatenate([wakes, activated]))])
    begins = starts[-1] + np.concatenate([[0], np.cumsum([part.size for part in parts])])
    assert begins[-1] < 1 << 31, "rows begin where 32 bits can say"
    for w, row in enumerate(rows):
        if row >= 0:
            packed[packed[WAKE_ROW] + w] = begins[row]
    by_position = found[1, np.argsort(found[0], kind="stable")]
    by_member = waiting[1][np.argsort(waiting[0], kind="stable")].reshape(-1)
    return np.concatenate([starts.astype(np.int32), by_position.astype(np.int32), by_member, *parts])


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
