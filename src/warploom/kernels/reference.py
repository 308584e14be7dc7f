"""Values that the kernels must compute, in NumPy: shares no code with sketches, baselines or specs.

Arguments and results are the kernels' arrays by name; arguments that only the kernel writes are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, np.dtype[Any]]
Reference = Callable[..., dict[str, Array]]


def stencil1d(k_size: int) -> Reference:
    def reference(*, x: Array, **_: Array) -> dict[str, Array]:
        return {"y": sliding_window_view(x, k_size).mean(axis=-1, dtype=np.float64).astype(x.dtype)}

    return reference


def conv1d(*, x: Array, w: Array, **_: Array) -> dict[str, Array]:
    return {"y": np.correlate(x.astype(np.float64), w.astype(np.float64), mode="valid").astype(x.dtype)}


def stencil2d(k_size: int) -> Reference:
    def reference(*, x: Array, **_: Array) -> dict[str, Array]:
        windows = sliding_window_view(x, (k_size, k_size))
        return {"y": windows.mean(axis=(-2, -1), dtype=np.float64).astype(x.dtype)}

    return reference


def conv2d(*, x: Array, f: Array, **_: Array) -> dict[str, Array]:
    windows = sliding_window_view(x.astype(np.float64), f.shape)
    return {"y": np.tensordot(windows, f.astype(np.float64), axes=2).astype(x.dtype)}


def autocorrelation(lags: int) -> Reference:
    def reference(*, x: Array, **_: Array) -> dict[str, Array]:
        windows = sliding_window_view(x.astype(np.float64), lags, axis=-1)
        return {"y": np.einsum("ri,rit->rt", windows[..., 0], windows).astype(x.dtype)}

    return reference


def polynomial_product(coefficients: int) -> Reference:
    """The product of each of the 32 polynomials in a block of words, as integers without carry."""

    def reference(*, a: Array, b: Array, **_: Array) -> dict[str, Array]:
        products = [
            carryless(int(x), int(y)) for x, y in zip(_polynomials(a, coefficients), _polynomials(b, coefficients), strict=True)
        ]
        return {"c": _words(products, 2 * coefficients, len(a) // coefficients)}

    return reference


def field_product(degree: int, modulus: int) -> Reference:
    """The product in GF(2)[x] / modulus of each pair of the 32 field elements in a block of `degree` words."""

    def reference(*, a: Array, b: Array, **_: Array) -> dict[str, Array]:
        products = [
            remainder(carryless(x, y), modulus) for x, y in zip(_polynomials(a, degree), _polynomials(b, degree), strict=True)
        ]
        return {"c": _words(products, degree, len(a) // degree)}

    return reference


def carryless(x: int, y: int) -> int:
    """x * y over GF(2), bit i of an integer being the coefficient of x**i."""
    product = 0
    while y:
        low = y & -y
        product ^= x * low
        y ^= low
    return product


def remainder(x: int, modulus: int) -> int:
    """x mod modulus over GF(2)."""
    length = modulus.bit_length()
    while x.bit_length() >= length:
        x ^= modulus << (x.bit_length() - length)
    return x


def _polynomials(words: Array, coefficients: int) -> list[int]:
    bits = (words.reshape(-1, coefficients, 1) >> np.arange(32, dtype=words.dtype)) & 1
    rows = bits.transpose(0, 2, 1).reshape(-1, coefficients)[:, ::-1]
    return [int("".join(map(str, row)), 2) for row in rows.tolist()]


def _words(polynomials: list[int], coefficients: int, blocks: int) -> Array:
    bits = np.array([[p >> i & 1 for i in range(coefficients)] for p in polynomials], dtype=np.uint32)
    bits = bits.reshape(blocks, 32, coefficients).transpose(0, 2, 1)
    return np.bitwise_or.reduce(bits << np.arange(32, dtype=np.uint32), axis=-1, dtype=np.uint32).reshape(-1)


def structs_to_arrays(words: int) -> Reference:
    """Tiles of 32 structures of `words` units; the components of a unit are a last axis."""

    def reference(*, src: Array, **_: Array) -> dict[str, Array]:
        tiles = src.reshape(-1, 32, words, *src.shape[1:])
        return {"dst": tiles.swapaxes(1, 2).reshape(src.shape)}

    return reference


def struct_sums(words: int) -> Reference:
    def reference(*, src: Array, **_: Array) -> dict[str, Array]:
        components = src.shape[-1] if src.ndim == 2 else 1
        return {"total": src.reshape(-1, words * components).sum(axis=-1, dtype=src.dtype)}

    return reference
