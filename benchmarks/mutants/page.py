"""The tables of docs/checks.md, from recorded runs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.mutants.equivalent import EQUIVALENT
from benchmarks.mutants.provers import is_prover

Row = Mapping[str, object]


def recorded(path: Path) -> list[Row]:
    """The last line of every place of a recorded run; none if there is no such file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return list({str(r["key"]): r for r in rows if r.get("record") == "site"}.values())


def ending(row: Row) -> str:
    """noticed, equivalent (changes no answer, by our list of reasons) or survived."""
    return "noticed" if row["noticed_by"] else "equivalent" if row["key"] in EQUIVALENT else "survived"


def table(rows: Sequence[Row], first: str) -> str:
    """A Markdown table of endings by package."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for name in (str(row["package"]), "all"):
            counts[name][ending(row)] += 1
    lines = [f"| package | {first} | noticed | equivalent | survived |", "| --- | --- | --- | --- | --- |"]
    for name in [*sorted(counts.keys() - {"all"}), *(["all"] if counts else [])]:
        of = counts[name]
        lines.append(f"| {name} | {of.total()} | {of['noticed']} | {of['equivalent']} | {of['survived']} |")
    return "\n".join(lines)


def page(results: Path) -> str:
    """The whole document."""
    bugs, branches = recorded(results / "mutants.jsonl"), recorded(results / "refusals.jsonl")
    provers = [row for row in branches if is_prover(str(row["path"]))]
    judged = [row for row in bugs if ending(row) != "equivalent"]
    dead = sum(ending(row) == "noticed" for row in judged)
    open_provers = sum(ending(row) == "survived" for row in provers)
    found = "No run is recorded yet."
    if judged:
        share = f"{100 * dead / len(judged):.1f} %"
        found = f"Of {len(judged)} bugs that change an answer {dead} were noticed ({share}).{_missing(results)}"
        found += f"\n\n{table(bugs, 'bugs')}\n\nNot noticed:\n\n{_survivors(bugs)}"
    return f"""# How the checks are checked

A check that stops working must fail a test with its name on it. Two nightly runs measure whether it would; the tables below are
made from their records (`make golden` rewrites this page), and a test compares them.

## Planted bugs

`make mutants` plants bugs by rule in the source, one at a time: a comparison is off by one, a condition of a law is gone, a mask
is ignored, an infinity changes its sign, two rows of a table are swapped, a check never fires (`benchmarks/mutants/rules.py` has
all ten rules). A seed chooses them over all packages, not the people who write the tests. Each bug is turned on in a copy of the
source, and the tests that come to its place are run until one fails. A bug that changes no answer is listed with its reason in
`benchmarks/mutants/equivalent.py`; all others that live are survivors.

{found}

## Refusals

`make refusals` finds every branch that refuses (raises, returns False, None, a reason or a verdict other than yes, or reports a
finding), switches it off and runs the tests that take it. A branch that no test misses is listed as survived: nobody would notice
if it were gone. The goal is none in the provers, the modules that `benchmarks/mutants/provers.py` names; of their {len(provers)}
recorded branches {open_provers} survived. A test asks for a record of every branch of theirs; of the other modules the table has
the branches that were run, and not all of them were.

{table(branches, "branches")}

Survivors in provers:

{_survivors(provers)}

What the checks cost in time is compared with any earlier commit by `python benchmarks/compare_commits.py`, case by case;
`benchmarks/results/issue14-commits-2026-11-23.jsonl` has the last figures.
"""


def _missing(results: Path) -> str:
    """The last run's places without a record, and how it was made."""
    lines = (results / "mutants.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [row for row in map(json.loads, lines) if row.get("record") == "run"]
    if not runs:
        return ""
    left = int(runs[-1].get("left", 0))
    text = f" {left} of the sample have not been run yet." if left > 0 else ""
    return text + (f" {runs[-1]['note']}" if runs[-1].get("note") else "")


def _survivors(rows: Sequence[Row]) -> str:
    names = sorted(
        f"- `{r['path']}`, `{r['scope']}`: `{' '.join(str(r['before']).split())[:90]}`" for r in rows if ending(r) == "survived"
    )
    return "\n".join(names) if names else "none."
