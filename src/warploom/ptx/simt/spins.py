"""Threads that ask an mbarrier again and again whether its phase is over, and the end of a launch where it never is.

A loop of a test and the branch back to it does nothing else, so a thread leaves it only when the phase ends. Copies and products
are done when they are issued. Where all threads of a batch that have not left are in such loops, or wait for each other, nobody
ends a phase any more.
"""

from __future__ import annotations

import numpy as np

from warploom.core import Span
from warploom.ptx.routine import Routine
from warploom.ptx.simt.code import RunningBlocks
from warploom.ptx.simt.findings import FaultError, Finding
from warploom.ptx.simt.threads import Threads, Value
from warploom.ptx.syntax import Instruction, Name

EACH = 64
"""Failed tests between two looks at all threads."""
_COUNT, _BYTES = (1 << 20) - 1, (1 << 21) - 1


class Spins:
    """Tests of mbarriers in such loops, by the threads of one batch."""

    def __init__(self, threads: int) -> None:
        self._place: Threads = np.full(threads, -1, np.int64)
        """By thread: the place of the mbarrier that it tests in such a loop; -1: it is in none."""
        self._seen = np.zeros(threads, np.bool_)
        """By thread: the parity that it waits for."""
        self._sites: dict[int, Span] = {}
        self._failed = 0

    def tested(self, threads: Threads, places: list[int], seen: Value, passed: Value, span: Span, running: RunningBlocks) -> None:
        """Threads in such a loop have tested mbarriers. FaultError (deadlock) where nobody is left to end their phases."""
        at = np.where(passed, np.int64(-1), np.array(places, np.int64))
        self._place[threads] = at
        self._seen[threads] = seen
        if np.all(passed):
            return
        self._sites.update(dict.fromkeys(threads[at >= 0].tolist(), span))
        self._failed += 1
        if self._failed % EACH == 0 and self._is_over(running):
            raise FaultError(self._finding(running))

    def _is_over(self, running: RunningBlocks) -> bool:
        words = running.shared.views.by_width[8]
        spinning = np.flatnonzero(self._place >= 0)
        parities = (words[self._place[spinning]] >> np.uint64(63)).astype(np.bool_)
        if (parities != self._seen[spinning]).any() or not self._are_all(spinning, running):
            return False
        running.release_parked()
        return self._are_all(spinning, running)

    @staticmethod
    def _are_all(spinning: Threads, running: RunningBlocks) -> bool:
        """Whether all others wait for each other."""
        others = running.alive.reshape(-1).copy()
        others[spinning] = False
        for group in running.parked():
            others[group.threads] = False
        return not others.any()

    def _finding(self, running: RunningBlocks) -> Finding:
        spinning = np.flatnonzero(self._place >= 0)
        spans = dict.fromkeys(self._sites[thread] for thread in spinning.tolist())
        first = int(spinning[0])
        word = int(running.shared.views.by_width[8][self._place[first]])
        missing, left = word & _COUNT, word >> 40 & _BYTES
        lacks = f"{missing} arrival{'s'[: missing != 1]}" if missing else ""
        if left:
            more = left if left <= _BYTES // 2 else left - _BYTES - 1
            lacks += f"{' and ' * bool(lacks)}the bytes that it expects ({more} more)"
        message = f"{len(spinning)} threads wait for the phase of an mbarrier that nobody ends: "
        message += f"it lacks {lacks or 'a phase before'}"
        block, inside = running.coordinates(first)
        span = self._sites[first]
        others = tuple(("another wait", other) for other in spans if other != span)
        return Finding("deadlock", message, span, block, inside, count=len(spinning), others=others)


def is_spin(routine: Routine, index: int, instruction: Instruction) -> bool:
    """Whether the instruction is a test from which only its success leads on: `w: test p; @!p bra w;`, or `@p bra x; bra w;`."""
    if instruction.guard is not None:
        return False
    match routine.instructions[index + 1 : index + 3], instruction.operands[:1]:
        case (branch, *rest), (Name(predicate),) if branch.opcode == "bra" and branch.guard is not None:
            if branch.guard.name != predicate:
                return False
            back = branch if branch.guard.negated else rest[0] if rest else branch
        case _:
            return False
    if back.opcode != "bra" or (back is not branch and back.guard is not None):
        return False
    match back.operands:
        case (Name(label),):
            return routine.labels.get(label) == index
        case _:
            return False
