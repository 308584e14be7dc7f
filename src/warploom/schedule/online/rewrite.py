"""Rewrites a kernel so that the sums over an axis that need its maximum are made in one pass, tile by tile.

    top = max(u over j);  t = sum(f(u, x, top) over j)     (two passes over j)
    -> for each tile of j:                                 (one pass)
           top' = max(u over the tile);  t' = sum(f(u, x, top') over the tile)
           (top, t) = (top, t) joined with (top', t')      (the operator that `law` has proved)

Goal: a backbone with the same results under the laws of the reals. Non-goal: choosing whether that is faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from warploom.core import DType, to_numpy
from warploom.core.linear import collected
from warploom.schedule.backbone import (
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Levels,
    Mask,
    Operand,
    Operator,
    Position,
    Result,
    Rewritten,
    Scope,
    assemble,
    extents_of,
    identity_of,
    matrix_of,
    needed,
    read_once,
    source_of,
)
from warploom.schedule.online.emit import Emitter, NotEmittedError
from warploom.schedule.online.law import Law, law_of
from warploom.schedule.online.mask import mask_of
from warploom.schedule.online.summand import NoSummandError, summand_of

INNER = "_inner"
"""Ends the name of the axis inside of a tile."""


def online(stage: Backbone, tile: int, tiles: Levels | None = None) -> Backbone | str:
    """The kernel in one pass over tiles of so many iterations, or why there is none.

    tiles: sizes of the levels of the axis inside of a tile, for the search to choose from; None: those of the axis where whole
    warps may make sums of products over it, as far as they fit, else `tiles_of_axis`.
    """
    if not stage.can_reorder:
        return "sums of floats keep their order"
    reasons: list[str] = []
    once = read_once(stage)
    for number, instruction in enumerate(once.instructions):
        if instruction.operator is Operator.MAX and instruction.carry is not None and len(instruction.carry.reduced) == 1:
            found = _rewritten(once, number, tile, tiles)
            if isinstance(found, Backbone):
                return stage.remade(found)
            reasons.append(f"{instruction.name}: {found}")
    return "; ".join(reasons) or "there is no maximum over one axis"


def least(dtype: DType) -> float:
    """The value from which maxima begin: the least finite one. A tile all of whose values are -inf then adds nothing, as in two
    passes; with -inf its differences would be NaN."""
    return -float(np.finfo(to_numpy(dtype)).max)


def tiles_of_axis(tile: int) -> Levels:
    """Sizes of the one level inside a tile: powers of two that divide it."""
    sizes = tuple(n for n in (1 << k for k in range(tile.bit_length())) if tile % n == 0)
    return (sizes,) if len(sizes) > 1 else ()


def _tiles_inside(stage: Backbone, found: _Sums, tile: int) -> Levels:
    sums = (i for i in stage.instructions if found.axis in i.axes and i.carry is not None)
    if not any(matrix_of(stage.instructions, i) is not None for i in sums):
        return tiles_of_axis(tile)
    levels: list[tuple[int, ...]] = []
    for sizes in reversed(stage.axes[found.axis].tiles):
        inside = prod(max(s) for s in levels)
        if fitting := tuple(n for n in sizes if tile % (n * inside) == 0):
            levels.insert(0, fitting)
    return tuple(levels)


@dataclass(frozen=True, slots=True)
class _Sums:
    """The maximum over the axis and the sums that need it."""

    top: int
    axis: int
    element: int
    """The instruction that the maximum is of."""
    totals: tuple[int, ...]
    after: frozenset[int]
    """Instructions that need a total, or the maximum, of the whole axis."""


def _rewritten(stage: Backbone, top: int, tile: int, tiles: Levels | None) -> Backbone | str:
    found = _sums(stage, top)
    if isinstance(found, str):
        return found
    axis = stage.axes[found.axis]
    if axis.run_time is not None or axis.size % tile:
        return f"tiles of {tile} do not divide the {axis.size} iterations of {axis.name}"
    fields: dict[int, str] = {}
    try:
        texts = tuple(summand_of(stage, t, found.top, found.element, fields) for t in found.totals)
        law = law_of(texts, tuple(fields.values()))
        if isinstance(law, str):
            return law
        return _Rewriting(stage, found, law, tile).backbone(_tiles_inside(stage, found, tile) if tiles is None else tiles)
    except (NoSummandError, NotEmittedError) as error:
        return str(error)


def _sums(stage: Backbone, top: int) -> _Sums | str:
    """The sums over the axis of a maximum, where everything over that axis is part of them or of what they add up."""
    instructions = stage.instructions
    maximum = instructions[top]
    carry = maximum.carry
    assert carry is not None
    (axis,) = carry.reduced
    name = stage.axes[axis].name
    if not maximum.dtype.is_float or not _starts(stage, carry, identity_of(Operator.MAX, maximum.dtype)):
        return "the maximum does not begin below all floats"
    others = [o for o in maximum.operands if not isinstance(o, Carry)]
    if len(others) != 1 or not isinstance(others[0], Result) or axis not in others[0].mapped:
        return f"the maximum is not of a value at each {name}"
    behind = needed(instructions)
    totals = tuple(
        n for n, i in enumerate(instructions) if n != top and i.carry is not None and axis in i.carry.reduced
    )  # fmt: skip
    if not totals:
        return f"nothing is summed over {name}"
    for n in totals:
        own = instructions[n].carry
        assert own is not None
        if own.reduced != (axis,) or top not in behind[n] or not _starts(stage, own, 0.0):
            return f"{instructions[n].name} is no sum over {name} alone, from 0 on, that needs the maximum"
    whole = {top, *totals}
    for n, i in enumerate(instructions):
        if n in whole or axis not in i.axes:
            continue
        if i.operator is Operator.STORE or behind[n] & set(totals):
            return f"{i.name} needs all of {name} before it goes on along {name}"
        if i.carry is not None and top in behind[n]:
            return f"{i.name} reduces what needs the maximum"
    after = frozenset(n for n, i in enumerate(instructions) if n not in whole and axis not in i.axes and behind[n] & whole)
    if early := [n for n in sorted(after) if any(n in behind[t] for t in totals)]:
        return f"the sums need {instructions[early[0]].name}, which is made of the maximum of all of {name}"
    return _Sums(top, axis, others[0].instruction, totals, after)


def _starts(stage: Backbone, carry: Carry, value: float) -> bool:
    init = stage.instructions[carry.init]
    return init.operator is Operator.MOVE and init.operands == (Constant(value),)


@dataclass(slots=True)
class _Rewriting:
    stage: Backbone
    sums: _Sums
    law: Law
    tile: int
    made: list[Instruction] = field(default_factory=list[Instruction])
    number: dict[int, int] = field(default_factory=dict[int, int])
    """By instruction of the stage: that which has its value now; of sums the one of a tile, until they are joined."""

    @property
    def outer(self) -> int:
        return self.sums.axis

    @property
    def inner(self) -> int:
        return len(self.stage.axes)

    def backbone(self, tiles: Levels) -> Backbone:
        stage, whole = self.stage, (self.sums.top, *self.sums.totals)
        starts = {stage.instructions[n].carry.init for n in whole}  # pyright: ignore[reportOptionalMemberAccess] - all are reductions
        users = {
            s for n, i in enumerate(stage.instructions) if n not in whole for o in i.operands if (s := source_of(o)) is not None
        }
        for n, instruction in enumerate(stage.instructions):
            if n in whole:
                self.of_tile(n)
            elif n not in self.sums.after and (n not in starts or n in users):
                self.copied(n, instruction)
        self.join()
        for n in sorted(self.sums.after):
            self.copied(n, stage.instructions[n])
        old = stage.axes[self.outer]
        axes = list(stage.axes)
        axes[self.outer] = replace(old, size=old.size // self.tile, tiles=())
        axes.append(Axis(f"{old.name}{INNER}", self.tile, tiles, old.span))
        extents = [
            e
            for n, axis in enumerate(axes)
            for e in (extents_of(n, axis) if n in (self.outer, self.inner) else (x for x in stage.extents if x.axis == n))
        ]
        made = assemble(stage.name, axes, extents, stage.regions, self.made, can_reorder=stage.can_reorder)
        return replace(made, rewritten=Rewritten(self.outer, self.outer, self.inner, self.law.domain, self.mask()))

    def mask(self) -> Mask | None:
        """The mask of the elements, over the axes of the tiles."""
        sums = self.sums
        found = mask_of(self.stage, sums.top, sums.element, sums.axis, sums.totals)
        return None if found is None else replace(found, forms=tuple(map(self.index, found.forms)))

    # ------------------------------------------------------------ what is made for each tile

    def copied(self, n: int, instruction: Instruction) -> None:
        access = instruction.access
        if access is not None:
            access = replace(access, indices=tuple(self.index(i) for i in access.indices))
        operands = tuple(self.operand(o) for o in instruction.operands)
        self.number[n] = self.emit(replace(instruction, axes=self.over(instruction.axes), operands=operands, access=access))

    def of_tile(self, n: int) -> None:
        """The maximum or sum over the iterations of one tile."""
        instruction = self.stage.instructions[n]
        carry = instruction.carry
        assert carry is not None
        kept = self.kept(n)
        name = self.named(f"{instruction.name}_tile")
        start = replace(self.stage.instructions[carry.init], name=self.named(f"{name}_init"), axes=kept)
        if n == self.sums.top:
            start = replace(start, operands=(Constant(least(instruction.dtype)),))
        init = self.emit(start)
        operands = tuple(Carry(init, (self.inner,)) if isinstance(o, Carry) else self.operand(o) for o in instruction.operands)
        self.number[n] = self.emit(replace(instruction, name=name, axes=self.over(instruction.axes), operands=operands))

    def kept(self, n: int) -> tuple[int, ...]:
        """Axes of a sum of one tile."""
        return tuple(sorted(self.stage.instructions[n].axes))

    def over(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        return (*axes, self.inner) if self.outer in axes else axes

    def index(self, index: AxisSum) -> AxisSum:
        terms = [(a, c * self.tile if a == self.outer else c) for a, c in index.terms]
        terms += [(self.inner, c) for a, c in index.terms if a == self.outer]
        return collected(terms, index.constant)

    def operand(self, operand: Operand) -> Operand:
        match operand:
            case Result(number, mapped, scope):
                is_of_tile = number in (self.sums.top, *self.sums.totals) and self.number[number] not in self.joined
                is_whole = self.number[number] in self.joined
                scope = Scope.THREAD if is_of_tile or is_whole else scope
                return Result(self.number[number], (*mapped, self.outer) if is_of_tile else self.over(mapped), scope)
            case Carry(init, reduced):
                return Carry(self.number[init], reduced)
            case Position(index):
                return Position(self.index(index))
            case _:
                return operand

    # ------------------------------------------------------------ the operator

    joined: set[int] = field(default_factory=set[int])
    """The maximum and the sums of all tiles."""

    def join(self) -> None:
        """The maximum and the sums of the tiles so far, by the operator."""
        top, law = self.sums.top, self.law
        kept = self.kept(top)
        dtype = self.stage.instructions[top].dtype
        emitter = Emitter(self.emit, self.named, dtype, self.made)
        totals = dict(zip(self.sums.totals, zip(law.left[1:], law.right[1:], law.combine[1:], strict=True), strict=True))
        emitter.give(law.right[0], self.number[top], kept)
        for n, (_, right, _) in totals.items():
            emitter.give(right, self.number[n], self.kept(n))
        found = {top: self.maximum(emitter, kept)}
        for n, (left, _, combined) in totals.items():
            over = self.kept(n)
            if not set(kept) <= set(over):
                raise NotEmittedError(f"{self.stage.instructions[n].name} is of several maxima")
            factor, rest = emitter.rescaled(combined, left)
            init = self.start(n, over, dtype, 0.0)
            operands = (Carry(init, (self.outer,)), factor, rest)
            total = replace(self.stage.instructions[n], operator=Operator.FMA, operands=operands, axes=over)
            found[n] = self.emit(total)
        self.number |= found
        self.joined |= set(found.values())

    def maximum(self, emitter: Emitter, kept: tuple[int, ...]) -> int:
        law, top = self.law, self.sums.top
        if not emitter.is_maximum(law.combine[0], law.left[0], law.right[0]):
            raise NotEmittedError("the operator's maximum is not that of both maxima")
        dtype = self.stage.instructions[top].dtype
        init = self.start(top, kept, dtype, least(dtype))
        operands = (Carry(init, (self.outer,)), Result(self.number[top], kept, Scope.THREAD))
        made = self.emit(replace(self.stage.instructions[top], operands=operands, axes=kept))
        emitter.give_previous(law.left[0], made, self.stage.instructions[top].name)
        emitter.give(law.combine[0], made, kept)
        return made

    def start(self, n: int, kept: tuple[int, ...], dtype: DType, value: float) -> int:
        instruction = self.stage.instructions[n]
        over = tuple(a for a in kept if a != self.outer)
        name = self.named(f"{instruction.name}_start")
        return self.emit(Instruction(name, Operator.MOVE, (Constant(value),), over, dtype, span=instruction.span))

    def named(self, wish: str) -> str:
        taken = {i.name for i in (*self.stage.instructions, *self.made)}
        name, count = wish, 1
        while name in taken:
            count += 1
            name = f"{wish}_{count}"
        return name

    def emit(self, instruction: Instruction) -> int:
        self.made.append(instruction)
        return len(self.made) - 1
