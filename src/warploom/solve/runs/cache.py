"""A cache of results on disk, shared by all processes of a user: an SQLite database in write-ahead mode.

Nothing depends on it: where it cannot be used, every look-up misses and every addition is dropped, and an event says so.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from warploom.solve.runs.events import EventSink, emit
from warploom.solve.runs.jsonlines import Json, encode, open_locked
from warploom.solve.runs.keys import source_digest

_BUSY_S = 10.0
_KEEP_S = 30 * 24 * 3600.0
"""Seconds for which results of other versions of the source are kept."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL, created REAL NOT NULL, version TEXT NOT NULL
) WITHOUT ROWID
"""
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last one: other tables than ours


class ResultCache:
    """JSON values by key (see `problem_key`); safe with other processes and threads at work, and when one is killed.

    The folder must be this user's, and not everybody's to write. A damaged database is renamed, not deleted, and a new one begun.
    Events: `cache damaged`, `cache unusable`, `cache busy`.
    """

    def __init__(self, path: Path, events: EventSink | None = None) -> None:
        self._path = path
        self._events = events
        self._mutex = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file = -1
        self._usable = True

    def find(self, key: str) -> Json:
        """None where there is nothing under the key, or not what was added."""
        row = self._execute("SELECT value, checksum FROM results WHERE key = ?", (key,))
        match row:
            case (str(value), int(checksum)) if checksum == _checksum(key, value):
                with suppress(ValueError):
                    return json.loads(value)
            case _:
                pass
        return None

    def add(self, key: str, value: Json) -> None:
        """ValueError or TypeError if the value is no JSON."""
        text = encode(value)
        self._execute(
            "INSERT OR REPLACE INTO results (key, value, checksum, created, version) VALUES (?, ?, ?, ?, ?)",
            (key, text, _checksum(key, text), time.time(), source_digest()),
        )

    def close(self) -> None:
        with self._mutex:
            self._disconnect()

    def __enter__(self) -> ResultCache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _execute(self, statement: str, values: tuple[str | int | float, ...]) -> object:
        """First row of the result; None also where the cache cannot serve."""
        with self._mutex:
            for attempt in range(2):
                if not self._usable:
                    return None
                try:
                    if self._connection is None:
                        self._connection = self._connect()
                    return self._connection.execute(statement, values).fetchone()
                except (sqlite3.Error, UnicodeError, OSError) as error:
                    if attempt == 0 and _code(error) in _DAMAGED:
                        self._set_aside(error)
                    elif _code(error) in _BUSY:
                        emit(self._events, "cache busy", path=str(self._path), reason=str(error))
                        return None
                    else:
                        self._give_up(error)
            return None

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own(self._path.parent)
        # One at a time: turning to write-ahead mode does not wait for another process that does the same.
        with open_locked(self._lock_path(), is_ours=True):
            connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(_SCHEMA)
                oldest = time.time() - _KEEP_S
                connection.execute("DELETE FROM results WHERE version != ? AND created < ?", (source_digest(), oldest))
                self._file = self._path.stat().st_ino
            except BaseException:
                with suppress(OSError):
                    self._file = self._path.stat().st_ino
                connection.close()
                raise
            return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _set_aside(self, error: Exception) -> None:
        self._disconnect()
        kept = self._path.with_name(f"{self._path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        try:
            with open_locked(self._lock_path(), is_ours=True):
                if self._path.stat().st_ino != self._file:  # another process was faster
                    return
                self._path.rename(kept)
                for suffix in ("-wal", "-shm"):
                    with suppress(FileNotFoundError):
                        self._path.with_name(self._path.name + suffix).rename(f"{kept}{suffix}")
        except FileNotFoundError:
            return
        except OSError as failure:
            self._give_up(failure)
            return
        emit(self._events, "cache damaged", path=str(self._path), kept=str(kept), reason=str(error))

    def _give_up(self, error: Exception) -> None:
        with suppress(sqlite3.Error):
            self._disconnect()
        self._usable = False
        emit(self._events, "cache unusable", path=str(self._path), reason=str(error))

    def _lock_path(self) -> Path:
        return self._path.with_name(self._path.name + ".lock")


def _require_own(folder: Path) -> None:
    """OSError for a folder of another user, or one that everybody may write."""
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "expected a folder of this user, got another's", str(folder))
    if found.st_mode & stat.S_IWOTH:
        raise PermissionError(
            errno.EPERM, "expected a folder that only its owner can write, got one that everybody can", str(folder)
        )


def _checksum(key: str, value: str) -> int:
    """SQLite has none of its own: a flipped bit would otherwise be an answer."""
    return zlib.crc32(f"{key}\0{value}".encode("utf-8", "surrogatepass"))


def _code(error: Exception) -> int | None:
    return error.sqlite_errorcode & 0xFF if isinstance(error, sqlite3.Error) and hasattr(error, "sqlite_errorcode") else None
