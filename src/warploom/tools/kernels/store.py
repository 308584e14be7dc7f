"""The kernels that searches found, one file each, in a folder that only their user can write to.

A file holds C that is compiled and run, so it counts only if nobody else could have written it, nothing has changed it since, and
it was made by this version of Warploom for this machine, compiler, function, sizes and number of threads. All of these are in its
key; everything in the file is under its digest. What is not so is passed over, as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import warploom
from warploom.core.compiler import find_compiler, machine_text
from warploom.core.private import default_cache_path, is_private, private_folder
from warploom.ctext import legal
from warploom.schedule.backbone import Program, backbone_text
from warploom.solve import Json, problem_key
from warploom.tools.command.files import write_bytes

FORMAT = 1
_MOST_BYTES = 16 << 20
_KEY_DIGITS = 16
_CLASS = "any-"
"""Begins the second part of the names of files for classes of shapes; no digest begins so."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of the store."""

    path: Path
    record: Mapping[str, Json] | None
    """None for one that does not count."""
    reason: str = ""
    """Why it does not count."""


def store_folder(*, make: bool = False) -> Path | None:
    """None where the cache is off, or nobody has made the folder yet."""
    path = default_cache_path()
    if path is None:
        return None
    wanted = path.parent / "kernels"
    return private_folder("kernels", wanted) if make else wanted if wanted.is_dir() else None


def key_of(program: Program, threads: int, multiples: Mapping[str, int] | None = None) -> str:
    """Digest of the function at its sizes, of the machine, the compiler, the threads and this version. `multiples`: of a class of
    shapes, its sizes known at run time and what their values are multiples of."""
    compiler = find_compiler()
    return problem_key([
        FORMAT, [backbone_text(stage) for stage in program.stages], machine_text(),
        compiler.version if compiler is not None else "", threads, *_class(program, multiples),
    ])  # fmt: skip


def gpu_key_of(program: Program, on: str, multiples: Mapping[str, int] | None = None) -> str:
    """Digest of the function at its sizes, of the target (`sm_90`) and this version. `multiples`: as for `key_of`."""
    texts = [backbone_text(stage) for stage in program.stages]
    return problem_key([FORMAT, texts, {"target": on}, *_class(program, multiples)])


def _class(program: Program, multiples: Mapping[str, int] | None) -> list[Json]:
    """Parts of a key that tell classes of shapes apart: the multiples, and which lengths of axes and arrays are known at run
    time, where the texts have numbers."""
    if multiples is None:
        return []
    axes = [a.run_time for stage in program.stages for a in stage.axes]
    arrays = [length for region in program.arguments for length in (region.run_time, *region.inner)]
    return [dict(multiples), ["" if length is None else length.text for length in (*axes, *arrays)]]


def made_by(on: Json = None) -> str:
    """Digest of this version, the machine and the compiler; of this version and the target of a GPU where there is one."""
    if on is not None:
        return problem_key([FORMAT, {"target": on}])
    compiler = find_compiler()
    return problem_key([FORMAT, machine_text(), compiler.version if compiler is not None else ""])


def is_current(record: Mapping[str, Json]) -> bool:
    """Whether this version made it, on this machine, with this compiler; for a GPU's target, whether this version made it."""
    return record.get("made_by") == made_by(record.get("target"))


def machine_digest() -> str:
    return hashlib.sha256(machine_text().encode()).hexdigest()[:_KEY_DIGITS]


def add(folder: Path, record: Mapping[str, Json]) -> Path:
    """Writes the file of a record, in place of an older one of its key. UserError (NOT_WRITTEN)."""
    path = _place_of(folder, record)
    write_bytes(path, file_text({"made_by": made_by(record.get("target")), **record}).encode(), mode=0o600)
    return path


def is_found(folder: Path, record: Mapping[str, Json]) -> bool:
    """Whether the folder has kernels of this record's key that a search found, and that count."""
    path = _place_of(folder, record)
    kept = read(path).record if os.path.lexists(path) else None
    return kept is not None and kept.get("key") == record["key"] and kept.get("kind") == "found"


def _place_of(folder: Path, record: Mapping[str, Json]) -> Path:
    kind = _CLASS if "run_time" in record else ""
    return folder / f"{legal(str(record['function']))}-{kind}{str(record['key'])[:_KEY_DIGITS]}.json"


def file_text(record: Mapping[str, Json]) -> str:
    """Text of a record's file: JSON with a digest, and a newline."""
    whole = {"format": FORMAT, "version": warploom.__version__, "machine": machine_digest(), **record}
    return json.dumps({**whole, "digest": _digest(whole)}, ensure_ascii=False) + "\n"


def find(folder: Path | None, function: str, wanted: Callable[[], str], *, is_shipped: bool = False) -> Kept | None:
    """The file of the key wanted, which is asked for only where the function has files; None where there is none. One that does
    not count says why."""
    if folder is None or all(path.name.startswith(f"{legal(function)}-{_CLASS}") for path in _of(folder, function)):
        return None
    key = wanted()
    path = folder / f"{legal(function)}-{key[:_KEY_DIGITS]}.json"
    if not os.path.lexists(path):
        return None
    kept = read(path, is_shipped=is_shipped)
    if kept.record is not None and kept.record.get("key") != key:
        return Kept(path, None, "it is of another function, machine or version")
    return kept


def classes(folder: Path | None, function: str, *, is_shipped: bool = False) -> Iterator[Kept]:
    """The function's files of classes of shapes."""
    for path in [] if folder is None else sorted(_of(folder, function)):
        if path.name.startswith(f"{legal(function)}-{_CLASS}"):
            yield read(path, is_shipped=is_shipped)


def _of(folder: Path, function: str) -> Iterator[Path]:
    return folder.glob(f"{legal(function)}-*.json")


def read(path: Path, *, is_shipped: bool = False) -> Kept:
    """Contents of the file, if it counts; `is_shipped`: the user named its place, as one names Python files."""
    if not is_shipped and not is_private(path.parent):
        return Kept(path, None, f"{path.parent} can be written by others")
    try:
        follow = 0 if is_shipped else os.O_NOFOLLOW
        handle = os.open(path, os.O_RDONLY | follow | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return Kept(path, None, error.strerror or str(error))
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            return Kept(path, None, "it is no file of the store")
        if not is_shipped and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return Kept(path, None, "others own it or can write it")
        with os.fdopen(os.dup(handle), "rb") as file:
            data = file.read()
    finally:
        os.close(handle)
    record = None
    with suppress(ValueError, RecursionError):
        record = json.loads(data)
    if not isinstance(record, dict):
        return Kept(path, None, "it is damaged")
    record = cast("dict[str, Json]", record)
    digest = record.pop("digest", None)
    if record.get("format") != FORMAT or digest != _digest(record) or not isinstance(record.get("function"), str):
        return Kept(path, None, "it is damaged, or of another version")
    if "target" not in record and record.get("machine") != machine_digest():
        return Kept(path, record, "it is of another machine")
    return Kept(path, record)


def files(folder: Path | None) -> list[Kept]:
    """All of a store, by name."""
    return [] if folder is None else [read(path) for path in sorted(folder.glob("*.json"))]


def _digest(record: Mapping[str, Json]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
