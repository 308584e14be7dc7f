"""Plants bugs and runs the tests that concern them.

    python -m benchmarks.mutants --refusals --out benchmarks/results/refusals.jsonl
    python -m benchmarks.mutants --count 320 --seed 1 --out benchmarks/results/mutants.jsonl
    python -m benchmarks.mutants --list --only 'src/warploom/terms/*'

A run first learns which tests come to which place (one run of the default tests with recorders), then turns on one bug after the
other and runs those tests, cheapest first, until one fails. Places that are in the file named by --out already are not run again
(with the same tests and sources they would end the same), so an interrupted run is continued by the same command.
Of refusals, lines of branches that are gone are left out.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import itertools
import json
import platform
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue

from benchmarks.mutants.equivalent import EQUIVALENT
from benchmarks.mutants.provers import is_prover
from benchmarks.mutants.refusals import refusals
from benchmarks.mutants.rules import compiles, mutants
from benchmarks.mutants.scratch import BrokenTestsError, Reach, Scratch, reach, scratch
from benchmarks.mutants.sites import Site, apart, read, source_files

ROOT = Path(__file__).resolve().parents[2]
LEAST = 12
"""Bugs of each package, however small it is."""
LIMIT_S = 90.0
"""CPU seconds of tests for one bug by default; a test process that needs more is stopped, and the bug counts as noticed."""
CHUNK = 100
"""Bugs of one process."""
AT_ONCE = 40
"""Tests of one run of pytest; then the next, until all have run or the time is spent."""


def sample(root: Path, seed: int, count: int) -> list[Site]:
    """`count` bugs of a seed over all packages, in proportion to the places they have; each rule has its turn."""
    texts = {path: read(root, path) for path in source_files(root)}
    by_package: dict[str, list[Site]] = defaultdict(list)
    for text in texts.values():
        for site in mutants(text):
            by_package[site.package].append(site)
    total = sum(map(len, by_package.values()))
    chosen: list[Site] = []
    for _, sites in sorted(by_package.items()):
        wanted = min(len(sites), max(LEAST, round(count * len(sites) / total)))
        queues: dict[str, list[Site]] = defaultdict(list)
        for site in sorted(sites, key=lambda s: s.rank(seed), reverse=True):
            queues[site.rule].append(site)
        of_package: list[Site] = []
        while len(of_package) < wanted:
            for rule in sorted(queues):
                while queues[rule]:
                    site = queues[rule].pop()
                    if compiles(texts[site.path], site):
                        of_package.append(site)
                        break
        chosen += of_package[:wanted]
    return chosen


def samples(root: Path, seeds: Sequence[int], count: int) -> list[Site]:
    """The samples of several seeds, each bug once."""
    return list({site.key: site for seed in seeds for site in sample(root, seed, count)}.values())


def all_refusals(root: Path) -> list[Site]:
    """Every refusing branch of the package."""
    return [site for path in source_files(root) for site in refusals(read(root, path))]


def of_folder(site: Site, known: Reach) -> list[str]:
    """Tests of the mirrored folder, cheapest first, for places where nothing can be recorded."""
    mirrored = [*Path(site.path).relative_to("src/warploom").parent.parts]
    while mirrored:
        prefix = "/".join(("tests", *mirrored)) + "/"
        if found := sorted((t for t in known.seconds if t.startswith(prefix)), key=lambda t: known.seconds[t]):
            return found
        mirrored.pop()
    return sorted((t for t in known.seconds if t.startswith("tests/test_")), key=lambda t: known.seconds[t])


def for_good(copy: Scratch, site: Site, tests: Sequence[str], limit_s: float = LIMIT_S) -> dict[str, object]:
    """One bug planted for good: the test that noticed it, "import" where its module cannot be imported, or none."""
    spent, noticed, ran, names = 0.0, "", 0, tests
    with copy.planted(site):
        for names in _portions(tests):
            outcome = copy.run(names, limit_s=limit_s, variables={}, options=["-x"])
            spent, ran = spent + outcome.cpu_s, ran + len(names)
            if outcome.failed:
                noticed = outcome.failed[0]
                break
            if spent > limit_s:
                break
    if noticed == "collection":
        sound = copy.run(names, limit_s=limit_s, variables={}, options=["--collect-only"])
        if sound.code:
            raise BrokenTestsError(sound)
        noticed = "import"
    return _row(site, len(tests), {"ran": ran, "noticed_by": noticed, "cpu_s": round(spent, 1)})


def _portions(tests: Sequence[str]) -> Iterator[Sequence[str]]:
    """First a few, since most bugs are noticed at once."""
    yield from (p for p in (tests[:6], tests[6:AT_ONCE]) if p)
    for start in range(AT_ONCE, len(tests), AT_ONCE):
        yield tests[start : start + AT_ONCE]


def _row(site: Site, concerning: int, found: Mapping[str, object]) -> dict[str, object]:
    return {
        "record": "site", "key": site.key, "rule": site.rule, "package": site.package, "path": site.path, "scope": site.scope,
        "line": site.line, "before": site.before[:300], "after": site.edit.text[:300], "concerning": concerning,
        "ran": found["ran"], "noticed_by": found["noticed_by"], "cpu_s": found["cpu_s"],
    }  # fmt: skip


def behind_switches(
    copy: Scratch, sites: Mapping[int, Site], known: Reach, limit_s: float = LIMIT_S
) -> Iterator[dict[str, object]]:  # fmt: skip
    """Many bugs in one copy; a process that has collected the tests turns on one after the other in a fork."""
    tests = {n: list(known.tests.get(site.key, ())) for n, site in sites.items()}
    # An object that one test made and kept serves others that are never seen to come there: the rest of their files follows.
    for n, names in tests.items():
        files = {t.partition("::")[0] for t in names}
        rest = [t for t in known.seconds if t.partition("::")[0] in files and t not in names]
        tests[n] += sorted(rest, key=lambda t: known.seconds[t])[:AT_ONCE] if len(names) < AT_ONCE else []
    jobs = copy.folder / "jobs.jsonl"
    jobs.write_text("".join(json.dumps({"bug": n, "tests": names}) + "\n" for n, names in tests.items() if names))
    files = sorted({t.partition("::")[0] for names in tests.values() for t in names})
    variables = {"WARPLOOM_JOBS": str(jobs), "WARPLOOM_LIMIT": str(limit_s)}
    ran = copy.run(files, limit_s=3600, variables=variables) if files else None
    found = {int(str(r["bug"])): r for r in ran.rows if "bug" in r} if ran else {}
    if ran and any(names and n not in found for n, names in tests.items()):
        if ran.failed == ("collection",):
            raise BrokenTestsError(ran)
        print(ran.log, file=sys.stderr)
    for n, site in sites.items():
        if n in found or not tests[n]:
            yield _row(site, len(tests[n]), found.get(n, {"ran": 0, "noticed_by": "", "cpu_s": 0.0}))


def run(sites: Sequence[Site], out: Path, *, jobs: int, known: Reach, limit_s: float) -> None:
    """Adds a line for every site to the file."""
    can = {s.key for s in switchable(sites)}
    switched = {n: s for n, s in enumerate(sites) if s.key in can}
    chunks = [dict(itertools.islice(switched.items(), start, start + CHUNK)) for start in range(0, len(switched), CHUNK)]
    copies: SimpleQueue[Scratch] = SimpleQueue()
    lock = threading.Lock()
    done = 0

    def write(row: dict[str, object]) -> None:
        nonlocal done
        with lock, out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            done += 1
        if not row["noticed_by"]:
            print(f"{done} of {len(sites)}: SURVIVED {row['key']}", flush=True)

    def chunk(numbers: Mapping[int, Site]) -> None:
        with scratch(ROOT) as copy:
            copy.plant_switches(numbers)
            for row in behind_switches(copy, numbers, known, limit_s):
                write(row)

    def alone(site: Site) -> None:
        copy = copies.get()
        try:
            write(for_good(copy, site, of_folder(site, known), limit_s))
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(jobs) as pool, ExitStack() as stack:
        list(pool.map(chunk, chunks))
        if rest := [s for s in sites if s.key not in can]:
            for _ in range(jobs):
                copies.put(stack.enter_context(scratch(ROOT)))
            list(pool.map(alone, rest))


def switchable(sites: Iterable[Site]) -> list[Site]:
    """The sites that can stand behind switches in one copy of the source."""
    return apart(s for s in sites if s.can_switch((ROOT / s.path).read_bytes()))


def summary(rows: Sequence[dict[str, object]], keys: set[str]) -> list[dict[str, object]]:
    """Counts by package of the sites asked for."""
    last = {str(r["key"]): r for r in rows if r.get("record") == "site"}
    tables: dict[str, Counter[str]] = defaultdict(Counter)
    for key in sorted(keys & last.keys()):
        row = last[key]
        ending = "noticed" if row["noticed_by"] else "equivalent" if key in EQUIVALENT else "survived"
        for name in (str(row["package"]), "all"):
            tables[name].update(sites=1, **{ending: 1})
    return [{"record": "summary", "package": name, **counts} for name, counts in sorted(tables.items())]


def _known(sites: Sequence[Site], cache: Path, jobs: int, tests: Sequence[str]) -> Reach:
    """Results for these places, learned before with the same sources and tests, or learned now."""
    keys = {s.key for s in sites}
    digest = hashlib.sha256("\n".join(tests).encode())
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        digest.update(path.read_bytes())
    name = digest.hexdigest()
    if cache.exists():
        kept = json.loads(cache.read_text())
        if kept["digest"] == name and keys <= {*kept["places"]}:
            return Reach({k: tuple(v) for k, v in kept["tests"].items()}, kept["seconds"], tuple(kept["failed"]))
    print(f"{len(sites)} places: running the default tests to learn which of them come there", flush=True)
    found = reach(ROOT, switchable(sites), jobs=jobs, tests=tests)
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(
        json.dumps({"digest": name, "places": [*keys], "tests": found.tests, "seconds": found.seconds, "failed": found.failed})
    )
    for test in found.failed:
        print(f"fails without any bug: {test}", flush=True)
    return found


def _short(only: Sequence[str]) -> str:
    return "-" + hashlib.sha256("\n".join(only).encode()).hexdigest()[:8] if only else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--refusals", action="store_true", help="every refusing branch, switched off, instead of a sample of bugs"
    )
    parser.add_argument("--provers", action="store_true", help="only modules whose answers are proofs")
    parser.add_argument("--count", type=int, default=320, help="bugs in the sample")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="one sample for each")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="places whose path or key fits")
    parser.add_argument("--tests", action="append", default=[], metavar="PATH", help="only these tests, for a quick look")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="S", help="CPU seconds of tests for one bug")
    parser.add_argument("--out", type=Path, help="JSON lines: one for each place, then counts; continued if it is there")
    parser.add_argument("--again", action="store_true", help="run once more what survived before")
    parser.add_argument("--list", action="store_true", help="print the places and run nothing")
    given = parser.parse_args()
    every = all_refusals(ROOT) if given.refusals else samples(ROOT, given.seed, given.count)
    present = {s.key for s in every}
    every = [s for s in every if not given.provers or is_prover(s.path)]
    sites = [
        s for s in every if not given.only or any(fnmatch.fnmatch(s.path, g) or fnmatch.fnmatch(s.key, g) for g in given.only)
    ]
    if given.list:
        for site in sites:
            print(f"{site.path}:{site.line}: {site.key}")
        print(f"{len(sites)} places", file=sys.stderr)
        return 0
    if given.out is None:
        parser.error("expected --out FILE")
    out: Path = given.out
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    rows = [r for r in rows if r.get("record") == "site" and not (given.again and not r["noticed_by"])]
    if given.refusals:  # of every branch: those that are gone are of no use
        rows = [r for r in rows if r["key"] in present]
    done = {str(r["key"]) for r in rows}
    out.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    left = [s for s in sites if s.key not in done and s.key not in EQUIVALENT]
    if left:
        cache = ROOT / "build" / f"reach-{'refusals' if given.refusals else 'mutants'}{_short(given.only)}.json"
        run(left, out, jobs=given.jobs, known=_known(sites, cache, given.jobs, given.tests), limit_s=given.limit)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    counts = summary(rows, {s.key for s in every})
    recorded = {str(r["key"]) for r in rows if r.get("record") == "site"} | EQUIVALENT.keys()
    header = {"record": "run", "seed": given.seed, "places": len(every), "left": sum(s.key not in recorded for s in every),
              "refusals": given.refusals,
              "python": platform.python_version(), "pytest": version("pytest")}  # fmt: skip
    with out.open("a", encoding="utf-8") as file:
        for row in (header, *counts):
            file.write(json.dumps(row) + "\n")
    for row in counts:
        print(" ".join(f"{k}={v}" for k, v in row.items() if k != "record"))
    return 1 if any(r.get("survived") for r in counts) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenTestsError as error:
        sys.exit(f"error: {error}")
