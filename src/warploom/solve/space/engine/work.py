"""Work lists and scratch of one instance, packed in one array: what changed and waits to be looked at."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.packed import Ints

FAILED, QUEUE_HEAD, QUEUED, DIRTY, EVENTS, QUEUE_SIZE = 0, 1, 2, 3, 4, 5
"""Places of the flag of a refutation, the first and the number of waiting positions, the numbers of waiting instances and
events, and the length of the queue."""
FORM, LOG_NEXT, LOG_END = 6, 7, 14
"""Places of the form that runs, of the next record of a change, and of the end of the records; 0: none are kept."""
RECORD = 8
"""A record: form, position (-1: none), what it was, what it became (of a counter: its bounds), four objects."""
QUEUE, IS_QUEUED, DIRTY_LIST, IS_DIRTY, EVENT_LIST, CHOSEN, LAST_SEEN = 8, 9, 10, 11, 12, 13, 15
"""Places where the lists begin."""
OBJECTS, FREE_OBJECTS, ITEM_AT, ITEM_END, LISTS = 16, 20, 24, 28, 32
"""Places of the objects that a form binds, of those to enumerate and how far; then the lists."""


def work_with_records(work: Ints, records: int) -> Ints:
    """Empty work lists of the same instance that keep the first changes of domains and bounds."""
    longer = np.concatenate([work, np.zeros(records * RECORD, dtype=np.int64)])
    longer[LOG_NEXT], longer[LOG_END] = work.size, longer.size
    return longer


def work_lists(positions: int, instances: int, members: int, chosen: int) -> Ints:
    """Empty work lists and scratch of one instance of a space, packed: flags and counts, objects bound, then the lists."""
    sizes = (positions + 1, positions, instances + 1, instances, members + 1, chosen, positions)
    begins = LISTS + np.concatenate([[0], np.cumsum(sizes)])
    work = np.zeros(int(begins[-1]), dtype=np.int64)
    work[[QUEUE, IS_QUEUED, DIRTY_LIST, IS_DIRTY, EVENT_LIST, CHOSEN, LAST_SEEN]] = begins[:-1]
    work[QUEUE_SIZE] = positions + 1
    return work


@compiled
def record(work: Ints, p: int, old: int, new: int) -> None:
    at = work[LOG_NEXT]
    if at + RECORD > work[LOG_END]:
        return
    work[at] = work[FORM]
    work[at + 1] = p
    work[at + 2] = old
    work[at + 3] = new
    for k in range(4):
        work[at + 4 + k] = work[OBJECTS + k]
    work[LOG_NEXT] = at + RECORD


@compiled
def push(work: Ints, p: int, old: np.uint64) -> None:
    """`old`: of a variable, its domain when forms last looked; 0: they must look again."""
    if work[work[IS_QUEUED] + p] == 0:
        work[work[IS_QUEUED] + p] = 1
        work[work[LAST_SEEN] + p] = np.int64(old)
        n = work[QUEUE_SIZE]
        work[work[QUEUE] + (work[QUEUE_HEAD] + work[QUEUED]) % n] = p
        work[QUEUED] += 1


@compiled
def push_activated(work: Ints, p: int, domain: np.uint64) -> None:
    """A variable that takes part from now on."""
    push(work, p, domain)
    work[work[IS_QUEUED] + p] = 2


@compiled
def push_instance(work: Ints, i: int) -> None:
    if work[work[IS_DIRTY] + i] == 0:
        work[work[IS_DIRTY] + i] = 1
        work[work[DIRTY_LIST] + work[DIRTY]] = i
        work[DIRTY] += 1


@compiled
def clear(work: Ints) -> None:
    while work[QUEUED] > 0:
        work[work[IS_QUEUED] + work[work[QUEUE] + work[QUEUE_HEAD]]] = 0
        work[QUEUE_HEAD] = (work[QUEUE_HEAD] + 1) % work[QUEUE_SIZE]
        work[QUEUED] -= 1
    while work[DIRTY] > 0:
        work[DIRTY] -= 1
        work[work[IS_DIRTY] + work[work[DIRTY_LIST] + work[DIRTY]]] = 0
    work[EVENTS] = 0
    work[FAILED] = 0
