"""Results of the compilers in one file, for machines with a GPU and without compilers.

The environment variable `WARPLOOM_PREBUILT` names the file. What `toolchain` is asked to compile is looked up there first; what
is not in it is compiled as ever. `recorded` adds to such a file what is compiled inside of it. A key is the text with the
architecture and all options but folders of headers, which differ between machines.

A file that is written is never half there: what a process was compiling when it was killed is missing, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

from warploom.core import Diagnostic, UserError

VARIABLE = "WARPLOOM_PREBUILT"
_FIX = "Write it again with `make gpu-inputs`."

_alone: list[Path] = []
"""Files beside which nothing is compiled."""
_recording: list[tuple[Path, dict[str, bytes]]] = []
"""Files that are written, and what was compiled for them."""


def compiled_once(kind: str, text: str, arch: str, options: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """The result of `make`, or its result when the file was written. UserError (PREBUILT) for a file that is none, and for what
    is missing where nothing is to be compiled."""
    if not _recording and not _alone and VARIABLE not in os.environ:
        return make()
    settings = "\0".join((kind, arch, *(o for o in options if not o.startswith("-I"))))
    name = sha256(f"{settings}\0\0{text}".encode("utf-8", "surrogateescape")).hexdigest()
    if _recording:
        file, found = _recording[-1]
        if name not in found:
            found[name] = _kept(file, name) or make()
        return found[name]
    path = str(_alone[-1]) if _alone else os.environ[VARIABLE]
    try:
        return _opened(path).read(name)
    except KeyError:
        if _alone:
            missing = Diagnostic("PREBUILT", f"expected the {kind} of a kernel for {arch} in {path}, got none", fix=_FIX)
            raise UserError(missing) from None
        return make()
    except (OSError, zipfile.BadZipFile) as error:
        fix = f"{_FIX[:-1]}, or unset {VARIABLE}."
        raise UserError(Diagnostic("PREBUILT", f"expected a file of compiled kernels, got {path}: {error}", fix=fix)) from error


@contextmanager
def recorded(path: Path, mark: str = "") -> Generator[None]:
    """Adds to the file, when the block ends, what is compiled meanwhile in this process; and the mark, if nothing was raised."""
    found: dict[str, bytes] = {}
    _recording.append((path, found))
    try:
        yield
        found |= {mark: b""} if mark else {}
    finally:
        _recording.pop()
        _add(path, found)


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Nothing is compiled in this process inside of the block: what the file lacks is a UserError (PREBUILT)."""
    _alone.append(path)
    try:
        yield
    finally:
        _alone.pop()


def names(path: Path) -> frozenset[str]:
    """Keys and marks of the file; none where there is no file."""
    if not path.is_file():
        return frozenset()
    with zipfile.ZipFile(path) as file:
        return frozenset(file.namelist())


def _kept(path: Path, name: str) -> bytes | None:
    if not path.is_file():
        return None
    with zipfile.ZipFile(path) as file:
        return file.read(name) if name in file.namelist() else None


def _add(path: Path, found: dict[str, bytes]) -> None:
    new = sorted(found.keys() - names(path))
    if path.is_file() and not new:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    if path.is_file():
        shutil.copyfile(path, made)
    with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in new:
            file.writestr(name, found[name])
    made.replace(path)


@cache
def _opened(path: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)
