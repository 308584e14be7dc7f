"""A copy of the repository in which bugs are planted, and the tests that run there."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutants import switch
from benchmarks.mutants.server import MEMORY_BYTES
from benchmarks.mutants.sites import COMPILED, Site, applied

from warploom.solve.jit.entries import PLAIN

_COPIED = (
    "src", "tests", "benchmarks", "examples", "docs", "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md",
    "Makefile", "SECURITY.md", ".ci", ".gitignore", "LICENSE",
)  # fmt: skip
_OWN = str(Path(__file__).resolve().parents[2])
"""Where this package is found if the copy has none."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of pytest ended."""

    rows: Sequence[Mapping[str, object]]
    """The lines that `benchmarks.mutants.server` wrote."""
    cpu_s: float
    code: int
    """The exit code of pytest; negative where it was stopped."""
    log: str = ""
    """The end of what pytest printed."""

    @property
    def failed(self) -> tuple[str, ...]:
        """Tests that failed; else "time" or "collection" where the run did not come to its end."""
        names = tuple(dict.fromkeys(str(r["test"]) for r in self.rows if r.get("failed")))
        return names or (("time",) if self.code < 0 else () if self.code in (0, 5) else ("collection",))


class BrokenTestsError(Exception):
    """Tests that cannot be collected say nothing of any bug."""

    def __init__(self, ran: Ran) -> None:
        super().__init__(f"expected tests that can be collected without any bug, got this from pytest:\n{ran.log}")


class Scratch:
    """A copy of the files that tests need, below a temporary folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self._stamp = int(time.time())
        self._in_python = False
        for name in _COPIED:
            source = root / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, folder / name)
        shutil.copy2(switch.__file__, folder / "src" / "warploom_switch.py")

    def write(self, path: str, data: bytes) -> None:
        """Python looks at whole seconds and the size of a source only: each version has a time of its own."""
        self._stamp += 2
        self._in_python = self._in_python or COMPILED in data
        (self.folder / path).write_bytes(data)
        os.utime(self.folder / path, (self._stamp, self._stamp))

    @contextmanager
    def planted(self, site: Site) -> Generator[None]:
        """Inside, the bug is there for good."""
        data = (self.root / site.path).read_bytes()
        self.write(site.path, applied(data, [site.edit]))
        try:
            yield
        finally:
            self.write(site.path, data)

    def plant_switches(self, sites: Mapping[int, Site]) -> None:
        """All of them are there from now on, each behind the switch of its number."""
        by_path: dict[str, list[int]] = defaultdict(list)
        for number, site in sites.items():
            by_path[site.path].append(number)
        for path, numbers in by_path.items():
            data = (self.root / path).read_bytes()
            self.write(path, applied(data, [sites[n].switched(data, n) for n in numbers]))

    def run(self, names: Sequence[str], *, limit_s: float, variables: Mapping[str, str], options: Sequence[str] = ()) -> Ran:
        """pytest on tests by name. `limit_s`: CPU seconds of each process, and four times as many of wall time."""
        outcomes = self.folder / "outcomes.jsonl"
        outcomes.unlink(missing_ok=True)
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join((str(self.folder / "src"), str(self.folder), _OWN)),
            "WARPLOOM_OUTCOMES": str(outcomes), **variables,
            **({PLAIN: "1"} if self._in_python else {}),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.mutants.server", "-p", "no:cacheprovider",
                   "--no-header", "--tb=line", *options, *names]  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (self.folder / "pytest.log").open("wb") as log:
            child = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True, preexec_fn=lambda: _limit(limit_s),
            )  # fmt: skip
            try:
                code = child.wait(timeout=4 * limit_s + 60)
            except subprocess.TimeoutExpired:
                code = -signal.SIGKILL
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = [json.loads(line) for line in outcomes.read_text().splitlines()] if outcomes.exists() else []
        log = (self.folder / "pytest.log").read_text(errors="replace")[-2000:]
        return Ran(rows, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, code, log)


def _limit(limit_s: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 5))
    if limit_s <= 600:  # a run for one bug, not one to learn from
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


@contextmanager
def scratch(root: Path) -> Generator[Scratch]:
    """A scratch copy that goes when it is left."""
    with tempfile.TemporaryDirectory(prefix="warploom-mutants-") as folder:
        yield Scratch(root, Path(folder))


@dataclass(frozen=True, slots=True)
class Reach:
    """Which tests come to which places, and what they cost."""

    tests: Mapping[str, tuple[str, ...]]
    """By key of a site: test names, cheapest first. Fixtures that serve a whole file count for all its tests."""
    seconds: Mapping[str, float]
    """CPU seconds of each test that passes without any bug."""
    failed: tuple[str, ...]
    """Tests that fail without any bug; they say nothing."""


def reach(root: Path, sites: Iterable[Site], *, jobs: int, tests: Sequence[str] = (), limit_s: float = 3600) -> Reach:
    """Runs the default tests, or those below some paths, with every bug behind a switch that is off; BrokenTestsError where they
    cannot be collected."""
    numbered = dict(enumerate(sites))
    with scratch(root) as copy, tempfile.TemporaryDirectory(prefix="warploom-reached-") as notes:
        copy.plant_switches(numbered)
        options = ["-n", str(jobs)] if jobs > 1 else []
        ran = copy.run(tests, limit_s=limit_s, variables={"WARPLOOM_REACHED": notes}, options=options)
        if ran.failed == ("collection",):
            raise BrokenTestsError(ran)
        lines = [line for file in Path(notes).glob("*.txt") for line in file.read_text().splitlines()]
    seconds = {str(r["test"]): float(str(r["cpu_s"])) for r in ran.rows if not r["failed"]}
    of_file: dict[str, list[str]] = defaultdict(list)
    for test in seconds:
        of_file[test.partition("::")[0]].append(test)
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        number, _, name = line.partition("\t")
        test, _, phase = name.rpartition(" ")
        if test:
            found[numbered[int(number)].key] |= {test} if phase != "(setup)" else {*of_file[test.partition("::")[0]]}
    ordered = {k: tuple(sorted((t for t in tests if t in seconds), key=lambda t: (seconds[t], t))) for k, tests in found.items()}
    return Reach(ordered, seconds, ran.failed)
