"""Liveness, reaching definitions and register pressure: where registers are written and still needed.

Registers are those of `Routine.registers`; an element of a vector register (`%v.x`) stands for the whole. A guarded write keeps
the old value alive, and so does a write of one element.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.ptx.flow import FlowGraph, flow_graph
from warploom.ptx.instructions import destinations, sources
from warploom.ptx.routine import TYPE_BITS, Routine

ENTRY = -1
"""Stands for the start of the routine among definitions."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """Registers that one instruction reads and writes."""

    read: tuple[str, ...]
    written: tuple[str, ...]
    killed: tuple[str, ...]
    """Registers written whatever happens: no guard, all elements."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """Registers that may be read before they are written again, by block."""

    live_in: tuple[frozenset[str], ...]
    live_out: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Pressure:
    """The most registers that are live at once: an estimate of what the machine code needs, before its own optimisations."""

    registers: int
    """Number of 32-bit registers; a 64-bit one counts twice, an 8- or 16-bit one once."""
    predicates: int
    """Number of live predicates at the instruction where they are most."""
    instruction: int
    """The instruction at which `registers` is reached first."""


def accesses(routine: Routine) -> tuple[Accesses, ...]:
    """Accesses of each instruction."""
    found: list[Accesses] = []
    for instruction in routine.instructions:
        names = destinations(instruction)
        written = tuple(r for r in (_register(routine, n) for n in names) if r is not None)
        read = tuple(r for r in (_register(routine, n) for n in sources(instruction)) if r is not None)
        is_certain = instruction.guard is None
        killed = tuple(n for n in names if n in routine.registers) if is_certain else ()
        found.append(Accesses(read, written, killed))
    return tuple(found)


def _register(routine: Routine, name: str) -> str | None:
    if name in routine.registers:
        return name
    base = name.rpartition(".")[0]
    return base if base in routine.register_vectors else None


def liveness(routine: Routine, graph: FlowGraph, by_instruction: tuple[Accesses, ...] | None = None) -> Liveness:
    """Registers live at both ends of every block, by iteration over the blocks that changed. `by_instruction`: the accesses."""
    by_instruction = by_instruction or accesses(routine)
    used, killed = _block_sets(graph, by_instruction)
    exposed = sorted(set[str]().union(*used)) + [v.name for v in routine.returns if v.name in routine.registers]
    bit = {name: 1 << position for position, name in enumerate(dict.fromkeys(exposed))}
    use_bits = [sum(bit[n] for n in names) for names in used]
    keep_bits = [~sum(bit[n] for n in names if n in bit) for names in killed]
    returned = sum(bit[v.name] for v in routine.returns if v.name in routine.registers)
    count = len(graph.blocks)
    live_in, live_out = [0] * count, [0] * count
    pending = list(range(count))
    queued = [True] * count
    while pending:
        index = pending.pop()
        queued[index] = False
        block = graph.blocks[index]
        out = returned if _may_return(routine, graph, index) else 0
        for successor in block.successors:
            out |= live_in[successor]
        live_out[index] = out
        entering = use_bits[index] | (out & keep_bits[index])
        if entering != live_in[index]:
            live_in[index] = entering
            for before in graph.predecessors[index]:
                if not queued[before]:
                    queued[before] = True
                    pending.append(before)
    names = list(bit)
    return Liveness(tuple(_names(b, names) for b in live_in), tuple(_names(b, names) for b in live_out))


def _may_return(routine: Routine, graph: FlowGraph, index: int) -> bool:
    block = graph.blocks[index]
    return not block.successors or routine.instructions[block.end - 1].opcode == "ret"


def _block_sets(graph: FlowGraph, by_instruction: tuple[Accesses, ...]) -> tuple[list[set[str]], list[set[str]]]:
    """Registers read before any write in the block, and registers that it writes whatever happens."""
    used: list[set[str]] = []
    killed: list[set[str]] = []
    for block in graph.blocks:
        reads: set[str] = set()
        kills: set[str] = set()
        for index in range(block.start, block.end):
            access = by_instruction[index]
            reads.update(n for n in access.read if n not in kills)
            kills.update(access.killed)
        used.append(reads)
        killed.append(kills)
    return used, killed


def _names(bits: int, names: list[str]) -> frozenset[str]:
    found: list[str] = []
    while bits:
        low = bits & -bits
        found.append(names[low.bit_length() - 1])
        bits ^= low
    return frozenset(found)


def live_before(routine: Routine, index: int) -> frozenset[str]:
    """Registers live before an instruction."""
    graph = flow_graph(routine)
    block = next(b for b in graph.blocks if b.start <= index < b.end)
    by_instruction = accesses(routine)
    now = set(liveness(routine, graph, by_instruction).live_out[block.index])
    for at in range(block.end - 1, index - 1, -1):
        now.difference_update(by_instruction[at].killed)
        now.update(by_instruction[at].read)
    return frozenset(now)


def pressure(routine: Routine, graph: FlowGraph, live: Liveness | None = None) -> Pressure:
    """The most 32-bit registers live at once; what an instruction writes counts at it, even if nobody reads it."""
    by_instruction = accesses(routine)
    live = live or liveness(routine, graph, by_instruction)
    size = {name: _units(routine, name) for name in routine.registers}
    best, most_predicates, where = 0, 0, 0
    for block in graph.blocks:
        now = set(live.live_out[block.index])
        total = sum(size[n] for n in now)
        predicates = sum(size[n] == 0 for n in now)
        for index in reversed(range(block.start, block.end)):
            access = by_instruction[index]
            fresh = {n for n in access.written if n not in now}
            here = total + sum(size[n] for n in fresh)
            if here > best or (here == best and index < where):
                best, where = here, index
            most_predicates = max(most_predicates, predicates + sum(size[n] == 0 for n in fresh))
            for name in access.killed:
                if name in now:
                    now.discard(name)
                    total -= size[name]
                    predicates -= size[name] == 0
            for name in access.read:
                if name not in now:
                    now.add(name)
                    total += size[name]
                    predicates += size[name] == 0
    return Pressure(best, most_predicates, where)


def _units(routine: Routine, name: str) -> int:
    """32-bit registers; 0 for a predicate."""
    kind = routine.registers[name]
    if kind == "pred":
        return 0
    return max(1, TYPE_BITS.get(kind, 32) // 32) * routine.register_vectors.get(name, 1)
