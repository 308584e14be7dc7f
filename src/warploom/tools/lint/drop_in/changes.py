"""Attributes of other packages that are replaced, and put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_ABSENT = object()


class Changes:
    """Attributes that were replaced, in order."""

    def __init__(self) -> None:
        self._old: list[tuple[Any, str, object]] = []

    def put(self, owner: Any, name: str, value: object) -> None:
        attributes = cast("Mapping[str, object]", vars(owner))
        self._old.append((owner, name, attributes.get(name, _ABSENT)))
        setattr(owner, name, value)

    def undo(self) -> None:
        while self._old:
            owner, name, value = self._old.pop()
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
