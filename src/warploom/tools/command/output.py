"""Output for people: tables on stdout, messages and progress on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

import click
from rich.console import Console
from rich.markup import escape

from warploom.tools.command.lines import GAVE_UP, REGISTERS, Line, broken_rules, encode
from warploom.tools.command.outcome import Outcome, Progress

_COLOURS = {"solved": "green", "unsat": "yellow", "unknown": "yellow", "refused": "red", "error": "red"}


def requests_of(line: Mapping[str, object]) -> list[tuple[str, str]]:
    """Accesses of a kernel with their costs, as a line reports them."""
    least = cast("dict[str, int]", line.get("least") or {})
    return [
        (name, f"{count} {unit}, at least {least[name]} wherever the elements lie")
        for field, unit in (("wavefronts", "wavefronts"), ("sectors", "sectors"), (REGISTERS, "registers"))
        for name, count in cast("dict[str, int]", line.get(field) or {}).items()
    ]


def kernel_text(kernel: Line) -> str:
    """A kernel that was printed, in one line."""
    shuffles = cast(int, kernel["shuffles"])
    counts = f"{shuffles} shuffle{'' if shuffles == 1 else 's'}, {kernel['global_sectors']} sectors"
    text = f"kernel {kernel['verdict']} over {kernel['domain']}: {counts}"
    return text + (f", {kernel['registers']} registers on {kernel['arch']}" if "registers" in kernel else "")


class BrokenLineError(AssertionError):
    """A report line that breaks the contract, which is a bug of this program."""


def _counted(line: Line) -> str:
    """Text of a warp's instructions other than index operations, where a program is one warp's."""
    return "".join(f"{line[name]} {name}, " for name in ("shuffles", "selects") if name in line)


def kept(line: Line) -> Line:
    """The line, if it keeps the contract. Else one that says that this program has a bug, and claims nothing; tests fail."""
    broken = broken_rules(line)
    if not broken:
        return line
    text = f"internal error: the report of this case breaks its contract: {'; '.join(broken)}"
    if "PYTEST_CURRENT_TEST" in os.environ:
        raise BrokenLineError(f"{text}: {line}")
    numbers = {name: line.get(name, 0) for name in ("seconds", "wall_s", "peak_mb")}
    head: Line = {"v": line.get("v", 1), "case": str(line.get("case", "")), "status": "error", "verdict": "unchecked"}
    return head | numbers | {"reason": text}


class Output:
    """One command's output: JSON lines, or text for people. Every report line goes through `kept`."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._out = Console(highlight=False, soft_wrap=True, emoji=False)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

    def outcome(self, outcome: Outcome) -> int:
        """Shows it; its exit code."""
        line = kept(outcome.line)
        if line is not outcome.line:
            outcome = Outcome(line, GAVE_UP)
        for message in outcome.messages:
            click.echo(message, err=True)
        if self._json:
            self._emit(line)
            return outcome.exit_code
        self._head(outcome.line)
        if "reason" in outcome.line and not outcome.messages:
            self._out.print(f"  {escape(str(outcome.line['reason']))}")
        for name in ("tried", "advice") if "advice" in outcome.line else ():
            for text in cast("list[str]", outcome.line.get(name, [])):
                self._out.print(f"  {name}: {escape(text)}")
        for text in cast("list[str]", outcome.line.get("read_as", [])):
            self._out.print(f"  note: {escape(text)}")
        if "space" in outcome.line and outcome.line["status"] in ("solved", "unknown"):
            self._answer(outcome.line)
        if "ptx" in outcome.line:
            self._ptx(cast(Line, outcome.line["ptx"]))
        if "visited" in outcome.line:
            self._program(outcome.line)
        for text in outcome.details:
            click.echo(text)
        for path in outcome.written:
            self._out.print(f"  wrote {escape(str(path))}")
        return outcome.exit_code

    def row(self, line: Line, columns: Mapping[str, str]) -> None:
        """One benchmark case as one line; `columns` are its numbers by heading."""
        line = kept(line)
        if self._json:
            self._emit(line)
            return
        status = str(line["status"])
        numbers = "  ".join(f"{name} {value}" for name, value in columns.items())
        case = f"{line['case']!s:<28}"
        self._out.print(
            f"[bold]{escape(case)}[/] [{_COLOURS[status]}]{status}[/] {escape(str(line['verdict']))}  {escape(numbers)}"
        )
        if "reason" in line:
            self._out.print(f"{'':<28} {escape(str(line['reason']))}")

    def listed(self, line: Line, text: str) -> None:
        """One of many things that there are, as `text` for people."""
        if self._json:
            self._emit(kept(line))
        else:
            click.echo(text)

    def _emit(self, line: Line) -> None:
        click.echo(encode(line, getattr(sys.stdout, "encoding", None) or "utf-8"))

    def say(self, text: str) -> None:
        """A message: on stdout for people, on stderr beside JSON."""
        (self._err if self._json else self._out).print(escape(text))

    @contextmanager
    def progress(self, case: str, *, is_told: bool = False) -> Generator[Progress]:
        """Shows a changing line on stderr if it is a terminal; else nothing, or only that the case begins where `is_told`."""
        if not self._err.is_terminal:
            if is_told:
                click.echo(case, err=True)
            yield lambda _: None
            return
        with self._err.status(escape(case)) as status:
            yield lambda text: status.update(escape(f"{case}: {text}"))

    def _head(self, line: Line) -> None:
        status = str(line["status"])
        text = f"[bold]{escape(str(line['case']))}[/]: [{_COLOURS[status]}]{status}[/]"
        if status == "solved":
            domain = f" over {line['domain']}" if line.get("domain") else ""
            text += f", {line['verdict']}{escape(domain)}"
        self._out.print(f"{text}  ({line['seconds']} CPU s, {line['peak_mb']} MB)")

    def _answer(self, line: Line) -> None:
        if line.get("unsat_in"):
            spaces = ", ".join(str(space) for space in cast("list[int]", line["unsat_in"]))
            self._out.print(f"  no completion in space {spaces} (exhausted)")
        if line["space"] is None:
            return
        objective = cast("list[str]", line["objective"])
        by = f" by {', then '.join(objective)}" if len(objective) > 1 else ""
        optimal = f"optimal up to space {line['optimal_in']}{by}" if line["optimal_in"] else "not proved optimal"
        self._out.print(
            f"  space {line['space']}, accumulates {line['accumulates']} per iteration, {line['executed']} per thread, "
            f"index cost {line['cost']}; {optimal}"
        )
        if line.get("untouched"):
            parts = ", ".join(f"{count} of {name}" for name, count in cast("dict[str, int]", line["untouched"]).items())
            self._out.print(f"  untouched by sketch and spec: {escape(parts)} (elements of the completed instance)")
        if line.get("lift"):
            self._out.print(f"  every size: {escape(str(line['lift']))}")
        self._holes(line)
        for name, counts in requests_of(line):
            self._out.print(f"  {escape(name)}: {counts}")
        if "registers" in line:
            self._out.print(
                f"  {line['arch']}: {line['registers']} registers, {line['local_bytes']} bytes of local memory, "
                f"{line['spill_bytes']} bytes of spills"
            )
        if cycles := cast("dict[str, float]", line.get("executed_cycles") or {}):
            parts = ", ".join(f"{name} {cycles[name]:g}" for name in ("exchange", "alu", "fma", "issue"))
            self._out.print(f"  {cycles['cycles']:g} cycles of a multiprocessor at the completed size ({parts})")

    def _ptx(self, proof: Line) -> None:
        text = f"  compiled for {proof.get('arch', 'PTX')}: {proof['verdict']}"
        text += f" over {proof['domain']}" if proof.get("domain") else ""
        self._out.print(escape(text + (f" ({proof['reason']})" if proof.get("reason") else "")))

    def _program(self, line: Line) -> None:
        """The answer of `solve`."""
        solved = line["status"] == "solved"
        effort = f"{line['visited']} members tested{' when it was solved' if line.get('cached') else ''}"
        if line["ineffectiveness"] is not None:
            effort += f", ineffectiveness {line['ineffectiveness']}"
        match line["goal"]:
            case "all":
                count = cast(int, line["count"])
                found = f"{count} solution{'' if count == 1 else 's'}{'' if line['complete'] else ' so far'}"
                if line["distinct"] != count:
                    found += f", {line['distinct']} of them distinct"
            case "best" if solved:
                found = f"{_counted(line)}cost {line['cost']}, "
                found += "none is cheaper" if line["complete"] else "others may be cheaper"
            case _:
                found = f"{_counted(line)}cost {line['cost']}" if solved else ""
        self._out.print(f"  {found}; {effort}" if found else f"  {effort}")
        if line["count"]:
            self._holes(line)
        if kernel := cast(Line, line.get("kernel") or {}):
            self._out.print(f"  {escape(kernel_text(kernel))}")

    def _holes(self, line: Line) -> None:
        """Every listed solution as a table of its holes."""
        solutions = cast("list[dict[str, str]]", line.get("solutions") or [line["holes"]])
        count = cast(int, line.get("distinct" if line.get("listed") == "distinct" else "count", len(solutions)))
        for number, holes in enumerate(solutions, 1):
            if len(solutions) > 1:
                self._out.print(f"  solution {number} of {count}")
            width = max(map(len, holes), default=0)
            for name, text in holes.items():
                self._out.print(f"   {escape(name):<{width}}    {escape(text)}")
        if "solutions" in line and count > len(solutions):
            self._out.print(f"  ... and {count - len(solutions)} more")
