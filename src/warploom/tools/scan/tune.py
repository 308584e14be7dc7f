"""`warploom scan tune`: ways to scan with a loop's operator, ranked."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import click

from warploom import scan
from warploom.scan.emit import Types
from warploom.scan.tuning import MOST, Ranked, operations, operators, tune
from warploom.scan.variants import FORWARD, ScanForm
from warploom.tools.command.guard import report
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.emit import KINDS, types_of
from warploom.tools.scan.lift import split_target

ELEMENTS = 256


@click.command("tune")
@click.argument("target", metavar="FILE.py:FUNCTION")
@click.option(
    "--n", type=click.IntRange(32, MOST), default=ELEMENTS, show_default=True, help="Elements per block; a multiple of 32."
)
@click.option(
    "--top", type=click.IntRange(1, 64), default=6, show_default=True, help="Number of candidates to compile and count."
)
@click.option("--arch", default="sm_80", show_default=True, help="Architecture that the cost model assumes.")
@click.option(
    "--type", "kinds", type=click.Choice(KINDS), multiple=True, help="Machine type of integers or of reals, as in scan emit."
)
@click.option("--backward", is_flag=True, help="Result i is the loop's on the elements from i to the end.")
@click.option("--segmented", is_flag=True, help="An array of flags divides the list, as in scan emit.")
@click.option("--exclusive", is_flag=True, help="Result i leaves out element i.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def tune_command(
    target: str, n: int, top: int, arch: str, kinds: tuple[str, ...], backward: bool, segmented: bool, exclusive: bool,
    as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Rank combinations of operator, network, layout and variant by their modelled cost, and on a GPU by time."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        form = ScanForm(backward, segmented)
        return tuned(target, n, types_of(kinds), arch, top, stopwatch, progress, form, is_exclusive=exclusive)

    report(target, work, table, as_json=as_json, debug=debug)


def tuned(
    target: str, n: int, types: Types, arch: str, top: int, stopwatch: Stopwatch, progress: Callable[[str], None],
    form: ScanForm = FORWARD, *, is_exclusive: bool = False,
) -> Outcome:  # fmt: skip
    """The line of one loop; `variant` says the form where it is not the plain one."""
    path, name = split_target(target)
    module = scan.read_module(path)
    loop = scan.read_loop(module, name)
    progress("looking for operators")
    named = operators(loop, scan.user_function(module, name))
    if not named:
        reason = scan.lift(loop).reason or "no operator was proved"
        return Outcome(plain_line(target, "unknown", stopwatch.read(), reason=reason), EXIT_BY_STATUS["unknown"])
    found = tune(named, n, types, arch=arch, top=top, form=form, is_exclusive=is_exclusive, progress=progress)
    best = found.ranked[0]
    cases = sum(r.measured.cases for r in found.ranked if r.measured)
    fields: Line = {"cases": cases} if cases else {}
    by = {"estimate": "estimated_cycles", "counts": "cycles", "time": "milliseconds"}[best.by]
    fields |= {
        "objective": [by], "counted": "interpreter" if best.measured else "model",
        "elements": n, "arch": arch, "ways": len(found.ranked), "compiled": sum(r.measured is not None for r in found.ranked),
        "timed": sum(r.milliseconds is not None for r in found.ranked),
        "operators": {name: _operator_fields(operator) for name, operator in named},
        "ranked": [_row(r) for r in found.ranked],
    }  # fmt: skip
    if any(r.milliseconds is not None for r in found.ranked):
        fields["times"] = "median"
    if is_exclusive or not form.is_plain:
        fields["variant"] = f"{form} scan{', exclusive' if is_exclusive else ''}"
    if found.reason:
        fields["note"] = found.reason
    line = plain_line(target, "solved", stopwatch.read(), verdict="tested" if cases else "unchecked") | fields
    return Outcome(line, EXIT_BY_STATUS["solved"])


def _operator_fields(operator: scan.Operator) -> Line:
    safe = (
        {"int32": scan.operator_in_words(operator).safe} if not scan.in_floats(operator) else {"floats": scan.in_floats(operator)}
    )
    found: Line = {"fields": list(operator.names), "operations": operations(operator), "operator": operator.operator_source()}
    return found | {"verdict": "proved", "domain": scan.operator_domain(operator), "safe": safe}


def _row(one: Ranked) -> Line:
    row: Line = {
        "operator": one.way.operator_name, "network": one.way.network, "layout": one.way.layout, "variant": one.way.variant,
        "by": one.by, "counted": "model" if one.measured is None else "interpreter", "estimated_cycles": one.estimated_cycles,
    }  # fmt: skip
    if one.measured is not None:
        counted = one.measured.counted
        row |= {
            "cycles": one.cycles, "instructions": counted.instructions, "shuffles": counted.shuffles,
            "shared_wavefronts": counted.shared_wavefronts, "barriers": counted.barriers, "registers": one.measured.registers,
        }  # fmt: skip
    if one.milliseconds is not None:
        row["milliseconds"] = one.milliseconds
    return row


HEADINGS = (
    ("operator", "operator"), ("network", "network"), ("layout", "layout"), ("variant", "variant"), ("cycles", "cycles"),
    ("estimate", "estimated_cycles"), ("instr", "instructions"), ("shfl", "shuffles"), ("shared", "shared_wavefronts"),
    ("bar", "barriers"), ("regs", "registers"), ("ms", "milliseconds"),
)  # fmt: skip
SHOWN = 12


def table(line: Line) -> list[str]:
    """Table for people: the best ways, one per row."""
    rows = cast("list[Line]", line.get("ranked", []))
    if not rows:
        return []
    headings = [(h, f) for h, f in HEADINGS if any(f in r for r in rows)]
    texts = [[h for h, _ in headings], *([_cell(r.get(f)) for _, f in headings] for r in rows[:SHOWN])]
    widths = [max(len(t[c]) for t in texts) for c in range(len(headings))]
    found = [
        "  " + "  ".join(cell.ljust(w) if c < 4 else cell.rjust(w) for c, (cell, w) in enumerate(zip(t, widths, strict=True)))
        for t in texts
    ]
    if len(rows) > SHOWN:
        found.append(f"  and {len(rows) - SHOWN} more, not compiled")
    if "note" in line:
        found.append(f"  {line['note']}")
    return [row.rstrip() for row in found]


def _cell(value: object) -> str:
    return "" if value is None else str(value)
