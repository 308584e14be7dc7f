"""Finds where C must declare the scalar variables of a kernel body, whose scope in the IR is the whole kernel."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from warploom.ir import For, If, IndexVar, SetIndex, SetValue, Stmt, ValueVar, parts

Path: TypeAlias = tuple[tuple[str, int], ...]
"""A block by the statements around it: ("loop" or "branch", serial number)."""


@dataclass(frozen=True, slots=True)
class _Use:
    path: Path
    sets: bool
    alone: bool
    """A set whose own expression does not read the variable."""


@dataclass(slots=True)
class Scopes:
    """`here` holds the variables that their first set declares; `hoisted` those declared at the head of the kernel."""

    here: set[str] = field(default_factory=set[str])
    constant: set[str] = field(default_factory=set[str])
    """Variables of `here` that are set once: `const`."""
    hoisted: list[str] = field(default_factory=list[str])


def find_scopes(body: tuple[Stmt, ...]) -> Scopes:
    """Declared at the first set where every use is in the same block or deeper, else at the head of the kernel."""
    uses: dict[str, list[_Use]] = {}
    loop_vars: set[str] = set()
    _collect(body, (), uses, [0], loop_vars)
    scopes = Scopes()
    for name, found in uses.items():
        sets = [u for u in found if u.sets]
        if not sets or name in loop_vars:
            continue
        first = found[0]
        if first.sets and first.alone and all(u.path[: len(first.path)] == first.path for u in found):
            scopes.here.add(name)
            if len(sets) == 1:
                scopes.constant.add(name)
        else:
            scopes.hoisted.append(name)
    return scopes


def _reads(node: Any) -> list[str]:
    return [p.name for p in parts(node) if isinstance(p, (IndexVar, ValueVar))]


def _collect(body: tuple[Stmt, ...], path: Path, uses: dict[str, list[_Use]], serial: list[int], loop_vars: set[str]) -> None:
    for stmt in body:
        own = [v for f in fields(stmt) if f.name not in ("body", "then", "other") for v in _reads(getattr(stmt, f.name))]
        for name in own:
            uses.setdefault(name, []).append(_Use(path, sets=False, alone=False))
        match stmt:
            case SetIndex(name) | SetValue(name):
                uses.setdefault(name, []).append(_Use(path, sets=True, alone=name not in own))
            case For():
                loop_vars.add(stmt.var)
                serial[0] += 1
                _collect(stmt.body, (*path, ("loop", serial[0])), uses, serial, loop_vars)
            case If():
                for branch in (stmt.then, stmt.other):
                    serial[0] += 1
                    _collect(branch, (*path, ("branch", serial[0])), uses, serial, loop_vars)
            case _:
                pass
