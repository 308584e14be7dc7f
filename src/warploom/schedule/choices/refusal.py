"""Why a decision is refused: what was possible, the rule that fails, and a decision that it does not go with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from warploom.core import Diagnostic, UserError
from warploom.schedule.choices.names import SORTS, Names
from warploom.schedule.space import Candidate, Instance, Step, last_step, removal, removal_at_root

_FIRST = ("size", "dim_kind", "thread_mapping", "order")
"""Choices in which people think, tried before the others that follow from them."""


class Decided(Protocol):
    """What is used of a kernel's space."""

    @property
    def instance(self) -> Instance: ...
    @property
    def names(self) -> Names: ...
    def root(self) -> Candidate: ...


def refusal(space: Decided, candidate: Candidate, choice: str, arguments: tuple[int, ...], mask: int, value: str) -> UserError:
    """REFUTED, for a value that contradicts what a candidate has decided."""
    name = space.names.text(choice, arguments)
    possible = [str(v) for v in candidate.values(choice, *arguments)]
    opposed, step = _reason(space, candidate, choice, arguments, mask)
    message = (
        f"expected a value of {name} that agrees with the other decisions, got {value}; possible before: {', '.join(possible)}"
    )
    if opposed:
        message += f"; it contradicts {opposed}"
    if step is not None and step.rules:
        message += f"; by the rule {' and '.join(repr(r) for r in step.rules[:2])}"
        about = _subject(space, step)
        message += f" (nothing is left for {about})" if about and about != name else ""
    others = [v for v in possible if v != value]
    fixes = [f"leave {opposed.split(' = ')[0]} open"] if opposed else []
    if others:
        fixes.append(f"take {' or '.join(others)}")
    return UserError(Diagnostic("REFUTED", message, fix=", or ".join(fixes) or "decide less beforehand"))


def _reason(space: Decided, candidate: Candidate, choice: str, arguments: tuple[int, ...], mask: int) -> tuple[str, Step | None]:
    """A decision that does not go with the value (empty: no other is needed), and the step at which that shows."""
    instance, plain = space.instance, space.root()
    if not plain.domain(choice, *arguments) & mask:
        return "", removal_at_root(instance, choice, arguments, mask)
    current = plain.restrict(choice, arguments, mask)
    if current is None:
        return "", last_step(plain, choice, arguments, mask)
    for name, other in _decided(space, candidate, choice, arguments):
        wanted = candidate.domain(name, *other)
        current = current.restrict(name, other, wanted)
        if current is None:
            values = "|".join(str(v) for v in candidate.values(name, *other))
            step = removal(plain, (name, other, wanted), choice, arguments, mask)
            following = plain.restrict(name, other, wanted)
            if step is None and following is not None:
                step = last_step(following, choice, arguments, mask)
            return f"{space.names.text(name, other)} = {values}", step
        following = plain.restrict(name, other, wanted)
        if following is None:
            break
        plain = following
    return "", last_step(candidate, choice, arguments, mask)


def _decided(
    space: Decided, candidate: Candidate, choice: str, arguments: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Variables that the candidate has narrowed: what people decide first, and of it what is about the same instruction."""
    instance, root = space.instance, space.root()
    mine = _owners(space, choice, arguments)
    for name in (*_FIRST, *(c for c in SORTS if c not in _FIRST)):
        if name not in instance.space.choices:
            continue
        found = [tuple(int(str(t)) for t in things) for things in root.open(name)]
        for other in sorted(found, key=lambda things: not mine & _owners(space, name, things)):
            if (name, other) != (choice, arguments) and candidate.domain(name, *other) != root.domain(name, *other):
                yield name, other


def _owners(space: Decided, choice: str, arguments: tuple[int, ...]) -> set[str]:
    """Names of the instructions, or axes, that a variable is about."""
    return {space.names.of[sort][n].split(".")[0] for sort, n in zip(SORTS[choice], arguments, strict=True)}


def _subject(space: Decided, step: Step) -> str:
    """The variable that a step is about, if people know its choice."""
    return space.names.text(step.choice, step.things) if step.choice in SORTS and not step.is_counter else ""
