"""Interning: equal construction gives the same object, so that identity is equality."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import ref

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


class _Entry(ref[N]):
    """A reference that knows its key in the table. No constructor: that of `WeakValueDictionary`'s takes half of all time."""

    __slots__ = ("key",)

    key: Any


class WeaklyInterned(dict[K, ref[N]]):
    """A table that forgets a node when nothing else holds it: `table.get(key)` is a reference to the node, or None."""

    __slots__ = ()

    def keep(self, key: K, node: N) -> None:
        entry = self[key] = _Entry(node, self._forget)
        entry.key = key

    def _forget(self, entry: ref[N]) -> None:
        assert isinstance(entry, _Entry)
        if self.get(entry.key) is entry:  # not so when the node was made anew before this call
            del self[entry.key]
