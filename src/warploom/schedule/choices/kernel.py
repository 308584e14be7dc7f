"""The space of a kernel's implementations on a target: root, open decisions, decisions by name, replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.schedule.backbone import Backbone, Operator, tiled_sums
from warploom.schedule.choices.core_habits import core_habits
from warploom.schedule.choices.decided import Temporary, Twins
from warploom.schedule.choices.description import ORDERS, SEQUENTIAL
from warploom.schedule.choices.features import Features
from warploom.schedule.choices.habits import habits
from warploom.schedule.choices.inputs import instance_of
from warploom.schedule.choices.lower_candidate import lower_candidate
from warploom.schedule.choices.names import SORTS, Names, names_of
from warploom.schedule.choices.objects import Objects, objects_of
from warploom.schedule.choices.refusal import Given, refusal
from warploom.schedule.choices.twins import twins_of
from warploom.schedule.nest import Nest
from warploom.schedule.targets import Target
from warploom.solve.space import Candidate, Instance

DEFAULT_ORDER = (
    "mirror", "warps", "spread", "layout", "size", "dim_kind", "thread_mapping", "mem_space", "order", "cache", "partials",
    "stages", "swizzle", "prefetch", "direction",
)  # fmt: skip
"""Choices from the most to the least important (paper, section 5.5)."""
CPU_ORDER = ("mirror", "dim_kind", "size", "order", "layout", "cache", "partials", "stages", "prefetch", "direction")
"""Kinds of loops come first, since vectors, unrolled loops and threads limit the sizes: registers, lanes, caches."""


_Listed: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint64]]


@dataclass(frozen=True, slots=True)
class Alternative:
    value: str
    """Name of the value; several values that are one alternative are joined by `|`."""
    mask: int


@dataclass(frozen=True, slots=True)
class Decision:
    """An open choice of a candidate, with all that it may become."""

    choice: str
    arguments: tuple[int, ...]
    alternatives: tuple[Alternative, ...]


def default_order(target: Target) -> tuple[str, ...]:
    """The order in which choices are decided unless somebody says otherwise."""
    return DEFAULT_ORDER if target.has_threads else CPU_ORDER


class KernelSpace:
    """Source: Beaugnon et al., sections 2 and 4."""

    def __init__(self, backbone: Backbone, target: Target, features: Features | None = None) -> None:
        self.backbone = backbone
        self.target = target = target.with_tiles if tiled_sums(backbone, target.tiles) else target
        self.features = features or Features.of(target)
        self.objects: Objects = objects_of(backbone, self.features)
        self.names: Names = names_of(self.objects)
        self.instance: Instance = instance_of(self.objects, target, self.features)
        self.temporaries: tuple[Temporary, ...] = self.objects.temporaries
        self.twins: tuple[Twins, ...] = (
            twins_of(self.objects) if target.has_threads and "same_tile" in self.instance.space.choices else ()
        )
        self.static_dims = frozenset(
            x.statement
            for x in self.objects.loops
            if x.level > 0 or (self.features.outer_is_static and backbone.axes[x.axis].run_time is None)
        )
        """Loops of a size known beforehand: those that may be threads."""
        self._is_instruction = frozenset(o.statement for o in self.objects.operations)
        self._orders_of_pairs = tuple(
            (min(p.source, p.target), max(p.source, p.target))
            for p in self.objects.pairs
            if p.temporary is not None and not p.is_reserved
        )
        known = (habits if target.has_threads else core_habits)(self.objects, target)
        self._habits = known if not self.features.exact else ()
        self._in_order: dict[tuple[str, ...], _Listed] = {}
        self._turns = _turns(self.objects) if target.has_threads and not self.features.exact else {}

    @property
    def statement_names(self) -> tuple[str, ...]:
        return self.names.of["statement"]

    def root(self) -> Candidate:
        """Everything open. UserError (NO_IMPLEMENTATION) if the constraints leave nothing."""
        root = self.instance.root()
        if root is None:
            message = f"expected an implementation of {self.backbone.name} on {self.target.name}, got none"
            raise UserError(Diagnostic("NO_IMPLEMENTATION", message, fix="give tile sizes that divide the axes, or more of them"))
        return root

    @property
    def usual(self) -> dict[str, str]:
        """Decisions that a search takes unless they are taken by hand: those that matter only to several kernels together, and
        where no habit wants others, warps in the order of their threads and copies along the loops of threads."""
        choices = self.instance.space.choices
        found = {f"direction({self.backbone.name})": "FORWARD"} if "direction" in choices else {}
        copies = [t.region for t in self.temporaries if self.objects.is_copy(t)]
        plain = [("warps", 0, "PLAIN"), *(("spread", region, "NO") for region in copies)]
        for choice, thing, value in plain:
            if choice in choices:
                wanted = {v for way in self._habits for c, things, v in way if (c, things) == (choice, (thing,))}
                found[self.names.text(choice, (thing,))] = "|".join((value, *sorted(wanted - {value})))
        return found

    def choices(self, order: Sequence[str] = DEFAULT_ORDER) -> tuple[str, ...]:
        """The choices of `order` that this space has. UserError (CHOICE) for a name that is no choice."""
        for name in order:
            if name not in SORTS:
                raise UserError(Diagnostic("CHOICE", f"expected one of {', '.join(SORTS)}, got {name}"))
        return tuple(name for name in order if name in self.instance.space.choices)

    def decisions(self, candidate: Candidate, order: Sequence[str] = DEFAULT_ORDER) -> Decision | None:
        """The next open decision; None when everything that changes the code is decided."""
        for choice, arguments in self._in_turn(candidate, self.choices(order)):
            alternatives = self.alternatives(candidate, choice, arguments)
            if len(alternatives) > 1:
                return Decision(choice, arguments, alternatives)
        return None

    def widths(self, candidate: Candidate, order: Sequence[str], levels: int) -> tuple[int, ...] | None:
        """How many candidates each of the next levels has, in this order of decisions, counted without making them; None where
        the order depends on more than the choices."""
        if self._turns:
            return None
        choices = self.choices(order)
        known = self._in_order.get(choices)
        if known is None:
            known = self._in_order[choices] = self._listed(choices)
        return self.instance.widths(candidate, *known, levels)

    def _listed(self, choices: Sequence[str]) -> _Listed:
        """Positions of the variables that `_in_turn` can give, and of each the values that are one alternative."""
        turns: list[int] = []
        groups: list[int] = []
        for choice in choices:
            for variable in self.instance.one_way(choice).tolist():
                is_order = choice == "order"
                if is_order and self._between_instructions[variable]:
                    continue
                turns.append(variable)
                groups.append(SEQUENTIAL if is_order and not self.features.orders_siblings else 0)
        return np.array(turns, dtype=np.int64), np.array(groups, dtype=np.uint64)

    def _in_turn(self, candidate: Candidate, choices: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Open variables in the order in which they are decided. Whether loops of a load are those of its user comes before
        what they become: an array has a dimension for each one that is not, so that its size is known early."""
        for n, choice in enumerate(choices):
            if choice != "dim_kind" or not self._turns:
                yield from ((choice, arguments) for arguments in self._open(candidate, choice))
                continue
            kinds = list(self._open(candidate, choice))
            yield from ((choice, arguments) for arguments in kinds if self._turns[arguments[0]] < _LOADS)
            if "order" in choices[n:]:
                yield from (("order", arguments) for arguments in self._orders_of_pairs)
            yield from ((choice, arguments) for arguments in kinds if self._turns[arguments[0]] >= _LOADS)

    def _open(self, candidate: Candidate, choice: str) -> Iterator[tuple[int, ...]]:
        """Objects of the open variables, in order; of orders, those that make a difference."""
        found = map(self.instance.things_of, self._open_positions(candidate, choice).tolist())
        return cast("Iterator[tuple[int, ...]]", found)

    def _open_positions(self, candidate: Candidate, choice: str, other: Candidate | None = None) -> NDArray[np.int64]:
        """`_open`, as positions. other: only where it differs."""
        positions = candidate.open_variables(choice)
        if choice == "order":
            positions = positions[~self._between_instructions[positions]]
            if not self.features.orders_siblings:
                positions = positions[candidate.domains[positions] != np.uint64(SEQUENTIAL)]
        if other is not None:
            positions = positions[candidate.domains[positions] != other.domains[positions]]
        if choice == "dim_kind" and self._turns:
            turns = [self._turns[cast("int", self.instance.things_of(v)[0])] for v in positions.tolist()]
            positions = positions[np.argsort(turns, kind="stable")]
        return positions

    @cached_property
    def _between_instructions(self) -> NDArray[np.bool_]:
        """By variable: whether it is the order of two instructions, which follows from that of their loops."""
        found = np.zeros(self.instance.domains.size, dtype=np.bool_)
        orders = self.instance.one_way("order").tolist()
        found[[v for v in orders if self._is_instruction.issuperset(self.instance.things_of(v))]] = True
        return found

    def alternatives(self, candidate: Candidate, choice: str, arguments: tuple[int, ...]) -> tuple[Alternative, ...]:
        """Values that a variable may take; none where its value makes no difference."""
        mask = candidate.domain(choice, *arguments)
        if choice == "order":
            if self._is_instruction.issuperset(arguments):
                return ()
            if not self.features.orders_siblings and mask & SEQUENTIAL == SEQUENTIAL:
                rest = tuple(Alternative(ORDERS[n], 1 << n) for n in range(2, 5) if mask >> n & 1)
                return (Alternative("BEFORE|AFTER", SEQUENTIAL), *rest)
            return tuple(Alternative(name, 1 << n) for n, name in enumerate(ORDERS) if mask >> n & 1)
        bits = [n for n in range(mask.bit_length()) if mask >> n & 1]
        values = candidate.values(choice, *arguments)
        return tuple(Alternative(str(v), 1 << n) for v, n in zip(values, bits, strict=True))

    def apply(self, candidate: Candidate, decision: Decision, value: Alternative | str) -> Candidate | None:
        """The candidate with that decision taken; None if nothing is left."""
        if isinstance(value, str):
            value = next(a for a in decision.alternatives if a.value == value)
        return candidate.restrict(decision.choice, decision.arguments, value.mask)

    def set_by_name(self, candidate: Candidate, name: str, value: str, taken: Sequence[tuple[str, str]] = ()) -> Candidate:
        """The candidate with `choice(names)` set to a value, or to one of several joined by `|`. A refusal says which of the
        decisions `taken` before it contradicts.

        UserError (CHOICE) for unknown names and values, UserError (REFUTED) where that contradicts what is decided.
        """
        wanted = self._given(name, value)
        restricted = candidate.restrict(wanted.choice, wanted.arguments, wanted.mask)
        if restricted is None:
            raise refusal(self, candidate, wanted, [self._given(*decision) for decision in taken])
        return restricted

    def _given(self, name: str, value: str) -> Given:
        choice, arguments = self.names.parse(name)
        if choice not in self.instance.space.choices:
            raise UserError(Diagnostic("CHOICE", f"expected a choice that is open on {self.target.name}, got {name}"))
        if int(self.instance.variables(choice)[arguments]) < 0:
            raise UserError(Diagnostic("CHOICE", f"expected objects that {choice} is about, got {name}"))
        known = [str(v) for v in self.instance.universe(choice, *arguments)]
        mask = 0
        for word in value.split("|"):
            if word.strip() not in known:
                message = f"expected a value of {name} ({', '.join(known)}), got {word.strip()}"
                raise UserError(Diagnostic("CHOICE", message))
            mask |= 1 << known.index(word.strip())
        return Given(choice, arguments, mask, value)

    def lower(self, candidate: Candidate) -> Nest:
        """The loop nest of a candidate without open decisions."""
        return lower_candidate(self.objects, self.target, candidate)

    def describe(self, candidate: Candidate) -> dict[str, str]:
        """The decisions that lead from the root to this candidate, by name; what follows from others is left out."""
        return {
            self.names.text(choice, arguments): self.value_text(choice, arguments, mask)
            for choice, arguments, mask in self.steps(self.root(), candidate)
        }

    def value_text(self, choice: str, arguments: tuple[int, ...], mask: int) -> str:
        """The values of a mask, joined by `|`."""
        known = self.instance.universe(choice, *arguments)
        return "|".join(str(v) for n, v in enumerate(known) if mask >> n & 1)

    def steps(
        self, current: Candidate, wanted: Candidate, order: Sequence[str] = DEFAULT_ORDER, *, only_sizes: bool = False
    ) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """(choice, objects, mask) of the decisions that lead from one candidate to one behind it, in the order of a search.
        `only_sizes`: where several sizes of a tile are left, they follow from the other decisions and are none."""
        is_over = False
        while not is_over:
            is_over = True
            for choice in self.choices(order):
                positions = self._open_positions(current, choice, wanted)
                place = 0
                while place < positions.size and is_over:
                    left = positions[place:]  # all but those that follow from the decisions before
                    differing = np.flatnonzero(current.domains[left] != wanted.domains[left])
                    if not differing.size:
                        break
                    variable = int(left[differing[0]])
                    place += int(differing[0]) + 1
                    mask, arguments = int(wanted.domains[variable]), cast("tuple[int, ...]", self.instance.things_of(variable))
                    if only_sizes and choice == "size" and mask & (mask - 1):
                        continue
                    if len(self.alternatives(current, choice, arguments)) < 2:
                        continue
                    yield choice, arguments, mask
                    following = current.restrict(choice, arguments, mask)
                    assert following is not None, "a candidate cannot contradict one that it came from"
                    is_over = bool((following.members == current.members).all())  # others have variables, which may come first
                    current = following
                if not is_over:
                    break

    @property
    def has_habits(self) -> bool:
        return bool(self._habits)

    @property
    def ways(self) -> int:
        """Number of ways to begin that `usually` has, at least 1."""
        return max(1, len(self._habits))

    def usually(self, candidate: Candidate, leave_out: Callable[[str], bool], turn: int = 0) -> Candidate:
        """The candidate with what fast kernels mostly have, as far as that is possible; `leave_out` is asked for each choice.
        Where there are several ways, each turn takes the next."""
        for choice, arguments, value in self._habits[turn % len(self._habits)] if self._habits else ():
            if choice not in self.instance.space.choices or leave_out(choice):
                continue
            universe = [str(v) for v in self.instance.universe(choice, *arguments)]
            mask = sum(1 << universe.index(v) for v in value.split("|") if v in universe)
            domain = candidate.domain(choice, *arguments)
            if domain & mask and domain & ~mask:
                candidate = candidate.restrict(choice, arguments, mask) or candidate
        return candidate

    def replay(self, decisions: dict[str, str] | list[tuple[str, str]]) -> Candidate:
        """The root with these decisions taken, in the order given. UserError as `set_by_name`."""
        listed = list(decisions.items()) if isinstance(decisions, dict) else decisions
        candidate = self.root()
        for n, (name, value) in enumerate(listed):
            candidate = self.set_by_name(candidate, name, value, listed[:n])
        return candidate


_LOADS = 3
"""Turn of the loops of loads; those of temporaries come later."""


def _turns(objects: Objects) -> dict[int, int]:
    """By loop, when its kind is decided: those of reductions first, since the others follow from them; of loads last."""
    backbone = objects.backbone
    turn: dict[int, int] = {}
    for operation in objects.operations:
        if operation.temporary is not None:
            turn[operation.statement] = _LOADS + 1
        elif operation.operator is Operator.LOAD:
            turn[operation.statement] = _LOADS
        elif operation.operator is Operator.STORE:
            turn[operation.statement] = 2
        else:
            turn[operation.statement] = 0 if backbone.instructions[operation.instruction].carry is not None else 1
    return {loop.statement: turn[loop.owner] for loop in objects.loops}


def kernel_space(backbone: Backbone, target: Target, features: Features | None = None) -> KernelSpace:
    """The space of a kernel on a target; by default with `Features.of(target)`."""
    return KernelSpace(backbone, target, features)
