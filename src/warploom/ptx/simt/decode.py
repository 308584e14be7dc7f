"""Makes closures of a segment's instructions: finds each opcode's decoder, adds guards and checks around what it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from warploom.core import UnsupportedError
from warploom.ptx.instructions import find_row
from warploom.ptx.simt import (
    accesses,
    arithmetic,
    atomics,
    bulk_copies,
    clusters,
    collectives,
    control,
    copies,
    matrix,
    mbarriers,
    movement,
    tcgen05,
    tensor_copies,
    textures,
    wgmma,
    wmma,
)
from warploom.ptx.simt.analysis import dropped_parts, effects, reads_own_memory, slots_of
from warploom.ptx.simt.build import ends_segment, is_warp_wide
from warploom.ptx.simt.code import Code, Group, Launched, RunningBlocks, Segment, Step
from warploom.ptx.simt.numerics import is_arithmetic
from warploom.ptx.simt.operands import CARRY, Site, value_of
from warploom.ptx.simt.product_registers import product_steps
from warploom.ptx.simt.scaled_matrix import decode_mma
from warploom.ptx.simt.undefined import undefined_steps
from warploom.ptx.simt.wrapping import wrapping_steps

Decoder: TypeAlias = Callable[[Site], Step]

DECODERS: dict[str, Decoder] = {  # by opcode, or by opcode and first modifier
    **movement.DECODERS,
    **accesses.DECODERS,
    **collectives.DECODERS,
    **atomics.DECODERS,
    **matrix.DECODERS,
    "mma": decode_mma,
    **wmma.DECODERS,
    **wgmma.DECODERS,
    **tcgen05.DECODERS,
    **copies.DECODERS,
    **mbarriers.DECODERS,
    **textures.DECODERS,
    **clusters.DECODERS,
    **bulk_copies.DECODERS,
    **tensor_copies.DECODERS,
}
PURE = frozenset((*movement.PURE,))
"""Opcodes without effects outside of their destination: under a guard they run for all and the result is chosen."""


def decode_segment(launch: Launched, code: Code, segment: Segment) -> None:
    """Fills in steps, gate and end."""
    steps: list[Step] = []
    instructions = code.routine.instructions
    last = segment.end
    finish = None
    if segment.start < segment.end and ends_segment(instructions[segment.end - 1]):
        last = segment.end - 1
        site = Site(launch, code, last)
        check_form(site)
        finish = control.decode_end(site, segment)
        steps_before_end = [*_doubts(site), *undefined_steps(site), *site.before]
    else:
        finish = control.fall_through(code, segment)
        steps_before_end = []
    if segment.start < last and is_warp_wide(instructions[segment.start]):
        site = Site(launch, code, segment.start)
        check_form(site)
        segment.gate = collectives.gate_of(site, segment)
    for index in range(segment.start, last):
        steps += _decoded(Site(launch, code, index))
    segment.finish = finish
    segment.steps = steps + steps_before_end


def _decoded(site: Site) -> list[Step]:
    instruction = site.instruction
    check_form(site)
    decoder = DECODERS.get(".".join((instruction.opcode, *instruction.modifiers[:1]))) or DECODERS.get(instruction.opcode)
    is_pure = instruction.opcode in PURE
    if decoder is None and is_arithmetic(instruction.opcode):
        decoder, is_pure = arithmetic.decode, True
    if decoder is None:
        raise site.unsupported(instruction.name)
    try:
        step = decoder(site)
    except UnsupportedError as error:
        if error.diagnostics[0].code == "PTX_ARITHMETIC":
            raise site.located(error) from None
        raise
    if instruction.guard is not None:
        step = _guarded(site, step, is_pure)
    before = [*_doubts(site), *undefined_steps(site), *product_steps(site)]
    wrapped = wrapping_steps(site)  # asks for operands, too
    return [*before, *site.before, *wrapped, step, *_records(site)]


def check_form(site: Site) -> None:
    """UserError for what PTX does not have, a wrong number of operands, or a guard that is no predicate."""
    instruction = site.instruction
    row = find_row(instruction)
    if row is None:
        raise site.unsupported(instruction.name)
    fewest, most = row.operand_counts
    given = len(instruction.operands)
    if given < fewest or (most is not None and given > most):
        wanted = str(fewest) if fewest == most else f"at least {fewest}" if most is None else f"{fewest} to {most}"
        raise site.wrong(f"{wanted} operands", str(given))
    if instruction.guard is not None:
        slot = site.code.slots.get(instruction.guard.name)
        if slot is None or site.code.dtypes[slot] != np.bool_:
            raise site.wrong("a predicate as the guard", instruction.guard.name)


def _doubts(site: Site) -> list[Step]:
    """Steps before an instruction that may read registers never written: they are zero, and reported."""
    slots = site.code.doubtful.get(site.index)
    if slots is None:
        return []
    names = {slot: name for name, slot in site.code.slots.items()}
    dropped = dropped_parts(site.code.routine, site.instruction)
    chosen = [(slot, site.code.written[slot], site.code.dtypes[slot], names[slot]) for slot in slots]
    code, index = site.code, site.index
    guard = site.instruction.guard
    predicate = -1 if guard is None else code.slots[guard.name]

    def fill(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        for slot, shadow, dtype, name in chosen:
            if registers[slot] is None:
                registers[slot] = np.zeros((), dtype)
            flags = registers[shadow]
            if not running.launch.checks or name in dropped or (flags is not None and flags.all()):
                continue
            unwritten = np.ones((), np.bool_) if flags is None else np.logical_not(flags)
            if predicate >= 0 and predicate != slot:
                runs = registers[predicate]
                if runs is not None:
                    unwritten = unwritten & (~runs if guard is not None and guard.negated else runs)
            if not unwritten.any():
                continue
            bad = np.flatnonzero(np.broadcast_to(unwritten, group.size))
            message = f"{site.instruction.name} reads {name}, which was never written (taken as zero)"
            running.report("uninitialised_register", message, code, index, int(group.threads[bad[0]]), count=len(bad))

    return [fill]


def _records(site: Site) -> list[Step]:
    """Steps after an instruction that record which threads have written registers that are doubtful somewhere."""
    written = site.code.written
    if not written:
        return []
    effect = effects(site.code, site.instruction, site.code.slots[CARRY])
    shadows = [written[slot] for slot in slots_of(effect.writes) if slot in written]
    if not shadows:
        return []
    guard = site.instruction.guard
    predicate = -1 if guard is None else site.code.slots[guard.name]
    negated = guard is not None and guard.negated
    yes = np.ones((), np.bool_)

    def record(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        for shadow in shadows:
            if predicate < 0:
                registers[shadow] = yes
            else:
                flags = value_of(registers, predicate)
                new = np.logical_not(flags) if negated else flags
                old = registers[shadow]
                registers[shadow] = new if old is None else new | old

    return [record]


def _guarded(site: Site, step: Step, is_pure: bool) -> Step:
    guard = site.instruction.guard
    assert guard is not None
    predicate = site.code.slots[guard.name]
    negated = guard.negated
    effect = effects(site.code, site.instruction, site.code.slots[CARRY])
    sink = site.code.slots.get("_")  # of no use, and not always written
    written = [(slot, site.dtype(slot)) for slot in slots_of(effect.writes) if slot != sink]
    if site.instruction.opcode == "shfl" or reads_own_memory(site.code.routine, site.instruction):
        marks = site.code.undefined
        written += [(marks[slot], site.dtype(marks[slot])) for slot in slots_of(effect.writes) if slot in marks]
    taken = None
    if site.instruction.opcode in ("ld", "st"):  # others may look at registers that they do not name
        taken = tuple(slots_of(effect.reads | effect.writes))

    def chosen(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        flags = value_of(registers, predicate)
        if flags.ndim == 0:
            if bool(flags) != negated:
                step(group, running)
            return
        old = [registers[slot] for slot, _ in written]
        step(group, running)
        for (slot, dtype), before in zip(written, old, strict=True):
            known = np.zeros((), dtype) if before is None else before
            new = value_of(registers, slot)
            registers[slot] = np.where(flags, known, new) if negated else np.where(flags, new, known)

    def apart(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        flags = value_of(registers, predicate)
        if flags.ndim == 0:
            if bool(flags) != negated:
                step(group, running)
            return
        positions = np.flatnonzero(~flags if negated else flags)
        if len(positions) == group.size:
            step(group, running)
        elif len(positions):
            inner = group.part(positions, taken)
            step(inner, running)
            for slot, dtype in written:
                new = value_of(inner.registers, slot)
                old = registers[slot]
                whole = np.zeros(group.size, dtype)
                if old is not None:
                    whole[...] = old
                whole[positions] = new
                registers[slot] = whole

    return chosen if is_pure else apart
