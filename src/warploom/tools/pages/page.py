"""The HTML page and the still picture of a completed sketch, made from its report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from warploom.gpu import Listings
from warploom.synth import Report
from warploom.tools.command.output import requests_of
from warploom.tools.html.page import Page, render
from warploom.tools.pages.accesses import asked_in
from warploom.tools.pages.picture import picture
from warploom.tools.pages.trace import trace
from warploom.tools.synth.targets import Target

_FACTS = (
    "status", "verdict", "domain", "lift", "cases", "space", "unsat_in", "optimal_in", "accumulates", "executed", "cost",
    "registers", "local_bytes", "spill_bytes", "shared_bytes", "seconds", "peak_mb",
)  # fmt: skip
_OUTCOMES = {"solved": "has an answer", "unsat": "has none", "unknown": "was left before its end"}
_MEANINGS = {
    "lift": "lift to every size",
    "cases": "inputs tried by the independent checker",
    "space": "search space of the answer",
    "unsat_in": "spaces without an answer",
    "optimal_in": "proved optimal up to space",
    "accumulates": "accumulates per iteration",
    "executed": "accumulates executed per thread",
    "cost": "operations of the index expressions",
    "registers": "registers per thread",
    "local_bytes": "local memory per thread, bytes",
    "spill_bytes": "spills per thread, bytes",
    "shared_bytes": "shared memory per block, bytes",
    "seconds": "CPU seconds",
    "peak_mb": "peak memory, MB",
}


def kernel_page(target: Target, report: Report, line: Mapping[str, object], listings: Listings) -> str:
    """The page of a solved target; `line` is its report line. UserError if the kernel reads what nothing wrote."""
    kernel, holes = target.sketch.kernel, report.completions[0].holes
    facts = [(_MEANINGS.get(name, name), _text(line[name])) for name in _FACTS if line.get(name) not in (None, [], "")]
    facts += requests_of(line)
    if cycles := cast("dict[str, object]", line.get("executed_cycles") or {}):
        facts.append(("cycles of a multiprocessor", ", ".join(f"{name} {value}" for name, value in cycles.items())))
    domain = f" over {report.domain}" if report.domain else ""
    movement = trace(kernel, holes, target.sketch.complete_at)
    return render(
        Page(
            title=target.case,
            kernel=kernel,
            completions=holes,
            movement=movement,
            asked=asked_in(movement, kernel),
            facts=facts,
            summary=f"Completed in space {report.space}; {report.verdict}{domain}.",
            source=_source(kernel.file),
            listings=listings,
            search=_search(report),
        )
    )


def page_without_answer(target: Target, report: Report, line: Mapping[str, object]) -> str:
    """The page of a target without a completion: the sketch, why there is none or what was tried, and what to change."""
    facts = [(_MEANINGS.get(name, name), _text(line[name])) for name in _FACTS if line.get(name) not in (None, [], "")]
    found = report.impossible
    if found is not None:
        facts += [(name, f"must be {value}") for name, value in found.elements]
        facts += [("what can come there", ", ".join(found.only))] if found.only else []
    facts += [("tried", text) for text in report.tried] + [("what to change", text) for text in report.advice]
    kernel = target.sketch.kernel
    page = Page(
        title=target.case,
        kernel=kernel,
        completions={},
        movement=None,
        facts=facts,
        summary=report.reason,
        source=_source(kernel.file),
        search=_search(report),
    )
    return render(page)


def kernel_picture(target: Target, report: Report) -> str:
    """The SVG of a solved target: one warp's run from top to bottom."""
    kernel, holes = target.sketch.kernel, report.completions[0].holes
    return picture(kernel, holes, trace(kernel, holes, target.sketch.complete_at))


def _search(report: Report) -> list[tuple[str, ...]]:
    """A head and a row for each search space, in the order in which they were searched; nothing where none was."""
    if not report.spaces:
        return []
    head = ("space", "outcome", "candidates looked at", "refuted", "answers", "CPU s")
    return [head] + [
        (
            str(found.space),
            _OUTCOMES[found.status] + (", all of it searched" if found.complete and found.status == "solved" else ""),
            f"{found.nodes:,}",
            f"{found.refuted:,}",
            str(found.solutions),
            f"{found.seconds:.2f}",
        )
        for found in report.spaces
    ]


def _text(value: object) -> str:
    return ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)


def _source(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8") if file else ""
    except OSError:
        return ""
