"""Cases that run ahead of their turn, several at a time, each in its own process."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from warploom.core import limits
from warploom.tools.bench.case import ALL_SPENT, Case, InterruptedBenchmarkError, run_case
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.usage import Usage


class Together:
    """Lines of cases, asked for in their order; up to `jobs` run at the same time. Cases with the same arguments run once."""

    def __init__(self, cases: Sequence[Case], jobs: int) -> None:
        """Nothing runs ahead with one job."""
        self._stopped = Event()
        self._pool = ThreadPoolExecutor(jobs) if jobs > 1 and len(cases) > 1 else None
        self._begun: dict[tuple[str, ...], Future[Line]] = {}
        for case in cases if self._pool is not None else ():
            if case.arguments not in self._begun:
                assert self._pool is not None
                self._begun[case.arguments] = self._pool.submit(self._run, case)

    def line(self, case: Case) -> Line:
        """InterruptedBenchmarkError with the line of the case, KeyboardInterrupt where it has none."""
        found = self._begun.get(case.arguments)
        return self._run(case) if found is None else found.result()

    def _run(self, case: Case) -> Line:
        if self._stopped.is_set():
            raise KeyboardInterrupt
        if limits.left_s() == 0:
            return {**plain_line(case.name, "unknown", Usage(0.0, 0.0, 0.0), reason=ALL_SPENT), **case.labels}
        return run_case(case) if self._pool is None else run_case(case, self._stopped)

    def stop(self) -> None:
        """Tells the cases that run to print their best, and begins no other."""
        self._stopped.set()

    def left(self, case: Case) -> Line | None:
        """After `stop`: the line of a case that had begun, or ended; None: it had not."""
        found = self._begun.get(case.arguments)
        if found is None or found.cancel():
            return None
        try:
            return found.result()
        except InterruptedBenchmarkError as stopped:
            return stopped.line
        except KeyboardInterrupt:
            return None

    def close(self) -> None:
        """Waits for all that runs."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
