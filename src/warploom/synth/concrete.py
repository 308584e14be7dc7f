"""Concrete values that a spec runs on natively: strict NumPy arrays, vectors with x y z w, elements of a prime field."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

PRIME = 2**61 - 1


class OutsideFieldError(Exception):
    """An operation that elements of a field do not have: the spec is to run on machine numbers instead."""


class FieldElement:
    """An integer modulo PRIME; numbers that meet it are taken as the exact fractions they are."""

    __slots__ = ("value",)

    def __init__(self, value: int | float | Fraction) -> None:
        exact = Fraction(value)
        self.value = exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME

    @staticmethod
    def _of(value: Any) -> int:
        return value.value if isinstance(value, FieldElement) else FieldElement(value).value

    def __add__(self, other: Any) -> FieldElement:
        return FieldElement(self.value + self._of(other))

    def __sub__(self, other: Any) -> FieldElement:
        return FieldElement(self.value - self._of(other))

    def __rsub__(self, other: Any) -> FieldElement:
        return FieldElement(self._of(other) - self.value)

    def __mul__(self, other: Any) -> FieldElement:
        return FieldElement(self.value * self._of(other))

    def __truediv__(self, other: Any) -> FieldElement:
        return FieldElement(self.value * pow(self._of(other), -1, PRIME))

    def __rtruediv__(self, other: Any) -> FieldElement:
        return FieldElement(self._of(other) * pow(self.value, -1, PRIME))

    def __neg__(self) -> FieldElement:
        return FieldElement(-self.value)

    def _refuse(self, *_: Any) -> NoReturn:
        raise OutsideFieldError

    __radd__ = __add__
    __rmul__ = __mul__
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __abs__ = __bool__ = __int__ = __float__ = _refuse


class StrictArray(np.ndarray[Any, np.dtype[Any]]):
    """An array whose elements are scalars or vectors (last axis); a negative or too large index is an IndexError."""

    lanes: int = 1

    def __array_finalize__(self, obj: object) -> None:
        self.lanes = getattr(obj, "lanes", 1)

    @property
    def extents(self) -> tuple[int, ...]:
        """Shape without the component axis."""
        return self.shape if self.lanes == 1 else self.shape[:-1]

    def __len__(self) -> int:
        return self.extents[0]

    def __getitem__(self, key: Any) -> Any:
        self._check(key)
        found: Any = super().__getitem__(key)
        return found.view(Vector) if self.lanes > 1 and np.ndim(found) == 1 else found

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        if self.dtype != object:
            value = np.asarray(value).astype(self.dtype)
        super().__setitem__(key, value)

    def _check(self, key: Any) -> None:
        parts = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
        for part, extent in zip(parts, self.extents, strict=False):
            if isinstance(part, int | np.signedinteger) and not 0 <= part < extent:
                raise IndexError(f"expected an index in 0..{extent - 1}, got {int(cast(Any, part))}")


class Vector(np.ndarray[Any, np.dtype[Any]]):
    """One vector element."""

    @property
    def x(self) -> Any:
        return self[0]

    @property
    def y(self) -> Any:
        return self[1]

    @property
    def z(self) -> Any:
        return self[2]

    @property
    def w(self) -> Any:
        return self[3]


def strict(array: npt.NDArray[Any], lanes: int) -> StrictArray:
    """A strict view of `array`; with `lanes` > 1 the last axis holds components."""
    result = array.view(StrictArray)
    result.lanes = lanes
    return result


def field_array(values: npt.NDArray[Any], lanes: int) -> StrictArray:
    """Integers as field elements."""
    flat = np.empty(values.size, dtype=object)
    for k, value in enumerate(values.ravel().tolist()):
        flat[k] = FieldElement(value)
    return strict(flat.reshape(values.shape), lanes)


def field_values(array: StrictArray) -> npt.NDArray[np.uint64]:
    """Field elements (or plain numbers among them) as integers below PRIME."""
    flat = [FieldElement._of(v) for v in np.asarray(array).ravel().tolist()]  # pyright: ignore[reportPrivateUsage]
    return np.array(flat, dtype=np.uint64).reshape(array.shape)
