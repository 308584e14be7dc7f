"""Starting other programs: neither Python nor the system looks for code in the current folder, which may be anybody's."""

from __future__ import annotations

import importlib.util
import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from warploom.core.diagnostics import Diagnostic, UserError

INSTALL = "run: pip install 'warploom[cuda]'"

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
    """Folders of PATH, without empty and relative ones, which mean the current folder or one below it."""
    return [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]


def cuda_folders() -> Generator[Path]:
    """Folders of the installed CUDA wheels, the newest first."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        yield from sorted(Path(root).glob("cu[0-9]*"), reverse=True)
        yield from sorted(Path(root).glob("cuda_*"))


@cache
def find_tool(name: str) -> Path:
    """Path of `ptxas`, `nvdisasm` or `cuobjdump`; UserError (TOOL_MISSING) with how to install it."""
    for folder in cuda_folders():
        path = folder / "bin" / name
        if path.is_file():
            return path
    on_path = find_program(name)
    if on_path is not None:
        return Path(on_path)
    raise UserError(
        Diagnostic("TOOL_MISSING", f"expected the CUDA tool {name}, found it neither in a wheel nor on PATH", fix=INSTALL)
    )
