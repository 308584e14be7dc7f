"""wgmma: matrices of four warps, B and mostly A in shared memory (PTX ISA 9.7.15). The product is there at once.

Each warp has 16 rows of the 64 and needs nothing of the others', so warps need not come together. Until the wait, `readers` holds
the shared memory and `products` the registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

import numpy as np

from warploom.ptx.simt import numerics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.bulk_copies import note_words, wait_for_groups
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.descriptors import fetch
from warploom.ptx.simt.matrix import registers_of, require_whole_warps, store_registers
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Integer, Operand, Vector, operand_text

DEPTH_BYTES = 32
"""Bytes along k that one instruction multiplies."""
ROWS = 16
"""Rows of each warp."""
_SUMS: dict[str, tuple[str, ...]] = {
    "f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "e4m3": ("f16", "f32"), "e5m2": ("f16", "f32"), "s8": ("s32",),
    "u8": ("s32",),
}  # fmt: skip
_MIXED = (frozenset(("s8", "u8")), frozenset(("e4m3", "e5m2")))
_SHAPE = re.compile(r"m64n(\d+)k(\d+)\Z")


def decode(site: Site) -> Step:
    """UnsupportedError for sparse matrices and b1."""
    match site.instruction.modifiers:
        case ("fence", *_):
            return lambda group, running: running.products.fence(group.threads)
        case ("commit_group", *_):
            return _commit
        case ("wait_group", *_):
            return _wait(site)
        case ("mma_async", "sync", "aligned", shape, d_type, a_type, b_type, *rest) if rest in ([], ["satfinite"]):
            found = _SHAPE.match(shape)
            size = numerics.scalar_type(a_type).bits // 8 if a_type in _SUMS else 0
            is_known = a_type == b_type or frozenset((a_type, b_type)) in _MIXED
            if found is not None and size and is_known and d_type in _SUMS[a_type] and (not rest or d_type == "s32"):
                n, k = int(found[1]), int(found[2])
                if k * size == DEPTH_BYTES and n in range(8, 257, 8) and not (d_type == "s32" and n > 32 and n % 16):
                    return _multiply(site, n, k, (d_type, a_type, b_type, d_type), satfinite=bool(rest))
        case _:
            pass
    raise site.unsupported(site.instruction.name)


def _commit(group: Group, running: RunningBlocks) -> None:
    running.products.commit(group.threads)
    running.readers.committed("wgmma", group.threads)


def _wait(site: Site) -> Step:
    wait = wait_for_groups(site, "wgmma")
    (operand,) = site.instruction.operands
    left = operand.value if isinstance(operand, Integer) else 0

    def both(group: Group, running: RunningBlocks) -> None:
        running.products.wait(group.threads, left, running.clock.tick())
        wait(group, running)

    return both


def _flag(site: Site, operand: Operand, values: tuple[int, int]) -> bool:
    """Whether an immediate is the second of two values."""
    if not isinstance(operand, Integer) or operand.value not in values:
        raise site.wrong(f"{values[0]} or {values[1]}", operand_text(operand))
    return operand.value == values[1]


def negated(bits: Value) -> Value:
    """The sign bits of floats changed."""
    return bits ^ bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))


def _multiply(site: Site, n: int, k: int, types: tuple[str, str, str, str], *, satfinite: bool) -> Step:
    d, a, b, *rest = site.instruction.operands
    size = DEPTH_BYTES // k
    sums = numerics.accumulator(n, types[0])
    in_registers = isinstance(a, Vector)
    is_float, turns = types[0] != "s32", size == 2
    wanted = 1 + 2 * is_float + ((1 if in_registers else 2) if turns else 0)
    if len(rest) != wanted:
        raise site.wrong(f"{wanted} operands after the matrices", str(len(rest)))
    scale = site.sized(rest[0], "pred")
    signs = [_flag(site, one, (1, -1)) for one in rest[1:3]] if is_float else [False, False]
    turned = [_flag(site, one, (0, 1)) for one in rest[3:]]
    turned = [False, *turned] if in_registers or not turned else turned
    if len(turned) == 1:
        turned.append(False)
    targets = [site.register(part, "b32") for part in site.elements(d)]
    if len(targets) != sums.registers:
        raise site.wrong(f"{sums.registers} registers for D", str(len(targets)))
    held = numerics.fragment("a", f"m16n8k{k}", types[1]) if in_registers else None
    left_rows, left_slot = None, -1
    if held is not None:
        slots = [site.sized(part, "b32") for part in site.elements(a)]
        if len(slots) != held.registers:
            raise site.wrong(f"{held.registers} registers for A", str(len(slots)))
        left_rows = registers_of(slots)
    else:
        left_slot = site.sized(a, "b64")
    right_slot = site.sized(b, "b64")
    access = access_of(site, Address(Integer(0), 0), "ld", 4, 1, "shared", is_strong=False)

    def multiply(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        right = _matrices(access, right_slot, (n, k, size), group, running, is_mn_major=turned[1])
        if left_rows is None:
            inside = (group.layout.warps * 32 % running.padded_threads // 32) % 4
            whole = _matrices(access, left_slot, (4 * ROWS, k, size), group, running, is_mn_major=turned[0], quarter=inside)
            left = whole
        else:
            assert held is not None
            left = numerics.gather(held, left_rows(group))
        left, right = (negated(m) if s else m for m, s in zip((left, right), signs, strict=True))
        old = np.stack([group.layout.full_rows(_old(group, slot)) for slot in targets], axis=-1)
        adds = group.layout.full_rows(value_of(group.registers, scale))[..., None]
        addend = numerics.gather(sums, np.where(adds, old, np.zeros((), old.dtype)))
        found = numerics.product_sum(types, left, right.swapaxes(-1, -2), addend, satfinite=satfinite)
        store_registers(group, targets, numerics.scatter(sums, found))

    return multiply


def _old(group: Group, slot: int) -> Value:
    """The content of an accumulator: nothing yet where the first product does not add to it."""
    value = group.registers[slot]
    return np.zeros((), np.uint32) if value is None else value


def _matrices(
    access: Access, slot: int, shape: tuple[int, int, int], group: Group, running: RunningBlocks, *, is_mn_major: bool,
    quarter: Value | None = None,
) -> Value:  # fmt: skip
    """[warps, rows, k]: the matrix that each warp's descriptor names, or its quarter of the rows."""
    words = np.broadcast_to(value_of(group.registers, slot), group.size)
    _, firsts = np.unique(group.threads >> 5, return_index=True)
    memory = running.shared.views.by_width[shape[2]]
    known: dict[tuple[int, int], tuple[Value, Value]] = {}
    found: list[Value] = []
    for number, position in enumerate(cast("list[int]", firsts.tolist())):
        one = group if group.size == 1 else group.part(np.array([position]), ())
        key = int(words[position]), int(running.block_of[group.threads[position]])
        if key not in known:
            known[key] = fetch(access, key[0], shape, key[1], one, running, is_mn_major=is_mn_major, is_blackwell=False)
        places, held = known[key]
        if quarter is not None:
            places = places[ROWS * int(quarter[number]) :][:ROWS]
            held = np.unique(places >> 2)
        if running.is_watching:
            note_words(access, running.shared, held, one, running)
            running.readers.started("wgmma", int(one.threads[0]) & ~31, held, access, running)
        found.append(memory[places // shape[2]])
    return np.stack(found)


DECODERS: dict[str, Callable[[Site], Step]] = {"wgmma": decode}
