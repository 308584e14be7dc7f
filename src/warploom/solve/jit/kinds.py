"""Types of the subset that is compiled, read from annotations: numbers, flat arrays, named tuples of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from warploom.core import BY_NAME
from warploom.ctext import c_type


class Number(Enum):
    """A number type, named as in C."""

    INT = "int64_t"
    WORD = "uint64_t"
    FLOAT = "double"
    TRUTH = "bool"


@dataclass(frozen=True, slots=True)
class Array:
    element: np.dtype[Any]

    @property
    def c(self) -> str:
        name = c_type(BY_NAME[f"{self.element.kind}{8 * self.element.itemsize}"])
        assert name is not None
        return name

    @property
    def number(self) -> Number:
        """Type of an element that is read: all integers but those of 64 bits without sign are signed."""
        if self.element.kind == "f":
            return Number.FLOAT
        return Number.WORD if self.element == np.uint64 else Number.INT


@dataclass(frozen=True, slots=True)
class Record:
    """A named tuple of arrays and numbers."""

    made_by: type

    @property
    def fields(self) -> dict[str, Kind]:
        return _fields(self.made_by)


@dataclass(frozen=True, slots=True)
class Several:
    """Several values that a function returns at once."""

    parts: tuple[Number, ...]


Kind: TypeAlias = Number | Array | Record | Several
_NUMBERS: dict[object, Number] = {
    int: Number.INT,
    float: Number.FLOAT,
    bool: Number.TRUTH,
    np.uint64: Number.WORD,
    np.int64: Number.INT,
}


@cache
def _fields(made_by: type) -> dict[str, Kind]:
    found = {name: kind_of(hint) for name, hint in get_type_hints(made_by).items()}
    return {name: kind for name, kind in found.items() if kind is not None}


@cache
def signature(function: Callable[..., Any]) -> tuple[dict[str, Kind], Kind | None]:
    """Kinds of the parameters, in order, and of the result, None where there is none. TypeError."""
    hints = {name: kind_of(hint) for name, hint in get_type_hints(function).items()}
    result = hints.pop("return")
    return {name: kind for name, kind in hints.items() if kind is not None}, result


def kind_of(hint: Any) -> Kind | None:
    """None for None; TypeError for what is not in the subset."""
    if hint is None or hint is NoneType:
        return None
    if isinstance(hint, type) and hint in _NUMBERS:
        return _NUMBERS[hint]
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return Record(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        parts = tuple(_NUMBERS[a] for a in arguments)
        return Several(parts)
    if origin is NDArray:  # a type of its own from NumPy 2.5 on
        return Array(np.dtype(arguments[0]))
    if origin is np.ndarray:
        (element,) = get_args(arguments[1])
        return Array(np.dtype(element))
    raise TypeError(f"expected a number, an array of numbers or a named tuple of these, got {hint!r}")
