"""A kernel with holes as one without, of which no completion does less: what depends on a hole is done as cheaply as it could be.

An access whose index depends on a hole reads or writes one element for all lanes; statements under a guard, and loops with a
bound, that depend on a hole are left out. All else is counted as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

from warploom.ir import (
    Accumulate,
    Accumulator,
    Declare,
    For,
    HoleUse,
    If,
    IndexConst,
    IndexExpr,
    IndexVar,
    Kernel,
    Read,
    SetIndex,
    SetValue,
    Stmt,
    Store,
    ValueConst,
    ValueSelect,
    copy_source,
    field_names,
    fill,
    parts,
)


@dataclass(frozen=True, eq=False, slots=True)
class Relaxed:
    kernel: Kernel
    matters: frozenset[str]
    """Holes that something was left out for: once they are decided, more is known."""
    moves_places: bool
    """Whether an access to an array in global memory has been put elsewhere."""


def relaxed(kernel: Kernel) -> Relaxed | None:
    """None where the cheapest way to do something is not known."""
    made = _Relaxing(kernel)
    try:
        body = made.block(kernel.body)
    except _NotKnownError:
        return None
    whole = replace(kernel, body=body)
    return Relaxed(fill(whole, {hole.name: IndexConst(0) for hole in kernel.holes}), frozenset(made.matters), made.moves_places)


class _NotKnownError(Exception):
    pass


@dataclass(slots=True)
class _Relaxing:
    kernel: Kernel
    matters: set[str] = field(default_factory=set[str])
    moves_places: bool = False
    _registers: set[str] = field(default_factory=set[str])
    _behind: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Index variable -> holes that its value depends on."""

    def __post_init__(self) -> None:
        self._registers = {n.name for n in parts(self.kernel.body) if isinstance(n, Declare) and n.space == "register"}
        changed = True
        while changed:  # a variable may be set again in a loop, from variables that are set behind it
            before = dict(self._behind)
            self._follow(self.kernel.body, frozenset())
            changed = before != self._behind

    def _follow(self, body: tuple[Stmt, ...], around: frozenset[str]) -> None:
        """Notes what index variables depend on; `around`: the holes that decide whether the statements are reached."""
        for statement in body:
            match statement:
                case SetIndex():
                    behind = self._behind.get(statement.name, frozenset())
                    self._behind[statement.name] = behind | around | self._holes(statement.expr)
                case If():
                    inside = around | self._holes(statement.cond)
                    self._follow(statement.then, inside)
                    self._follow(statement.other, inside)
                case For():
                    self._follow(statement.body, around | self._holes((statement.start, statement.stop)))
                case _:
                    pass

    def _holes(self, part: object) -> frozenset[str]:
        """Holes that a piece of an index depends on."""
        found: set[str] = set()
        for node in parts(part):
            if isinstance(node, HoleUse):
                found.add(node.hole)
            elif isinstance(node, IndexVar):
                found |= self._behind.get(node.name, frozenset())
        return frozenset(found)

    def _depends(self, part: object) -> bool:
        holes = self._holes(part)
        self.matters |= holes
        return bool(holes)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(kept for statement in body for kept in self._statement(statement))

    def _statement(self, statement: Stmt) -> tuple[Stmt, ...]:
        match statement:
            case If():
                if self._depends(statement.cond):
                    return _names_of((*statement.then, *statement.other))
                return (replace(statement, then=self.block(statement.then), other=self.block(statement.other)),)
            case For():
                if self._depends((statement.start, statement.stop)):
                    return _names_of(statement.body)
                return (replace(statement, body=self.block(statement.body)),)
            case Accumulate():
                if self._depends(statement.guard):
                    return ()
            case Store():
                if statement.array not in self._registers and self._depends(statement.index):
                    statement = replace(statement, index=self._first(statement.array, statement.index))
            case _:
                pass
        changed = cast("Stmt", self._value(statement))
        if isinstance(changed, Store) and changed.is_async and copy_source(changed) is None:  # zeros, which no copy writes
            changed = replace(changed, is_async=False)
        return (changed,)

    def _value(self, node: Any) -> Any:
        """The node with the data that it reads as cheap as it may be."""
        if isinstance(node, tuple):
            items = cast("tuple[Any, ...]", node)
            new = tuple(self._value(item) for item in items)
            return items if all(a is b for a, b in zip(items, new, strict=True)) else new
        names = None if isinstance(node, IndexExpr) else field_names(cast("type[Any]", type(node)))
        if names is None:
            return node
        if isinstance(node, ValueSelect) and self._depends(node.cond):
            kept = next((v for v in (node.other, node.then) if isinstance(v, ValueConst)), None)
            if kept is None:
                raise _NotKnownError
            return kept
        if isinstance(node, Read) and node.array not in self._registers and self._depends(node.index):
            return replace(node, index=self._first(node.array, node.index))
        changed: dict[str, Any] = {}
        for name in names:
            old = getattr(node, name)
            new = self._value(old)
            if new is not old:
                changed[name] = new
        return replace(node, **changed) if changed else node

    def _first(self, array: str, index: tuple[IndexExpr, ...]) -> tuple[IndexExpr, ...]:
        self.moves_places |= any(p.name == array for p in self.kernel.params)
        return tuple(IndexConst(0) for _ in index)


def _names_of(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The declarations among statements that are left out, with anything as values: what comes behind may name them."""
    found: list[Stmt] = []
    for statement in body:
        match statement:
            case If():
                found += _names_of((*statement.then, *statement.other))
            case For():
                found += _names_of(statement.body)
            case SetIndex():
                found.append(replace(statement, expr=IndexConst(0)))
            case SetValue():
                found.append(replace(statement, value=ValueConst(0, statement.dtype)))
            case Declare() | Accumulator():
                found.append(statement)
            case _:
                pass
    return tuple(found)
