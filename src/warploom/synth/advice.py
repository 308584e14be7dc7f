"""Says what a search without an answer has tried, and what to change in the sketch or the command."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np

from warploom.ir import Accumulate, HoleUse, If, IndexExpr, Kernel, Shuffle, ValueSelect, map_index
from warploom.ir.swizzle import kind_of
from warploom.synth.network.network import HoleUses
from warploom.synth.search.engine import SpaceResult

MANY = 1 << 40
"""Functions that nobody counted."""
_MOST_HOLES = 4


def tried(results: Sequence[SpaceResult], uses: Sequence[HoleUses]) -> tuple[str, ...]:
    """A sentence for each space."""
    found: list[str] = []
    for result in results:
        told = f"space {result.space}: {result.statistics.nodes} nodes, {result.statistics.refuted} refuted"
        if result.complete:
            told += ", exhausted"
        elif result.reason:
            told += f", then {result.reason}"
        if not result.complete and result.open:
            told += f"; open: {_open(result.open, uses)}"
        found.append(told)
    return tuple(found)


def advice(
    results: Sequence[SpaceResult], uses: Sequence[HoleUses], spent: str, limits: Mapping[str, float | None]
) -> tuple[str, ...]:
    """Advice that may help: more of the budget that is `spent` (`limits`: by option), then holes with fewer or more functions."""
    holes = {use.hole.name: use for use in uses}
    last = results[-1] if results else None
    found: list[str] = []
    if spent:
        found += [f"more than {option} {_rounded_up(value)}" for option, value in limits.items() if value is not None]
        sizes = dict(last.open) if last is not None else {}
        for name in sorted(sizes, key=lambda n: -sizes[n])[:_MOST_HOLES]:
            if sizes[name] > 1 and (told := kind_of(holes[name].hole).narrower(holes[name].hole)):
                found.append(f"{name} has {_count(sizes[name])}: {told}, or write its expression")
        return tuple(found)
    for name, use in holes.items():
        if len(use.points) and (told := kind_of(use.hole).wider(use.hole, np.asarray(use.points))):
            found.append(f"{name}: {told}")
    return tuple(found)


def shuffles_apart(kernel: Kernel) -> tuple[str, ...]:
    """Shuffles under open conditions: lanes for which these do not hold give nothing, which is seldom meant."""
    found = {shuffle.span.line: hole for shuffle, hole in _under_holes(kernel.body, "")}
    return tuple(
        f"line {line}: lanes take part in this shuffle, and give their value, only where {hole} says so; "
        "assign what is shuffled before the condition"
        for line, hole in [*found.items()][:_MOST_HOLES]
    )


def _under_holes(node: Any, hole: str) -> Iterator[tuple[Shuffle, str]]:
    """Shuffles with the open condition that they stand under."""
    if isinstance(node, tuple):
        for item in cast("tuple[Any, ...]", node):
            yield from _under_holes(item, hole)
    elif is_dataclass(node) and not isinstance(node, IndexExpr):
        if isinstance(node, Shuffle) and hole:
            yield node, hole
        condition = node.guard if isinstance(node, Accumulate) else node.cond if isinstance(node, If | ValueSelect) else None
        hole = hole or (next(_holes(condition), "") if condition is not None else "")
        for part in fields(node):
            yield from _under_holes(getattr(node, part.name), hole)


def _holes(condition: IndexExpr) -> Iterator[str]:
    found: list[str] = []
    map_index(condition, lambda e: found.append(e.hole) if isinstance(e, HoleUse) else None)
    yield from found


def _open(left: Sequence[tuple[str, int]], uses: Sequence[HoleUses]) -> str:
    sizes = dict(left)
    named = [f"{use.hole.name} ({_count(sizes[use.hole.name])})" for use in uses if use.hole.name in sizes]
    return ", ".join(named) if named else "none"


def _count(size: int) -> str:
    return "functions too many to count" if size >= MANY else f"{size} functions"


def _rounded_up(value: float) -> str:
    """Up to tenths: what was given, where a little of it was spent before the search."""
    return f"{math.ceil(value * 10) / 10:g}"
