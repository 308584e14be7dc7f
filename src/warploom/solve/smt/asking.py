"""One way to ask z3: limits of one question, its answer, and why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar

from warploom.core.limits import left_s, tick

V = TypeVar("V", covariant=True)

DEFAULT_RLIMIT = 20_000_000
"""z3's deterministic resource units per question; about ten seconds on a laptop."""
_NO_TIMEOUT = 0xFFFFFFFF
"""z3's word for no limit of time; milliseconds otherwise."""
_BY_SIGINT = "interrupted from keyboard"
"""z3's reason for an answer that SIGINT ended, which no handler of Python's has seen then."""


@dataclass(frozen=True, slots=True)
class Sat(Generic[V]):
    model: Mapping[str, V]
    """A value for every variable of the question."""


@dataclass(frozen=True, slots=True)
class Unsat:
    pass


@dataclass(frozen=True, slots=True)
class Unknown:
    reason: str
    spent: int
    """z3's resource units for this question."""


class Solver:
    """One of z3's solvers. Its questions are counted in z3's resource units, so that answers do not depend on the time.

    An exception does not reach a running solver, so a command with a budget gives it a time limit, too. z3 running out of memory
    or failing is unknown; an interruption of it is raised as KeyboardInterrupt.
    """

    def __init__(self, solver: Any) -> None:
        self.solver = solver
        self._has_timeout = False

    def ask(
        self,
        rlimit: int,
        read: Callable[[Any], Mapping[str, V]],
        assumptions: Sequence[Any] = (),
        timeout_s: float | None = None,
    ) -> Sat[V] | Unsat | Unknown:
        """Whether all that was added and assumed can hold; `read` takes the values out of z3's model."""
        z3: Any = import_module("z3")
        tick()
        self.solver.set("rlimit", rlimit)
        self._limit_time(timeout_s)
        before = self._spent()
        try:
            outcome = str(self.solver.check(*assumptions))
            reason = str(self.solver.reason_unknown()) if outcome == "unknown" else ""
        except z3.Z3Exception as error:
            outcome, reason = "unknown", f"z3: {error}"
        tick()
        if reason == _BY_SIGINT:
            raise KeyboardInterrupt
        match outcome:
            case "unsat":
                return Unsat()
            case "sat":
                return Sat(read(self.solver.model()))
            case _:
                return Unknown(reason, self._spent() - before)

    def _limit_time(self, timeout_s: float | None) -> None:
        limits = [limit for limit in (timeout_s, left_s()) if limit is not None]
        if limits:
            self.solver.set("timeout", max(1, min(_NO_TIMEOUT - 1, int(min(limits) * 1000) + 1)))
        elif self._has_timeout:
            self.solver.set("timeout", _NO_TIMEOUT)
        self._has_timeout = bool(limits)

    def _spent(self) -> int:
        statistics = self.solver.statistics()
        return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118


Answer: TypeAlias = Sat[int] | Unsat | Unknown
"""The answer to a question whose variables are integers, or flags that are 0 or 1."""
