"""Why a decision is refused: what was possible, the rule that fails, and a decision that it does not go with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from warploom.core import Diagnostic, UserError
from warploom.schedule.choices.names import SORTS, Names
from warploom.solve.space import Candidate, Instance, Step, last_step, removal, removal_at_root


class Decided(Protocol):
    """The part of a kernel's space that is used here."""

    @property
    def instance(self) -> Instance: ...
    @property
    def names(self) -> Names: ...
    def root(self) -> Candidate: ...


@dataclass(frozen=True, slots=True)
class Given:
    """A decision as somebody gives it."""

    choice: str
    arguments: tuple[int, ...]
    mask: int
    value: str


def refusal(space: Decided, candidate: Candidate, wanted: Given, taken: Sequence[Given]) -> UserError:
    """REFUTED, for a value that contradicts what a candidate has decided.

    `taken` led to the candidate: of these one is named, never what followed from them.
    """
    name = space.names.text(wanted.choice, wanted.arguments)
    possible = [str(v) for v in candidate.values(wanted.choice, *wanted.arguments)]
    opposed, step = _reason(space, candidate, wanted, taken)
    message = (
        f"expected a value of {name} that agrees with the other decisions, got {wanted.value}; "
        f"possible before: {', '.join(possible)}"
    )
    fixes: list[str] = []
    if opposed is not None:
        other = space.names.text(opposed.choice, opposed.arguments)
        message += f"; it contradicts {other} = {opposed.value}"
        if _is_possible_without(space, wanted, opposed, taken):
            fixes.append(f"leave {other} open")
    if step is not None and step.rules:
        message += f"; by the rule {' and '.join(repr(r) for r in step.rules[:2])}"
        about = _subject(space, step)
        message += f" (nothing is left for {about})" if about and about != name else ""
    accepted = _accepted(candidate, wanted)
    if accepted:
        fixes.append(f"take {' or '.join(accepted)}")
    return UserError(Diagnostic("REFUTED", message, fix=", or ".join(fixes) or "decide less beforehand"))


def _accepted(candidate: Candidate, wanted: Given) -> list[str]:
    """Values that the variable can have instead, each one tried."""
    universe = candidate.instance.universe(wanted.choice, *wanted.arguments)
    left = candidate.domain(wanted.choice, *wanted.arguments) & ~wanted.mask
    return [
        str(value)
        for n, value in enumerate(universe)
        if left >> n & 1 and candidate.restrict(wanted.choice, wanted.arguments, 1 << n) is not None
    ]


def _is_possible_without(space: Decided, wanted: Given, opposed: Given, taken: Sequence[Given]) -> bool:
    variable = opposed.choice, opposed.arguments
    kept = [(d.choice, d.arguments, d.mask) for d in (*taken, wanted) if d is wanted or (d.choice, d.arguments) != variable]
    return space.root().restrict_many(kept) is not None


def _reason(space: Decided, candidate: Candidate, wanted: Given, taken: Sequence[Given]) -> tuple[Given | None, Step | None]:
    """A decision that does not go with the value (None: no other is needed), and the step at which that shows."""
    choice, arguments, mask = wanted.choice, wanted.arguments, wanted.mask
    plain = space.root()
    if not plain.domain(choice, *arguments) & mask:
        return None, removal_at_root(space.instance, choice, arguments, mask)
    current = plain.restrict(choice, arguments, mask)
    if current is None:
        return None, last_step(plain, choice, arguments, mask)
    mine = _owners(space, wanted)
    for other in sorted(taken, key=lambda d: (d.choice != choice or d.arguments != arguments, not mine & _owners(space, d))):
        current = current.restrict(other.choice, other.arguments, other.mask)
        following = plain.restrict(other.choice, other.arguments, other.mask)
        if current is None:
            step = removal(plain, (other.choice, other.arguments, other.mask), choice, arguments, mask)
            if step is None and following is not None:
                step = last_step(following, choice, arguments, mask)
            return other, step
        assert following is not None, "with less decided there is no less left"
        plain = following
    return None, last_step(candidate, choice, arguments, mask)


def _owners(space: Decided, decision: Given) -> set[str]:
    """Names of the instructions, or axes, that a decision is about."""
    named = zip(SORTS[decision.choice], decision.arguments, strict=True)
    return {space.names.of[sort][n].split(".")[0] for sort, n in named}


def _subject(space: Decided, step: Step) -> str:
    """The variable that a step is about, if people know its choice."""
    return space.names.text(step.choice, step.things) if step.choice in SORTS and not step.is_counter else ""
