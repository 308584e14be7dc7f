"""Makes code of a routine: cuts it into segments, gives registers slots, lays out the stack frame."""

from __future__ import annotations

from itertools import chain

import numpy as np

from warploom.ptx.flow import branch_targets
from warploom.ptx.routine import Routine
from warploom.ptx.simt.analysis import Effects, accumulates, assigned_in, effects, live_in, slots_of, undefinable
from warploom.ptx.simt.code import Code, Segment
from warploom.ptx.simt.indices import Indices
from warploom.ptx.simt.operands import CARRY, DTYPES, dtype_of
from warploom.ptx.simt.order import schedule_order
from warploom.ptx.simt.product_registers import registers_of_products
from warploom.ptx.syntax import Instruction

_ENDS = frozenset(("bra", "brx", "ret", "exit", "trap", "call"))
_WARP_WIDE = frozenset(("shfl", "vote", "match", "redux", "elect", "mma", "ldmatrix", "stmatrix", "wmma", "movmatrix"))


def ends_segment(instruction: Instruction) -> bool:
    return instruction.opcode in _ENDS or is_barrier(instruction)


def is_barrier(instruction: Instruction) -> bool:
    """Whether the instruction is a barrier of a block, not of a warp."""
    return instruction.opcode in ("bar", "barrier") and "warp" not in instruction.modifiers[:1]


def is_warp_wide(instruction: Instruction) -> bool:
    """Whether the lanes that it names wait for each other."""
    if instruction.opcode in ("bar", "barrier"):
        return "warp" in instruction.modifiers[:1]
    if instruction.opcode in ("shfl", "vote"):
        return "sync" in instruction.modifiers
    if instruction.opcode in ("wgmma", "tcgen05"):
        return "sync" in instruction.modifiers
    if instruction.opcode == "tensormap":
        return "cp_fenceproxy" in instruction.modifiers
    return instruction.opcode in _WARP_WIDE


def build(routine: Routine, number: int, watched: Indices | None = None) -> Code:
    """`watched`: registers that get marks where they wrap. UserError (PTX_LABEL) where a branch goes nowhere."""
    code = Code(routine, number)
    for name, type_name in routine.registers.items():
        if name in routine.register_vectors:
            for component in "xyzw"[: routine.register_vectors[name]]:
                _add_slot(code, f"{name}.{component}", dtype_of(type_name))
        else:
            _add_slot(code, name, dtype_of(type_name))
    _add_slot(code, CARRY, np.dtype(np.bool_))
    _cut(code)
    code.products = registers_of_products(code)
    _analyse(code, watched)
    _lay_out(code)
    return code


def _add_slot(code: Code, name: str, dtype: np.dtype[np.generic] | None) -> None:
    code.slots[name] = len(code.template)
    code.template.append(None)
    code.dtypes.append(dtype)


def _cut(code: Code) -> None:
    routine = code.routine
    instructions = routine.instructions
    count = len(instructions)
    leaders = {0, count, *routine.labels.values()}
    for index, instruction in enumerate(instructions):
        if ends_segment(instruction):
            leaders.add(index + 1)
        elif is_warp_wide(instruction):
            leaders.add(index)
    starts = sorted(leader for leader in leaders if leader <= count)
    code.segment_at = {start: index for index, start in enumerate(starts)}
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else count
        code.segments.append(Segment(index, start, end, _successors(code, end, start < end)))
    for segment, rank in zip(code.segments, schedule_order([s.successors for s in code.segments]), strict=True):
        segment.rank = rank


def _successors(code: Code, end: int, has_instructions: bool) -> tuple[int, ...]:
    if not has_instructions:
        return ()
    last = code.routine.instructions[end - 1]
    targets: list[int] = []
    if last.opcode in ("bra", "brx"):
        targets = [code.segment_at[p] for p in branch_targets(code.routine, end - 1)]
    falls = last.opcode not in ("bra", "brx", "ret", "exit", "trap") or last.guard is not None
    if falls and code.segment_at[end] not in targets:
        targets.append(code.segment_at[end])
    return tuple(targets)


def _analyse(code: Code, watched: Indices | None) -> None:
    carry = code.slots[CARRY]
    rows: list[list[Effects]] = [
        [effects(code, i, carry) for i in code.routine.instructions[segment.start : segment.end]] for segment in code.segments
    ]
    successors = [segment.successors for segment in code.segments]
    entry = sum(1 << code.slots[v.name] for v in (*code.routine.parameters,) if v.name in code.slots)
    for assigned, row, segment in zip(assigned_in(successors, rows, entry), rows, code.segments, strict=True):
        known = assigned
        for offset, effect in enumerate(row):
            doubtful = effect.reads & ~known
            if accumulates(code.routine.instructions[segment.start + offset]):
                doubtful &= ~effect.writes
            if doubtful:
                code.doubtful[segment.start + offset] = slots_of(doubtful)
            known |= effect.kills

    for slots in list(code.doubtful.values()):
        for slot in slots:
            if slot not in code.written:
                code.written[slot] = len(code.template)
                _add_slot(code, f"?{slot}", np.dtype(np.bool_))
    for slot in slots_of(undefinable(code.routine, chain.from_iterable(rows))):
        if code.dtypes[slot] != np.bool_:
            code.undefined[slot] = len(code.template)
            _add_slot(code, f"~{slot}", np.dtype(np.uint32))
    for name in () if watched is None else sorted(watched.words | watched.longs):
        slot = code.slots.get(name, -1)
        if slot >= 0 and code.dtypes[slot] in (DTYPES[32], DTYPES[64]):
            code.wrapping[slot] = len(code.template)
            _add_slot(code, f"^{slot}", np.dtype(np.int64))
    for segment, bits in zip(code.segments, live_in(successors, rows), strict=True):
        live = slots_of(bits)
        segment.live_in = (
            *live,
            *(shadows[slot] for shadows in (code.written, code.undefined, code.wrapping) for slot in live if slot in shadows),
        )


def _lay_out(code: Code) -> None:
    routine = code.routine
    offset = 0
    for variable in routine.variables.values():
        is_own_parameter = variable.space == "param" and not (routine.is_entry and variable in routine.parameters)
        if variable.space == "local" or is_own_parameter:
            align = max(variable.align, 1)
            offset = (offset + align - 1) // align * align
            code.frame_offsets[variable.name] = offset
            offset += variable.size_bytes
    code.frame_bytes = (offset + 15) // 16 * 16
