"""Constraints as disjunctions of literals: the last one that can hold must."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

from warploom.solve.jit import compiled
from warploom.solve.space.engine.literals import enforce, status_of
from warploom.solve.space.engine.packed import LITERALS_START, TRUE, UNKNOWN, Bytes, Ints, Masks
from warploom.solve.space.engine.work import FAILED, record


@compiled
def run_clause(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int) -> bool:
    last = -1
    for literal in range(t[t[LITERALS_START] + f], t[t[LITERALS_START] + f + 1]):
        status = status_of(t, domains, members, bounds, work, literal)
        if status == TRUE:
            return True
        if status == UNKNOWN:
            if last >= 0:
                return True
            last = literal
    if last < 0:
        record(work, -1, 0, 0)
        work[FAILED] = 1
        return False
    return enforce(t, domains, members, bounds, work, last, True)
