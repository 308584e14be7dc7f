"""Concrete values that a spec runs on natively: strict NumPy arrays, vectors with x y z w, elements of a prime field, and
integers with C's types."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import isfinite
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from warploom.core import DType, assigns_to_element, common_type, i32, i64, integer_range, promoted, to_numpy

PRIME = 2**61 - 1


class OutsideFieldError(Exception):
    """An operation that elements of a field do not have: the spec is to run on machine numbers instead."""


class FieldElement:
    """An integer modulo PRIME; numbers that meet it are taken as the exact fractions they are."""

    __slots__ = ("value",)

    def __init__(self, value: int | float | Fraction) -> None:
        if isinstance(value, float) and not isfinite(value):
            raise OutsideFieldError
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
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __abs__ = __bool__ = __int__ = __float__ = _refuse


class OutsideDomainError(Exception):
    """An operation without a value on these inputs, which a proof leaves out: other inputs are to be drawn."""


def wrapped(value: int, dtype: DType) -> int:
    """The value of `dtype` that has the low bits of `value`."""
    low, high = integer_range(dtype)
    return (value - low) % (high - low + 1) + low


class TypedInteger:
    """An integer of a C type: operators promote narrow operands to `int`, find the common type, and wrap in it."""

    __slots__ = ("dtype", "value")
    __array_ufunc__ = None  # NumPy's floats leave mixed operations to this class

    def __init__(self, value: int, dtype: DType) -> None:
        self.value = wrapped(value, dtype)
        self.dtype = dtype

    def _with(self, other: Any, op: str, *, swapped: bool = False) -> Any:
        number: Any = other
        if isinstance(number, float | np.floating):
            kind = cast(Any, np.float64 if type(cast(object, number)) is float else type(cast(object, number)))
            mine, theirs = kind(self.value), kind(number)
            return _on_floats(op, theirs, mine) if swapped else _on_floats(op, mine, theirs)
        if isinstance(other, int | np.integer):
            whole = int(cast(Any, other))
            low, high = integer_range(i32)
            other = TypedInteger(whole, i32 if low <= whole <= high else i64)
        if not isinstance(other, TypedInteger):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        dtype = promoted(left.dtype) if op in ("<<", ">>") else common_type(left.dtype, right.dtype)
        a, b = wrapped(left.value, dtype), right.value if op in ("<<", ">>") else wrapped(right.value, dtype)
        found = _on_integers(op, a, b, dtype)
        return found if isinstance(found, bool) else TypedInteger(found, dtype)

    def __add__(self, other: Any) -> Any:
        return self._with(other, "+")

    def __radd__(self, other: Any) -> Any:
        return self._with(other, "+", swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, "-")

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, "-", swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, "*")

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, "*", swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, "/")

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, "/", swapped=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, "//")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, "//", swapped=True)

    def __mod__(self, other: Any) -> Any:
        return self._with(other, "%")

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, "%", swapped=True)

    def __and__(self, other: Any) -> Any:
        return self._with(other, "&")

    def __rand__(self, other: Any) -> Any:
        return self._with(other, "&", swapped=True)

    def __or__(self, other: Any) -> Any:
        return self._with(other, "|")

    def __ror__(self, other: Any) -> Any:
        return self._with(other, "|", swapped=True)

    def __xor__(self, other: Any) -> Any:
        return self._with(other, "^")

    def __rxor__(self, other: Any) -> Any:
        return self._with(other, "^", swapped=True)

    def __lshift__(self, other: Any) -> Any:
        return self._with(other, "<<")

    def __rlshift__(self, other: Any) -> Any:
        return self._with(other, "<<", swapped=True)

    def __rshift__(self, other: Any) -> Any:
        return self._with(other, ">>")

    def __rrshift__(self, other: Any) -> Any:
        return self._with(other, ">>", swapped=True)

    def __lt__(self, other: Any) -> Any:
        return self._with(other, "<")

    def __gt__(self, other: Any) -> Any:
        return self._with(other, ">")

    def __le__(self, other: Any) -> Any:
        return not self._with(other, ">")

    def __ge__(self, other: Any) -> Any:
        return not self._with(other, "<")

    def __eq__(self, other: object) -> Any:
        return self._with(other, "==")

    def __ne__(self, other: object) -> Any:
        same = self._with(other, "==")
        return same if same is NotImplemented else not same

    __hash__ = None  # pyright: ignore[reportAssignmentType] - equal numbers of two types need not be one key

    def __bool__(self) -> bool:
        return self.value != 0

    def __abs__(self) -> TypedInteger:
        return TypedInteger(abs(self.value), promoted(self.dtype))

    def __neg__(self) -> TypedInteger:
        return TypedInteger(-self.value, promoted(self.dtype))

    def __pos__(self) -> TypedInteger:
        return self

    def __invert__(self) -> TypedInteger:
        return TypedInteger(~self.value, promoted(self.dtype))

    def __int__(self) -> int:
        return self.value

    def __float__(self) -> float:
        return float(self.value)


def _extreme(builtin: Any, op: str, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Builtin min or max; typed integers in their common type."""
    items = list(values[0]) if len(values) == 1 else list(values)
    total = builtin(items, **options)
    if not any(isinstance(i, TypedInteger) for i in items) or options:
        return total
    total = items[0]
    for item in items[1:]:
        is_first = not (item < total if op == "<" else item > total)
        whole = total + 0 * item  # of the common type
        total = whole if is_first else 0 * total + item
    return total


def _least(*values: Any, **options: Any) -> Any:
    return _extreme(min, "<", values, options)


def _greatest(*values: Any, **options: Any) -> Any:
    return _extreme(max, ">", values, options)


TYPED_BUILTINS: dict[str, Any] = {"min": _least, "max": _greatest}
"""Functions that specs on typed integers find under these names."""


def _on_integers(op: str, a: int, b: int, dtype: DType) -> int | bool:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/" | "//" | "%" if b == 0:
            raise OutsideDomainError
        case "/":
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case "//":
            return a // b
        case "%":
            return a % b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "<<" | ">>" if not 0 <= b < dtype.bits:
            return -1 if op == ">>" and a < 0 else 0
        case "<<":
            return a << b
        case ">>":
            return a >> b
        case "<":
            return a < b
        case "==":
            return a == b
        case _:
            return a > b


def _on_floats(op: str, a: Any, b: Any) -> Any:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
        case "<":
            return bool(a < b)
        case ">":
            return bool(a > b)
        case "==":
            return bool(a == b)
        case _:
            return NotImplemented


def _plain(key: Any) -> Any:
    """An index with integers of C types as numbers."""
    if isinstance(key, tuple):
        parts = cast("tuple[Any, ...]", key)
        return parts if all(type(part) is int for part in parts) else tuple(map(_plain, parts))
    return key.value if isinstance(key, TypedInteger) else key


class StrictArray(np.ndarray[Any, np.dtype[Any]]):
    """An array whose elements are scalars or vectors (last axis); a negative or too large index is an IndexError."""

    lanes: int = 1
    element: DType | None = None
    """Type of the `TypedInteger`s in an array of integers."""

    def __array_finalize__(self, obj: object) -> None:
        self.lanes = getattr(obj, "lanes", 1)
        self.element = getattr(obj, "element", None)

    @property
    def extents(self) -> tuple[int, ...]:
        """Shape without the component axis."""
        return self.shape if self.lanes == 1 else self.shape[:-1]

    def __len__(self) -> int:
        return self.extents[0]

    def __getitem__(self, key: Any) -> Any:
        key = _plain(key)
        self._check(key)
        found: Any = super().__getitem__(key)
        if self.lanes == 1 or np.ndim(found) != 1:
            return found
        element: Vector = found.copy().view(Vector)  # a value, as on the machine
        element.place = self, key
        return element

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        if self.dtype != object:
            value = np.asarray(value).astype(self.dtype)
        elif self.element is not None:
            value = _integers(np.asarray(value, dtype=object), self.element)
            value = value.item() if value.ndim == 0 else value
        self.view(np.ndarray)[key] = value  # NumPy would store to what `__getitem__` gives of a subclass

    def _check(self, key: Any) -> None:
        parts = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
        for part, extent in zip(parts, self.extents, strict=False):
            if type(part) is int and 0 <= part < extent:
                continue
            if isinstance(part, bool | np.bool_):
                raise IndexError(f"expected an integer as index, got {part}, which NumPy and lists read differently")
            if isinstance(part, int | np.signedinteger) and not 0 <= part < extent:
                raise IndexError(f"expected an index in 0..{extent - 1}, got {int(cast(Any, part))}")


class Vector(np.ndarray[Any, np.dtype[Any]]):
    """One vector element; `a[i].x = ...` stores to the array that it comes from."""

    place: tuple[StrictArray, Any] | None = None

    def replace(self, position: int, value: Any) -> None:
        if self.place is None or not assigns_to_element(sys._getframe(2)):  # pyright: ignore[reportPrivateUsage]
            raise TypeError("expected `a[i].x = ...` as target, got a component of a vector in a variable")
        array, key = self.place
        components = list(array[key])
        components[position] = value
        array[key] = components


def _component(position: int) -> property:
    def read(self: Vector) -> Any:
        return self[position]

    def store(self: Vector, value: Any) -> None:
        self.replace(position, value)

    return property(read, store)


for _position, _name in enumerate("xyzw"):
    setattr(Vector, _name, _component(_position))


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


def typed_array(values: npt.NDArray[Any], dtype: DType) -> StrictArray:
    """Machine numbers as an array whose integers have C's types; floats stay NumPy's."""
    if dtype.is_float:
        return strict(values.copy(), dtype.lanes)
    result = strict(_integers(values.astype(object), dtype), dtype.lanes)
    result.element = dtype
    return result


def typed_values(array: StrictArray) -> npt.NDArray[Any]:
    """The machine numbers of a `typed_array`."""
    if array.element is None:
        return np.asarray(array)
    flat = [int(v) for v in np.asarray(array).ravel().tolist()]
    return np.array(flat, dtype=to_numpy(array.element)).reshape(array.shape)


def _integers(values: npt.NDArray[np.object_], dtype: DType) -> npt.NDArray[np.object_]:
    """Every value cut to an integer, as C stores it."""
    flat: npt.NDArray[np.object_] = np.empty(values.size, dtype=object)
    for k, value in enumerate(values.ravel().tolist()):
        try:
            flat[k] = TypedInteger(int(value), dtype)
        except (OverflowError, ValueError):
            raise OutsideDomainError from None  # not a finite number
    return flat.reshape(values.shape)


def field_values(array: StrictArray) -> npt.NDArray[np.uint64]:
    """Field elements (or plain numbers among them) as integers below PRIME."""
    flat = [FieldElement._of(v) for v in np.asarray(array).ravel().tolist()]  # pyright: ignore[reportPrivateUsage]
    return np.array(flat, dtype=np.uint64).reshape(array.shape)
