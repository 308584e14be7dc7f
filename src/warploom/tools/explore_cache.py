"""Where numba keeps the machine code of the propagators when its usual folders cannot be written."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"


def keep_machine_code() -> None:
    """To be called before numba is imported. Where neither the installation nor the user's cache folder can be written, a folder
    of the user among the temporary files is taken, or every run would compile for most of a minute."""
    if VARIABLE in os.environ or _can_write(Path(__file__).parent.parent) or _can_write(_user_folder()):
        return
    folder = Path(tempfile.gettempdir()) / f"warploom-numba-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return
    # What others could write here would be run.
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
        os.environ[VARIABLE] = str(folder)


def _user_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) if base else Path(os.path.expanduser("~")) / ".cache"


def _can_write(folder: Path) -> bool:
    """In the folder, or in the nearest one above it that is there."""
    present = next((f for f in (folder, *folder.parents) if f.exists()), folder)
    return os.access(present, os.W_OK)
