"""Loads of one thread from adjacent places become one vector load (PTX ISA 9.7.9.8).

before      ld.global.f32 %a, [%rd+4];   ...   ld.global.f32 %b, [%rd+8];
after       add.s64 %t, %rd, 4;  and.b64 %t, %t, 7;  setp.ne.u64 %apart, %t, 0;       where the alignment is not known
            @!%apart ld.global.v2.b32 {%x, %y}, [%rd+4];
            @%apart ld.global.f32 %a, [%rd+4];  @!%apart mov.b32 %a, %x;   ...   @%apart ld.global.f32 %b, [%rd+8]; ...

Memory ends up the same, for every launch: the loads stand in one piece of straight-line code without calls, under no predicate,
so that a thread that comes to the first executes all, and may read the bytes of all. Between the first and each other stands no
store, atomic, barrier, fence or acquire that might touch them (`.nc` loads read what nobody writes; under `--assume noalias`
plain stores through another pointer parameter touch nothing), and the values wait in fresh registers. A vector load reads the
same bytes where its address is a multiple of its size: this follows from the address and the alignment that the kernel states
(`.ptr .align`) or the user assumes, or every thread tests it. Loads are joined only where the address without the array's
beginning is a multiple of the size, so that all threads find the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.shuffle.between import Paths
from warploom.ptx.shuffle.edits import Edits
from warploom.ptx.shuffle.loads import Load, classify, is_counted
from warploom.ptx.shuffle.pointers import left_alone
from warploom.ptx.shuffle.registers import FreshRegisters, written
from warploom.ptx.symbolic import Emulation, Term, linear, signed
from warploom.ptx.syntax import Instruction, Name

MOST_BYTES = 16
"""Bytes of the widest vector."""
_SURE = 64


@dataclass(frozen=True, slots=True)
class Joined:
    """Loads that one vector load replaces."""

    loads: tuple[int, ...]
    """Indices of the instructions, by address."""
    offset: int
    """Byte offset of the first element in memory from the address register of the load that comes first in the text."""
    element_bytes: int
    is_tested: bool
    """Whether every thread tests the alignment."""
    assumed: bool
    """Whether the alignment rests on what the user assumes."""
    untouched: tuple[str, ...] = ()
    """Notes that `noalias` gives of the stores between."""

    @property
    def size_bytes(self) -> int:
        return self.element_bytes * len(self.loads)


@dataclass(frozen=True, slots=True)
class _Place:
    load: Load
    constant: int
    """Bytes from the first load of the group."""


def find_vectors(
    emulation: Emulation, *, without: Collection[int], assume_aligned: bool, noalias: bool = False
) -> tuple[Joined, ...]:
    """In the order of the text; `without` these loads, which something else has changed."""
    routine, graph = emulation.routine, emulation.graph
    between = _Between(routine, Paths(routine, graph), {a.instruction: a.address for a in emulation.trace}, noalias)
    groups: dict[tuple[object, ...], list[tuple[Load, Term]]] = {}
    for access in emulation.trace:
        index = access.instruction
        instruction = routine.instructions[index]
        if access.kind != "load" or access.address is None or index in without or not is_counted(instruction, shared=False):
            continue
        load = classify(routine, index)
        if isinstance(load, str) or not _is_plain(load, routine):
            continue
        calls = sum(each.opcode == "call" for each in routine.instructions[graph.blocks[access.block].start : index])
        key = (access.block, calls, instruction.modifiers[:-1], load.element_bytes, linear(access.address)[1])
        groups.setdefault(key, []).append((load, access.address))
    found: list[Joined] = []
    for group in groups.values():
        if len(group) > 1:
            group.sort(key=lambda pair: pair[0].index)
            found += _joined(group, between, assume_aligned)
    return tuple(sorted(found, key=lambda joined: min(joined.loads)))


@dataclass(frozen=True, slots=True)
class _Between:
    """The instructions between the loads of a window."""

    routine: Routine
    paths: Paths
    addresses: Mapping[int, Term | None]
    noalias: bool

    def untouched(self, first: Load, last: Iterable[int], read: Term) -> tuple[str, ...] | None:
        """None where something may change what is read; else what is assumed of stores through other pointers."""
        found: dict[str, None] = {}
        for index in last:
            for clobber in self.paths.clobbers(first.index, index, first.space):
                said = left_alone(self.routine, clobber, self.addresses.get(clobber), read) if self.noalias else ""
                if not said:
                    return None
                found[said] = None
        return tuple(found)


def _is_plain(load: Load, routine: Routine) -> bool:
    """One register of the element's width, at an address in a register, always."""
    if len(load.registers) != 1 or load.registers[0] == "_" or load.guard is not None or load.address_register is None:
        return False
    is_whole = load.element_bytes in (4, 8) and load.register_bits[0] == 8 * load.element_bytes
    return is_whole and TYPE_BITS.get(routine.registers.get(load.address_register, "")) == 64


def _joined(group: list[tuple[Load, Term]], between: _Between, assume_aligned: bool) -> list[Joined]:
    first = linear(group[0][1])
    width = group[0][1].width
    places: dict[int, _Place] = {}
    for load, address in group:
        constant = signed((linear(address)[0] - first[0]) % (1 << width), width)
        places.setdefault(constant, _Place(load, constant))  # a second load of one place is a reuse
    size = group[0][0].element_bytes
    found: list[Joined] = []
    taken: set[int] = set()
    for count in (MOST_BYTES // size, 2):
        for constant in sorted(places):
            window = [constant + n * size for n in range(count)]
            if count < 2 or taken.intersection(window) or not places.keys() >= set(window):
                continue
            joined = _window([places[c] for c in window], group[0][1], between, assume_aligned)
            if joined is not None:
                taken.update(window)
                found.append(joined)
    return found


def _window(places: list[_Place], address: Term, between: _Between, assume_aligned: bool) -> Joined | None:
    """`address`: of the group's first load."""
    first = linear(address)
    size = places[0].load.element_bytes
    bits = (size * len(places)).bit_length() - 1
    pointers = [atom for atom, factor in first[1] if factor == 1 and atom.op == "parameter" and atom.width == 64]
    others = [(atom, factor) for atom, factor in first[1] if atom not in pointers]
    constant = first[0] + places[0].constant
    if len(pointers) != 1 or any(_zeros(factor) + zeros(atom) < bits for atom, factor in others) or _zeros(constant) < bits:
        return None
    begin = min(places, key=lambda p: p.load.index)
    others_in_text = [] if "nc" in begin.load.qualifiers else [p.load.index for p in places if p is not begin]
    untouched = between.untouched(begin.load, others_in_text, address)
    if untouched is None:
        return None
    stated = next((p.pointer_align or 1 for p in between.routine.parameters if p.name == pointers[0].data[0]), 1)
    is_known = stated >= 1 << bits and pointers[0].data[1] == 0
    return Joined(
        tuple(p.load.index for p in places),
        begin.load.address.offset + places[0].constant - begin.constant,
        size,
        is_tested=not is_known and not assume_aligned,
        assumed=assume_aligned and not is_known,
        untouched=untouched,
    )


def zeros(term: Term) -> int:
    """Low bits of the term that are 0 for certain."""
    match term.op:
        case "const":
            return _zeros(int(term.data[0]))
        case "sum":
            constant, parts = linear(term)
            return min([_zeros(constant), *(_zeros(factor) + zeros(atom) for atom, factor in parts)])
        case "zext" | "sext":
            return min(zeros(term.args[0]), term.args[0].width)
        case "product":
            return sum(map(zeros, term.args))
        case _:
            return 0


def _zeros(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else _SURE


def vector_code(joined: Iterable[Joined], routine: Routine, edits: Edits, fresh: FreshRegisters) -> None:
    """Adds the changes of the text; after those of shuffles, which may insert code before one of these loads."""
    for vector in joined:
        _write(vector, routine, edits, fresh)


def _write(vector: Joined, routine: Routine, edits: Edits, fresh: FreshRegisters) -> None:
    bits = 8 * vector.element_bytes
    held = [fresh.new(f"b{bits}") for _ in vector.loads]
    begin = min(vector.loads)
    instruction = routine.instructions[begin]
    load = classify(routine, begin)
    assert isinstance(load, Load) and load.address_register is not None
    base = written(load.address_register)
    lines: list[str] = []
    apart = ""
    if vector.is_tested:
        apart, low = fresh.new("pred"), fresh.new("b64")
        address = base
        if vector.offset % vector.size_bytes:
            lines.append(f"add.s64 {low}, {base}, {vector.offset};")
            address = low
        lines += [f"and.b64 {low}, {address}, {vector.size_bytes - 1};", f"setp.ne.u64 {apart}, {low}, 0;"]
    modifiers = ".".join((*instruction.modifiers[:-1], f"v{len(held)}", f"b{bits}"))
    where = f"[{base}{f'+{vector.offset}' if vector.offset else ''}]"
    lines.append(f"{f'@!{apart} ' if apart else ''}ld.{modifiers} {{{', '.join(held)}}}, {where};")
    for index, value in zip(vector.loads, held, strict=True):
        each = routine.instructions[index]
        start, end = each.extent[1:]
        code = lines if index == begin else []
        code = [*code, *([f"@{apart} {edits.text[start:end]}"] if apart else [])]
        code.append(f"{f'@!{apart} ' if apart else ''}mov.b{bits} {_target(each)}, {value};")
        edits.replace(start, end, "\n\t".join(code))


def _target(instruction: Instruction) -> str:
    target = instruction.operands[0]
    assert isinstance(target, Name)
    return written(target.text)
