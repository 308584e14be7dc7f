"""Judging of candidates: compiled by worker processes, measured one at a time on their device, remembered in a journal."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias, assert_never, cast

from warploom.core.private import private_folder
from warploom.schedule.nest import Nest
from warploom.solve import EventSink, Journal, Json, emit

CAREFUL_ROUNDS = 11
"""Rounds in which implementations are timed side by side."""
_DISTURBED = 0.25
"""Share by which runs of an undisturbed kernel differ at most."""


@dataclass(frozen=True, slots=True)
class Timed:
    time_ms: float
    is_rough: bool = False
    """Measured no further than to see that it is slower than the best."""
    busy_ms: float | None = None
    """CPU time of the busiest thread, where it is known: other processes hardly disturb it. Of a modelled time what it counts as
    beside others that are nearly equal."""
    is_modelled: bool = False
    """No kernel ran: a time of the model."""
    runs: int = 0
    """Number of runs of which `time_ms` is the median; 0: not known."""
    spread: float = 0.0
    """Distance between the quartiles of the runs, over their median."""
    least_ms: float | None = None
    """Least time of all runs."""

    @property
    def is_disturbed(self) -> bool:
        """Something else kept the machine busy: the runs differ much, or their median is far above the least of them."""
        return self.spread > _DISTURBED or (self.least_ms is not None and self.time_ms > (1 + _DISTURBED) * self.least_ms)

    @property
    def judged_ms(self) -> float:
        """The time by which implementations are compared."""
        return self.time_ms if self.busy_ms is None else self.busy_ms


@dataclass(frozen=True, slots=True)
class Unfit:
    """A kernel that could not be compiled, crashed, ran out of time or gave wrong results."""

    reason: str


Measurement: TypeAlias = Timed | Unfit


class Evaluator(Protocol):
    """Compiles and measures nests on one device."""

    @property
    def name(self) -> str:
        """Name of the device and how it is used (threads): times under different names are not compared."""
        ...

    def open(self) -> AbstractContextManager[None]:
        """Holds what measuring needs (processes, arrays) for the length of a search."""
        ...

    def effort_s(self, nest: Nest, most_s: float) -> float:
        """A guess at the CPU seconds that compiling takes; a rough one where it surely takes no longer than `most_s`."""
        ...

    def measure(self, nests: Sequence[Nest], best_ms: float | None) -> Iterator[tuple[int, Measurement]]:
        """(position, measurement) in any order; what is surely slower than `best_ms` need not be measured well."""
        ...

    def retime(self, nests: Sequence[Nest], rounds: int = CAREFUL_ROUNDS) -> Sequence[Measurement]:
        """Interleaved, with care; results are compared with the reference where there is one. On a GPU rounds are short, and
        their number is the device's."""
        ...


LONGEST_WAIT_S = 5.0
"""Longest wait for a turn: a process that holds it and does not go on must not hold up others for good."""
_LOOK_S = 0.005


@contextmanager
def device_turn(device: str) -> Generator[None]:
    """One measurement at a time on a device, of all processes of this machine: waits for its turn. Where that does not come the
    measurement is made beside another, and its spread tells."""
    safe = "".join(c if c.isalnum() else "-" for c in device)
    path = private_folder("turns") / f"{safe}.lock"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        last = time.monotonic() + LONGEST_WAIT_S
        while not _is_taken(file) and time.monotonic() < last:
            time.sleep(_LOOK_S)
        yield
    finally:
        os.close(file)


def _is_taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the journal."""

    measurement: Measurement
    decisions: Mapping[str, str]
    bound_ms: float

    def to_json(self) -> Json:
        common: dict[str, Json] = {"decisions": dict(self.decisions), "bound_ms": self.bound_ms}
        match self.measurement:
            case Timed(time_ms, is_rough, busy_ms):
                return {"time_ms": time_ms, "is_rough": is_rough, "busy_ms": busy_ms, **common}
            case Unfit(reason):
                return {"reason": reason, **common}
            case _:
                assert_never(self.measurement)

    @classmethod
    def from_json(cls, value: Json) -> Record | None:
        """None for what is no record."""
        match value:
            case {"decisions": dict(decisions), "bound_ms": int(bound) | float(bound), **rest}:
                named = {str(k): str(v) for k, v in cast("dict[object, object]", decisions).items()}
                if not _is_time(bound):
                    return None
                match rest:
                    case {"time_ms": int(time) | float(time)} if _is_time(time):
                        busy = rest.get("busy_ms")
                        busy_ms = float(busy) if isinstance(busy, int | float) and _is_time(busy) else None
                        return cls(Timed(float(time), rest.get("is_rough") is True, busy_ms), named, float(bound))
                    case {"reason": str(reason)}:
                        return cls(Unfit(reason), named, float(bound))
                    case _:
                        return None
            case _:
                return None


_LONGEST_MS = 1e12


def _is_time(ms: float) -> bool:
    """Neither NaN nor infinite, negative or longer than anybody waits: damaged journals hold such."""
    return 0 <= ms <= _LONGEST_MS


class Memory:
    """Measurements of one kernel on one device, in a journal's file or only here."""

    def __init__(self, problem: str, journal: Journal | None, events: EventSink | None) -> None:
        self._problem = problem
        self._journal = journal
        self._events = events
        self._records: dict[str, Record] = {}
        for key in journal.keys() if journal is not None else ():
            if journal is not None and key.startswith(problem) and (record := Record.from_json(journal.find(key))):
                self._records[key.removeprefix(problem)] = record
        self.resumed = len(self._records)

    def find(self, key: str) -> Record | None:
        return self._records.get(key)

    def add(self, key: str, record: Record) -> None:
        self._records[key] = record
        if self._journal is not None:
            self._journal.add(self._problem + key, record.to_json())
        match record.measurement:
            case Timed(time_ms, is_rough):
                judged_ms = record.measurement.judged_ms
                emit(
                    self._events, "measured", key=key, time_ms=time_ms, judged_ms=judged_ms, is_rough=is_rough,
                    bound_ms=record.bound_ms,
                )  # fmt: skip
            case Unfit(reason):
                emit(self._events, "unfit", key=key, reason=reason)
            case _:
                assert_never(record.measurement)

    def best(self, count: int) -> list[tuple[str, Record]]:
        """The fastest ones, fastest first."""
        timed = [(r.measurement.judged_ms, k, r) for k, r in self._records.items() if isinstance(r.measurement, Timed)]
        return [(k, r) for _, k, r in sorted(timed, key=lambda t: t[:2])[:count]]
