"""Report lines out of a journal: what they claim is checked again, or not claimed.

A journal is a file, and whoever can write it can write `proved` into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from warploom.core import UserError
from warploom.ir import fill, parse_index
from warploom.kernels import find, is_example
from warploom.synth import Report, complete, transposes
from warploom.tools.command.lines import Line, broken_rules

_NUMBERS = ("seconds", "wall_s", "peak_mb")


def replayed(line: Mapping[str, object]) -> Line | None:
    """The line of a finished case, `from_journal`; None, so that the case is run again, if it is no such line or is wrong.

    Steps of a transpose are followed on every element, a completed sketch is proved and checked again. What nobody can check
    without solving the case again stands under `recorded`: other verdicts, and what is optimal or impossible.
    """
    found = dict(line)
    is_line = not broken_rules(found) and isinstance(found["case"], str) and all(_is_number(found[n]) for n in _NUMBERS)
    if not is_line or found["status"] == "error":
        return None
    found["from_journal"] = True
    if found["verdict"] not in ("proved", "tested"):
        return found
    if "composition" in found:
        return _transposed(found)
    if "holes" in found and "accumulates" in found:
        return _completed(found)
    return _unclaimed(found, ("verdict", "domain"))


def _unclaimed(line: Line, names: tuple[str, ...]) -> Line:
    recorded = {name: line[name] for name in names if line.get(name) not in (None, [])}
    found = {name: value for name, value in line.items() if name not in names}
    if "verdict" in names:
        found["verdict"] = "unchecked"
    if recorded:
        found["recorded"] = recorded
    return found


def _transposed(line: Line) -> Line | None:
    kind, m, n, steps = (line.get(name) for name in ("kind", "m", "n", "composition"))
    if not (isinstance(kind, str) and isinstance(m, int) and isinstance(n, int) and isinstance(steps, list)):
        return None
    texts = [str(step) for step in cast("list[object]", steps)]
    if str(line["case"]) != f"wall/{kind}-{m}" or transposes.replay(kind, m, n, texts):
        return None
    return _unclaimed(line, ("optimal",)) | {"domain": transposes.DOMAIN}


def _completed(line: Line) -> Line | None:
    case, texts = str(line["case"]), line["holes"]
    report = _judged_again(case, cast("dict[str, object]", texts)) if isinstance(texts, dict) else None
    if report is None or report.status != "solved" or report.completions[0].accumulates != line["accumulates"]:
        return None
    found = _unclaimed(line, ("optimal_in", "unsat_in", "domain", "cases", "solutions"))
    found["verdict"] = report.verdict or "unchecked"
    found["executed"] = report.completions[0].executed
    if report.verdict == "proved":
        found["domain"] = report.domain
    if report.cases is not None:
        found["cases"] = report.cases
    found["optimal_in"], found["unsat_in"] = None, list[int]()
    if report.lift:
        found["lift"] = report.lift
    return found


def _judged_again(case: str, texts: Mapping[str, object]) -> Report | None:
    """Report of the sketch with these completions; None where they are none."""
    if not is_example(case):
        return None
    sketch = find(case).sketch
    names = {hole.name: hole.arg_names for hole in sketch.kernel.holes}
    if texts.keys() != names.keys():
        return None
    try:
        holes = {name: parse_index(str(text), names[name]) for name, text in texts.items()}
        return complete(replace(sketch, kernel=fill(sketch.kernel, holes)))
    except (UserError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError):
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
