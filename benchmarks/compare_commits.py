"""CPU time of benchmark cases at two commits: `python benchmarks/compare_commits.py BEFORE AFTER --bench ptx --case 'app/*'`.

Each commit gets a worktree of its own, which is removed at the end; this interpreter runs both, so its packages must do for
both. Each case is forked from a process that has imported all of its commit (`forked_cases.py`). Since two busy hyper-threads
stretch CPU seconds, the smallest of several runs counts. A case of more than a fifth of a second runs twice at each commit, in
turns, and up to `--most` times while it looks more than 10 % slower. With `--budget` a case that spends its budget on something
that its line counts is compared by seconds for each of these. Prints one JSON line a case.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOISE_S = 0.2
"""A case below this many CPU seconds at both commits is not judged."""
BAR = 1.1
LEAST_RUNS = 2
COUNTED = ("walks",)
"""Counts of what a case of `bench schedule` spends its budget on."""

Line = dict[str, Any]


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(path), commit)
        try:
            yield path
        finally:
            git("worktree", "remove", "--force", str(path))


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def cases(tree: Path, bench: str, options: list[str]) -> Iterator[Cases]:
    found = Cases(tree, bench, options)
    try:
        yield found
    finally:
        found.end()


class Cases:
    """The cases of one commit."""

    def __init__(self, tree: Path, bench: str, options: list[str]) -> None:
        self._bench, self._options = bench, options
        command = [sys.executable, "-P", str(ROOT / "benchmarks" / "forked_cases.py")]
        environment = os.environ | {"PYTHONPATH": str(tree / "src")}
        self._process = subprocess.Popen(
            command,
            cwd=tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.names: list[str] = self._asked([bench, ""])

    def run(self, case: str) -> Line:
        return self._asked([self._bench, case, *self._options])

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _asked(self, request: list[str]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


@dataclass
class Compared:
    """The runs of one case at both commits."""

    before: list[Line]
    after: list[Line]
    counted: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.counted = next((name for name in COUNTED if all(line.get(name) for line in self.before + self.after)), None)

    def least(self, lines: list[Line]) -> float:
        return min(line["seconds"] / (line[self.counted] if self.counted else 1) for line in lines)

    @property
    def ratio(self) -> float:
        return self.least(self.after) / max(self.least(self.before), 1e-9)

    @property
    def is_judged(self) -> bool:
        return any(min(line["seconds"] for line in lines) > NOISE_S for lines in (self.before, self.after))

    @property
    def is_slower(self) -> bool:
        return self.is_judged and self.ratio > BAR

    def line(self, bench: str, name: str) -> Line:
        unit = "_s" if self.counted is None else f"_s_for_each_of_{self.counted}"
        return {
            "record": "case", "bench": bench, "case": name,
            f"before{unit}": round(self.least(self.before), 5), f"after{unit}": round(self.least(self.after), 5),
            "ratio": round(self.ratio, 3), "runs": len(self.after), "slower": self.is_slower,
        }  # fmt: skip


def compare(before: Cases, after: Cases, bench: str, pattern: str, most: int) -> Iterator[Line]:
    for name in before.names:
        if fnmatchcase(name, pattern) and name in after.names:
            first, second = before.run(name), after.run(name)
            if "seconds" not in first or "seconds" not in second:
                yield {"record": "case", "bench": bench, "case": name, "status": [first.get("status"), second.get("status")]}
                continue
            found = Compared([first], [second])
            while found.is_judged and len(found.after) < (most if found.is_slower else LEAST_RUNS):
                found.before.append(before.run(name))
                found.after.append(after.run(name))
            yield found.line(bench, name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--bench", required=True, choices=("synth", "ptx", "scan", "schedule"))
    parser.add_argument("--case", action="append", help="only the cases that match; may be given several times")
    parser.add_argument("--most", type=int, default=4, help="runs at each commit")
    parser.add_argument("--budget", help="of each case")
    parser.add_argument("--out", type=Path, help="append the lines to this file, too")
    asked = parser.parse_args()
    options = ["--budget", asked.budget] if asked.budget else []
    before, after = (git("rev-parse", "--short=8", name) for name in (asked.before, asked.after))
    head = {
        "record": "run", "bench": asked.bench, "before": before, "after": after, "python": sys.version.split()[0],
        "seconds": "CPU seconds of the case, the smallest of its runs", "cases": asked.case, "budget": asked.budget,
    }  # fmt: skip
    with (
        worktree(before) as old,
        worktree(after) as new,
        cases(old, asked.bench, options) as first,
        cases(new, asked.bench, options) as second,
    ):

        def lines() -> Iterator[Line]:
            yield head
            for pattern in asked.case or ["*"]:
                yield from compare(first, second, asked.bench, pattern, asked.most)

        for line in lines():
            print(json.dumps(line), flush=True)
            if asked.out:
                with asked.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
