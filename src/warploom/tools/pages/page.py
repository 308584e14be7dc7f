"""The HTML page and the still picture of a completed sketch, made from its report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from warploom.synth import Report
from warploom.tools.command.output import requests_of
from warploom.tools.html import Page, render
from warploom.tools.pages.picture import picture
from warploom.tools.pages.trace import trace
from warploom.tools.synth.targets import Target

_FACTS = (
    "status", "verdict", "domain", "lift", "cases", "space", "unsat_in", "optimal_in", "accumulates", "executed", "cost",
    "registers", "local_bytes", "spill_bytes", "shared_bytes", "seconds", "peak_mb",
)  # fmt: skip
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


def kernel_page(target: Target, report: Report, line: Mapping[str, object], cuda: str) -> str:
    """The page of a solved target; `line` is its report line. UserError if the kernel reads what nothing wrote."""
    kernel, holes = target.sketch.kernel, report.completions[0].holes
    facts = [(_MEANINGS.get(name, name), _text(line[name])) for name in _FACTS if line.get(name) not in (None, [], "")]
    facts += requests_of(line)
    domain = f" over {report.domain}" if report.domain else ""
    return render(
        Page(
            title=target.case,
            kernel=kernel,
            completions=holes,
            movement=trace(kernel, holes, target.sketch.complete_at),
            facts=facts,
            summary=f"Completed in space {report.space}; {report.verdict}{domain}.",
            source=_source(kernel.file),
            cuda=cuda,
        )
    )


def kernel_picture(target: Target, report: Report) -> str:
    """The SVG of a solved target: one warp's run from top to bottom."""
    kernel, holes = target.sketch.kernel, report.completions[0].holes
    return picture(kernel, holes, trace(kernel, holes, target.sketch.complete_at))


def _text(value: object) -> str:
    return ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)


def _source(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8") if file else ""
    except OSError:
        return ""
