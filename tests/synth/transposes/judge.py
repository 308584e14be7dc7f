"""Runs the steps of a transpose on lists of element numbers, from parsed compositions: no code of the search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warploom.ir.swizzle import parse_composition


def moved(kind: str, m: int, n: int, steps: Sequence[str]) -> np.ndarray:
    """[register, lane] elements after the steps."""
    held = np.arange(m * n).reshape(m, n)
    i, j = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
    for number, text in enumerate(steps):
        values = parse_composition(text).apply(i, j)
        between_lanes = (number % 2 == 0) == (kind == "rcr")
        assert values.min() >= 0 and values.max() < (n if between_lanes else m), text
        held = held[i, values] if between_lanes else held[values, j]
    return held


def is_transposed(kind: str, m: int, n: int, steps: Sequence[str]) -> bool:
    held = moved(kind, m, n, steps)
    wanted = np.arange(m * n).reshape(n, m).T
    if kind == "sum":
        return bool((np.sort(held, axis=0) == wanted).all())
    return bool((held == wanted).all())
