"""Instructions of several lanes of a warp: shuffles, votes, matches, reductions (PTX ISA 9.7.9.6, 9.7.13).

Before each stands a gate: threads go on when all lanes that they name (and that have not exited) are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from warploom.ptx.simt import numerics
from warploom.ptx.simt.code import Gate, Group, Members, RunningBlocks, Segment, Step
from warploom.ptx.simt.operands import DTYPES, Site, value_of
from warploom.ptx.simt.threads import Value
from warploom.ptx.simt.undefined import DEFINED, marks_of
from warploom.ptx.syntax import Operand, Pair

_EVERY_LANE = 0xFFFFFFFF
ALL = np.array(_EVERY_LANE, np.uint32)
_WHOLE = frozenset(("mma", "wmma", "wgmma", "tcgen05", "tensormap", "ldmatrix", "stmatrix", "movmatrix"))
"""Opcodes that name no lanes: they need all."""


def _members(site: Site) -> Members:
    operands = site.instruction.operands
    if site.instruction.opcode in _WHOLE or not operands:
        return lambda group, running: ALL
    slot = site.sized(operands[-1], "b32")
    before = tuple(site.before)

    def masks(group: Group, running: RunningBlocks) -> Value:
        for step in before:
            step(group, running)
        value = group.registers[slot]
        return ALL if value is None else value

    return masks


def gate_of(site: Site, segment: Segment) -> Gate:
    """The gate before the warp-wide instruction at the start of the segment."""
    guard = site.instruction.guard
    predicate = -1 if guard is None else site.code.slots[guard.name]
    negated = guard is not None and guard.negated
    index = segment.index
    members_of = segment.members = _members(site)

    code, number = site.code, site.index

    def check_named(group: Group, running: RunningBlocks, members: Value) -> None:
        """Threads execute it without being in their own mask, which is undefined."""
        own = members >> (group.threads & 31).astype(np.uint32) & np.uint32(1)
        left_out = own == 0
        if predicate >= 0:
            flags = group.registers[predicate]
            if flags is None:
                return
            left_out = left_out & (np.logical_not(flags) if negated else flags)
        if left_out.any():
            thread = int(np.flatnonzero(left_out)[0])
            mask = int(members if members.ndim == 0 else members[thread])
            message = f"the lane executes {site.instruction.name} with the mask 0x{mask:08x}, which leaves it out"
            count = int(np.count_nonzero(left_out))
            running.report("shuffle_inactive", message, code, number, int(group.threads[thread]), count=count)

    def gate(group: Group, running: RunningBlocks) -> Group | None:
        if running.launch.checks:
            members = members_of(group, running)
            if members.ndim or int(members) != _EVERY_LANE:
                check_named(group, running, members)
        group = running.parked_at(group, index)
        layout = group.layout
        if layout.is_dense and predicate < 0:
            return group
        members = members_of(group, running)
        active = layout.active
        wants: Value | None = None
        if predicate >= 0:
            flags = group.registers[predicate]
            if flags is None:
                return group
            wants = np.logical_not(flags) if negated else flags
            if wants.ndim == 0 and not wants:
                return group
            active = layout.active & layout.full_rows(wants)
        here = numerics.lane_mask(active)
        missing = running.lane_masks(layout.warps, running.alive) & ~here
        lacking = (members & missing[layout.positions >> 5]) != 0
        if wants is not None:
            lacking = lacking & wants
        if not lacking.any():
            return group
        return running.park(group, index, np.flatnonzero(lacking))

    return gate


def _targets(site: Site, operand: Operand) -> tuple[int, int]:
    """Slots of d (32 bits) and p (a predicate); -1 where there is none."""
    if isinstance(operand, Pair):
        return site.register(operand.first, "b32"), site.register(operand.second, "pred")
    return site.register(operand, "b32"), -1


def _shfl(site: Site) -> Step:
    modifiers = site.instruction.modifiers
    is_sync = "sync" in modifiers
    mode = next((m for m in modifiers if m in ("up", "down", "bfly", "idx")), "")
    operands = site.instruction.operands
    if not mode or modifiers[-1:] != ("b32",) or len(operands) != (5 if is_sync else 4):
        raise site.unsupported(site.instruction.name)
    target, flag = _targets(site, operands[0])
    a, b, c = (site.sized(o, t) for o, t in zip(operands[1:4], ("b32", "b32", "b32"), strict=True))
    mask = site.sized(operands[4], "b32") if is_sync else -1
    marks, index = site.code.undefined.get(target, -1), site.index
    shuffle_mode = cast(Any, mode)

    def shuffle(group: Group, running: RunningBlocks) -> None:
        registers, layout = group.registers, group.layout
        members, own = None, None
        if mask >= 0:
            masks = value_of(registers, mask)
            if masks.ndim == 0:
                members = masks
            else:
                own = layout.rows(masks)
        rows = layout.full_rows(value_of(registers, a))
        lanes, clamp = layout.rows(value_of(registers, b)), layout.rows(value_of(registers, c))
        result = numerics.shfl(shuffle_mode, rows, lanes, clamp, layout.active, members)
        registers[target] = layout.lanes(result.value)
        if flag >= 0:
            registers[flag] = layout.lanes(result.in_range)
        if marks < 0:
            return
        registers[marks] = DEFINED
        if running.launch.checks:
            undefined = result.undefined
            if own is not None:
                undefined = undefined | (layout.active & (own >> result.source.astype(np.uint32) & np.uint32(1) == 0))
            if undefined.any():
                registers[marks] = marks_of(index, layout.lanes(undefined), layout.lanes(result.source))

    return shuffle


def _partitions(group: Group, slot: int) -> list[tuple[Value, Value]]:
    """Masks [warps] and which lanes [warps, 32] execute under them: lanes of a warp may name different sets."""
    layout = group.layout
    masks = value_of(group.registers, slot)
    if masks.ndim == 0:
        return [(masks, layout.active)]
    rows = layout.rows(masks)
    left = layout.active.copy()
    found: list[tuple[Value, Value]] = []
    while left.any():
        first = np.take_along_axis(rows, np.argmax(left, axis=-1)[:, None], axis=-1)
        chosen = left & (rows == first)
        found.append((first[:, 0], chosen))
        left &= ~chosen
    return found


def _per_partition(group: Group, mask: int, work: Callable[[Value, Value], tuple[Value, ...]], targets: tuple[int, ...]) -> None:
    """Runs `work(active, masks)` per set of lanes that name each other and puts its results, [warps] or [warps, 32], together."""
    layout = group.layout
    parts = _partitions(group, mask)
    wholes: list[Value] | None = None
    for masks, active in parts:
        results = [r if r.ndim == 2 else np.broadcast_to(r[..., None], active.shape) for r in work(active, masks)]
        if wholes is None:
            wholes = results
        else:
            wholes = [np.where(active, new, old) for new, old in zip(results, wholes, strict=True)]
    assert wholes is not None
    for target, whole in zip(targets, wholes, strict=True):
        if target >= 0:
            group.registers[target] = layout.lanes(whole)


def _vote(site: Site) -> Step:
    modifiers = [m for m in site.instruction.modifiers if m != "sync"]
    is_sync = "sync" in site.instruction.modifiers
    operands = site.instruction.operands
    if len(operands) != (3 if is_sync else 2) or modifiers[:1] not in (["all"], ["any"], ["uni"], ["ballot"]):
        raise site.unsupported(site.instruction.name)
    mode = modifiers[0]
    target = site.register(operands[0], "b32" if mode == "ballot" else "pred")
    flags = site.source(operands[1], "pred")
    mask = site.sized(operands[2], "b32") if is_sync else site.constant(ALL[()])

    def vote(group: Group, running: RunningBlocks) -> None:
        rows = group.layout.full_rows(value_of(group.registers, flags))

        def work(active: Value, masks: Value) -> tuple[Value, ...]:
            if mode == "ballot":
                return (numerics.ballot(rows, active, masks),)
            return (numerics.vote(mode, rows, active, masks),)  # type: ignore[arg-type]

        _per_partition(group, mask, work, (target,))

    return vote


def _match(site: Site) -> Step:
    modifiers = site.instruction.modifiers
    operands = site.instruction.operands
    if len(operands) != 3 or modifiers[:1] not in (("any",), ("all",)) or modifiers[-1] not in ("b32", "b64"):
        raise site.unsupported(site.instruction.name)
    target, flag = _targets(site, operands[0])
    source = site.sized(operands[1], modifiers[-1])
    mask = site.sized(operands[2], "b32")
    is_any = modifiers[0] == "any"

    def match(group: Group, running: RunningBlocks) -> None:
        rows = group.layout.full_rows(value_of(group.registers, source))

        def work(active: Value, masks: Value) -> tuple[Value, ...]:
            if is_any:
                return (numerics.match_any(rows, active, masks),)
            return numerics.match_all(rows, active, masks)

        _per_partition(group, mask, work, (target,) if is_any else (target, flag))

    return match


def _redux(site: Site) -> Step:
    modifiers = [m for m in site.instruction.modifiers if m != "sync"]
    operands = site.instruction.operands
    if len(modifiers) < 2 or modifiers[-1] not in ("u32", "s32", "b32", "f32") or len(operands) != 3:
        raise site.unsupported(site.instruction.name)
    target, source = site.register(operands[0], "b32"), site.sized(operands[1], modifiers[-1])
    mask = site.sized(operands[2], "b32")
    operator, type_name = modifiers[0], modifiers[-1]
    absolute, nan = "abs" in modifiers, "NaN" in modifiers
    lanes = np.zeros((1, 32), np.uint32)
    numerics.redux(operator, type_name, lanes, lanes == 0, ALL, absolute=absolute, nan=nan)

    def reduce(group: Group, running: RunningBlocks) -> None:
        rows = group.layout.full_rows(value_of(group.registers, source))

        def work(active: Value, masks: Value) -> tuple[Value, ...]:
            return (numerics.redux(operator, type_name, rows, active, masks, absolute=absolute, nan=nan),)

        _per_partition(group, mask, work, (target,))

    return reduce


def _elect(site: Site) -> Step:
    operands = site.instruction.operands
    target, flag = _targets(site, operands[0])
    mask = site.sized(operands[1], "b32")

    def elect(group: Group, running: RunningBlocks) -> None:
        _per_partition(group, mask, numerics.elect, (target, flag))

    return elect


def _activemask(site: Site) -> Step:
    target = site.register(site.instruction.operands[0], "b32")

    def ballot(group: Group, running: RunningBlocks) -> None:
        layout = group.layout
        group.registers[target] = layout.lanes(numerics.activemask(layout.active))

    return ballot


def _warp_barrier(site: Site) -> Step:
    if site.instruction.modifiers[:2] != ("warp", "sync"):
        raise site.unsupported(site.instruction.name)

    masks_slot = site.sized(site.instruction.operands[0], "b32")

    def barrier(group: Group, running: RunningBlocks) -> None:
        if not running.is_watching:
            return
        layout = group.layout
        masks = np.broadcast_to(value_of(group.registers, masks_slot), group.size).astype(np.uint32)
        alive = running.lane_masks(layout.warps, running.alive)
        narrow = (alive[layout.positions >> 5] & ~masks) != 0
        is_whole = np.packbits(layout.active, axis=-1, bitorder="little").view(np.uint32)[:, 0] == alive
        is_whole[layout.positions[narrow] >> 5] = False
        if is_whole.any():
            running.clock.warp_barrier(layout.warps[is_whole])
        for place in np.flatnonzero(~is_whole).tolist():
            lanes = np.flatnonzero(layout.positions >> 5 == place)
            for mask in np.unique(masks[lanes]).tolist():
                running.clock.meet(group.threads[lanes[masks[lanes] == mask]])

    return barrier


DECODERS: dict[str, Callable[[Site], Step]] = {
    "shfl": _shfl, "vote": _vote, "match": _match, "redux": _redux, "elect": _elect, "activemask": _activemask,
    "bar": _warp_barrier, "barrier": _warp_barrier,
}  # fmt: skip
WORD = DTYPES[32]
