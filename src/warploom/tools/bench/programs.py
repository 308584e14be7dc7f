"""`warploom bench synth`, dataflow cases: what each must reach, and whether it did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from warploom.kernels import PUBLISHED
from warploom.tools.bench.case import Case
from warploom.tools.command.lines import Line

MOST_MB = 1000.0
MOST_TESTS = 2.0
"""Ineffectiveness: members tested over those an oracle tests."""

MEASURABLE_S = 1.0
"""From this CPU time on, how much faster we are says something."""


@dataclass(frozen=True, slots=True)
class ProgramBar:
    """The results that a case must reach."""

    seconds: float
    solutions: int | None = None
    """All there are; None where nobody has counted them."""
    published_s: float | None = None
    """CPU seconds that Swizzleflow took."""


WALLS = (
    (r"wall/(crc|rcr|sum|conv1d)-\d+", ProgramBar(2.0)),
    (r"wall/stencil2d-\d+", ProgramBar(10.0)),
    (r"wall/hvx-gaussian(-blocks)?-\d+", ProgramBar(0.3, 4)),
    (r"wall/(avx2|amd)-filter", ProgramBar(0.3, 1)),
    (r"wall/mult64-shared-w8", ProgramBar(2.0, 8)),
)
_OWN_BARS = {
    "sf/hvx-gaussian": ProgramBar(0.3, 4, 0.47),
    "sf/hvx-gaussian-blocks": ProgramBar(0.3, 4),
    "sf/l1/mult-64-with-16-shared": ProgramBar(2.0, 8, 4728.0),
}


def program_case(name: str, goal: str, options: Mapping[str, str], limit_s: float) -> Case:
    """`goal`: all, first or best; `options` by flag, without dashes."""
    flags = [text for flag, value in options.items() for text in (f"--{flag}", value)]
    return Case(name, ("solve", name, f"--{goal}", "--json", "--no-cache", *flags), limit_s)


def bar_of(name: str) -> ProgramBar | None:
    """A second; 100 times faster than Swizzleflow where it took over 10, 20 times where it took 1 to 10."""
    own = _OWN_BARS.get(name) or next((bar for pattern, bar in WALLS if re.fullmatch(pattern, name)), None)
    if own is not None or name not in PUBLISHED:
        return own
    published = PUBLISHED[name]
    faster = 100 if published.cpu_s > 10 else 20 if published.cpu_s >= MEASURABLE_S else None
    seconds = min(1.0, round(published.cpu_s / faster, 4)) if faster else 1.0
    return ProgramBar(seconds, published.solutions, published.cpu_s)


def judged(line: Line) -> Line:
    """The line with `solutions` as their number, with `bar`, `in_time`, and `missed`: what of the bar it does not reach.

    `as_expected`: proved, with the number of solutions that the bar asks for, or none where that is 0; a transpose is decided in
    the template, too.
    """
    line = dict(line)
    if "count" in line:
        line["solutions"] = line.pop("count")
    bar = bar_of(str(line["case"]))
    solved = line["status"] == "solved" and line["verdict"] == "proved"
    if bar is None:
        return line | {"as_expected": solved}
    expected = bar.solutions
    counted = line.get("goal") != "all" or expected in (None, line.get("solutions"))
    decided = line.get("template", "solved") in ("solved", "unsat")
    line["as_expected"] = (line["status"] == "unsat" if expected == 0 else solved) and counted and decided
    line["bar"] = {"solutions": expected, "seconds": bar.seconds, "peak_mb": MOST_MB, "ineffectiveness": MOST_TESTS}
    seconds = cast(float, line["seconds"])
    line["in_time"] = seconds <= bar.seconds
    if bar.published_s is not None:
        line["published_s"] = bar.published_s
        if bar.published_s >= MEASURABLE_S:
            line["times_faster"] = round(bar.published_s / max(seconds, 0.001), 1)
    missed = {
        "solutions": not line["as_expected"],
        "seconds": seconds > bar.seconds,
        "peak_mb": cast(float, line["peak_mb"]) > MOST_MB,
        "ineffectiveness": cast(float, line.get("ineffectiveness") or 1.0) > MOST_TESTS,
    }
    return line | {"missed": [name for name, is_missed in missed.items() if is_missed]}


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    found = {"solutions": str(line.get("solutions", "-")), "visited": str(line.get("visited", "-"))}
    found["ineffectiveness"] = str(line.get("ineffectiveness") or "-")
    found["seconds"] = f"{line['seconds']}{'' if line.get('in_time', True) else ' (late)'}"
    if "template" in line:
        found["template"] = str(line["template"])
    if "times_faster" in line:
        found["times"] = str(line["times_faster"])
    return found
