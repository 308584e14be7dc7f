"""Loops cut in two where a shuffle gives every lane its own value in the first trips: there it is no shuffle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from warploom.core import DType, Span
from warploom.gpu.facts import statements
from warploom.ir import For, IndexConst, IndexVar, SetIndex, SetValue, Shuffle, Stmt, ValueVar, map_index, parts

_LEAST_SHARE = 8
"""At least one of so many trips must come without a shuffle; fewer are not worth a second copy of the body."""
_MOST_TRIPS = 256


def peeled(body: tuple[Stmt, ...], is_own: Callable[[Shuffle], bool], fresh: Callable[[str], str]) -> tuple[Stmt, ...]:
    """`body` with such loops cut, outermost ones first. `is_own`: whether every lane gets its own value; `fresh`: a new name."""
    used = _uses(body)
    return _block(body, is_own, fresh, used)


def _block(
    body: tuple[Stmt, ...], is_own: Callable[[Shuffle], bool], fresh: Callable[[str], str], used: Mapping[str, int]
) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            inner = {f: _block(getattr(stmt, f), is_own, fresh, used) for f in ("then", "other") if hasattr(stmt, f)}
            result.append(replace(cast(Any, stmt), **inner) if inner else stmt)
            continue
        first = _own_trips(stmt, is_own)
        names = {s.name for s in statements(stmt.body) if isinstance(s, SetIndex | SetValue)}
        inside = _uses((stmt,))
        if not first or any(used[name] != inside[name] for name in names):
            result.append(replace(stmt, body=_block(stmt.body, is_own, fresh, used)))
            continue
        start = cast("IndexConst", stmt.start).value + first
        new = {name: fresh(name) for name in sorted({*names, *(s.var for s in statements((stmt,)) if isinstance(s, For))})}
        if first == 1:
            result += _renamed(stmt.body, new | {stmt.var: cast("IndexConst", stmt.start)})
        else:
            result.append(_renamed(replace(stmt, stop=IndexConst(start)), new))
        result.append(replace(stmt, start=IndexConst(start)))
    return tuple(result)


def _own_trips(loop: For, is_own: Callable[[Shuffle], bool]) -> int:
    """Trips from the first on in which a shuffle is none that is one later; 0 if they are few, or not the first ones only."""
    if not isinstance(loop.start, IndexConst) or not isinstance(loop.stop, IndexConst) or loop.step != 1:
        return 0
    trips = range(loop.start.value, loop.stop.value)
    shuffles = [p for p in parts(loop.body) if isinstance(p, Shuffle)]
    if not shuffles or not 1 < len(trips) <= _MOST_TRIPS:
        return 0
    at_first = [is_own(_at(s, loop.var, trips[0])) for s in shuffles]
    if not any(at_first):
        return 0
    own = 0
    for trip in trips:
        if [is_own(_at(s, loop.var, trip)) for s in shuffles] != at_first:
            break
        own += 1
    return own if own < len(trips) and own * _LEAST_SHARE >= len(trips) else 0


def _at(shuffle: Shuffle, var: str, trip: int) -> Shuffle:
    return replace(shuffle, operand=map_index(shuffle.operand, lambda e: IndexConst(trip) if e == IndexVar(var) else None))


def _uses(body: tuple[Stmt, ...]) -> dict[str, int]:
    """How often each variable is set or read."""
    found: dict[str, int] = {}
    for part in parts(body):
        if isinstance(part, SetIndex | SetValue | IndexVar | ValueVar):
            found[part.name] = found.get(part.name, 0) + 1
    return found


def _renamed(node: Any, names: Mapping[str, str | IndexConst]) -> Any:
    """The node with other names, and with numbers for index variables."""
    if isinstance(node, IndexVar) and isinstance(number := names.get(node.name), IndexConst):
        return number
    if isinstance(node, tuple):
        return tuple(_renamed(item, names) for item in cast("tuple[Any, ...]", node))
    if not is_dataclass(node) or isinstance(node, (DType, Span, type)):
        return node
    changes = {f.name: _renamed(getattr(node, f.name), names) for f in fields(node)}
    if isinstance(node, SetIndex | SetValue | IndexVar | ValueVar):
        changes["name"] = names.get(node.name, node.name)
    if isinstance(node, For):
        changes["var"] = names.get(node.var, node.var)
    return replace(cast(Any, node), **changes)
