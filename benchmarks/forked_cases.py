"""Runs benchmark cases of the package that is on the path, each forked from one process that has imported everything.

So a case's CPU seconds hold no imports, which some commits do when the program starts and others when a case needs them, and no
case finds what an earlier one left. `compare_commits.py` starts it once for each commit. Reads lines `BENCH CASE OPTION...` of
JSON lists on stdin; writes the JSON line of each case on stdout.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import warploom

_HIDDEN = {"ptx": ("bench-ptx", "--max-delta", "31", "--seed", "0"), "scan": ("bench-scan",), "schedule": ("bench-schedule",)}
"""Commands for one case in this process, with the options that the benchmark gives them."""
_MODULES = ("warploom.tools.bench.{}", "warploom.tools.{}_bench")
"""Where benchmarks are, and where they were."""

_LIBRARIES = ("numpy.ma", "numpy.random", "z3")
"""Libraries that some commits import with their modules, and others when a case needs them."""


def import_all() -> None:
    for module in pkgutil.walk_packages(warploom.__path__, "warploom."):
        if not module.name.endswith("__main__"):
            with suppress(Exception):  # of packages that are not installed
                importlib.import_module(module.name)
    for library in _LIBRARIES:
        importlib.import_module(library)


def bench_module(bench: str) -> Any:
    for name in _MODULES:
        with suppress(ImportError):
            return importlib.import_module(name.format(bench))
    raise SystemExit(f"no benchmark {bench}")


def names(bench: str) -> list[str]:
    module = bench_module(bench)
    return [*(module.select(None) if bench == "synth" else module.NAMES)]


def arguments(bench: str, case: str, options: list[str]) -> list[str]:
    if bench == "synth":
        return [*bench_module(bench).bench_case(case, None, {"seed": "0"}, None, 600.0).arguments]
    command, *own = _HIDDEN[bench]
    return [command, case, *own, *options]


def line_of(main: Callable[[], object], given: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if pid == 0:
            os.dup2(output.fileno(), 1)
            sys.argv = ["warploom", *given]
            sys.stdout = os.fdopen(1, "w", closefd=False)
            with suppress(SystemExit):
                main()
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        output.seek(0)
        lines = output.read().splitlines()
    return json.loads(lines[-1]) if lines else {"status": "error", "reason": "no line"}


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import_all()
    from warploom.tools.cli import main

    gc.collect()
    gc.freeze()
    for request in sys.stdin:
        bench, case, *options = json.loads(request)
        found = names(bench) if case == "" else line_of(main, arguments(bench, case, options))
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    serve()
