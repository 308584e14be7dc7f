"""A kernel's space as a `solve.Model`: what to branch on, bounds in picoseconds, decided candidates as loop nests."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from warploom.schedule.choices import DEFAULT_ORDER, Features, KernelSpace, LoweringError
from warploom.schedule.nest import Loop, Nest, Node, identity
from warploom.schedule.search.evaluate import Measurement, Timed
from warploom.solve import Alternative, Cost
from warploom.solve.space import Candidate

PS_PER_MS = 10**9
_LEFT_OUT = ((0.0, 0.0), (0.0, 1.0), (0.05, 0.5))
"""Shares of the habits of fast kernels that descents leave out in turn: of all but sizes, of sizes."""
_ALIKE = ("spread", "cache", "stages", "swizzle")
"""Choices that the tiles of a kernel mostly take alike: a loop fills all of its tiles as far ahead."""
_KEPT = 20
"""Contradictions that are remembered."""

Trail: TypeAlias = "tuple[Trail, str, str] | None"
"""The last decision (name, value) behind those before it."""


class OpenValue(Protocol):
    @property
    def value(self) -> str: ...
    @property
    def mask(self) -> int: ...


class OpenDecision(Protocol):
    @property
    def choice(self) -> str: ...
    @property
    def arguments(self) -> tuple[int, ...]: ...
    @property
    def alternatives(self) -> Sequence[OpenValue]: ...


class Naming(Protocol):
    def text(self, choice: str, arguments: tuple[Hashable, ...], /) -> str: ...


class Domains(Protocol):
    """The part of `solve.space.Candidate` that is used here."""

    def domain(self, choice: str, /, *arguments: int) -> int: ...
    def open(self, choice: str, /) -> Sequence[tuple[Hashable, ...]]: ...
    def restrict(self, choice: str, arguments: tuple[int, ...], mask: int, /) -> Self | None: ...
    def restrict_many(self, decisions: Sequence[tuple[str, tuple[int, ...], int]], /) -> Self | None: ...


C = TypeVar("C", bound=Domains)


class Choices(Protocol[C]):
    """The part of `schedule.choices.KernelSpace` that is used here."""

    @property
    def names(self) -> Naming: ...
    def root(self) -> C: ...
    def choices(self, order: Sequence[str], /) -> Sequence[str]: ...
    def decisions(self, candidate: C, order: Sequence[str], /) -> OpenDecision | None: ...
    def set_by_name(self, candidate: C, name: str, value: str, taken: Sequence[tuple[str, str]] = (), /) -> C: ...
    def lower(self, candidate: C, /) -> Nest: ...


C_contra = TypeVar("C_contra", bound=Domains, contravariant=True)


class Bounds(Protocol[C_contra]):
    """The part of `schedule.bound.Bound` that is used here; milliseconds."""

    def of(self, candidate: C_contra, /) -> float: ...
    def estimate(self, candidate: C_contra, /) -> float: ...
    def appraise(self, candidate: C_contra, nest: Nest, /) -> float: ...


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[C]):
    """A candidate and the decisions that led to it."""

    candidate: C
    trail: Trail = None
    guesses: list[float] = field(default_factory=list[float])
    """The candidate's estimate in ms, once it is known: made together with the bound, which costs most of it."""

    @property
    def decisions(self) -> dict[str, str]:
        found: list[tuple[str, str]] = []
        trail = self.trail
        while trail is not None:
            found.append(trail[1:])
            trail = trail[0]
        return dict(reversed(found))


@dataclass(frozen=True, slots=True, eq=False)
class Implementation(Generic[C]):
    """A fully specified kernel."""

    candidate: C
    nest: Nest
    key: str
    """Equal for equal nests, 64 hexadecimal digits."""
    decisions: Mapping[str, str]
    """Decisions in the order in which they were taken; replayed they give the candidate."""
    bound_ms: float
    """No run of it takes less, if the figures of the target are right."""
    features: Features | None = None
    """Features of its space; None: those of the target."""

    def judged(self, measurement: Measurement) -> Measurement:
        """The same, but a modelled time is never below the bound: bound and model are one model of time."""
        if isinstance(measurement, Timed) and measurement.is_modelled and measurement.time_ms < self.bound_ms:
            busy_ms = None if measurement.busy_ms is None else max(measurement.busy_ms, self.bound_ms)
            return replace(measurement, time_ms=self.bound_ms, busy_ms=busy_ms)
        return measurement


class KernelModel(Generic[C]):
    """`solve.Model[Step, Implementation]` with costs (picoseconds,).

    It always branches on the first open decision in `order`, so that `open_choices` has at most one. `fixed` are decisions taken
    by hand. UserError where they contradict each other.
    """

    def __init__(
        self,
        space: Choices[C],
        bound: Bounds[C],
        *,
        order: Sequence[str] = DEFAULT_ORDER,
        fixed: Mapping[str, str] | None = None,
    ) -> None:
        self.space = space
        self._bound = bound
        self._order = tuple(order)
        self._fixed = dict(fixed or {})
        self._numbers: dict[tuple[str, tuple[int, ...]], int] = {}
        self._variables: list[tuple[str, tuple[int, ...]]] = []
        self._root: Step[C] | None = None
        self._last: tuple[Step[C], OpenDecision | None] | None = None
        self._known: dict[tuple[int, int], str] = {}
        """By choice and mask, the value of each alternative seen."""
        self._begun = 0
        """Descents that began with habits."""
        self.contradictions: list[str] = []
        """Reasons why decided candidates could not be lowered: constraints that the space lacks."""

    def root(self) -> Step[C]:
        """Made once."""
        if self._root is None:
            step = Step(self.space.root())
            for name, value in self._fixed.items():
                step = self._set(step, name, value)
            self._root = step
        return self._root

    def replay(self, decisions: Mapping[str, str]) -> Step[C]:
        """UserError (CHOICE, REFUTED) at the first one that is unknown or impossible. Decisions of versions without `warps` have
        plain ones."""
        step = Step(self.space.root())
        for name, value in decisions.items():
            step = self._set(step, name, value)
        if isinstance(self.space, KernelSpace):
            plain = (name for name in self.space.usual if name.startswith("warps(") and name not in decisions)
            for name in plain:
                step = self._set(step, name, "PLAIN")
        return step

    def open_names(self, step: Step[C]) -> list[str]:
        """The next open decisions, at most eight; none: fully decided."""
        if self._decision(step) is None:
            return []
        candidate = step.candidate
        found = (self.space.names.text(c, a) for c in self.space.choices(self._order) for a in candidate.open(c))
        return list(islice(found, 8))

    def open_choices(self, candidate: Step[C]) -> Sequence[tuple[int, int]]:
        decision = self._decision(candidate)
        return [] if decision is None else [(self._number(decision), len(decision.alternatives))]

    def alternatives(self, candidate: Step[C], choice: int) -> Iterator[Alternative[Step[C]]]:
        decision = self._decision(candidate)
        if decision is None or self._number(decision) != choice:
            return
        name = self.space.names.text(decision.choice, decision.arguments)
        for value in decision.alternatives:
            self._known[choice, value.mask] = value.value
            yield Alternative((0,), partial(self._decided, candidate, decision, name, value), value.mask)

    def bound(self, candidate: Step[C]) -> Cost:
        least = self._bound.of(candidate.candidate)
        if not candidate.guesses:
            candidate.guesses.append(self._bound.estimate(candidate.candidate))
        return (picoseconds(least),)

    def estimate(self, candidate: Step[C]) -> float:
        """Picoseconds."""
        if not candidate.guesses:
            candidate.guesses.append(self._bound.estimate(candidate.candidate))
        return candidate.guesses[0] * PS_PER_MS

    def appraise(self, implementation: Implementation[C]) -> float:
        """Picoseconds, a guess."""
        return self._bound.appraise(implementation.candidate, implementation.nest) * PS_PER_MS

    def value(self, leaf: Step[C], choice: int) -> Hashable:
        """The value of a choice in a decided candidate, as in `Alternative.value`."""
        name, arguments = self._variables[choice]
        return leaf.candidate.domain(name, *arguments)

    def decide(self, step: Step[C], decisions: Sequence[tuple[int, Hashable]]) -> Step[C] | None:
        """Several decisions at once, numbered as in `open_choices`, with the masks of their alternatives."""
        trail = step.trail
        for number, mask in decisions:
            choice, arguments = self._variables[number]
            assert isinstance(mask, int)
            found = self._known.get((number, mask))
            if found is None:
                return None
            trail = (trail, self.space.names.text(choice, arguments), found)
        wanted = [(*self._variables[number], mask) for number, mask in decisions if isinstance(mask, int)]
        candidate = step.candidate.restrict_many(wanted)
        return None if candidate is None else Step(candidate, trail)

    def begin(self, step: Step[C], chance: random.Random) -> tuple[tuple[int, Hashable], ...]:
        """Decisions that fast kernels mostly have; two descents in three leave some of them out. They are numbered as in
        `open_choices`, in the order of a descent."""
        space = self.space
        if not isinstance(space, KernelSpace) or not isinstance(step.candidate, Candidate):
            return ()
        shares = _LEFT_OUT[self._begun // space.ways % len(_LEFT_OUT)]  # at first every way as it is
        self._begun += 1

        def leave_out(choice: str) -> bool:
            return choice != "mem_space" and chance.random() < shares[choice == "size"]  # what else is fast depends on it

        wanted = space.usually(step.candidate, leave_out, self._begun - 1)
        found: list[tuple[int, Hashable]] = []
        for choice, arguments, mask in space.steps(step.candidate, wanted, self._order, only_sizes=True):
            number = self._numbered(choice, arguments)
            self._known[number, mask] = space.value_text(choice, arguments, mask)
            found.append((number, mask))
        return tuple(found)

    @property
    def ways(self) -> int:
        """On CPUs, the number of ways in which `begin` begins before it leaves anything out; elsewhere 0."""
        space = self.space
        return space.ways if isinstance(space, KernelSpace) and not space.target.has_threads else 0

    @property
    def starts(self) -> int:
        """The number of ways that a search begins with, whatever its budget: on GPUs all of them, since few nodes lead from one
        to another."""
        return self.space.ways if isinstance(self.space, KernelSpace) and self.retraces else 0

    @property
    def retraces(self) -> bool:
        """Whether descents begin with habits, whose order is not that of a descent, for a GPU."""
        space = self.space
        return isinstance(space, KernelSpace) and space.target.has_threads and space.has_habits

    def retraced(self, step: Step[C], leaf: Step[C]) -> tuple[tuple[int, Hashable], ...]:
        """The decisions that lead from a candidate to a decided one behind it, in the order of a descent, numbered as in
        `open_choices`."""
        space = self.space
        if not isinstance(space, KernelSpace) or not isinstance(step.candidate, Candidate):
            return ()
        assert isinstance(leaf.candidate, Candidate)
        found: list[tuple[int, Hashable]] = []
        current = step.candidate
        while (decision := space.decisions(current, self._order)) is not None:
            domain = leaf.candidate.domain(decision.choice, *decision.arguments)
            value = next((v for v in decision.alternatives if v.mask & domain == domain), None)
            following = value and current.restrict(decision.choice, decision.arguments, value.mask)
            if value is None or following is None:  # a choice that makes no difference behind all others
                break
            number = self._number(decision)
            self._known[number, value.mask] = value.value
            found.append((number, value.mask))
            current = following
        return tuple(found)

    def is_amount(self, choice: int) -> bool:
        return self._variables[choice][0] == "size"

    def sort(self, choice: int) -> Hashable:
        """The name of choices that the tiles of a kernel mostly take alike; None for others."""
        name = self._variables[choice][0]
        return name if name in _ALIKE else None

    def is_open(self, step: Step[C], choice: int, mask: Hashable) -> bool:
        """Whether the choice may still be decided so, and is not."""
        name, arguments = self._variables[choice]
        domain = step.candidate.domain(name, *arguments)
        return isinstance(mask, int) and domain & mask != 0 and domain & ~mask != 0

    def widths(self, candidate: Step[C], levels: int) -> Sequence[int] | None:
        """How many candidates each of the next levels has; None: the space cannot tell without making them."""
        space = self.space
        if not isinstance(space, KernelSpace) or not isinstance(candidate.candidate, Candidate):
            return None
        return space.widths(candidate.candidate, self._order, levels)

    def remaining(self, candidate: Step[C]) -> int:
        """Number of open choices: Chen's strata."""
        return sum(len(candidate.candidate.open(choice)) for choice in self.space.choices(self._order))

    def answer(self, candidate: Step[C]) -> tuple[Cost, Implementation[C]] | None:
        try:
            nest = self.space.lower(candidate.candidate)
        except LoweringError as error:
            if len(self.contradictions) < _KEPT and str(error) not in self.contradictions:
                self.contradictions.append(str(error))
            return None
        bound_ms = self._bound.of(candidate.candidate)
        key = hashlib.sha256(identity(nest).encode()).hexdigest()
        features = self.space.features if isinstance(self.space, KernelSpace) else None
        implementation = Implementation(candidate.candidate, nest, key, candidate.decisions, bound_ms, features)
        return (picoseconds(bound_ms),), implementation

    def _decision(self, step: Step[C]) -> OpenDecision | None:
        if self._last is None or self._last[0] is not step:
            self._last = step, self.space.decisions(step.candidate, self._order)
        return self._last[1]

    def _number(self, decision: OpenDecision) -> int:
        return self._numbered(decision.choice, decision.arguments)

    def _numbered(self, choice: str, arguments: tuple[int, ...]) -> int:
        variable = choice, arguments
        number = self._numbers.setdefault(variable, len(self._variables))
        if number == len(self._variables):
            self._variables.append(variable)
        return number

    def _decided(self, step: Step[C], decision: OpenDecision, name: str, value: OpenValue) -> Step[C] | None:
        child = step.candidate.restrict(decision.choice, decision.arguments, value.mask)
        return None if child is None else Step(child, (step.trail, name, value.value))

    def _set(self, step: Step[C], name: str, value: str) -> Step[C]:
        decided = self.space.set_by_name(step.candidate, name, value, tuple(step.decisions.items()))
        return Step(decided, (step.trail, name, value))


def picoseconds(ms: float) -> int:
    """Rounded down: a bound stays one."""
    return int(ms * PS_PER_MS)


def milliseconds(cost: Cost) -> float:
    return cost[0] / PS_PER_MS


def features(implementation: Implementation[C]) -> list[Hashable]:
    """Features on which the time of a nest may depend: its loops with kinds and sizes, what is in what, where data lies."""
    nest = implementation.nest
    found: list[Hashable] = [("buffer", b.name, b.space, b.copies) for b in nest.buffers]

    def walk(nodes: Sequence[Node], above: str) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                found.extend(((node.name, node.kind), (node.name, node.size), (above, node.name)))
                walk(node.body, node.name)
            else:
                found.append((above, type(node).__name__))

    walk(nest.body, "")
    return found
