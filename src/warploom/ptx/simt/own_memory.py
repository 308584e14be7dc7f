"""Local memory that a thread reads before it has written it: what comes is undefined, as from a shuffle (`undefined`).

Looked at in the kernel itself: functions share the stack, and find there what others have left. Only a load none of whose bytes
was written counts, since copies of structs take the holes between their fields along; a copy into local memory is no use.
"""

from __future__ import annotations

import numpy as np

from warploom.ptx.simt.code import Access, Group, Piece, RunningBlocks
from warploom.ptx.simt.threads import Value
from warploom.ptx.simt.undefined import DEFINED, marks_of


def note_written(access: Access, pieces: list[Piece], position: int, marks: Value | None, running: RunningBlocks) -> None:
    """After a store of the element at `position`; `marks`: of what was stored."""
    width = access.width
    for chosen, region, index in pieces:
        if region is not running.local:
            continue
        words = running.written_local().by_width[width]
        whole = ~words.dtype.type(0)
        own = None if marks is None or not marks.ndim else marks if chosen is None else marks[chosen]
        words[index + position] = whole if own is None else np.where(own == 0, whole, words.dtype.type(0))


def marks_of_load(access: Access, pieces: list[Piece], position: int, group: Group, running: RunningBlocks) -> Value:
    """Marks of the element at `position` that a load has read."""
    unwritten = np.zeros(group.size, np.bool_)
    for chosen, region, index in pieces:
        if region is not running.local:
            continue
        found = running.written_local().by_width[access.width][index + position] == 0
        if chosen is None:
            unwritten[...] = found
        else:
            unwritten[chosen] = found
    return marks_of(access.instruction, unwritten, np.zeros((), np.uint32)) if unwritten.any() else DEFINED
