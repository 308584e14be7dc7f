"""Report of what was found and done, ready for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from warploom.ptx.shuffle.plan import UNTOUCHED, Mode, Variant
from warploom.ptx.shuffle.policy import Candidate, Decision

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A load that stays as it is although its place or form was looked at."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate and what the policy made of it."""

    candidate: Candidate
    decision: Decision


@dataclass(frozen=True, slots=True)
class VectorLoad:
    """Loads of adjacent places that one vector load can replace."""

    lines: tuple[int, ...]
    size_bytes: int
    is_tested: bool
    """Whether every thread tests the alignment."""
    assumed: bool
    applies: bool
    predicted_gain: float
    """Gain from all vector loads of the kernel together."""
    untouched: tuple[str, ...] = ()
    """Notes that `noalias` gives of stores between the loads."""

    def json(self) -> dict[str, Json]:
        line: dict[str, Json] = {
            "lines": list(self.lines), "bytes": self.size_bytes, "tested": self.is_tested, "assumed": self.assumed,
            "applied": self.applies, "predicted_gain": round(self.predicted_gain, 6),
        }  # fmt: skip
        if self.untouched:
            line["untouched"] = list(self.untouched)
        return line


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel of the module."""

    kernel: str
    loads: int
    """Global loads (and shared ones, on request)."""
    judged: tuple[Judged, ...]
    refused: tuple[Refusal, ...]
    mode: Mode
    variant: Variant
    seconds: float
    """CPU seconds of analysis and rewriting."""
    vectors: tuple[VectorLoad, ...] = ()
    of_lone_sources: tuple[Candidate, ...] = ()
    """Candidates by the paper's rule for sources, if they were asked for; none of them is applied."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(j.candidate for j in self.judged)

    @property
    def shuffles(self) -> tuple[Candidate, ...]:
        """Candidates that take a value from another lane."""
        return tuple(c for c in self.candidates if c.kind == "shuffle")

    @property
    def shuffles_of_lone_sources(self) -> tuple[Candidate, ...]:
        """The same by the paper's rule."""
        return tuple(c for c in self.of_lone_sources if c.kind == "shuffle")

    @property
    def reuses(self) -> tuple[Candidate, ...]:
        """Candidates that take a value from the same thread."""
        return tuple(c for c in self.candidates if c.kind == "reuse")

    @property
    def applied(self) -> tuple[Candidate, ...]:
        return tuple(j.candidate for j in self.judged if j.decision.applies)

    @property
    def domain(self) -> str:
        """The launches for which the rewritten kernel is right; '' for every launch."""
        taken = [text for c in self.applied for text in c.assumed]
        taken += [text for v in self.vectors if v.applies for text in v.untouched]
        found = ["of arrays that do not overlap where one is written (noalias)"] if any(UNTOUCHED in t for t in taken) else []
        found += ["in which no signed index wraps (nsw)"] if any(UNTOUCHED not in t for t in taken) else []
        found += ["of arrays at multiples of 16 bytes (aligned)"] if any(v.applies and v.assumed for v in self.vectors) else []
        return f"launches {', '.join(found)}" if found else ""

    @property
    def predicted_gain(self) -> float | None:
        """Sum over what is applied; None when nobody estimated it."""
        gains = [j.decision.predicted_gain for j in self.judged if j.decision.applies]
        known = [g for g in gains if g is not None]
        return sum(known) if known or not gains else None

    def json(self) -> dict[str, Json]:
        """The fields of `warploom ptx shuffle --report`."""
        line: dict[str, Json] = {
            "kernel": self.kernel,
            "loads": self.loads,
            "candidates": [_candidate(j) for j in self.judged],
            "shuffles": len(self.shuffles),
            "reuses": len(self.reuses),
            "applied": len(self.applied),
            "refused": [{"line": r.line, "reason": r.reason} for r in self.refused],
            "predicted_gain": self.predicted_gain,
            "vectors": [vector.json() for vector in self.vectors],
            "mode": self.mode,
            "seconds": round(self.seconds, 6),
        }
        if self.variant:
            line |= {"variant": self.variant, "is_valid": False}
        elif self.domain:
            line["domain"] = self.domain
        return line


def _candidate(judged: Judged) -> Json:
    candidate, decision = judged.candidate, judged.decision
    return {
        "line": candidate.line,
        "source_line": candidate.source_line,
        "delta": candidate.delta,
        "rows": candidate.rows,
        "kind": candidate.kind,
        "width": candidate.width,
        "elements": candidate.elements,
        "conditions": list(candidate.conditions),
        "assumed": list(candidate.assumed),
        "applied": decision.applies,
        "reason": decision.reason,
        "predicted_gain": decision.predicted_gain,
    }
