"""Variables of a loop as states: numbers, and the parts of tuples, dictionaries, dataclass objects, and what may be None."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.reading.texts import coded
from warploom.scan.reading.values import NONE, Character, Floating, Maybe, Record, Scalar, Value, bare, maybe


class ShapeError(Exception):
    """Two values of one variable that have different parts."""


def unified(known: Value, other: Value) -> Value:
    """A value with the parts of both; what the parts are does not matter. Raises ShapeError."""
    match known, other:
        case Maybe(), _:
            inner = other.value if isinstance(other, Maybe) else other
            both = known.value if inner is None else inner if known.value is None else unified(known.value, inner)
            return Maybe(known.is_none, both)
        case _, Maybe():
            return unified(other, known)
        case tuple(), tuple() if len(known) == len(other):
            return tuple(unified(a, b) for a, b in zip(known, other, strict=True))
        case Record(), Record() if known.is_like(other):
            return Record(known.kind, {k: unified(v, other.parts[k]) for k, v in known.parts.items()})
        case (Character(), _) | (_, Character()):
            if coded(known) is None or coded(other) is None:
                raise ShapeError
            return known if isinstance(known, Character) else other
        case (tuple() | Record(), _) | (_, tuple() | Record()):
            raise ShapeError
        case _:
            return known


def parts(name: str, shape: Value, value: Value | None) -> Iterator[tuple[str, Scalar, Scalar | None]]:
    """By the name of each part of the shape: the shape's own one, and that of the value, if it has one."""
    match shape:
        case Maybe():
            is_none = value.is_none if isinstance(value, Maybe) else None if value is None else ex.FALSE
            yield f"{name} is None", shape.is_none, is_none
            if shape.value is not None:
                yield from parts(name, shape.value, value.value if isinstance(value, Maybe) else value)
        case tuple():
            items = value if isinstance(value, tuple) else [None] * len(shape)
            for number, (part, item) in enumerate(zip(shape, items, strict=True)):
                yield from parts(f"{name}[{number}]", part, item)
        case Record():
            for key, part in shape.parts.items():
                yield from parts(f"{name}.{key}", part, value.parts[key] if isinstance(value, Record) else None)
        case Character():
            code = None if value is None else coded(value)
            yield name, shape.expr, None if code is None else code.expr
        case _:
            assert value is None or isinstance(value, Expr | Floating)
            yield name, shape, value


def built(name: str, shape: Value, values: Mapping[str, Scalar]) -> Value:
    """The value of that shape with these parts."""
    match shape:
        case Maybe():
            if shape.value is None:
                return NONE
            is_none = values[f"{name} is None"]
            assert isinstance(is_none, ex.Expr)
            return maybe(is_none, built(name, shape.value, values))
        case tuple():
            return tuple(built(f"{name}[{n}]", part, values) for n, part in enumerate(shape))
        case Record():
            return Record(shape.kind, {k: built(f"{name}.{k}", part, values) for k, part in shape.parts.items()})
        case Character():
            return Character(bare(values[name]))
        case _:
            return values[name]


def layout(name: str, shape: Value) -> list[tuple[str, bool]]:
    """The parts of a shape, and which are characters."""
    if isinstance(shape, Character):
        return [(name, True)]
    if isinstance(shape, Maybe) and isinstance(shape.value, Character):
        return [(f"{name} is None", False), (name, True)]
    if isinstance(shape, tuple):
        return [p for n, part in enumerate(shape) for p in layout(f"{name}[{n}]", part)]
    if isinstance(shape, Record):
        return [p for key, part in shape.parts.items() for p in layout(f"{name}.{key}", part)]
    return [(part, False) for part, _, _ in parts(name, shape, None)]


def identifier(part: str) -> str:
    """A name of Python for a part."""
    text = part.replace(" is None", "_is_none")
    return "".join(c if c.isalnum() else "_" for c in text).strip("_")
