"""Starting other programs: neither Python nor the system looks for code in the current folder, which may be anybody's."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager

SAFE_PATH = "PYTHONSAFEPATH"
"""Where this variable is set, Python does not put the current folder, or a script's, before all others."""
_mutex = threading.RLock()


@contextmanager
def safe_path() -> Generator[None]:
    """Python processes that are started inside, and those that they start, import nothing from the current folder."""
    with _mutex:
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[SAFE_PATH]
            else:
                os.environ[SAFE_PATH] = before


def find_program(name: str) -> str | None:
    """Full path of a program, from the folders of PATH that are full paths themselves; a name with a folder stands for itself."""
    return shutil.which(name, path=os.pathsep.join(program_folders()))


def program_folders() -> list[str]:
    """Of PATH; empty and relative ones mean the current folder, or one below it, and are left out."""
    return [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
