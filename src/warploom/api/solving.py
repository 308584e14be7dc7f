"""`wl.solve`: the gathers that make a dataflow program meet its goal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from warploom.api.result import Progress, Result, text_and_file, worked
from warploom.core import Diagnostic, UserError
from warploom.synth.dataflow import read_objective
from warploom.tools.command.outcome import nothing_said
from warploom.tools.solve.program import SolveOptions, Source, read_source
from warploom.tools.solve.program import solve as solve_source


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Solved(Result):
    """A dataflow program and its solutions."""

    program: str
    """The program's text."""

    @property
    def solutions(self) -> tuple[dict[str, str], ...]:
        """For each listed solution: statement -> the gather in place of its hole. With `goal="all"` at most 1000 are listed."""
        listed = cast("list[dict[str, str]] | None", self.line.get("solutions"))
        return tuple(listed) if listed is not None else (self.holes,) if self.count else ()

    @property
    def holes(self) -> dict[str, str]:
        """The best of `solutions`; empty without an answer."""
        return cast("dict[str, str]", self.line.get("holes", {}))

    @property
    def count(self) -> int:
        """Solutions found."""
        return cast(int, self.line.get("count", 0))

    @property
    def distinct(self) -> int:
        """Solutions that move the values in different ways."""
        return cast(int, self.line.get("distinct", 0))

    @property
    def cost(self) -> int | None:
        """Cost of the best solution; None without an answer."""
        return cast("int | None", self.line.get("cost"))

    @property
    def complete(self) -> bool:
        """Whether nothing is missing: all solutions, none is cheaper, or none at all."""
        return self.line.get("complete") is True


def solve(
    program: str | Path,
    *,
    goal: Literal["best", "first", "all"] = "best",
    distinct: bool = False,
    budget_s: float | None = None,
    budget_nodes: int | None = None,
    objective: str | None = None,
    progress: Progress | None = None,
) -> Solved:
    """Finds the members of a dataflow program's holes, or proves that there are none. `warploom solve`.

    program: a text of several lines, a path, or a case of the library. goal: the cheapest solution, any, or all of them;
    distinct: one of those that move every value in the same way. budget_s (CPU seconds), budget_nodes and an interruption end it
    with the best so far. objective: what the best solution has least of, in order, as "shuffles, selects, cost", which is the
    default where the program is one warp's. Raises UserError for a program that is wrong in itself.
    """
    if goal not in ("best", "first", "all"):
        raise UserError(Diagnostic("GOAL", f"expected the goal best, first or all, got {goal!r}"))
    text, file = text_and_file(program, lambda given: "\n" in given or "=" in given)
    source = read_source(file) if text is None else Source("program", text, file)
    by = None if objective is None else read_objective(objective)
    options = SolveOptions(goal, budget_s, budget_nodes, distinct=distinct, objective=by)
    outcome = worked(source.case, lambda watch: solve_source(source, options, watch, progress or nothing_said), budget_s)
    return Solved(line=outcome.line, program=source.text)
