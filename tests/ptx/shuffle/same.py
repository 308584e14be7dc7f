"""Original and rewritten kernels side by side on the interpreter: memory must be identical, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.shuffle import KernelReport, Rewritten, ShuffleOptions, apply_all, shuffle
from warploom.ptx.simt import launch
from warploom.ptx.syntax import parse

SHAPES: tuple[tuple[int, int, int], ...] = (
    (32, 1, 1), (48, 1, 1), (64, 1, 1), (16, 2, 1), (48, 2, 1), (7, 5, 3), (8, 4, 1), (1, 32, 1), (31, 1, 1), (33, 2, 1),
    (5, 1, 13),
)  # fmt: skip
"""Blocks whose rows are and are not whole warps, and partial warps."""


def rewritten(text: str, options: ShuffleOptions | None = None) -> Rewritten:
    """The rewriting; its text parses."""
    found = shuffle(parse(text), options or ShuffleOptions(policy=apply_all))
    parse(found.text)
    return found


def report(text: str, options: ShuffleOptions | None = None) -> KernelReport:
    """The report on the only kernel."""
    (only,) = rewritten(text, options).reports
    return only


def differences(
    text: str,
    new: str,
    grid: Sequence[int],
    block: Sequence[int],
    args: Sequence[Any],
    *,
    limit: int | None = None,
    checks: bool = True,
) -> list[str]:
    """Differences between the two kernels: end, arrays, kinds of findings that the original lacks (only with `checks`).

    [] where they do the same. In incomplete warps the shuffles read lanes that take no part, but nobody uses the result.
    """
    first = launch(text, grid=grid, block=block, args=_copies(args), limit=limit, checks=checks)
    second = launch(new, grid=grid, block=block, args=_copies(args), limit=None if limit is None else limit * 4, checks=checks)
    found: list[str] = []
    if limit is None and first.status != "finished":
        found.append(f"the original does not finish: {first.status}, {first.findings}")
    if first.status != second.status:
        found.append(f"{first.status} became {second.status}: {second.findings}")
    for index, array in first.arrays.items():
        other = second.arrays[index]
        if array.tobytes() != other.tobytes():
            where = np.flatnonzero(_words(array) != _words(other))
            found.append(f"argument {index} differs in {where.size} places, first at {where[:4]}")
    known = {f.kind for f in first.findings}
    return found + [str(f) for f in second.findings if f.kind not in known]


def _copies(args: Sequence[Any]) -> list[Any]:
    """Fresh arrays; what was one array stays one."""
    seen: dict[int, NDArray[Any]] = {}
    return [seen.setdefault(id(a), a.copy()) if isinstance(a, np.ndarray) else a for a in args]


def _words(array: NDArray[Any]) -> NDArray[Any]:
    return np.frombuffer(array.tobytes(), dtype=np.uint8)
