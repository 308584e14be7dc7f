"""Advice after an exploration without an implementation: what it has tried, and what to change."""

from __future__ import annotations

from warploom.core import Status
from warploom.tools.command.lines import Line


def without_implementation(status: Status, searched: Line) -> Line:
    """`tried` and `advice` of such a line."""
    counts = [f"{searched[name]} {name.replace('_', ' ')}" for name in ("nodes", "pruned", "dead_ends") if name in searched]
    advice = ["fewer decisions fixed by --set, or a target with larger limits; --choices lists what can be decided"]
    if status == "unknown":
        advice = [
            "more --budget (budget_s) or --nodes",
            "decisions fixed by --set, or taken in another --order; --choices lists them",
        ]
    return {"tried": [", ".join(counts) or "nothing"], "advice": advice}
