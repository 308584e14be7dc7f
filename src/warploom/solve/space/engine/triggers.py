"""Reserved objects join sets when a condition is certain."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.domains import narrow
from warploom.solve.space.engine.literals import all_of
from warploom.solve.space.engine.packed import (
    ACTIVATED,
    ACTIVATED_START,
    CLOSED,
    FALSE,
    FIRED,
    LOWERING_FIRST,
    LOWERING_OFFSET,
    LOWERING_STRIDES,
    LOWERING_TABLE,
    MAKERS,
    MAKERS_START,
    MEMBER,
    NEVER,
    PENDING,
    POSSIBLE,
    RESTRICTED,
    RESTRICTED_MASK,
    RESTRICTED_START,
    TOUCHED,
    TOUCHED_START,
    TRUE,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.tuples import entry_of
from warploom.solve.space.engine.work import EVENT_LIST, EVENTS, push_activated


@compiled
def activate(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, m: int) -> None:
    """A reserved member becomes one, or can no longer: whatever reads its variables is looked at again."""
    for n in range(t[t[TOUCHED_START] + m], t[t[TOUCHED_START] + m + 1]):
        v = t[t[TOUCHED] + n]
        push_activated(work, v, domains[v])
    work[work[EVENT_LIST] + work[EVENTS]] = m
    work[EVENTS] += 1


@compiled
def run_trigger(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, state: int) -> bool:
    lowering = t[t[LOWERING_TABLE] + entry_of(t, work, t[t[LOWERING_OFFSET] + f], t[LOWERING_STRIDES] + 4 * f)]
    if lowering < 0:
        return True
    first = t[t[LOWERING_FIRST] + 0]
    if members[first + lowering] != PENDING:
        return True
    status = FALSE
    if state != NEVER:
        status, _ = all_of(t, domains, members, bounds, work, f, 0)
    if status == TRUE and state == MEMBER:
        members[first + lowering] = FIRED
        for n in range(t[t[ACTIVATED_START] + lowering], t[t[ACTIVATED_START] + lowering + 1]):
            m = t[t[ACTIVATED] + n]
            if members[m] != MEMBER:
                members[m] = MEMBER
                activate(t, domains, members, bounds, work, m)
        for n in range(t[t[RESTRICTED_START] + lowering], t[t[RESTRICTED_START] + lowering + 1]):
            if not narrow(t, domains, members, bounds, work, t[t[RESTRICTED] + n], np.uint64(t[t[RESTRICTED_MASK] + n])):
                return False
    elif status == FALSE:
        members[first + lowering] = CLOSED
        for n in range(t[t[ACTIVATED_START] + lowering], t[t[ACTIVATED_START] + lowering + 1]):
            m = t[t[ACTIVATED] + n]
            if members[m] == POSSIBLE:
                is_possible = False
                for k in range(t[t[MAKERS_START] + m], t[t[MAKERS_START] + m + 1]):
                    if members[first + t[t[MAKERS] + k]] == PENDING:
                        is_possible = True
                if not is_possible:
                    members[m] = NEVER
                    activate(t, domains, members, bounds, work, m)
    return True
