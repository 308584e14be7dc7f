"""Compares two JSON-lines files of a benchmark case by case: `python benchmarks/compare.py OLD NEW`.

Prints what changed in the answer, and CPU seconds and their ratio; exit status 1 when an answer got worse.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ANSWER = ("status", "verdict", "space", "accumulates", "cost", "optimal_in", "sectors_ratio", "exchange_ratio", "speedup")
NOISE_S = 0.2
"""Below this many CPU seconds a ratio says nothing."""


def read(path: str) -> dict[str, dict[str, Any]]:
    lines = [json.loads(text) for text in Path(path).read_text().splitlines()]
    return {line["case"]: line for line in lines}


def is_worse(old: dict[str, Any], new: dict[str, Any]) -> bool:
    if old.get("as_expected") and not new.get("as_expected"):
        return True
    return any((new.get(name) or 0) > (old.get(name) or 0) for name in ("accumulates", "sectors_ratio", "exchange_ratio"))


def main(old_path: str, new_path: str) -> int:
    old, new = read(old_path), read(new_path)
    worse = 0
    for case in old | new:
        if case not in old or case not in new:
            print(f"{case:<24} only in {old_path if case in old else new_path}")
            continue
        before, after = old[case], new[case]
        changes = [f"{n} {before.get(n)} -> {after.get(n)}" for n in ANSWER if before.get(n) != after.get(n)]
        seconds = f"{before['seconds']:8.3f} s -> {after['seconds']:8.3f} s"
        if max(before["seconds"], after["seconds"]) > NOISE_S:
            seconds += f"  x{after['seconds'] / max(before['seconds'], 0.001):.2f}"
        mark = "WORSE " if is_worse(before, after) else ""
        worse += bool(mark)
        print(f"{case:<24} {seconds:<34} {mark}{'; '.join(changes)}".rstrip())
    return 1 if worse else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python benchmarks/compare.py OLD NEW")
    sys.exit(main(sys.argv[1], sys.argv[2]))
