"""The compiler of inner loops, with types that the checker understands."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba  # pyright: ignore[reportMissingTypeStubs]

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def compiled(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Machine code of a function over numbers and flat arrays, kept between runs."""
    return numba.njit(cache=True, error_model="numpy")(function)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def forget_stale(folder: Path) -> None:
    """Deletes kept machine code that older sources of the folder made: numba looks only at the file of the outermost function."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()
    kept = folder / "__pycache__"
    stamp = kept / "sources.sha256"
    try:
        if stamp.exists() and stamp.read_text() == digest:
            return
        for path in (*kept.glob("*.nbi"), *kept.glob("*.nbc")):
            path.unlink(missing_ok=True)
        kept.mkdir(exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        return


forget_stale(Path(__file__).parent)
