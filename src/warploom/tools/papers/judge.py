"""The line of a row: the paper's number, the authors' tool's, ours, and whether ours is as good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from warploom.tools.bench.case import ALL_SPENT, Case
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.usage import Usage
from warploom.tools.papers.rows import Row

Standing: TypeAlias = Literal["better", "equal", "worse", "no bar"]

_KEPT = ("v", "status", "verdict", "seconds", "wall_s", "peak_mb", "reason", "domain", "cases", "recorded_in", "visited")
"""Fields of the benchmark's line that stand in the row's, too."""
_MODEL_UNITS = ("ms", "% of stalls")
_OWN_UNITS = ("s", "tested / oracle", "times faster")
"""Units of figures of the search itself: what its line says of counted instructions is not about them."""


def case_of(row: Row) -> Case | Line:
    """The benchmark's case under the row's name; a line that says why there is none."""
    if row.run is None:
        return plain_line(row.label, "unknown", Usage(0.0, 0.0, 0.0), reason=row.reason) | asked(row) | answer(row, None, None)
    case = row.run.case
    return Case(row.label, case.arguments, case.limit_s, case.labels, case.is_wall)


def judged(row: Row, line: Mapping[str, object]) -> Line:
    """The row's line, from a line of its benchmark case. A line that is one already stays as it is.

    `as_expected`: the case ended as in the paper, with a number as good as the paper's or, where the paper has none, as that of
    the authors' tool; rows without a bar only have to end without a fault. `ratio` is ours over that number. A row that the
    budget of the command cut off is not compared.
    """
    if "row" in line or row.run is None:
        return dict(line)
    ended = line["status"] == row.run.expected
    has_number = ended or (row.better == "" and line["status"] in ("solved", "unsat"))
    found = _number(line, row.run.field) if has_number else None
    if found is not None and row.run.over is not None:
        found = round(row.run.over / found, 2) if found else None
    found_line: Line = {"v": line["v"], "case": row.label} | {name: line[name] for name in _KEPT if name in line}
    if row.run.on_gpu and line.get(row.run.on_gpu) is not None:
        found_line["on_gpu"] = line[row.run.on_gpu]
    answered = answer(row, found, _counted(row, line))
    is_cut_off = line.get("reason") == ALL_SPENT
    if is_cut_off:
        answered["compared"] = "no bar"
    found_line |= {"ran": row.run.case.name, **asked(row), **answered}
    if row.better or is_cut_off:
        found_line["as_expected"] = ended and is_expected(found_line)
    else:
        found_line["as_expected"] = line["status"] not in ("error", "refused") and line["verdict"] != "refuted"
    return found_line


def columns(line: Mapping[str, object]) -> dict[str, str]:
    """Columns of the table for people."""
    found = {
        name: _text(line[key]) for name, key in (("paper", "theirs"), ("tool", "authors_tool"), ("ours", "ours")) if key in line
    }
    if line.get("at_least") and "paper" in found:
        found["paper"] = f"> {found['paper']}"
    found["ratio"] = _text(line.get("ratio"))
    found[str(line.get("unit", "-"))] = f"({line['counted']})" if line.get("counted") else ""
    found[str(line.get("compared", ""))] = ""
    if "on_gpu" in line:
        found["on this GPU"] = f"{line['on_gpu']} times as fast"
    return found


def is_expected(line: Mapping[str, object]) -> bool:
    """Whether the number is as good as theirs, or has none to be compared with."""
    return line["compared"] in ("better", "equal", "no bar")


def asked(row: Row) -> Line:
    """Fields that say what the row is about."""
    found: Line = {"paper": row.paper, "item": row.item, "row": row.name}
    found |= {"theirs": row.theirs, "authors_tool": row.authors_tool, "unit": row.unit}
    return found | ({"at_least": True} if row.is_limit else {}) | ({"note": row.note} if row.note else {})


def answer(row: Row, ours: float | None, counted: str | None) -> Line:
    """`counted` says what a number is that nobody measured: counted in SASS, by an interpreter, or computed by a model."""
    ratio = float(f"{ours / row.peer:.4g}") if ours is not None and row.peer and row.peer > 0 <= ours else None
    return {"ours": ours, "ratio": ratio, "counted": counted, "compared": _standing(row, ours)}


def _standing(row: Row, ours: float | None) -> Standing:
    peer = row.peer
    if row.better == "" or (row.run is None and row.summary is None) or peer is None:
        return "no bar"
    if ours is None:
        return "worse"
    if ours == peer or (row.better == "less" and (max(ours, peer) <= row.floor or 0 < ours - peer < row.rounded_to / 2)):
        return "equal"
    return "better" if row.better == ("less" if ours < peer else "more") else "worse"


def _counted(row: Row, line: Mapping[str, object]) -> str | None:
    if row.unit in _OWN_UNITS:
        return None
    said = line.get("counted")
    if isinstance(said, str):
        return said
    return "model" if row.unit in _MODEL_UNITS else None


def _number(line: Mapping[str, object], field: str) -> float | None:
    value: object = line
    for name in field.split("."):
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
