"""Shapes of the operands of a function of two values: numbers, tuples, dictionaries with constant keys, plain dataclasses."""

from __future__ import annotations

import ast
import copy
import functools
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from warploom.scan.operators.expression import Sort
from warploom.scan.reading import types
from warploom.scan.reading.records import fields_of


@dataclass(frozen=True, slots=True)
class Parts:
    """Shape of a dictionary, or of an object of a dataclass."""

    kind: type
    shapes: tuple[tuple[str | int, Shape], ...]
    """By key or name of the field."""

    def made(self, values: Sequence[object]) -> object:
        names = [name for name, _ in self.shapes]
        return dict(zip(names, values, strict=True)) if self.kind is dict else self.kind(*values)

    def taken(self, value: object) -> list[object]:
        """ValueError if it has other parts."""
        if type(value) is not self.kind:
            raise ValueError("another type")
        if isinstance(value, dict):
            known = cast("Mapping[object, object]", value)
            if {*known} != {name for name, _ in self.shapes}:
                raise ValueError("other keys")
            return [known[name] for name, _ in self.shapes]
        return [getattr(value, str(name)) for name, _ in self.shapes]


Shape: TypeAlias = "Sort | Parts | tuple[Shape, ...]"


def shape_of(hint: object) -> Shape | None:
    """None: a type that is not served."""
    if typing.is_typeddict(hint) and isinstance(hint, type):
        return _parts(dict, typing.get_type_hints(hint))
    if isinstance(hint, type) and fields_of(hint) is not None:
        hints = typing.get_type_hints(hint)
        return _parts(hint, {name: hints[name] for name in fields_of(hint) or {}})
    if typing.get_origin(hint) is tuple and (arguments := typing.get_args(hint)) and ... not in arguments:
        parts = [shape_of(a) for a in arguments]
        return None if None in parts else tuple(p for p in parts if p is not None)
    return types.shape_of(hint)


def _parts(kind: type, hints: Mapping[str, object]) -> Parts | None:
    shapes = [(name, shape_of(hint)) for name, hint in hints.items()]
    found = [(name, shape) for name, shape in shapes if shape is not None]
    return Parts(kind, tuple(found)) if found and len(found) == len(shapes) else None


def keys_read(node: ast.FunctionDef, names: Iterable[str]) -> list[str]:
    """The constant keys by which the parameters are read, in their order."""
    known = {*names}
    found: dict[str, None] = {}
    for part in ast.walk(node):
        match part:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)) if name in known:
                found[key] = None
            case _:
                pass
    return sorted(found)


def scalars(shape: Shape, value: object) -> Iterator[object]:
    """The fields of a value; ValueError if it has another shape."""
    match shape:
        case Sort():
            yield value
        case Parts():
            for (_, inner), part in zip(shape.shapes, shape.taken(value), strict=True):
                yield from scalars(inner, part)
        case _:
            items = list(cast("Iterable[object]", value)) if isinstance(value, tuple | list) else []
            for inner, part in zip(shape, items, strict=True):
                yield from scalars(inner, part)


def packed(shape: Shape, fields: Iterator[object]) -> object:
    """A value from its fields."""
    match shape:
        case Sort():
            return next(fields)
        case Parts():
            return shape.made([packed(inner, fields) for _, inner in shape.shapes])
        case _:
            return tuple(packed(inner, fields) for inner in shape)


def access(shape: Shape) -> Iterator[str]:
    """For each field of a value of the shape, the text (`.name`, `['key']`) that selects it when written after the value."""
    match shape:
        case Sort():
            yield ""
        case Parts():
            for name, inner in shape.shapes:
                own = f"[{name!r}]" if shape.kind is dict else f".{name}"
                yield from (f"{own}{rest}" for rest in access(inner))
        case _:
            for place, inner in enumerate(shape):
                yield from (f"[{place}]{rest}" for rest in access(inner))


def on_operands(function: Callable[..., object], shape: Shape, is_flat: bool) -> Callable[[object, object], object]:
    """The function of two operands, which get copies where it may change them; `is_flat`: it takes their parts one by one."""
    if not is_flat and not isinstance(shape, Parts):
        return function

    @functools.wraps(function)
    def run(a: object, b: object) -> object:
        if is_flat:
            return function(*cast("tuple[object, ...]", a), *cast("tuple[object, ...]", b))
        return function(copy.copy(a), copy.copy(b))

    return run


__all__ = ["Parts", "Shape", "access", "keys_read", "on_operands", "packed", "scalars", "shape_of"]
