"""`warploom choices FILE`: reads a description of choices, and counts and lists the implementations of its kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from warploom.core import Diagnostic, UserError
from warploom.core.limits import current
from warploom.solve import Budget, Cost, StopSearchError, search
from warploom.solve.notation import Assignment, Decisions, Described, Description, Kernel, broken, decisions_of, declare, read
from warploom.solve.space import Candidate
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, GAVE_UP, INTERRUPTED, Line, combined_exit, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch

DOMAIN = "every assignment of the kernel's choices"
_NONE = "no assignment meets the requirements: the space was exhausted"
_ENOUGH = "enough implementations"


class _Listing(Decisions):
    """The decisions of a kernel; checks every answer against the words of the text, keeps the first ones, stops where told."""

    def __init__(self, made: Decisions, description: Description, kernel: Kernel, shown: int, most: int | None) -> None:
        super().__init__(made.instance, made.choices, made.decided)
        self._description = description
        self._kernel = kernel
        self._shown = shown
        self._most = most
        self.count = 0
        self.shown: list[Assignment] = []
        self.fault = ""

    def answer(self, candidate: Candidate) -> tuple[Cost, Assignment] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.count == self._most:
            raise StopSearchError(_ENOUGH)
        _, found = super().answer(candidate)
        self.fault = self.fault or broken(self._description, self._kernel, found)
        self.count += 1
        if len(self.shown) < self._shown:
            self.shown.append(found)
        return None


@click.command("choices")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--kernel", "name", metavar="NAME", help="Only this kernel of the file.")
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="Stop after N implementations. Default: count all.")
@click.option("--show", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Print so many of them.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def choices_command(path: Path, name: str | None, most: int | None, show: int, as_json: bool, debug: bool) -> None:
    """Read choices and requirements in the language of Telamon's paper, and count the implementations of its kernels.

    Every implementation is checked against the words of the text by a reader that shares nothing with the search.
    """
    output, codes = Output(as_json), list[int]()
    described: list[Described] = []

    def prepared(stopwatch: Stopwatch) -> Outcome:
        description = read(path)
        described.append(declare(description, path.stem))
        kernels = [k.name.text for k in description.kernels]
        if name is not None and name not in kernels:
            message = f"expected a kernel of {path} ({', '.join(kernels) or 'it has none'}), got {name}"
            raise UserError(Diagnostic("UNKNOWN_KERNEL", message, fix="Name one of its kernels."))
        fields: dict[str, Any] = {
            "sets": len(description.sets) + len(description.quotients),
            "choices": list(described[0].space.choices),
            "requirements": len(description.requirements),
        }
        return Outcome(plain_line(str(path), "solved", stopwatch.read(), **fields), 0, details=("  the text has no kernels",))

    with Interrupts() as stopped:
        stopwatch = Stopwatch()
        first = guarded(str(path), lambda _: prepared(stopwatch), stopwatch, output, debug)
        kernels = described[0].description.kernels if described and first.exit_code == 0 else ()
        if not kernels:
            codes.append(output.outcome(first))
        for kernel in kernels:
            if stopped.seen or name not in (None, kernel.name.text):
                continue
            stopwatch = Stopwatch()
            case = f"{path}:{kernel.name}"
            outcome = guarded(
                case, lambda _, k=kernel, c=case, s=stopwatch: listed(c, described[0], k, show, most, s), stopwatch, output, debug
            )
            codes.append(output.outcome(outcome))
    sys.exit(INTERRUPTED if stopped.seen else combined_exit(codes))


def listed(case: str, described: Described, kernel: Kernel, show: int, most: int | None, stopwatch: Stopwatch) -> Outcome:
    """The line of one kernel."""
    model = _Listing(decisions_of(described, kernel), described.description, kernel, show, most)
    root = model.root()
    first_open = len(model.open_choices(root)) if root is not None else 0
    left_s = current().left_s()
    result = search(model, goal="all", budget=Budget(cpu_s=left_s))
    fields: dict[str, Any] = {
        "decisions": len(model.choices),
        "open": first_open,
        "implementations": model.count,
        "complete": result.complete,
        "nodes": result.statistics.tried,
        "shown": [{_text(key): value for key, value in found.items()} for found in model.shown],
    }
    if model.fault:
        reason = f"a bug of Warploom: an implementation does not meet {model.fault}"
        return Outcome(plain_line(case, "error", stopwatch.read(), reason=reason, **fields), GAVE_UP)
    if model.count and (result.complete or result.reason == _ENOUGH):
        if result.complete:
            line = plain_line(case, "solved", stopwatch.read(), verdict="proved", domain=DOMAIN, **fields)
        else:
            line = plain_line(case, "solved", stopwatch.read(), verdict="tested", cases=model.count, **fields)
    elif result.complete:
        line = plain_line(case, "unsat", stopwatch.read(), reason=_NONE, **fields)
    else:
        line = plain_line(case, "unknown", stopwatch.read(), reason=result.reason or "stopped", **fields)
    return Outcome(line, EXIT_BY_STATUS[str(line["status"])], details=tuple(_told(described, model, line)))


def _text(key: tuple[str, tuple[str, ...]]) -> str:
    return f"{key[0]}({', '.join(key[1])})"


def _told(described: Described, model: _Listing, line: Line) -> list[str]:
    """Lines for people to read: counts, then the implementations shown, one choice a line."""
    count = "all of them" if line["complete"] else "at least"
    said = [f"  {line['decisions']} decisions, {line['open']} open after propagation; {count}: {model.count:,} implementations"]
    for number, found in enumerate(model.shown, 1):
        said.append(f"  implementation {number}")
        for choice in described.space.choices:
            values = [f"{', '.join(objects)}: {value}" for (name, objects), value in found.items() if name == choice]
            said += [f"    {choice}  {'; '.join(values)}"] if values else []
    return said
