"""Substitution in kernel IR: filling holes, renaming variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from warploom.ir.kernel.nodes import HoleArg, HoleUse, IndexExpr, Kernel

T = TypeVar("T")


def map_index(node: T, change: Callable[[IndexExpr], IndexExpr | None]) -> T:
    """`node` (an expression, statement, tuple of them, or kernel) with index expressions replaced bottom-up.

    `change` sees every index expression after its children were replaced and returns the new one, or None to keep it.
    """
    return cast(T, _map(node, change))


def _map(node: Any, change: Callable[[IndexExpr], IndexExpr | None]) -> Any:
    if isinstance(node, tuple):
        items = cast("tuple[Any, ...]", node)
        changed = tuple(_map(item, change) for item in items)
        return items if all(a is b for a, b in zip(items, changed, strict=True)) else changed
    if not is_dataclass(node) or type(node).__module__ != Kernel.__module__:
        return node
    updates = {}
    for f in fields(node):
        old = getattr(node, f.name)
        new = _map(old, change)
        if new is not old:
            updates[f.name] = new
    if updates:
        node = replace(cast(Any, node), **updates)
    if isinstance(node, IndexExpr):
        replacement = change(node)
        return node if replacement is None else replacement
    return node


def instantiate(expr: IndexExpr, args: tuple[IndexExpr, ...]) -> IndexExpr:
    """A completion with its `HoleArg`s replaced by the arguments of one use."""
    return map_index(expr, lambda e: args[e.position] if isinstance(e, HoleArg) else None)


def fill(kernel: Kernel, completions: Mapping[str, IndexExpr]) -> Kernel:
    """`kernel` with every hole named in `completions` replaced; the others stay."""

    def change(expr: IndexExpr) -> IndexExpr | None:
        if isinstance(expr, HoleUse) and expr.hole in completions:
            return instantiate(completions[expr.hole], expr.args)
        return None

    filled = map_index(kernel, change)
    return replace(filled, holes=tuple(h for h in kernel.holes if h.name not in completions))
