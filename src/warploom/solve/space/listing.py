"""The tuples that each position concerns, listed for the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

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

_AT_ONCE = 1 << 16
"""Rows that are moved in one step."""
Indices: TypeAlias = NDArray[np.int32]


def listed_tuples(tables: Tables, packed: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints) -> Records:
    """By position, where its wakes begin (those whose form has a tuple with it), by member, where the tuples begin that wait for
    it, and by instance, where its tuples begin. Then the wakes as three numbers: the wake, where its records begin (-1: they are
    enumerated each time) and where they end. Then these tuples, and the records, those of one position side by side. Says in
    `packed` which forms are listed. The state is that before any decision."""
    wakes, total = _wakes(tables, packed, domains, members, bounds, work)
    member_of, waiting = _waiting(tables, packed, domains, members, bounds, work, MAX_TOTAL - total)
    left = MAX_TOTAL - total - int(waiting.size)
    lengths_of, of_instances = _instances(tables, packed, domains, members, bounds, work, left)
    positions = int(tables.mirror.size + tables.instance_form.size)
    wakes_of, rows_of = np.zeros(positions, dtype=np.int64), np.zeros(positions, dtype=np.int64)
    for wake in wakes:
        wakes_of[wake.positions] += 1
        rows_of[wake.positions] += wake.lengths
    numbers_of = (WAKE * wakes_of, ACTIVATED * np.bincount(member_of, minlength=members.size), lengths_of)
    heads = positions + members.size + lengths_of.size + 1
    starts = heads + np.concatenate([[0], np.cumsum(np.concatenate(numbers_of))])
    end = int(starts[-1]) + int(rows_of.sum())
    assert end < 1 << 31, "rows begin where 32 bits can say"
    records: Records = np.empty(end, dtype=np.int32)
    records[:heads] = starts
    records[starts[positions] : starts[positions + members.size]] = waiting[np.argsort(member_of, kind="stable")].reshape(-1)
    records[starts[positions + members.size] : starts[-1]] = of_instances
    at, row = starts[:positions].copy(), int(starts[-1]) + np.cumsum(rows_of) - rows_of
    for n, wake in enumerate(wakes):
        begins, ends = row[wake.positions], row[wake.positions] + wake.lengths
        here = at[wake.positions]
        records[here] = wake.number
        records[here + 1] = np.where(wake.is_listed, begins, -1)
        records[here + 2] = np.where(wake.is_listed, ends, -1)
        _spread(records, begins, wake)
        at[wake.positions] += WAKE
        row[wake.positions] = ends
        wakes[n] = wake.without_rows()  # they take as much memory as the records
    return records


@dataclass(frozen=True, slots=True)
class _Wake:
    number: int
    positions: Indices
    """Ascending."""
    lengths: Indices
    """Numbers of each one's row, 0 where it is enumerated each time."""
    is_listed: NDArray[np.bool_]
    begins: Indices
    """Where each one's row begins in `rows`."""
    rows: Records

    def without_rows(self) -> _Wake:
        return replace(self, rows=self.rows[:0])


def _wakes(tables: Tables, packed: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints) -> tuple[list[_Wake], int]:
    """The positions that each wake has tuples of, with these, and how many numbers they are together."""
    kind = tables.kind[tables.wake_form]
    slots = np.diff(tables.slots_start)[tables.wake_form]
    has_tuples = (kind == FormKind.RELATION) & (slots > 1) | (kind == FormKind.CLAUSE) & _has_few(tables)[tables.wake_form]
    is_listed = (has_tuples | (kind >= FormKind.COUNTER)) & (tables.wake_is_triangle == 0)
    none = np.zeros(0, dtype=np.int32)
    found: list[_Wake] = []
    total = 0
    for w, listed in enumerate(is_listed.tolist()):
        first, count = int(tables.class_first[tables.wake_class[w]]), int(tables.wake_positions[w])
        numbers = list_tuples(packed, domains, members, bounds, work, w, none) if listed else MAX_RECORDS + 1
        if numbers <= min(MAX_RECORDS, MAX_TOTAL - total):
            total += numbers
            part: Records = np.zeros(count + 1 + numbers, dtype=np.int32)
            list_tuples(packed, domains, members, bounds, work, w, part)
            head, rows = part[: count + 1], part[count + 1 :]
            lengths = np.diff(head)
            concerned = np.flatnonzero(lengths).astype(np.int32)
            begins, lengths = head[concerned], lengths[concerned]
            is_row = np.ones(concerned.size, dtype=np.bool_)
            if kind[w] < FormKind.COUNTER:
                is_row = rows[begins] != UNLISTED
        else:
            begin = int(tables.slot_reverse[tables.wake_slot[w]])
            of = np.arange(first, first + count)
            if tables.wake_turned[w]:
                of = tables.mirror[of]
            row = begin + of - first
            concerned = np.flatnonzero(tables.reverse_start[row + 1] - tables.reverse_start[row]).astype(np.int32)
            begins = lengths = np.zeros(concerned.size, dtype=np.int32)
            is_row, rows = np.zeros(concerned.size, dtype=np.bool_), none
        if kind[w] == FormKind.RELATION and slots[w] == 1 and not tables.slot_indirect[tables.wake_slot[w]]:
            continue  # a value that is allowed stays so
        if concerned.size:
            positions = concerned + np.int32(first)
            found.append(_Wake(w, positions, np.where(is_row, lengths, 0).astype(np.int32), is_row, begins, rows))
    return found, total


def _spread(records: Records, begins: Ints, wake: _Wake) -> None:
    """Writes the rows of a wake where they belong."""
    for first in range(0, begins.size, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        lengths = wake.lengths[some]
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        records[np.repeat(begins[some], lengths) + within] = wake.rows[np.repeat(wake.begins[some], lengths) + within]


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
