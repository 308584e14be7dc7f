"""Interning: equal construction gives the same object, so that identity is equality."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
N = TypeVar("N")


class Interned(dict[K, N]):
    """A table of nodes by key: `table[key]` is the one node of that key, made when it is first asked for.

    `make(key, serial)` makes it; serials count from 0 in order of creation. Nodes live as long as their table.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[K, int], N]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> N:
        node = self[key] = self._make(key, len(self))
        return node
