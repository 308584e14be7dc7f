"""Sorts of values by their annotations. One table: the reader, its messages and docs/scan.md follow it."""

from __future__ import annotations

import collections.abc
import typing
from contextlib import suppress
from fractions import Fraction
from typing import TypeAlias

from warploom.scan.operators.expression import BOOL, INT, REAL, TEXT, Sort

Shape: TypeAlias = "Sort | tuple[Shape, ...]"
"""A value, or a tuple of values."""

BYTE = typing.NewType("BYTE", int)
"""An item of bytes."""
SCALARS: dict[object, Sort] = {bool: BOOL, int: INT, float: REAL, Fraction: REAL, str: TEXT, BYTE: Sort("int", bits=8)}
LISTS: tuple[object, ...] = (
    list, tuple, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable,
    collections.abc.Iterator, collections.abc.Collection,
)  # fmt: skip
SERVED = "int, bool, float, Fraction, str, Literal of integers, of texts or of both truth values, or tuple[...] of them"


def shape_of(hint: object) -> Shape | None:
    """None: a type that is not served."""
    with suppress(TypeError):  # what is unhashable is no key, Annotated[int, [1]] for instance
        if hint in SCALARS:
            return SCALARS[hint]
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is typing.Literal:
        return _literal(arguments)
    if origin is typing.Annotated:
        return shape_of(arguments[0])
    if isinstance(hint, typing.NewType):
        return shape_of(hint.__supertype__)
    if origin is tuple and arguments and ... not in arguments:
        parts = [shape_of(a) for a in arguments]
        return None if None in parts else tuple(p for p in parts if p is not None)
    return None


def _literal(values: tuple[object, ...]) -> Sort | None:
    if all(type(v) is bool for v in values):
        return BOOL if len(set(values)) == 2 else None
    if all(type(v) is int for v in values):
        return Sort("int", values=tuple(sorted({v for v in values if isinstance(v, int)})))
    return TEXT if all(isinstance(v, str) for v in values) else None


def texts_of(hint: object) -> list[tuple[str, ...] | None]:
    """For each value of the shape, in order: the texts that the annotation lists; None: it lists none."""
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is typing.Annotated:
        return texts_of(arguments[0])
    if isinstance(hint, typing.NewType):
        return texts_of(hint.__supertype__)
    if origin is tuple and arguments and ... not in arguments:
        return [found for a in arguments for found in texts_of(a)]
    if origin is typing.Literal and all(isinstance(v, str) for v in arguments):
        return [tuple(sorted({v for v in arguments if isinstance(v, str)}))]
    return [None]


def item_of(hint: object) -> tuple[bool, object]:
    """Whether it is the type of a list, and the type of its items (None: not said); text is a list of characters."""
    if hint is str:
        return True, str
    if hint is bytes or hint is bytearray:
        return True, BYTE
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if hint in LISTS or (origin in LISTS and not arguments):
        return True, None
    if origin is typing.Annotated:
        return item_of(arguments[0])
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is ..., arguments[0] if arguments else None
    return origin in LISTS and len(arguments) == 1, arguments[0] if arguments else None


def written(hint: object) -> str:
    """The annotation as a person writes it."""
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
