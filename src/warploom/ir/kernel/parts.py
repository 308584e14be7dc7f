"""Walks through kernel IR: the nodes below a node, and the fields of a class of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

from warploom.core import DType, Span


@cache
def field_names(kind: type[Any]) -> tuple[str, ...] | None:
    """Names of the fields of a class of IR nodes; None for any other class."""
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) and not issubclass(kind, (DType, Span)) else None


def parts(node: Any) -> Iterator[Any]:
    """Every IR node below `node`, itself included, each before those below it."""
    left: list[Any] = [node]
    while left:
        part = left.pop()
        if isinstance(part, tuple):
            left.extend(reversed(cast("tuple[Any, ...]", part)))
        elif (names := field_names(cast("type[Any]", type(part)))) is not None:
            yield part
            left.extend(getattr(part, name) for name in reversed(names))
