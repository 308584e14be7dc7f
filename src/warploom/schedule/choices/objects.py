"""The objects of a kernel's space: statements, extents, pairs of loops that values travel between, temporaries.

Statements are numbered as in the backbone (instructions, then dims), then the reserved ones of each possible temporary: its
store, its load, the dims of the store, the dims of the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from warploom.machines import WIDEST_BYTES
from warploom.schedule.backbone import Access, Backbone, Carry, Operator, Previous, Result, Scope, followers, waits_for_sum
from warploom.schedule.choices.decided import DimPair, Temporary
from warploom.schedule.choices.features import Features

Habit: TypeAlias = tuple[str, tuple[int, ...], str]
"""A decision that fast kernels mostly have: (choice, objects, value)."""


def mapped_alike(statements: Iterable[int]) -> Iterator[Habit]:
    """Thread loops of one hardware level: each pair of neighbours shares its index."""
    return (("thread_mapping", pair, "MAPPED") for pair in pairwise(statements))


def power_above(number: int) -> int:
    """The least power of two from it on."""
    return 1 << (number - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Loop:
    """A dim of the backbone or of a temporary's store or load."""

    statement: int
    owner: int
    """Statement of the instruction."""
    extent: int
    axis: int
    level: int
    is_innermost: bool
    """The last level of its axis."""
    is_parallel: bool
    is_reduction: bool
    is_consumed_whole: bool = False
    """Some user takes the last value, or the total, over it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction, or the store or load of a temporary."""

    statement: int
    name: str
    operator: Operator
    instruction: int
    """Number of the backbone's instruction; for temporaries the one whose value is stored."""
    loops: tuple[int, ...]
    """Statements."""
    temporary: int | None = None
    """Number of the temporary of whose store or load this is."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two dims of one extent between which a value travels index by index, source to target."""

    source: int
    target: int
    scope: Scope
    temporary: int | None = None
    """The temporary that the value may go through."""
    is_reserved: bool = False
    """Belongs to that temporary's store or load."""


@dataclass(frozen=True, slots=True)
class Objects:
    backbone: Backbone
    operations: tuple[Operation, ...]
    """Instructions, then store and load of each temporary."""
    loops: tuple[Loop, ...]
    """Dims, then those of temporaries."""
    pairs: tuple[Pair, ...]
    temporaries: tuple[Temporary, ...]
    precedes: frozenset[tuple[int, int]]
    """Statements of which the first ends before the second starts."""

    @property
    def statements(self) -> int:
        return len(self.operations) + len(self.loops)

    def operation(self, statement: int) -> Operation:
        return next(o for o in self.operations if o.statement == statement)

    @property
    def sums(self) -> tuple[Operation, ...]:
        """Reductions."""
        own = (o for o in self.operations if o.temporary is None)
        return tuple(o for o in own if self.backbone.instructions[o.instruction].carry is not None)

    @property
    def summed(self) -> set[int]:
        """Axes over which something is reduced."""
        return {x.axis for x in self.loops if x.is_reduction}

    @property
    def levels(self) -> dict[int, int]:
        """How many levels each axis has."""
        extents = self.backbone.extents
        return {a: sum(e.axis == a for e in extents) for a in range(len(self.backbone.axes))}

    def stride(self, access: Access | None, axis: int) -> int:
        """Elements between neighbours along an axis in the array that is accessed; 0 without an access."""
        if access is None:
            return 0
        strides = self.backbone.regions[access.region].strides
        terms = ((t, f * stride) for index, stride in zip(access.indices, strides, strict=True) for t, f in index.terms)
        return sum(step for term, step in terms if term == axis)

    def lanes(self, axis: int) -> int:
        """The widest vectors along an axis that all loads and stores of neighbours along it can have; 1: none."""
        found = [
            self._lanes(instruction.access, instruction.dtype.size_bytes, axis)
            for instruction in self.backbone.instructions
            if self.stride(instruction.access, axis) == 1
        ]
        return min(found, default=1)

    def _lanes(self, access: Access | None, element_bytes: int, axis: int) -> int:
        assert access is not None
        lanes = max(1, WIDEST_BYTES // element_bytes)
        strides = self.backbone.regions[access.region].strides
        offset = sum(index.constant * stride for index, stride in zip(access.indices, strides, strict=True))
        others = [self.stride(access, a) for a in range(len(self.backbone.axes)) if a != axis]
        while lanes > 1 and any(n % lanes for n in (self.backbone.axes[axis].size, offset, *others)):
            lanes //= 2
        return lanes

    def is_copy(self, temporary: Temporary) -> bool:
        """Whether a load of an array goes to the temporary alone, and is used again from there."""
        instructions = self.backbone.instructions
        producer = instructions[temporary.producer]
        results = (o for i in instructions for o in i.operands if isinstance(o, Result))
        uses = sum(o.instruction == temporary.producer for o in results)
        axes = {self.backbone.extents[p.extent].axis for p in temporary.pairs}
        is_reused = bool(set(instructions[temporary.consumer].axes) - set(producer.axes))
        return producer.operator is Operator.LOAD and uses == 1 and is_reused and set(producer.axes) <= axes

    def pairs_of(self, temporary: int) -> tuple[int, ...]:
        """The direct pairs of a temporary's value, by their positions; in the order of `Temporary.pairs`."""
        return tuple(n for n, p in enumerate(self.pairs) if p.temporary == temporary and not p.is_reserved)


@dataclass(frozen=True, slots=True)
class _Use:
    """A value's way; of a running value that is read before the reduction goes on, the order of both: the reader is the
    `producer`, which comes first."""

    producer: int
    consumer: int
    operand: int
    mapped: tuple[int, ...]
    scope: Scope


def objects_of(backbone: Backbone, features: Features) -> Objects:
    builder = _Builder(backbone)
    for use in _uses(backbone, features):
        builder.add(use)
    return builder.build()


NEIGHBOURS = 3
"""Loads of values that are used once, of which each may have a temporary; with more of them (stencils) none has."""


def _uses(backbone: Backbone, features: Features) -> list[_Use]:
    uses: list[_Use] = []
    once = sum(_is_used_once(backbone, n, o) for n, i in enumerate(backbone.instructions) for o in i.operands)
    after = followers(backbone.instructions)
    stages_unshared = features.stages_unshared and (features.exact or once <= NEIGHBOURS)
    for number, instruction in enumerate(backbone.instructions):
        for position, operand in enumerate(instruction.operands):
            match operand:
                case Result(producer, mapped, scope):
                    is_loaded = backbone.instructions[producer].operator is Operator.LOAD
                    is_stored = instruction.operator is Operator.STORE
                    is_result = not is_loaded and (is_stored or not features.stages_results)
                    is_used_once = _is_used_once(backbone, number, operand)
                    is_kept = is_used_once and not stages_unshared
                    if is_kept and not features.exact:  # in registers, unless the sum that its user waits for runs over all
                        is_kept = not waits_for_sum(backbone.instructions, after, producer, number)
                    if scope is Scope.BLOCK and (is_result or is_kept):
                        scope = Scope.THREAD
                    uses.append(_Use(producer, number, position, mapped, scope))
                case Carry(init):
                    uses.append(_Use(init, number, position, instruction.kept_axes, Scope.THREAD))
                case Previous(reduction, mapped):
                    uses.append(_Use(number, reduction, -1, mapped, Scope.THREAD))
                case _:
                    pass
    return uses


def _is_used_once(backbone: Backbone, consumer: int, operand: object) -> bool:
    """Each loaded value by one point of the consumer."""
    if not isinstance(operand, Result) or backbone.instructions[operand.instruction].operator is not Operator.LOAD:
        return False
    return set(backbone.instructions[consumer].axes) <= set(operand.mapped)


class _Builder:
    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone
        self.next = len(backbone.instructions) + len(backbone.dims)
        self.loops: dict[int, Loop] = {}
        self.of: dict[int, dict[int, int]] = {}
        """Owner -> extent -> loop."""
        self.operations: list[Operation] = []
        self.pairs: list[Pair] = []
        self.temporaries: list[Temporary] = []
        self.precedes: set[tuple[int, int]] = set()
        self.whole: set[int] = set()
        deepest = {e.axis: e.level for e in sorted(backbone.extents, key=lambda e: e.level)}
        self.is_innermost = [e.level == deepest[e.axis] for e in backbone.extents]
        for number, dim in enumerate(backbone.dims):
            self.add_loop(backbone.statement_of(number), dim.instruction, dim.extent, dim.is_parallel, dim.is_reduction)
        for number, instruction in enumerate(backbone.instructions):
            loops = tuple(self.of.get(number, {}).values())
            self.operations.append(Operation(number, instruction.name, instruction.operator, number, loops))

    def add_loop(self, statement: int, owner: int, extent: int, is_parallel: bool, is_reduction: bool) -> None:
        level = self.backbone.extents[extent]
        self.loops[statement] = Loop(
            statement, owner, extent, level.axis, level.level, self.is_innermost[extent], is_parallel, is_reduction
        )
        self.of.setdefault(owner, {})[extent] = statement

    def reserve(self) -> int:
        self.next += 1
        return self.next - 1

    def add(self, use: _Use) -> None:
        mapped = [e for e, x in enumerate(self.backbone.extents) if x.axis in use.mapped and e in self.of.get(use.producer, {})]
        sources, targets = self.of.get(use.producer, {}), self.of.get(use.consumer, {})
        self.precedes.add((use.producer, use.consumer))
        carry = self.backbone.instructions[use.consumer].carry
        if carry is not None and carry.init == use.producer:
            self.precedes |= {(use.producer, s) for s in targets.values() if self.loops[s].is_reduction}
        rest = {s for e, s in sources.items() if e not in mapped}
        self.precedes |= {(s, use.consumer) for s in rest}
        self.whole |= rest
        number = len(self.temporaries) if use.scope is Scope.BLOCK and mapped else None
        self.pairs += [Pair(sources[e], targets[e], use.scope, number) for e in mapped]
        if number is not None:
            self._add_temporary(use, number, mapped)

    def _add_temporary(self, use: _Use, number: int, mapped: list[int]) -> None:
        sources, targets = self.of[use.producer], self.of[use.consumer]
        store, load = self.reserve(), self.reserve()
        for owner in (store, load):
            for extent in mapped:
                self.add_loop(self.reserve(), owner, extent, True, False)
        stores, loads = self.of[store], self.of[load]
        self.pairs += [Pair(sources[e], stores[e], Scope.THREAD, number, True) for e in mapped]
        self.pairs += [Pair(loads[e], targets[e], Scope.THREAD, number, True) for e in mapped]
        name = self._name(use)
        self.operations.append(Operation(store, f"put_{name}", Operator.STORE, use.producer, tuple(stores.values()), number))
        self.operations.append(Operation(load, f"get_{name}", Operator.LOAD, use.producer, tuple(loads.values()), number))
        self.precedes |= {(use.producer, store), (store, load), (load, use.consumer)}
        self.precedes |= {(s, store) for e, s in sources.items() if e not in mapped}
        pairs = tuple(DimPair(e, stores[e], loads[e]) for e in mapped)
        self.temporaries.append(
            Temporary(len(self.backbone.regions) + number, name, use.producer, use.consumer, use.operand, store, load, pairs)
        )

    def _name(self, use: _Use) -> str:
        producer = self.backbone.instructions[use.producer].name
        consumer = self.backbone.instructions[use.consumer].name
        taken = [t.name for t in self.temporaries]
        for name in (producer, f"{producer}_{consumer}", f"{producer}_{consumer}_{use.operand}"):
            if name not in taken:
                return name
        raise AssertionError(name)

    def build(self) -> Objects:
        loops = tuple(
            Loop(
                x.statement, x.owner, x.extent, x.axis, x.level, x.is_innermost, x.is_parallel, x.is_reduction,
                x.statement in self.whole,
            )
            for x in sorted(self.loops.values(), key=lambda x: x.statement)
        )  # fmt: skip
        return Objects(
            self.backbone, tuple(self.operations), loops, tuple(self.pairs), tuple(self.temporaries), frozenset(self.precedes)
        )
