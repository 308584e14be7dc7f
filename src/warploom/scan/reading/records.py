"""Which dataclasses and named tuples are plain records: fields set by the arguments of the class, and nothing else happening."""

from __future__ import annotations

import dataclasses
from typing import TypeGuard

from warploom.scan.reading.source import MISSING


def fields_of(kind: type) -> dict[str, object] | None:
    """The fields with their defaults (MISSING: none); None: objects of this class are more than their fields."""
    if is_named_tuple(kind):
        defaults: dict[str, object] = getattr(kind, "_field_defaults", {})
        return {name: defaults.get(name, MISSING) for name in getattr(kind, "_fields", ())}
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__"):
        return None
    changed = ("__getattribute__", "__getattr__", "__new__", *(() if is_frozen(kind) else ("__setattr__",)))
    if kind.__bases__ != (object,) or type(kind) is not type or any(name in kind.__dict__ for name in changed):
        return None
    found: dict[str, object] = {}
    for field in dataclasses.fields(kind):
        if not field.init or field.default_factory is not dataclasses.MISSING or field.kw_only:
            return None
        if hasattr(field.default, "__get__") and not isinstance(field.default, int | float | str):
            return None
        found[field.name] = MISSING if field.default is dataclasses.MISSING else field.default
    return found if _has_own_init(kind) else None


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
