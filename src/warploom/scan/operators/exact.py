"""A user's function on exact numbers: what it computes but for rounding.

`0.1` in its text means a tenth, and so does an element `Exact(1, 10)`; sums, products, quotients and comparisons with either are
exact. So the function itself, run by CPython, can be compared with a proof over the reals, and no difference is due to rounding.
Not exact: quotients of two whole numbers of Python's own, and functions of `math`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

_TOLERANCE = 1e-9


class Exact(Fraction):
    """A fraction that takes a finite float for the decimal number that Python writes it as."""

    __slots__ = ()


def _other(value: object) -> object:
    return Fraction(repr(value)) if isinstance(value, float) and math.isfinite(value) else value


def _arithmetic(name: str) -> Callable[[Any, Any], Any]:
    plain: Callable[[Any, Any], Any] = getattr(Fraction, name)

    def method(self: Exact, other: object) -> object:
        found = plain(self, _other(other))
        return Exact(found) if type(found) is Fraction else found

    return method


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    plain: Callable[[Any, Any], Any] = getattr(Fraction, name)
    return lambda self, other: plain(self, _other(other))


def _whole(name: str) -> Callable[[Any, Any], Any]:
    plain: Callable[[Any, Any], Any] = getattr(int, name)

    def method(self: Exact, other: object) -> object:
        if not isinstance(other, int | Fraction) or other.denominator != 1 or self.denominator != 1:
            return NotImplemented
        return Exact(plain(int(self), int(other)))

    return method


def _index(self: Exact) -> int:
    if self.denominator != 1:
        raise TypeError("expected a whole number")
    return self.numerator


def _unary(name: str) -> Callable[[Any], Any]:
    plain: Callable[[Any], Any] = getattr(Fraction, name)
    return lambda self: Exact(plain(self))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in ("", "r"):
        setattr(Exact, f"__{_side}{_name}__", _arithmetic(f"__{_side}{_name}__"))
for _name in ("and", "or", "xor", "lshift", "rshift"):
    for _side in ("", "r"):
        setattr(Exact, f"__{_side}{_name}__", _whole(f"__{_side}{_name}__"))
for _name in ("eq", "lt", "le", "gt", "ge"):
    setattr(Exact, f"__{_name}__", _comparison(f"__{_name}__"))
for _name in ("neg", "pos", "abs"):
    setattr(Exact, f"__{_name}__", _unary(f"__{_name}__"))
Exact.__index__ = _index  # type: ignore[attr-defined]
Exact.__invert__ = lambda self: -self - 1  # type: ignore[attr-defined]
Exact.__hash__ = Fraction.__hash__  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True)
class Listed:
    """A generator function as one that returns the list of what it yields."""

    function: Callable[..., Iterable[object]]

    def __call__(self, *arguments: object) -> list[object]:
        return list(self.function(*arguments))


def exact(value: object) -> object:
    """A number as an exact one; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return value
    return Exact(repr(value)) if isinstance(value, float) else Exact(value)


def exactly(function: Callable[..., object]) -> Callable[..., object]:
    """The same function with exact numbers for its floats, and so for the functions and numbers of its module that it uses."""
    if isinstance(function, Listed):
        return Listed(cast("Callable[..., Iterable[object]]", _exact_function(function.function, {})))
    return cast("Callable[..., object]", _exact_function(function, {}))


def _exact_function(function: object, known: dict[int, object]) -> object:
    if not isinstance(function, FunctionType) or function.__closure__:
        return function
    if id(function) in known:
        return known[id(function)]
    scope: dict[str, Any] = dict(function.__globals__)
    made = FunctionType(_exact_code(function.__code__), scope, function.__name__, _exact_parts(function.__defaults__))
    made.__kwdefaults__ = {k: exact(v) for k, v in function.__kwdefaults__.items()} if function.__kwdefaults__ else None
    known[id(function)] = made
    for name in _names(function.__code__):
        value: object = scope.get(name)
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            scope[name] = _exact_function(value, known)
        elif isinstance(value, float):
            scope[name] = exact(value)
        elif isinstance(value, ModuleType) and value.__name__ == "numpy":
            scope[name] = _Numpy(value)
    return made


@dataclass(frozen=True, slots=True)
class _Numpy:
    """NumPy whose scalars stay exact."""

    module: ModuleType

    def __getattr__(self, name: str) -> object:
        return exact if name == "float64" else getattr(self.module, name)


def _exact_parts(values: tuple[object, ...] | None) -> tuple[object, ...] | None:
    return None if values is None else tuple(exact(v) if isinstance(v, float) else v for v in values)


def _exact_code(code: CodeType) -> CodeType:
    def replaced(value: object) -> object:
        if isinstance(value, float):
            return exact(value)
        if isinstance(value, CodeType):
            return _exact_code(value)
        return tuple(map(replaced, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value

    return code.replace(co_consts=tuple(replaced(c) for c in code.co_consts))


def _names(code: CodeType) -> set[str]:
    inner = (_names(c) for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*inner)


def agree(left: object, right: object, *, is_rounded: bool = False) -> bool:
    """Equal, or both numbers of which one was rounded (`is_rounded`: any was) and that are as good as equal."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        ours, theirs = cast("list[object]", left), cast("list[object]", right)
        if len(ours) != len(theirs):
            return False
        return all(agree(a, b, is_rounded=is_rounded) for a, b in zip(ours, theirs, strict=True))
    if left == right:
        return True
    numbers = (int, float, Fraction)
    if not isinstance(left, numbers) or not isinstance(right, numbers):
        return False
    if not is_rounded and not isinstance(left, float) | isinstance(right, float):
        return False
    try:
        a, b = float(left), float(right)
    except OverflowError:
        return False
    return math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
