"""Substitution in kernel IR: filling holes, renaming variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from warploom.ir.kernel.nodes import HoleArg, HoleUse, IndexExpr, Kernel
from warploom.ir.kernel.parts import field_names

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
    updates = {}
    for name in field_names(cast("type[Any]", type(node))) or ():
        old = getattr(node, name)
        new = _map(old, change)
        if new is not old:
            updates[name] = new
    if updates:
        node = replace(node, **updates)
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

    filled = map_index(kernel, change) if completions else kernel
    return replace(filled, holes=tuple(h for h in kernel.holes if h.name not in completions))
