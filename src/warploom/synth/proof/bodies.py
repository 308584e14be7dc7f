"""Finds the variables that the statements of a body set, start anew and wait for, without running them."""

from __future__ import annotations

from typing import assert_never

from warploom.ir import Accumulate, Accumulator, CommitCopies, Declare, For, If, SetIndex, SetValue, Stmt, Store, Sync, WaitCopies


def has_barrier(body: tuple[Stmt, ...]) -> bool:
    """Whether some statement, at any depth, is a barrier."""
    for statement in body:
        match statement:
            case Sync():
                return True
            case For():
                if has_barrier(statement.body):
                    return True
            case If():
                if has_barrier(statement.then) or has_barrier(statement.other):
                    return True
            case _:
                pass
    return False


def set_in(body: tuple[Stmt, ...]) -> tuple[set[str], set[str]]:
    """Names of data (variables, accumulators, arrays) and of index variables that the statements set."""
    data: set[str] = set()
    index: set[str] = set()
    for statement in body:
        match statement:
            case SetValue(name) | Accumulate(name) | Store(name):
                data.add(name)
            case SetIndex(name):
                index.add(name)
            case For() | If():
                parts = (statement.body,) if isinstance(statement, For) else (statement.then, statement.other)
                index |= {statement.var} if isinstance(statement, For) else set()
                for part in parts:
                    more = set_in(part)
                    data |= more[0]
                    index |= more[1]
            case Declare() | Accumulator() | Sync() | CommitCopies() | WaitCopies():
                pass
            case _:
                assert_never(statement)
    return data, index


def declared_in(body: tuple[Stmt, ...]) -> set[str]:
    """Register arrays and accumulators that every run of the statements starts anew."""
    return {s.name for s in body if isinstance(s, Accumulator) or (isinstance(s, Declare) and s.space == "register")}
