"""Advice after a search for a dataflow program's gathers without an answer: what it has tried, and what to change."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.ir.dataflow import Gathered, Program, named_statements
from warploom.solve import BUDGET_SPENT, Statistics
from warploom.tools.command.lines import Line

_TEMPLATES = ("row", "col", "xform", "gpu_swizzle")
"""Beginnings of the names of sets that are templates, or have no compositions of more than two primitives."""


def without_answer(
    program: Program, reason: str, visited: int, statistics: Statistics, limits: Mapping[str, float | None]
) -> Line:
    """`tried` and `advice` of a line without a solution; `limits`: values of the options that may have ended the search."""
    holes = [
        (name, statement.value)
        for name, statement in named_statements(program)
        if isinstance(statement.value, Gathered) and not statement.value.choices.is_single
    ]
    sizes = ", ".join(f"{name} ({_count(gathered.choices.members.size_bound)})" for name, gathered in holes)
    tried = f"{visited} members tested, {statistics.nodes} nodes, {statistics.refuted} refuted; members of the holes: {sizes}"
    if reason.startswith(BUDGET_SPENT):
        advice = [f"more than {option} {value:.3g}" for option, value in limits.items() if value is not None]
        if holes:
            name, gathered = max(holes, key=lambda hole: hole[1].choices.members.size_bound)
            advice.append(f"{name}: a smaller set than {gathered.source}, such as one with space=1 or _no_group, or a fixed map")
        return {"tried": [tried], "advice": advice}
    wider = [
        f"{name}: {_axis(gathered.source)}compose{{space=3}} has unit, xor and cm2linear in compositions of up to five"
        for name, gathered in holes
        if gathered.source.startswith(_TEMPLATES) and "compose" not in gathered.source
    ]
    return {"tried": [tried], "advice": wider}


def _axis(source: str) -> str:
    return next((f"{axis}_" for axis in ("row", "col") if source.startswith(axis)), "")


def _count(bound: int) -> str:
    return f"up to {bound}" if bound < 1 << 40 else "too many to count"
