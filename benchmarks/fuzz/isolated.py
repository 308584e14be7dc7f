"""Runs inputs of the front ends in a forked process with limits, and says how each one ended.

A case ends well with an answer, with a located user error, or with `unknown` and a reason. It fails with an internal error, a
line that breaks the contract, more CPU time than its budget allows, or the end of the process (a crash, or all memory).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
from benchmarks.fuzz.fronts import given
from benchmarks.fuzz.inputs import BUDGETS_S, Given

LATE, EXTRA_S = 1.2, 0.5
"""Share of its budget, and CPU seconds, that a command may take: those are for what comes before it, imports and user files."""
HANG_S = 20
"""CPU seconds without an answer after which the process is ended."""
WARM_CASES = 12
PIPE_BYTES = 1 << 16
IDLE_S = 300
"""The same for wall seconds: it may sleep, or the machine be busy."""
MEMORY_BYTES = 6 << 30
"""The memory of a whole process; a command is told to use less."""
_FIELDS = ("v", "case", "status", "verdict", "seconds", "wall_s", "peak_mb")
_STATUS_BY_EXIT = {0: ("solved",), 1: ("unsat", "refused"), 2: ("error",), 3: ("unknown", "error")}


if TYPE_CHECKING:
    from warploom.tools.bench.case import Case


@dataclass(frozen=True)
class Ending:
    """How one case ended."""

    word: str
    failure: str = ""
    """Empty where it ended well."""
    cpu_s: float = 0.0


def endings(kind: str, first: int, count: int) -> Iterator[tuple[int, Ending]]:
    """The ends of cases `first` to `first + count - 1`, in order; a process that ends is replaced by another."""
    place, last = first, first + count
    while place < last:
        for case, ending in _one_process(kind, place, last):
            yield case, ending
            place = case + 1


def _one_process(kind: str, first: int, last: int) -> Iterator[tuple[int, Ending]]:
    here, there = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.close(here)
        _child(kind, first, last, there)
    os.close(there)
    case, rest, reason = first, b"", ""
    heard, heard_cpu_s = time.monotonic(), _cpu_s_of(pid)
    with os.fdopen(here, "rb", buffering=0) as answers:
        while case < last:
            ready, _, _ = select.select([answers], [], [], HANG_S / 4)
            if not ready:
                if _cpu_s_of(pid) - heard_cpu_s > HANG_S or time.monotonic() - heard > IDLE_S:
                    reason = f"hang: more than {HANG_S} CPU s, or {IDLE_S} s"
                    break
                continue
            data = os.read(answers.fileno(), 1 << 16)
            if not data:
                break
            heard, heard_cpu_s = time.monotonic(), _cpu_s_of(pid)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                word, failure, cpu_s = json.loads(line)
                yield case, Ending(word, failure, cpu_s)
                case += 1
    if case < last and not reason:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if case < last:
        yield case, Ending("ended", reason or f"the process ended: {_death(status)}", float(HANG_S if reason else 0))


def _death(status: int) -> str:
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"


def _child(kind: str, first: int, last: int, answers: int) -> None:
    """Never returns."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = Path(tempfile.mkdtemp(prefix="warploom-fuzz-"))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    try:
        for case in range(first, last):
            began = time.process_time()
            ending = run(kind, given(kind, case), folder)
            line = json.dumps([ending.word, ending.failure, round(time.process_time() - began, 3)])
            os.write(answers, line.encode() + b"\n")
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def run(kind: str, what: Given, folder: Path) -> Ending:
    """One input in this process."""
    for name, text in what.files.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    before = Path.cwd()
    os.chdir(folder)
    began = _cpu_s()
    try:
        ending = _DIRECT[what.argv[0]](what, folder) if what.argv[0] in _DIRECT else _command(what.argv)
    except BaseException as error:
        ending = Ending("escaped", "".join(_last(error)))
    finally:
        os.chdir(before)
    spent = _cpu_s() - began
    if spent > LATE * what.budget_s + EXTRA_S and not ending.failure:
        return Ending("late", f"{spent:.1f} CPU s with a budget of {what.budget_s} s: {ending.word}", spent)
    return Ending(ending.word, ending.failure, spent)


def _cpu_s_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _cpu_s() -> float:
    return time.process_time()


def _command(argv: list[str]) -> Ending:
    from warploom.tools.cli import cli
    from warploom.tools.command import guard

    out, err, code = io.StringIO(), io.StringIO(), 0
    crash: list[str] = []
    kept = guard.crashed

    def crashed(case: str, error: Exception, stopwatch: object) -> object:
        crash.append("".join(_last(error)))
        return kept(case, error, stopwatch)  # type: ignore[arg-type]

    guard.crashed = crashed  # type: ignore[assignment]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                cli.main(args=argv, prog_name="warploom", standalone_mode=False)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except Exception as error:
                import click

                if not isinstance(error, click.ClickException):
                    raise
                return Ending("usage")
    finally:
        guard.crashed = kept
    if crash:
        return Ending("internal", crash[0])
    if "--json" not in argv:
        return Ending(f"exit {code}", "" if code in (0, 1, 2, 3) else f"exit {code}")
    return _judged(out.getvalue(), err.getvalue(), code)


def _judged(out: str, err: str, code: int) -> Ending:
    lines = out.split("\n")[:-1]  # other ends of lines may stand in texts
    if not lines:
        return Ending("nothing", f"no line, exit {code}: {err[-300:]}")
    ending = Ending("nothing")
    for text in lines:
        try:
            line = json.loads(text)
        except ValueError:
            return Ending("no JSON", f"a line that is no JSON: {text[:200]}")
        if "status" not in line:  # a list of choices
            return Ending("listed")
        missing = [f for f in _FIELDS if f not in line]
        if missing:
            return Ending("contract", f"no {', '.join(missing)}")
        status, reason = str(line["status"]), str(line.get("reason", ""))
        if status != "solved" and not reason:
            return Ending("contract", f"{status} without a reason")
        if any(told in reason for told in ("internal error", "AssertionError", "bug of Warploom")):
            return Ending("internal", reason[:500])
        if line["verdict"] == "proved" and status == "error":
            return Ending("contract", "proved and error")
        word = f"{status}, {line['verdict']}"
        if status == "error":
            word = "user error" if ": " in reason else "user error without a code"
        if status == "unknown":
            word = next((f"unknown: {w}" for w in ("budget", "memory", "nesting") if w in reason), "unknown")
        unexpected = code == 1 and "cases ended as they should" in err  # of benchmarks
        if len(lines) == 1 and status not in _STATUS_BY_EXIT.get(code, ()) and not unexpected:
            return Ending("contract", f"exit {code} with status {status}")
        ending = Ending(word)
    return ending


def _journal(what: Given, folder: Path) -> Ending:
    """`bench` takes the damaged journal; its lines must hold the contract."""
    from warploom.core import UserError
    from warploom.solve import Journal
    from warploom.tools.bench import run as bench_command
    from warploom.tools.bench import scan as scan_bench

    case = scan_bench.scan_case(what.files["case"])
    try:
        journal = Journal(folder / "journal")
    except UserError:
        return Ending("user error")
    kept = bench_command._kept(journal, case, lambda line: line, scan_bench.columns)
    if kept is None:
        return Ending("miss")
    line = dict(kept)
    scan_bench.columns(line)
    json.dumps(line, allow_nan=False)
    missing = [f for f in _FIELDS if f not in line]
    return Ending("kept", f"kept without {', '.join(missing)}" if missing else "")


_PROGRAM = "a: [4, 4] = range(0, 16)\nb: [4, 4] = ?row_xforms_no_group(a)\ngoal: [4, 4] id\n"


def _cache(what: Given, folder: Path) -> Ending:
    """`solve --cache` on a database whose answer or file is damaged."""
    with mock.patch.dict(os.environ, WARPLOOM_CACHE=str(folder)):  # what runs next in this process has its own cache again
        return _damaged_cache(what, folder)


def _damaged_cache(what: Given, folder: Path) -> Ending:
    import sqlite3
    import zlib

    (folder / "p.swflow").write_text(_PROGRAM, encoding="utf-8")
    argv = ["solve", "p.swflow", "--cache", "--json", "--budget", f"{max(BUDGETS_S)}s"]
    first = _command(argv)
    if first.failure or not (folder / "results.sqlite").exists():
        return first
    value, damage = what.files["value"], int(what.files["damage"])
    if damage == 0:
        (folder / "results.sqlite").write_bytes(value.encode("utf-8", "replace"))
    else:
        connection = sqlite3.connect(folder / "results.sqlite")
        (key,) = connection.execute("SELECT key FROM results").fetchone()
        with contextlib.suppress(sqlite3.Error, UnicodeError):
            data = value.encode("utf-8", "surrogatepass") if damage == 1 else value
            checksum = zlib.crc32(f"{key}\0{value}".encode("utf-8", "surrogatepass")) if damage > 2 else 0
            with contextlib.suppress(ImportError, AttributeError):
                from warploom.solve.runs import cache

                checksum = cache._checksum(key, value) if damage > 2 else 0
            connection.execute("UPDATE results SET value = ?, checksum = ?", (data, checksum))
            connection.commit()
        connection.close()
    return _command(argv)


def _paper(what: Given, folder: Path) -> Ending:
    """`paper`, whose journal has the same damaged answer for every row; no row is run."""
    from warploom.solve import Journal
    from warploom.tools.bench import run as bench_command
    from warploom.tools.command.lines import plain_line
    from warploom.tools.command.usage import Usage

    answer, damage, key_of = json.loads(what.files["answer"]), int(what.files["damage"]), bench_command._key
    names: dict[str, str] = {}

    def key(case: Case) -> str:
        return names.setdefault(key_of(case), case.name) and key_of(case)

    def find(journal: Journal, key: str) -> object:
        return {**answer, "case": names[key]} if damage and isinstance(answer, dict) else answer

    def run_case(case: Case) -> dict[str, object]:
        return plain_line(case.name, "unknown", Usage(0.0, 0.0, 0.0), reason="not run by the fuzzer")

    with (
        mock.patch.object(bench_command, "_key", key),
        mock.patch.object(bench_command, "run_case", run_case),
        mock.patch.object(Journal, "find", find),
    ):
        return _command(["paper", *what.argv[1:]])


def _certificate(what: Given, folder: Path) -> Ending:
    """`verify-certificate`; what it confirms the search's own counts must confirm, too."""
    ending = _command(what.argv)
    if ending.word != "solved, proved":
        return ending
    from warploom.core import UserError
    from warploom.layout import access, has_name, map_of_text, prices, tile

    text = what.files["given.json"].strip()
    document = json.loads(text.splitlines()[0] if text.startswith('{"v"') else text)
    document = document.get("certificate", document)
    size = document["tile"]
    try:
        given_tile = tile(f"{size['rows']}x{size['columns']}:b{size['bits']}")
        table = map_of_text(document["map"], given_tile).table if "map" in document else np.array(document["places"])
        named = [(entry, access(entry["name"], given_tile)) for entry in document["accesses"] if has_name(entry["name"])]
    except UserError as error:
        return Ending("confirmed, unasked", f"confirmed, but refused as a question: {error.diagnostics[0].message[:200]}")
    if not named:
        return ending
    for (entry, _), price in zip(named, prices(given_tile, [taken for _, taken in named], table), strict=True):
        if (entry["wavefronts"], entry["least"]) != (price.wavefronts, price.least) and len(named) == len(document["accesses"]):
            return Ending("differs", f"{entry['name']}: the certificate has {entry}, the search {price}")
    return ending


_DIRECT: dict[str, Callable[[Given, Path], Ending]] = {
    "JOURNAL": _journal, "CACHE": _cache, "PAPER": _paper, "verify-certificate": _certificate,
}  # fmt: skip


def _last(error: BaseException) -> list[str]:
    """The exception, and the last places in the package."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "warploom" in f.filename][-3:]
    where = " < ".join(f"{Path(f.filename).parent.name}/{Path(f.filename).name}:{f.name}:{f.lineno}" for f in reversed(frames))
    return [f"{type(error).__name__} at {where}: {str(error)[:200]}"]


def warm(kind: str) -> None:
    """Imports, before forking, what cases of this kind need, as a child that runs some of them tells."""
    import warploom.tools.cli  # noqa: F401

    _keep_spaces()
    here, there = os.pipe()
    if not os.fork():
        os.close(here)
        folder = Path(tempfile.mkdtemp(prefix="warploom-fuzz-"))
        try:
            with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
                for case in range(WARM_CASES):
                    run(kind, given(kind, case), folder)
            os.write(there, json.dumps(sorted(sys.modules)).encode()[:PIPE_BYTES])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as answer, contextlib.suppress(ValueError):
        for name in json.loads(answer.read()):
            if name not in sys.modules and name.partition(".")[0] in ("warploom", "z3", "numpy", "sqlite3", "rich", "click"):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
    os.wait()
    for case in range(WARM_CASES):
        given(kind, case)  # reads the texts that are changed
    if kind == "papers":
        from warploom.tools.papers.rows import PAPERS
        from warploom.tools.papers.sources import rows_of

        for paper in PAPERS:
            rows_of(paper)
    gc.collect()
    gc.freeze()


def _keep_spaces() -> None:
    """The space of one kernel is built once, not for every case of a process."""
    from warploom.tools.explore import choices, replay

    for module in (choices, replay):
        made = getattr(module, "kernel_space", None)
        if made is not None and not hasattr(made, "cache_info"):
            module.kernel_space = lru_cache(16)(made)  # type: ignore[attr-defined]


__all__ = ["Ending", "endings", "run", "warm"]
