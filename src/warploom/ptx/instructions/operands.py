"""Operands that an instruction takes beyond their roles: how many its modifiers ask for, how long its vectors are, how wide the
registers of matrices, which constants and addresses it has (PTX ISA 9.1, section of each row).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from warploom.ptx.instructions.forms import has_form
from warploom.ptx.instructions.lookup import find_row, operand_slots, space, types
from warploom.ptx.instructions.rows import Row
from warploom.ptx.syntax import Address, Instruction, Integer, Name, Operand, Vector, operand_text

Fault = tuple[str, str, str]
"""A code, what was expected, what was found."""

_VECTORS = frozenset({"v2", "v4", "v8"})
"""Modifiers that say how many elements move together."""
COMBINING = frozenset({"and", "or", "xor"})
"""Modifiers that combine a comparison with a predicate."""
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)\Z")


def operand_faults(instruction: Instruction, width: Callable[[Operand], int]) -> Iterator[Fault]:
    """Faults of an instruction that has a row and as many operands as this has slots: what PTX does not take.

    `width` gives the elements of a register: more than 1 of one that is declared as a vector.
    """
    yield from _places(instruction)
    yield from _count(instruction)
    yield from _vectors(instruction, width)
    yield from _results(instruction)
    yield from _constants(instruction)


def data_types(instruction: Instruction) -> dict[int, str]:
    """Types of scalar operands, and of each element of vectors, by the operand's place, where the row alone does not say them:
    data of atomics, factors and sums of matrices, numbers that are packed together."""
    modifiers, named = instruction.modifiers, types(instruction)
    if not named:
        return {}
    match instruction.opcode:
        case "atom" | "red" if "async" not in modifiers and _VECTORS.isdisjoint(modifiers):
            places = (1,) if instruction.opcode == "red" else (0, 2, 3) if "cas" in modifiers else (0, 2)
            return dict.fromkeys(places, named[-1])
        case "mma" | "wgmma" | "ldmatrix" | "stmatrix":
            found = dict.fromkeys(_fragments(instruction), "b64" if named[-1] == "f64" else "b32")
            if instruction.opcode == "wgmma" and len(instruction.operands) > 2:
                found |= {place: "b64" for place in (1, 2) if isinstance(instruction.operands[place], Name)}
            return found
        case "cvt" if "pack" not in modifiers and len(named) == 2 and any(t.endswith("x2") for t in named):
            return {0: named[0], **dict.fromkeys(range(1, 2 + (named[1] == "f32")), named[1])}
        case _:
            return {}


def _places(instruction: Instruction) -> Iterator[Fault]:
    """Addresses stand in brackets, and nothing else does; some operands are integer constants; few are vectors."""
    row = find_row(instruction)
    has_more = row is None or row.kind in _WITH_MORE_ADDRESSES
    for slot, operand in zip(operand_slots(instruction) or (), instruction.operands, strict=True):
        if isinstance(operand, Address):
            if slot.role != "m" and not has_more:
                yield "PTX_OPERANDS", "an operand without brackets", operand_text(operand)
            elif operand.base == Name("_"):
                yield "PTX_OPERANDS", "an address", operand_text(operand)
            elif isinstance(operand.base, Integer) and instruction.opcode in _ACCESSES and space(instruction) != "local":
                yield "PTX_OPERANDS", "a register or a variable as the address", operand_text(operand)
        elif slot.role == "m":
            yield "PTX_OPERANDS", "an address in brackets", operand_text(operand)
        elif slot.role == "i" and not isinstance(operand, Integer):
            yield "PTX_OPERANDS", "an integer constant", operand_text(operand)
        elif isinstance(operand, Vector) and not _takes_vectors(instruction, row):
            yield "PTX_OPERANDS", "one register or number", operand_text(operand)


_WITH_MORE_ADDRESSES = frozenset({"async", "texture", "matrix"})
"""Kinds of instructions that have an address, as of an mbarrier, where other forms have a register."""


def _takes_vectors(instruction: Instruction, row: Row | None) -> bool:
    """Whether some operand may be a vector: parts in a mov, elements of accesses, matrices, numbers that are packed in fours."""
    if instruction.opcode in ("atom", "red"):
        return not _VECTORS.isdisjoint(instruction.modifiers)
    if instruction.opcode == "cvt":
        return any(t.endswith("x4") for t in types(instruction))
    return row is None or row.kind not in _SCALAR or instruction.opcode == "mov"


_SCALAR = frozenset({"integer", "float", "compare", "logic", "move", "convert", "barrier", "warp", "misc"})
_ACCESSES = frozenset({"ld", "st", "ldu", "atom", "red", "prefetch"})


def _count(instruction: Instruction) -> Iterator[Fault]:
    """As many operands as the modifiers ask for: one to combine with, to compare with, a policy of the cache."""
    opcode, modifiers, named = instruction.opcode, instruction.modifiers, types(instruction)
    if opcode in _COUNTS and _is_plain(instruction):
        has_policy = "L2::cache_hint" in modifiers
        wanted = _COUNTS[opcode] + ("cas" in modifiers) + has_policy
        if opcode in ("setp", "lop3"):
            wanted += not COMBINING.isdisjoint(modifiers)
    elif opcode == "cvt" and "pack" not in modifiers and len(named) == 2:
        wanted = 2 + (named[0].endswith("x2") and named[1] == "f32") + ("rs" in modifiers)
    elif instruction.name.startswith("wgmma.mma_async") and "sp" not in modifiers and named:
        has_fragments = isinstance(instruction.operands[1], Vector)
        wanted = 4 if named[-1] in ("b1", "s8", "u8") else 8 - has_fragments if named[-1] in ("f16", "bf16") else 6
    elif opcode == "mma" and not _is_scaled(instruction):
        wanted = 4
    else:
        return
    if len(instruction.operands) != wanted:
        yield "PTX_OPERANDS", f"{wanted} operands", str(len(instruction.operands))


_COUNTS = {"setp": 3, "lop3": 5, "ld": 2, "st": 2, "red": 2, "atom": 3}


def _is_plain(instruction: Instruction) -> bool:
    return {"async", "bulk"}.isdisjoint(instruction.modifiers)


def _vectors(instruction: Instruction, width: Callable[[Operand], int]) -> Iterator[Fault]:
    """As many elements as `.v2` and the like, `.x4` or the shape of a matrix say."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode in ("ld", "st", "ldu") and _is_plain(instruction):
        data = operands[1 if opcode == "st" else 0]
        wanted = next((int(m[1:]) for m in instruction.modifiers if m in _VECTORS), 1)
        found = len(data.elements) if isinstance(data, Vector) else width(data)
        if found != wanted:
            yield "PTX_OPERANDS", f"{wanted} elements", str(found)
    for place, wanted in _fragments(instruction).items():
        data = operands[place]
        found = len(data.elements) if isinstance(data, Vector) else width(data)
        if found != wanted or (wanted == 1 and not isinstance(data, Vector)):
            yield "PTX_OPERANDS", f"a vector of {wanted} register{'s' * (wanted != 1)}", operand_text(data)


def _fragments(instruction: Instruction) -> dict[int, int]:
    """Registers of a thread that hold its part of each matrix, by the operand's place; empty where there is no rule.

    A warp's threads, or a warpgroup's, hold equal parts; those of the oldest shape hold four products of a quarter of the warp.
    """
    opcode, operands, modifiers, named = instruction.opcode, instruction.operands, instruction.modifiers, types(instruction)
    if not has_form(instruction):
        return {}
    if opcode in ("ldmatrix", "stmatrix"):
        number = next((int(m[1:]) for m in modifiers if m in ("x1", "x2", "x4")), 0)
        is_known = not {"m8n8", "m16n8"}.isdisjoint(modifiers)
        return {int(opcode == "stmatrix"): number} if number and is_known else {}
    shape = next((found for m in modifiers if (found := _SHAPE.match(m)) is not None), None)
    if shape is None or _is_scaled(instruction) or opcode not in ("mma", "wgmma"):
        return {}
    m, n, k = map(int, shape.groups())
    threads = 32 if opcode == "mma" else 128
    sizes = [m * n, m * k, k * n, m * n] if opcode == "mma" else [m * n, *([m * k] if isinstance(operands[1], Vector) else [])]
    bits = [_bits(t) for t in named]
    copies = 4 if shape[0] == "m8n8k4" and named[1] == "f16" else 1
    return {place: size * bits[place] * copies // (threads * max(bits[place], 32)) for place, size in enumerate(sizes)}


def _is_scaled(instruction: Instruction) -> bool:
    """Whether a product has sparse factors or scales, whose operands are others."""
    return any(m in ("sp", "block_scale") or m.startswith(("sp::", "kind::")) for m in instruction.modifiers)


def _bits(name: str) -> int:
    """Bits of one element of a matrix."""
    return 8 if name in ("e4m3", "e5m2") else int(re.findall(r"\d+", name)[-1])


def _results(instruction: Instruction) -> Iterator[Fault]:
    """A load has somewhere to go: at most some elements of a vector are left out."""
    if instruction.opcode in ("ld", "ldu"):
        data = instruction.operands[0]
        if all(o == Name("_") for o in (data.elements if isinstance(data, Vector) else (data,))):
            yield "PTX_OPERANDS", "a register for the result", operand_text(data)


def _constants(instruction: Instruction) -> Iterator[Fault]:
    """Numbers of barriers and of their threads, bytes of copies, signs and orders of factors."""
    opcode, operands, modifiers = instruction.opcode, instruction.operands, instruction.modifiers
    if opcode in ("bar", "barrier") and {"warp", "cluster"}.isdisjoint(modifiers):
        first = int("red" in modifiers)
        number, threads = _value(operands[first]), None
        if len(operands) > 1 + 2 * first:
            threads = _value(operands[first + 1])
        if number is not None and not 0 <= number % (1 << 32) < 16:
            yield "PTX_VALUE", "a barrier of 0 to 15", str(number)
        if threads is not None and (threads % 32 or threads < 0 or (threads == 0 and "arrive" in modifiers)):
            yield "PTX_VALUE", "a multiple of 32 threads", str(threads)
    elif instruction.name.startswith(("cp.async.ca.", "cp.async.cg.")):
        size, copied = _value(operands[2]), _value(operands[3]) if len(operands) > 3 else None
        allowed = (16,) if "cg" in modifiers else (4, 8, 16)
        if size is not None and size not in allowed:
            yield "PTX_VALUE", f"{' or '.join(map(str, allowed))} bytes", str(size)
        elif size is not None and copied is not None and not 0 <= copied <= size:
            yield "PTX_VALUE", f"0 to {size} bytes that are copied", str(copied)
    elif instruction.name.startswith("wgmma.mma_async") and "sp" not in modifiers:
        for place, allowed in zip(range(4, len(operands)), ((-1, 1), (-1, 1), (0, 1), (0, 1)), strict=False):
            if _value(operands[place]) not in allowed:
                wanted = " or ".join(map(str, allowed))
                yield "PTX_VALUE", f"{wanted} as operand {place}", operand_text(operands[place])


def _value(operand: Operand) -> int | None:
    return operand.value if isinstance(operand, Integer) else None
