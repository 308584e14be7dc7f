"""One call of z3's `check`, within what the command's budget leaves."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from warploom.core.limits import left_s, tick


def ask(solver: Any, assumptions: Sequence[Any] = (), timeout_s: float | None = None) -> tuple[str, str]:
    """`sat`, `unsat` or `unknown`, and why it is unknown; z3 running out of memory or failing is unknown, too.

    An exception does not reach a running solver, so a command with a budget gives it a time limit.
    """
    z3: Any = import_module("z3")
    tick()
    limits = [limit for limit in (timeout_s, left_s()) if limit is not None]
    if limits:
        solver.set("timeout", max(1, min(0xFFFFFFFE, int(min(limits) * 1000) + 1)))
    try:
        outcome = str(solver.check(*assumptions))
        reason = "" if outcome != "unknown" else str(solver.reason_unknown())
    except z3.Z3Exception as error:
        outcome, reason = "unknown", f"z3: {error}"
    tick()
    return outcome, reason
