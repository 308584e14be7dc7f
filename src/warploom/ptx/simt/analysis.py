"""Flow analysis for the machine: which registers are live where, and which may be read before they are written.

Reads are over-approximated, and only unguarded writes of instructions whose destinations are known count as writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from warploom.ptx.routine import Routine
from warploom.ptx.simt.code import Code
from warploom.ptx.syntax import Address, Group, Instruction, Name, Negation, Operand, Pair, Subscript, Sum, Vector

WITHOUT_DESTINATION = frozenset(
    (
        "st", "red", "membar", "fence", "bra", "brx", "ret", "exit", "trap", "brkpt", "prefetch", "prefetchu", "cp", "stmatrix",
        "nanosleep", "pmevent", "discard", "applypriority", "griddepcontrol", "setmaxnreg", "call", "multimem", "sust", "sured",
        "tensormap",
    )
)  # fmt: skip


COPIES = frozenset(("mov", "selp"))
"""Opcodes that may hand on an undefined value: not a use."""


def has_destination(instruction: Instruction) -> bool:
    """Whether the first operand is written."""
    match instruction.opcode:
        case "bar" | "barrier":
            return "red" in instruction.modifiers
        case "mbarrier":
            return not {"init", "inval"} & set(instruction.modifiers[:1]) and not (
                {"expect_tx", "complete_tx"} & set(instruction.modifiers[:1])
            )
        case "wgmma":
            return "mma_async" in instruction.modifiers
        case "tcgen05":
            return "ld" in instruction.modifiers
        case opcode:
            return opcode not in WITHOUT_DESTINATION


def accumulates(instruction: Instruction) -> bool:
    """Whether the destination is read, too; perhaps never written before, where the instruction is told not to add to it."""
    return instruction.opcode == "wgmma"


def names(operand: Operand) -> Iterator[str]:
    """All names in an operand."""
    match operand:
        case Name(text):
            yield text
        case Address(base, _, rest):
            yield from names(base)
            for part in rest:
                yield from names(part)
        case Vector(elements) | Group(elements):
            for element in elements:
                yield from names(element)
        case Pair(first, second):
            yield from names(first)
            yield from names(second)
        case Negation(inner) | Sum(inner, _):
            yield from names(inner)
        case Subscript(base, index):
            yield from names(base)
            yield from names(index)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class Effects:
    """Slots as bit sets."""

    reads: int
    writes: int
    kills: int
    """Registers written whatever the guard says."""


def effects(code: Code, instruction: Instruction, carry: int) -> Effects:
    """`carry` is the slot of CC.CF."""

    def bits(operands: Iterable[Operand]) -> int:
        found = 0
        for operand in operands:
            for name in names(operand):
                slot = code.slots.get(name)
                if slot is not None:
                    found |= 1 << slot
                elif name in code.routine.register_vectors:
                    for component in "xyzw"[: code.routine.register_vectors[name]]:
                        found |= 1 << code.slots[f"{name}.{component}"]
        return found

    operands = instruction.operands
    reads = writes = 0
    if instruction.opcode == "call":
        match operands:
            case (Group() as results, Name(), *_):
                writes, reads = bits((results,)), bits(operands[1:])
            case _:
                reads = bits(operands)
    elif has_destination(instruction) and operands:
        first = operands[0]
        if isinstance(first, Address):
            reads = bits(operands)
        else:
            writes, reads = bits((first,)), bits(operands if accumulates(instruction) else operands[1:])
    else:
        reads = bits(operands)
    if "cc" in instruction.modifiers:
        writes |= 1 << carry
    if instruction.opcode in ("addc", "subc", "madc"):
        reads |= 1 << carry
    kills = writes
    if instruction.guard is not None:
        slot = code.slots.get(instruction.guard.name)
        reads |= 0 if slot is None else 1 << slot
        kills = 0
    return Effects(reads, writes, kills)


def live_in(successors: Sequence[Sequence[int]], blocks: Sequence[Sequence[Effects]]) -> list[int]:
    """Registers that may be read from the start of each block on, as bit sets."""
    reads, kills = [0] * len(blocks), [0] * len(blocks)
    for index, block in enumerate(blocks):
        for effect in block:
            reads[index] |= effect.reads & ~kills[index]
            kills[index] |= effect.kills
    live = list(reads)
    before: list[list[int]] = [[] for _ in blocks]
    for index, row in enumerate(successors):
        for after in row:
            before[after].append(index)
    work = list(range(len(blocks)))
    while work:
        index = work.pop()
        out = 0
        for after in successors[index]:
            out |= live[after]
        new = reads[index] | (out & ~kills[index])
        if new != live[index]:
            live[index] = new
            work += before[index]
    return live


def assigned_in(successors: Sequence[Sequence[int]], blocks: Sequence[Sequence[Effects]], entry: int) -> list[int]:
    """Registers that every path to the start of a block has written; `entry` holds those of block 0."""
    everything = -1
    assigned = [everything] * len(blocks)
    if not blocks:
        return assigned
    written = [0] * len(blocks)
    for index, block in enumerate(blocks):
        for effect in block:
            written[index] |= effect.kills
    assigned[0] = entry
    work = [0]
    while work:
        index = work.pop()
        out = assigned[index] | written[index]
        for after in successors[index]:
            new = assigned[after] & out
            if new != assigned[after]:
                assigned[after] = new
                work.append(after)
    return assigned


def reads_own_memory(routine: Routine, instruction: Instruction) -> bool:
    """Whether a load of a kernel may read memory of the thread that nothing has written."""
    if not routine.is_entry or instruction.opcode != "ld":
        return False
    if "local" in instruction.modifiers:
        return True
    is_generic = not any(m.partition("::")[0] in ("const", "global", "param", "shared") for m in instruction.modifiers)
    return is_generic and any(v.space == "local" for v in routine.variables.values())


def undefinable(routine: Routine, rows: Iterable[Effects]) -> int:
    """Destinations of shuffles, of loads of a thread's own memory, and of copies of them, as a bit set."""
    found = 0
    copies: list[Effects] = []
    for instruction, effect in zip(routine.instructions, rows, strict=True):
        if instruction.opcode == "shfl" or reads_own_memory(routine, instruction):
            found |= effect.writes
        elif instruction.opcode in COPIES:
            copies.append(effect)
    before = 0
    while found != before:
        before = found
        for effect in copies:
            if effect.reads & found:
                found |= effect.writes
    return found


def dropped_parts(routine: Routine, instruction: Instruction) -> frozenset[str]:
    """Registers that a packing `mov` puts where nobody takes them out again: compilers fill halves that nobody uses with ones
    that hold nothing."""
    match instruction.opcode, instruction.operands:
        case "mov", (Name(target), Vector(parts)):
            pass
        case _:
            return frozenset()
    kept: set[int] = set()
    for other in routine.instructions:
        found = [*other.operands] if other is not instruction else []
        if other.guard is not None and other.guard.name == target:
            return frozenset()
        if not any(target in names(operand) for operand in found):
            continue
        match other.opcode, other.operands:
            case "mov", (Vector(taken), Name(source)) if source == target and len(taken) == len(parts):
                kept |= {place for place, part in enumerate(taken) if part != Name("_")}
            case "mov", (Name(again), Vector(given)) if again == target and not any(target in names(g) for g in given):
                pass  # packed anew
            case _:
                return frozenset()
    taken_out = {name for place in kept for name in names(parts[place])}
    return frozenset(name for part in parts for name in names(part)) - taken_out


def slots_of(bits: int) -> tuple[int, ...]:
    """The members of a bit set."""
    found: list[int] = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)
