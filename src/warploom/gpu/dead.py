"""Variables that nothing reads, removed before printing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from warploom.ir import For, If, IndexVar, Logical, Read, SetIndex, SetValue, Stmt, ValueVar, parts


def without_dead_variables(body: tuple[Stmt, ...], parameters: Collection[str]) -> tuple[Stmt, ...]:
    """`body` without variables that nothing reads, and without blocks that this empties.

    A variable loaded from one of `parameters` stays: the kernel's memory traffic is the user's.
    """
    while True:
        used = {p.name for p in parts(body) if isinstance(p, (IndexVar, ValueVar))}
        after = _sweep(body, used, parameters)
        if after == body:
            return body
        body = after


def _sweep(body: tuple[Stmt, ...], used: set[str], parameters: Collection[str]) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        match stmt:
            case SetIndex(name) if name not in used:
                pass
            case SetValue(name) if name not in used and not _loads(stmt, parameters):
                pass
            case For():
                inner = _sweep(stmt.body, used, parameters)
                result += [replace(stmt, body=inner)] if inner else []
            case If():
                then, other = (_sweep(part, used, parameters) for part in (stmt.then, stmt.other))
                if then:
                    result.append(replace(stmt, then=then, other=other))
                elif other:
                    result.append(replace(stmt, cond=Logical("not", (stmt.cond,)), then=other, other=()))
            case _:
                result.append(stmt)
    return tuple(result)


def _loads(stmt: Stmt, parameters: Collection[str]) -> bool:
    return any(isinstance(p, Read) and p.array in parameters for p in parts(stmt))
