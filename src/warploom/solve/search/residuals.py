"""Differences of measured costs from a model's, learned from few of them: a Gaussian process over sets of features."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

_LENGTHS = (0.05, 0.1, 0.2, 0.4)
"""Share of different features over which the correlation falls to 1 / e; the likeliest is taken."""
_NOISE = 0.03
"""Standard deviation of a measurement's logarithm."""
_LEAST_SCALE = 0.05


@dataclass(frozen=True, slots=True)
class Residuals:
    """Residuals of the cost's logarithm: predicted cost = modelled cost * exp(mean), give or take exp(deviation)."""

    mean: Floats
    deviation: Floats


class FeatureTable:
    """Sets of features as rows of bits."""

    def __init__(self) -> None:
        self._columns: dict[Hashable, int] = {}

    def row(self, features: Sequence[Hashable]) -> npt.NDArray[np.int32]:
        columns = self._columns
        return np.array(sorted({columns.setdefault(f, len(columns)) for f in features}), np.int32)

    def bits(self, rows: Sequence[npt.NDArray[np.int32]]) -> Bits:
        """[rows, words]."""
        words = np.zeros((len(rows), len(self._columns) // 64 + 1), np.uint64)
        for n, row in enumerate(rows):
            np.bitwise_or.at(words[n], row // 64, np.uint64(1) << (row % 64).astype(np.uint64))
        return words


def likeliest_length(seen: Bits, residuals: Floats) -> float:
    """The share of different features over which residuals are alike. `seen` [measured, words]."""
    between = _distances(seen, seen)
    centred, scale = residuals - np.median(residuals), _scale(residuals)

    def likelihood(length: float) -> float:
        solved, log_determinant = _solved(_covariance(between, scale, length), centred[:, None])
        return -0.5 * float(np.sum(centred * solved[:, 0])) - 0.5 * log_determinant

    return max(_LENGTHS, key=likelihood)


def predict(seen: Bits, residuals: Floats, asked: Bits, length: float) -> Residuals:
    """`seen` [measured, words] with one residual each; `asked` [candidates, words].

    O(measured^3 + candidates * measured^2).
    """
    centre, scale = float(np.median(residuals)), _scale(residuals)
    cross = scale**2 * np.exp(-_distances(asked, seen) / length)
    solved, _ = _solved(_covariance(_distances(seen, seen), scale, length), cross.T)
    mean = centre + np.sum(solved * (residuals - centre)[:, None], axis=0)
    variance = scale**2 - np.sum(solved * cross.T, axis=0)
    return Residuals(mean, np.sqrt(np.maximum(variance, 0.0)))


def _solved(matrix: Floats, right: Floats) -> tuple[Floats, float]:
    """matrix^-1 right, and the logarithm of the determinant of the positive definite matrix.

    By elimination, as the threads of a linear algebra library wait for each other where all cores are busy: 15 times slower.
    """
    matrix, right = matrix.copy(), right.copy()
    for k in range(len(matrix)):
        factors = matrix[k + 1 :, k] / matrix[k, k]
        matrix[k + 1 :, k:] -= np.multiply.outer(factors, matrix[k, k:])
        right[k + 1 :] -= np.multiply.outer(factors, right[k])
    for k in reversed(range(len(matrix))):
        right[k] /= matrix[k, k]
        right[:k] -= np.multiply.outer(matrix[:k, k], right[k])
    return right, float(np.sum(np.log(np.diag(matrix))))


def _scale(residuals: Floats) -> float:
    return max(float(np.std(residuals)), _LEAST_SCALE)


def _covariance(distances: Floats, scale: float, length: float) -> Floats:
    return scale**2 * np.exp(-distances / length) + _NOISE**2 * np.eye(len(distances))


def _distances(left: Bits, right: Bits) -> Floats:
    """Share of features in one set only, 0 to 1, [left, right]. Not as a matrix product: its threads cost more than they save."""
    different = np.stack([np.bitwise_count(row ^ right).sum(1, dtype=np.int64) for row in left])
    sizes = np.add.outer(np.bitwise_count(left).sum(1, dtype=np.int64), np.bitwise_count(right).sum(1, dtype=np.int64))
    return different / np.maximum(sizes, 1)
