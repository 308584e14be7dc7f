"""How far measured costs are from a model's, learned from few of them: a Gaussian process over sets of features."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LENGTHS = (0.05, 0.1, 0.2, 0.4)
"""Share of different features over which the correlation falls to 1 / e; the likeliest is taken."""
_NOISE = 0.03
"""Standard deviation of a measurement's logarithm."""
_LEAST_SCALE = 0.05


@dataclass(frozen=True, slots=True)
class Residuals:
    """Of the logarithm: predicted cost = modelled cost * exp(mean), give or take exp(deviation)."""

    mean: Floats
    deviation: Floats


class FeatureTable:
    """Rows of 0 and 1 for sets of features."""

    def __init__(self) -> None:
        self._columns: dict[Hashable, int] = {}

    def row(self, features: Sequence[Hashable]) -> npt.NDArray[np.int32]:
        columns = self._columns
        return np.array(sorted({columns.setdefault(f, len(columns)) for f in features}), np.int32)

    def matrix(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        matrix = np.zeros((len(rows), max(1, len(self._columns))), np.float32)
        for n, row in enumerate(rows):
            matrix[n, row] = 1.0
        return matrix


def predict(seen: npt.NDArray[np.float32], residuals: Floats, asked: npt.NDArray[np.float32]) -> Residuals:
    """`seen` [measured, features] with one residual each; `asked` [candidates, features].

    O(measured^3 + candidates * measured^2).
    """
    centre = float(np.median(residuals))
    scale = max(float(np.std(residuals)), _LEAST_SCALE)
    between, across = _distances(seen, seen), _distances(asked, seen)
    best: tuple[float, Residuals] | None = None
    for length in _LENGTHS:
        covariance = scale**2 * np.exp(-between / length) + _NOISE**2 * np.eye(len(seen))
        factor = np.linalg.cholesky(covariance)
        weights = np.linalg.solve(factor.T, np.linalg.solve(factor, residuals - centre))
        likelihood = -0.5 * float((residuals - centre) @ weights) - float(np.sum(np.log(np.diag(factor))))
        if best is None or likelihood > best[0]:
            cross = scale**2 * np.exp(-across / length)
            explained = np.linalg.solve(factor, cross.T)
            variance = np.maximum(scale**2 - np.sum(explained**2, axis=0), 0.0)
            best = likelihood, Residuals(centre + cross @ weights, np.sqrt(variance))
    assert best is not None
    return best[1]


def _distances(left: npt.NDArray[np.float32], right: npt.NDArray[np.float32]) -> Floats:
    """Share of features in one set only, 0 to 1."""
    common = (left @ right.T).astype(np.float64)
    sizes = np.add.outer(left.sum(1).astype(np.float64), right.sum(1).astype(np.float64))
    return (sizes - 2 * common) / np.maximum(sizes, 1.0)
