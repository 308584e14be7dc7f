"""Results of the compilers in one file, for machines with a GPU and without compilers.

The environment variable `WARPLOOM_PREBUILT` names the file. What `toolchain` is asked to compile is looked up there first; what
is not in it is compiled as ever. `recorded` adds to such a file what is compiled inside of it. A key is the text with the
architecture and all options but folders of headers, which differ between machines.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

from warploom.core import Diagnostic, UserError

VARIABLE = "WARPLOOM_PREBUILT"

_recording: list[tuple[zipfile.ZipFile, set[str]]] = []


def compiled_once(kind: str, text: str, arch: str, options: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """The result of `make`, or its result when the file was written. UserError (PREBUILT) for a file that is none."""
    if not _recording and VARIABLE not in os.environ:
        return make()
    settings = "\0".join((kind, arch, *(o for o in options if not o.startswith("-I"))))
    name = sha256(f"{settings}\0\0{text}".encode("utf-8", "surrogateescape")).hexdigest()
    if _recording:
        file, known = _recording[-1]
        if name in known:
            return file.read(name)
        file.writestr(name, found := make())
        known.add(name)
        return found
    path = os.environ[VARIABLE]
    try:
        return _opened(path).read(name)
    except KeyError:
        return make()
    except (OSError, zipfile.BadZipFile) as error:
        fix = f"Write it again with `make gpu-inputs`, or unset {VARIABLE}."
        raise UserError(Diagnostic("PREBUILT", f"expected a file of compiled kernels, got {path}: {error}", fix=fix)) from error


@contextmanager
def recorded(path: Path) -> Generator[None]:
    """Adds to the file what is compiled meanwhile in this process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        _recording.append((file, set(file.namelist())))
        try:
            yield
        finally:
            _recording.pop()


@cache
def _opened(path: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)
