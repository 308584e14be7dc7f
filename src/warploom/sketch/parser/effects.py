"""Effects of statements besides computing values."""

from __future__ import annotations

from warploom.ir import Accumulate, CommitCopies, For, If, Stmt, Store, Sync, WaitCopies


def has_effects(stmts: tuple[Stmt, ...]) -> bool:
    """Whether something is stored, accumulated or waited for."""
    for stmt in stmts:
        match stmt:
            case Store() | Accumulate() | Sync() | CommitCopies() | WaitCopies():
                return True
            case For(body=body) if has_effects(body):
                return True
            case If(then=then, other=other) if has_effects(then) or has_effects(other):
                return True
            case _:
                pass
    return False
