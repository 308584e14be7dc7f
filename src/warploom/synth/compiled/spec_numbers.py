"""A plain spec on numbers: what it stores for one choice of the data, integers with C's types, floats without rounding to a type.

Nothing here is shared with the spec on symbols but the way in which its function is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.core import DType, UserError, i32, i64, integer_range, scalar_of
from warploom.synth.compiled.execution import Argument, ArrayArgument
from warploom.synth.compiled.plain_specs import interface_of
from warploom.synth.compiled.spec_words import TYPES
from warploom.synth.proof.concrete import TYPED_BUILTINS, OutsideDomainError, TypedInteger, strict, typed_array
from warploom.synth.proof.specs import call_spec

Numbers = Mapping[str, npt.NDArray[Any]]


def run_on_numbers(
    spec: Callable[..., Any], arguments: tuple[Argument, ...], arrays: Numbers, scalars: Mapping[str, int | float]
) -> dict[str, npt.NDArray[Any]] | None:
    """The content of each array after the spec, components of vectors on the last axis; None where it has no value for these
    data.

    arrays: what they hold before, floats in any type. scalars: what numbers without a known value are. UserError as the spec's.
    """
    given: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            held = arrays[argument.name]
            is_float = scalar_of(argument.dtype).is_float
            own = strict(held.astype(np.float64), argument.dtype.lanes) if is_float else typed_array(held, argument.dtype)
            if not is_float:
                own.element = scalar_of(argument.dtype)
            given[argument.name] = own
        elif argument.value is None:
            number = scalars[argument.name]
            numbers[argument.name] = number if argument.dtype.is_float else TypedInteger(int(number), argument.dtype)
        else:
            numbers[argument.name] = argument.value
    try:
        with np.errstate(all="ignore"):
            call_spec(_on_numbers(spec), interface_of(arguments), given, numbers, TYPED_BUILTINS)
    except OutsideDomainError:
        return None
    except UserError as error:
        if isinstance(error.__cause__, ArithmeticError | ValueError):  # a root or logarithm without a value
            return None
        raise
    return {name: _plain(array) for name, array in given.items()}


def _plain(array: Any) -> npt.NDArray[Any]:
    held = np.asarray(array)
    if held.dtype != object:
        return held
    return np.array([int(v) for v in held.ravel().tolist()], dtype=object).reshape(held.shape)


def _on_numbers(spec: Callable[..., Any]) -> Callable[..., Any]:
    """The spec with NumPy's words for types as C's conversions."""
    if not isinstance(spec, FunctionType):
        return spec
    words: dict[str, Any] = {}
    for name, value in spec.__globals__.items():
        if value is np:
            words[name] = _Types(value)
        elif (own := getattr(value, "__name__", "")) in TYPES and value is getattr(np, own, None):
            words[name] = partial(_converted, TYPES[own])
    made = FunctionType(spec.__code__, {**spec.__globals__, **words}, spec.__name__, spec.__defaults__, spec.__closure__)
    made.__kwdefaults__ = spec.__kwdefaults__
    return made


class _Types:
    """NumPy with conversions in place of its types, and functions of one integer by way of a float."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name in TYPES:
            return partial(_converted, TYPES[name])
        found = getattr(self._module, name)
        return partial(_called, found) if callable(found) else found


def _called(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
    if len(values) == 1 and isinstance(values[0], TypedInteger):
        return abs(values[0]) if function in (np.abs, np.absolute) else function(float(values[0]), **options)
    return function(*values, **options)


def _converted(dtype: DType, value: Any) -> Any:
    """C's conversion of a number; OutsideDomainError for a float that the type does not hold."""
    if dtype.is_float:
        return float(value)
    if isinstance(value, TypedInteger):
        return TypedInteger(value.value, dtype)
    low, high = integer_range(dtype)
    is_float, number = not isinstance(value, int | np.integer), float(value)
    if is_float and not (math.isfinite(number) and low <= math.trunc(number) <= high):
        raise OutsideDomainError
    whole = int(number) if is_float else int(value)
    low, high = integer_range(i32)
    return TypedInteger(TypedInteger(whole, i32 if low <= whole <= high else i64).value, dtype)
