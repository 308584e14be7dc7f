"""Files of JSON lines that several processes append to.

A line is written under a file lock in one piece. A line that a crash cut short spoils neither the lines before it nor the next.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Values that a line may hold; keys of mappings are strings, numbers are finite."""


def encode(value: Json) -> str:
    """One line of JSON; ValueError for a number that is not finite, TypeError for what JSON cannot say."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def append_line(path: Path, value: Json, *, durable: bool) -> None:
    """Creates the file if need be; with `durable` the line is on the disk on return. OSError where the line was not written."""
    data = encode(value).encode("utf-8", "surrogatepass") + b"\n"
    with open_locked(path) as file:
        end = os.lseek(file, 0, os.SEEK_END)
        if end and os.pread(file, 1, end - 1) != b"\n":
            data = b"\n" + data
        written = os.write(file, data)
        if written != len(data):
            os.ftruncate(file, end)
            raise OSError(f"{written} of {len(data)} bytes were written")
        if durable:
            os.fsync(file)


@contextmanager
def open_locked(path: Path, *, is_ours: bool = False) -> Generator[int]:
    """A descriptor of the file, for reading and appending, that no other process holds at the same time.

    `is_ours`: this program named the file, not the user; a link in its place is an OSError.
    """
    extra, mode = (os.O_NOFOLLOW, 0o600) if is_ours else (0, 0o666)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | extra, mode)
    try:
        # Some network file systems have no locks; appending in one write is then all there is.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


@dataclass(frozen=True, slots=True)
class ReadLine:
    number: int
    """Number of the line, from 1."""
    text: str
    value: Json
    """None also for a line that is no JSON."""
    end: int
    """Offset in bytes after the line."""
    whole: bool
    """The line ends with a line break; another may still be in the making."""


def read_lines(path: Path, offset: int = 0, number: int = 1) -> Iterator[ReadLine]:
    """Lines from `offset` on, where line `number` begins; empty lines are left out. OSError if the file cannot be read."""
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            offset += len(line)
            text = line.decode("utf-8", "replace").strip()
            if text:
                yield ReadLine(number, text, _parsed(line), offset, line.endswith(b"\n"))
            number += 1


def _parsed(line: bytes) -> Json:
    try:
        return json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
