"""The process of one search in the background: reads a request from its input, writes one line, ends when its input does."""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
from contextlib import suppress

from warploom.schedule.search import device_turn
from warploom.tools.command.outcome import nothing_said
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.options import KernelOptions, machine_of
from warploom.tools.kernels.background import Answer, Request
from warploom.tools.kernels.ending import end_with
from warploom.tools.kernels.on_gpu import known_kernels
from warploom.tools.kernels.tuning import Ending, known_runner, search

_LOWEST = 19
_TURN = "background"


def main() -> None:
    answers = _answers()
    with suppress(OSError):
        os.nice(_LOWEST)
    request = pickle.load(sys.stdin.buffer)
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    try:
        answer = searched(request)
    except Exception as error:
        answer = Answer(kept=False, error=f"{type(error).__name__}: {error}")
    os.write(answers, (json.dumps({"kept": answer.kept, "error": answer.error}) + "\n").encode())


def _answers() -> int:
    """The descriptor for the answer; what else this process and its own print goes nowhere."""
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return kept


def searched(request: Request) -> Answer:
    """Searches unless another process of this user has, meanwhile: of all processes one searches at a time."""
    with device_turn(_TURN):
        if _is_known(request):
            return Answer(kept=True)
        on, threads = machine_of(request.target, request.threads)
        options = KernelOptions(
            target=on, sizes=dict(request.sizes), threads=threads, budget_s=request.budget_s, nodes=request.nodes
        )
        tuned = search(request.function, options, Stopwatch(), nothing_said)
    if tuned.ending in (Ending.KEPT, Ending.FOUND_BEFORE):
        return Answer(kept=True)
    line = tuned.outcome.line
    is_failed = line["status"] == "error" or tuned.ending is Ending.NOT_WRITTEN
    return Answer(kept=False, error=str(line["not_kept"]) if is_failed else "")


def _is_known(request: Request) -> bool:
    if request.target == "cpu":
        return known_runner(request.function, request.sizes, request.threads) is not None
    return known_kernels(request.function, request.sizes, request.target) is not None
