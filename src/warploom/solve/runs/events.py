"""The event log: what happened in a run and when, as JSON lines `{"time": ..., "kind": ..., ...}`.

Whoever reports events takes an `EventSink`: `EventLog(path).write`, a list's `append`, or whatever shows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from warploom.core import Diagnostic, Span, UserError
from warploom.solve.runs.jsonlines import Json, append_line, read_lines


@dataclass(frozen=True, slots=True)
class Event:
    time: float
    """Seconds since 1970."""
    kind: str
    """A few words: `started`, `worker died`, ..."""
    fields: Mapping[str, Json]


EventSink: TypeAlias = Callable[[Event], None]


class EventLog:
    """Appends events to a file, which several processes may share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, event: Event) -> None:
        """UserError (`EVENTS_UNUSABLE`) at the path where it cannot be written."""
        try:
            append_line(self._path, {"time": round(event.time, 6), "kind": event.kind, **event.fields}, durable=False)
        except OSError as error:
            raise _unusable(self._path, error) from None


def emit(sink: EventSink | None, kind: str, **fields: Json) -> None:
    """Tells the sink, if there is one, what happens now."""
    if sink is not None:
        sink(Event(time.time(), kind, fields))


def read_events(path: Path) -> tuple[Event, ...]:
    """Events in the order they were written; lines that are no events are left out. UserError where the file cannot be read."""
    events: list[Event] = []
    try:
        for line in read_lines(path):
            match line.value:
                case {"time": int(at) | float(at), "kind": str(kind), **fields}:
                    events.append(Event(float(at), kind, fields))
                case _:
                    pass
    except OSError as error:
        raise _unusable(path, error) from None
    return tuple(events)


def _unusable(path: Path, error: OSError) -> UserError:
    message = f"expected an event log that can be read and written, got: {error.strerror or error}"
    return UserError(Diagnostic("EVENTS_UNUSABLE", message, Span(str(path), 1, 1, 1, 1), "Name a file in a writable folder."))
