"""Chooses the cases of the default ring from measured CPU seconds: `python -m tests.slow_cases TIMES`.

TIMES is what `pytest --cpu-times TIMES` wrote. Of each parametrized test the cheapest case stays in the default ring, and all
that take less than `LEAST_S`; the others are slow, and run with `make test-slow`. Tests of what must be refused or not be proved
keep all cases up to `LEAST_OF_REFUSALS_S`, and cases stay by which the records of `make refusals` and `make mutants` know a
planted bug. The answer replaces slow_cases.txt, in which cases that were not measured stay as long as their test is there, also
those that were named by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Container, Iterable
from pathlib import Path

LEAST_S = 0.1
"""CPU seconds below which a case is never slow."""
LEAST_OF_REFUSALS_S = 0.6
"""The same, for tests whose name says that something is refused, not proved, wrong or a planted bug."""
_REFUSALS = re.compile(
    r"planted|bug|mistake|not_proved|not_followed|refus|refut|wrong|never|unknown|race|no_proof|judged|bad_|outside"
)
CASES = Path(__file__).with_name("slow_cases.txt")
RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
RECORDS = ("refusals", "mutants")


def slow_cases(times: Iterable[str], kept: Iterable[str], needed: Container[str] = ()) -> list[str]:
    """Node ids of the slow cases. times: lines of seconds and a node id. kept: ids that are slow as it stands. needed: ids that
    do not become slow."""
    measured: dict[str, float] = {}
    for line in times:
        seconds, _, name = line.rstrip("\n").partition(" ")
        measured[name] = float(seconds)
    found = {name for name in kept if name not in measured and exists(name)}
    by_test: defaultdict[str, list[str]] = defaultdict(list)
    for name in measured:
        by_test[name.partition("[")[0]].append(name)
    for names in by_test.values():
        cheapest = min(names, key=lambda name: measured[name])
        least = LEAST_OF_REFUSALS_S if _REFUSALS.search(cheapest.partition("[")[0]) else LEAST_S
        found.update(n for n in names if n != cheapest and measured[n] >= least and n not in needed)
    return sorted(found)


def noticing() -> set[str]:
    """Tests by which the records of planted bugs know them."""
    lines = (line for name in RECORDS for line in (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return {found for line in lines if (found := json.loads(line).get("noticed_by"))}


def exists(name: str) -> bool:
    """Whether the file of a node id still has its test."""
    file, _, test = name.partition("[")[0].partition("::")
    path = Path(__file__).parents[1] / file
    return path.is_file() and f"def {test.rpartition('::')[2]}(" in path.read_text(encoding="utf-8")


if __name__ == "__main__":
    given, known = (path.read_text(encoding="utf-8").splitlines() for path in (Path(sys.argv[1]), CASES))
    chosen = slow_cases(given, known, noticing())
    CASES.write_text("\n".join(chosen) + "\n", encoding="utf-8")
