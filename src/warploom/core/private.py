"""Folders that only this user can write to: what lies in them is loaded as code, or locked.

A folder is trusted where it and all folders above it belong to this user or the system and nobody else may change their entries.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FRESH = "WARPLOOM_PRIVATE"
"""Environment variable by which processes that this one starts find the folder that it made for itself."""
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def default_cache_path() -> Path | None:
    """In the folder that `WARPLOOM_CACHE` names, else in the user's cache folder; None if that is `off` or nowhere."""
    chosen = os.environ.get("WARPLOOM_CACHE", "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen).expanduser() / "results.sqlite"
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute():  # so the XDG specification has it
        try:
            folder = Path.home() / ".cache"
        except RuntimeError:
            return None
    return folder / "warploom" / "results.sqlite"


def private_folder(name: str, wanted: Path | None = None) -> Path:
    """`wanted`, or where there is none the user's folder `warploom-UID` among the temporary files, with `name` in it; made where
    it is missing. Where such a folder is somebody else's, or could be changed by others, one that this process just made."""
    folders = [wanted] if wanted is not None else []
    folders.append(Path(tempfile.gettempdir()) / f"warploom-{_user()}" / name)
    for folder in folders:
        if _is_made(folder) and is_private(folder):
            return folder
    folder = _fresh() / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def is_private(folder: Path) -> bool:
    """Nobody but this user and the system can put anything into it or in its place."""
    if not hasattr(os, "getuid"):
        return True  # Windows: temporary files are in the user's own profile
    trusted = (os.getuid(), 0)
    try:
        for number, found in enumerate(_upwards(folder)):
            if found.st_uid not in (trusted if number else trusted[:1]):
                return False
            is_sticky = number > 0 and found.st_mode & stat.S_ISVTX
            if not stat.S_ISDIR(found.st_mode) or (found.st_mode & _OTHERS and not is_sticky):
                return False
    except OSError:
        return False
    return True


def _upwards(folder: Path) -> Iterator[os.stat_result]:
    """The folder itself, not what a link in its place points to; then those above it, where they really are."""
    yield folder.lstat()
    for above in folder.parent.resolve(strict=True).joinpath(folder.name).parents:
        yield above.lstat()


def _is_made(folder: Path) -> bool:
    """The folder and those above it that are missing, for this user alone."""
    missing: list[Path] = []
    above = folder
    while not os.path.lexists(above) and above != above.parent:
        missing.append(above)
        above = above.parent
    try:
        for new in reversed(missing):
            new.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _fresh() -> Path:
    """A folder made for this process and those that it starts, gone when it ends."""
    given = os.environ.get(FRESH)
    if given and is_private(Path(given)):
        return Path(given)
    return _made_here()


@cache
def _made_here() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="warploom-"))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    os.environ[FRESH] = str(folder)
    return folder


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "user"
