"""The report line of a completed sketch: its completions in the words of the sketch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from warploom.ir import AccessUnit, IndexExpr, Kernel, index_text
from warploom.synth import Report
from warploom.tools.command.lines import REGISTERS, Line, plain_line
from warploom.tools.command.usage import Usage

OBJECTIVE = ("accumulates",)
"""Subject of `optimal_in` of a sketch: accumulates per iteration."""


def _counts(report: Report) -> Line:
    """Wavefronts, sectors and registers by access, and the least that the same elements need wherever they lie."""
    if not report.accesses:
        return {}
    names = [f"{a.what} of {a.array}, line {a.span.line}" for a in report.accesses]
    names = [f"{n}:{a.span.column}" if names.count(n) > 1 else n for n, a in zip(names, report.accesses, strict=True)]
    named = list(zip(names, report.accesses, strict=True))
    fields: tuple[tuple[str, AccessUnit], ...] = (("wavefronts", "wavefronts"), ("sectors", "sectors"), (REGISTERS, "registers"))
    return {
        **{
            field: _summed((name, a.units) for name, a in named if a.unit == unit)
            for field, unit in fields
            if any(a.unit == unit for a in report.accesses)
        },
        "least": _summed((name, a.least) for name, a in named),
        "counted": "interpreter",
    }


def _summed(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """By name: a function that is called at several places has several accesses of one name."""
    found: dict[str, int] = {}
    for name, count in counts:
        found[name] = found.get(name, 0) + count
    return found


def hole_texts(kernel: Kernel, holes: Mapping[str, IndexExpr]) -> dict[str, str]:
    """Python expression of each completion in the sketch's own variables, by hole name, in the order of the sketch."""
    return {hole.name: index_text(holes[hole.name], hole.arg_names) for hole in kernel.holes if hole.name in holes}


def report_line(case: str, kernel: Kernel, report: Report, usage: Usage, *, all_solutions: bool = False) -> Line:
    """The line of one completed sketch; `kernel` still has its holes."""
    fields: Line = {}
    if report.domain:
        fields["domain"] = report.domain
    if report.cases is not None:
        fields["cases"] = report.cases
    best = report.completions[0] if report.completions else None
    fields |= {
        "space": report.space,
        "accumulates": best and best.accumulates,
        "executed": best and best.executed,
        "cost": best and best.cost,
        "optimal_in": report.optimal_in,
        "objective": list(report.objective),
        "unsat_in": list(report.unsat_in),
        "holes": hole_texts(kernel, best.holes) if best else {},
    }
    fields |= _counts(report)
    if report.lift:
        fields["lift"] = report.lift
    if report.proved_at:
        fields["proved_at"] = dict(report.proved_at)
    if report.untouched:
        fields["untouched"] = dict(report.untouched)
    if report.impossible is not None:
        fields["counterexample"] = report.impossible.fields()
    if report.tried or report.advice:
        fields |= {"tried": list(report.tried), "advice": list(report.advice)}
    if all_solutions:
        fields["solutions"] = [hole_texts(kernel, completion.holes) for completion in report.completions]
    return plain_line(case, report.status, usage, verdict=report.verdict or "unchecked", reason=report.reason, **fields)
