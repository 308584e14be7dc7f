"""Report of completing a sketch: the answer, how sure it is, where it is optimal, and what it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from warploom.core import Diagnostic, Status, Verdict
from warploom.ir import AccessCounts, IndexExpr, Kernel
from warploom.synth.search.impossible import Impossible


@dataclass(frozen=True, eq=False, slots=True)
class Completion:
    """One way to fill every hole."""

    holes: dict[str, IndexExpr]
    """Hole name -> expression over `HoleArg`, simplified for the arguments that occur."""
    accumulates: int
    """Accumulate statements whose guard is not false everywhere."""
    executed: int
    """Accumulates executed by the busiest thread."""
    cost: int
    """Weighted operations of all hole expressions together (`ir.index_cost`)."""
    verdict: Verdict = "unchecked"
    prices: tuple[int, ...] = ()
    """The costs that count between accumulates and index operations, in the order of the report's objective."""


@dataclass(frozen=True, slots=True)
class SpaceSummary:
    """One search space's part in the answer."""

    space: int
    status: Literal["solved", "unsat", "unknown"]
    """unsat: exhausted without an answer; or, below a better bound, without a better one."""
    solutions: int
    complete: bool
    """Covered as far as the accumulates go."""
    is_cheapest: bool
    """Covered as far as the cost of the index expressions goes, too."""
    nodes: int
    refuted: int
    seconds: float


@dataclass(frozen=True, eq=False, slots=True)
class Report:
    """The outcome of one `complete` call; field names follow the contract of reports."""

    case: str
    status: Status
    verdict: Verdict | None
    domain: str
    """Domain of a claim that is `proved`."""
    cases: int | None
    """Inputs that the independent checker ran; None: it did not run."""
    reason: str
    """Reason; empty when solved."""
    space: int | None
    """Search space of the answer."""
    optimal_in: int | None
    """Largest space in which no completion is better by the objective; None when that is not proved."""
    completions: tuple[Completion, ...]
    """Best first; one unless all were asked for."""
    kernel: Kernel | None
    """The best, filled."""
    spaces: tuple[SpaceSummary, ...]
    lift: str
    """For kernels with run-time sizes: `proved for all sizes`, or why it is not; empty for bounded kernels."""
    seconds: float
    """CPU seconds."""
    wall_s: float
    peak_mb: float
    statistics: dict[str, float] = field(default_factory=dict[str, float])
    """CPU seconds by phase."""
    diagnostics: tuple[Diagnostic, ...] = ()
    proved_at: tuple[tuple[str, int], ...] = ()
    """With `tested`: run-time sizes at which the answer is proved all the same."""
    objective: tuple[str, ...] = ("accumulates",)
    """The quantities that `optimal_in` speaks of, in order."""
    accesses: tuple[AccessCounts, ...] = ()
    """The cost of the best kernel's accesses at the completed instance, if it uses shared memory."""
    untouched: tuple[tuple[str, int], ...] = ()
    """Outputs with elements that neither the answer nor the spec stores to, at the completed instance, and how many."""

    impossible: Impossible | None = None
    """Elements that show why there is no completion, where few of them do."""
    tried: tuple[str, ...] = ()
    """Without an answer: what was searched, one sentence for each space."""
    advice: tuple[str, ...] = ()
    """Without an answer: what to change."""

    def __post_init__(self) -> None:
        if self.verdict == "proved" and self.status in ("error", "refused"):
            raise ValueError(f"expected no proof with status {self.status!r}, got one over {self.domain}")

    @property
    def unsat_in(self) -> tuple[int, ...]:
        """Spaces that were exhausted and hold no completion; a space above one with a completion holds that, too."""
        solved = [s.space for s in self.spaces if s.status == "solved"]
        return tuple(
            s.space for s in self.spaces if s.status == "unsat" and s.complete and s.space < min(solved, default=s.space + 1)
        )
