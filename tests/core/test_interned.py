"""One node for one key, as long as anything holds it."""

from __future__ import annotations

import gc

import pytest

from warploom.core.interned import Interned, WeaklyInterned


class Node:
    def __init__(self, key: str, serial: int) -> None:
        self.key, self.serial = key, serial


def test_one_node_for_one_key() -> None:
    table: Interned[str, Node] = Interned(Node)
    first, second = table["a"], table["b"]
    assert table["a"] is first and (first.serial, second.serial) == (0, 1) and len(table) == 2


def test_what_cannot_be_made_is_not_kept() -> None:
    def refuse(key: str, serial: int) -> Node:
        raise ValueError(key)

    table: Interned[str, Node] = Interned(refuse)
    with pytest.raises(ValueError):
        _ = table["a"]
    assert not table


def test_a_weak_table_forgets() -> None:
    table: WeaklyInterned[str, Node] = WeaklyInterned()
    node = Node("a", 0)
    table.keep("a", node)
    assert table["a"]() is node
    old = table["a"]
    again = Node("a", 1)
    table.keep("a", again)  # made anew before the first is gone
    del node
    gc.collect()
    assert old() is None and table["a"]() is again
    del again
    gc.collect()
    assert not table
