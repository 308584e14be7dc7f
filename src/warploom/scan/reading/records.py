"""Finds the dataclasses and named tuples that are plain records: fields set by the arguments of the class, and nothing else
happening."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import FunctionType, MemberDescriptorType
from typing import NamedTuple, TypeGuard, cast

from warploom.scan.reading.source import MISSING


class _Sample(NamedTuple):
    field: object


_OF_TUPLES = cast(type[object], type(_Sample.__dict__["field"]))
"""Type of the descriptor that reads a field of a named tuple."""


def fields_of(kind: type) -> dict[str, object] | None:
    """The fields with their defaults (MISSING: none); None: objects of this class are more than their fields."""
    if is_named_tuple(kind):
        return _with_defaults(kind, getattr(kind, "_fields", ()), cast(FunctionType, kind.__new__))
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__"):
        return None
    changed = ("__getattribute__", "__getattr__", "__new__", *(() if is_frozen(kind) else ("__setattr__",)))
    if kind.__bases__ != (object,) or type(kind) is not type or any(name in kind.__dict__ for name in changed):
        return None
    fields = dataclasses.fields(kind)
    if any(not f.init or f.default_factory is not dataclasses.MISSING or f.kw_only for f in fields):
        return None
    return _with_defaults(kind, [f.name for f in fields], cast(FunctionType, kind.__init__)) if _has_own_init(kind) else None


def _with_defaults(kind: type, names: Sequence[str], making: FunctionType) -> dict[str, object] | None:
    """The fields, if objects hold in them what they are made of: a class can be changed after it was written."""
    given, taken = making.__defaults__ or (), making.__code__.co_varnames[1 : making.__code__.co_argcount]
    if taken != tuple(names) or any(_is_computed(kind.__dict__.get(name)) for name in names):
        return None
    marks = [object() for _ in names]
    try:
        made = kind(*marks)
        held = [getattr(made, name) for name in names]
    except Exception:  # of the class, whatever it was made into
        return None
    if any(a is not b for a, b in zip(held, marks, strict=True)) or (isinstance(made, tuple) and made != tuple(marks)):
        return None
    return dict(zip(names, [*[MISSING] * (len(names) - len(given)), *given], strict=True))


def _is_computed(attribute: object) -> bool:
    """Whether an attribute of a class says by code of its own what objects have under its name."""
    return hasattr(attribute, "__get__") and not isinstance(attribute, (MemberDescriptorType, _OF_TUPLES))


def is_record(kind: object) -> TypeGuard[type]:
    """Whether it is a class of dataclass objects or of named tuples."""
    return isinstance(kind, type) and (is_named_tuple(kind) or dataclasses.is_dataclass(kind))


_OF_NAMED_TUPLES = frozenset({"__new__", "__repr__", "__getnewargs__", "__replace__", "__annotate__", "__annotate_func__"})
"""Methods that `NamedTuple` writes, none of which is another one's meaning of an attribute or of an operator."""


def is_named_tuple(kind: type) -> bool:
    """Whether it is a class that `typing.NamedTuple` or `collections.namedtuple` made, without operators of its own."""
    if kind.__bases__ != (tuple,) or type(kind) is not type or "_fields" not in kind.__dict__:
        return False
    own = {name for name, value in kind.__dict__.items() if name.startswith("__") and callable(value)}
    made = getattr(kind.__new__, "__code__", None)
    return own <= _OF_NAMED_TUPLES and made is not None and made.co_filename.startswith("<string>")


def _has_own_init(kind: type) -> bool:
    """Whether objects are made by the code that `dataclass` wrote, which is in no file."""
    code = getattr(kind.__init__, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def is_frozen(kind: type) -> bool:
    """Whether its fields cannot be set."""
    if is_named_tuple(kind):
        return True
    made = getattr(kind, "__dataclass_params__", None)
    return bool(made is not None and made.frozen)
