"""Matrix instructions of whole warps: ldmatrix, stmatrix, movmatrix, mma.sync (PTX ISA 9.7.14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from warploom.ptx.simt import numerics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.code import Group, RunningBlocks, Step
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.races import note_read, note_write
from warploom.ptx.simt.spaces import resolve
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Operand, operand_text

ROW_BYTES = 16
"""One row of an 8 x 8 matrix of 16-bit elements."""
_IGNORED = frozenset(("sync", "aligned"))


def require_whole_warps(site: Site, group: Group, running: RunningBlocks) -> None:
    """Reports warps that lack lanes: the instruction needs all of them."""
    if running.launch.checks and not group.layout.is_dense:
        message = f"{site.instruction.name} needs all 32 lanes of the warp, some have exited or do not exist"
        running.report("shuffle_inactive", message, site.code, site.index, int(group.threads[0]), count=group.size)


def registers_of(slots: list[int]) -> Callable[[Group], Value]:
    """Reads registers as [warps, 32, registers]."""

    def rows(group: Group) -> Value:
        return np.stack([group.layout.full_rows(value_of(group.registers, slot)) for slot in slots], axis=-1)

    return rows


def store_registers(group: Group, targets: list[int], rows: Value) -> None:
    """Writes registers from [warps, 32, registers]."""
    for number, target in enumerate(targets):
        group.registers[target] = group.layout.lanes(rows[..., number])


def _shape(site: Site) -> tuple[int, bool]:
    """Matrices, whether they are transposed."""
    modifiers = [m for m in site.instruction.modifiers if m not in _IGNORED and m.partition("::")[0] != "shared"]
    counts = [int(m[1:]) for m in modifiers if m in ("x1", "x2", "x4")]
    if len(counts) != 1 or "m8n8" not in modifiers or modifiers[-1] != "b16" or len(modifiers) > 4:
        raise site.unsupported(site.instruction.name)
    return counts[0], "trans" in modifiers


def _words(site: Site, address: Operand, count: int, kind: str) -> Callable[[Group, RunningBlocks], tuple[Value, Value]]:
    """The 16-bit words of the region, and the first word of each row [warps, 32] (of the lanes that give addresses)."""
    if not isinstance(address, Address):
        raise site.wrong("an address in brackets", operand_text(address))
    spaces = {m.partition("::")[0] for m in site.instruction.modifiers}
    access = access_of(site, address, kind, 4, ROW_BYTES // 4, "shared" if "shared" in spaces else "", is_strong=False)

    def find(group: Group, running: RunningBlocks) -> tuple[Value, Value]:
        positions = np.flatnonzero((group.threads & 31) < 8 * count)
        giving = group if len(positions) == group.size else group.part(positions)
        pieces = resolve(access, giving, running)
        if len(pieces) != 1:
            raise site.unsupported(f"{site.instruction.name} on several memories at once")
        _, region, index = pieces[0]
        if running.is_watching:
            if kind == "ld":
                note_read(access, pieces, giving, running)
            else:
                note_write(access, pieces, None, giving, running)
        if running.launch.counter is not None:
            running.launch.counter.access(access, pieces, giving, running)
        first = np.zeros(group.size, np.int64)
        first[positions] = index * 2
        return region.views.by_width[2], group.layout.rows(first)

    return find


def _ldmatrix(site: Site) -> Step:
    count, transposed = _shape(site)
    target, address = site.instruction.operands
    targets = [site.register(part, "b32") for part in site.elements(target)]
    if len(targets) != count:
        raise site.wrong(f"{count} destinations", str(len(targets)))
    layout = numerics.matrix_access(cast(Any, count), transposed)
    words = _words(site, address, count, "ld")

    def load(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        memory, first = words(group, running)
        for number, slot in enumerate(targets):
            at = first[:, layout.address_lane[number]] + layout.offset_bytes[number] // 2
            halves = memory[at]
            whole = halves[..., 0].astype(np.uint32) | (halves[..., 1].astype(np.uint32) << np.uint32(16))
            group.registers[slot] = group.layout.lanes(whole)

    return load


def _stmatrix(site: Site) -> Step:
    count, transposed = _shape(site)
    address, source = site.instruction.operands
    slots = [site.sized(part, "b32") for part in site.elements(source)]
    if len(slots) != count:
        raise site.wrong(f"{count} sources", str(len(slots)))
    layout = numerics.matrix_access(cast(Any, count), transposed)
    words = _words(site, address, count, "st")

    def store(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        memory, first = words(group, running)
        for number, slot in enumerate(slots):
            at = first[:, layout.address_lane[number]] + layout.offset_bytes[number] // 2
            value = group.layout.full_rows(value_of(group.registers, slot))
            memory[at[..., 0]] = value.astype(np.uint16)
            memory[at[..., 1]] = (value >> np.uint32(16)).astype(np.uint16)

    return store


def _movmatrix(site: Site) -> Step:
    if site.instruction.modifiers[-3:] != ("m8n8", "trans", "b16"):
        raise site.unsupported(site.instruction.name)
    target = site.register(site.instruction.operands[0], "b32")
    source = site.sized(site.instruction.operands[1], "b32")

    def move(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        rows = group.layout.full_rows(value_of(group.registers, source))
        group.registers[target] = group.layout.lanes(numerics.movmatrix(rows))

    return move


def decode_plain(site: Site) -> Step:
    """mma.sync without a kind."""
    modifiers = [m for m in site.instruction.modifiers if m not in _IGNORED]
    satfinite = "satfinite" in modifiers
    modifiers = [m for m in modifiers if m != "satfinite"]
    match modifiers:
        case [shape, "row", "col", d_type, a_type, b_type, c_type]:
            pass
        case _:
            raise site.unsupported(site.instruction.name)
    if len(site.instruction.operands) != 4:
        raise site.unsupported(site.instruction.name)
    d, *sources = site.instruction.operands
    bits = "b64" if a_type == "f64" else "b32"
    targets = [site.register(part, bits) for part in site.elements(d)]
    a, b, c = (registers_of([site.sized(part, bits) for part in site.elements(o)]) for o in sources)
    given = [len(site.elements(o)) for o in site.instruction.operands]
    types = (d_type, a_type, b_type, c_type)
    for name, count, type_name in zip(("d", "a", "b", "c"), given, types, strict=True):
        needed = numerics.fragment(cast(Any, name), shape, type_name).registers
        if count != needed:
            raise site.wrong(f"{needed} registers for {name.upper()}", str(count))
    zeros = np.zeros((1, 32, given[0]), np.uint64 if bits == "b64" else np.uint32)
    _evaluate(shape, types, satfinite, tuple(zeros[..., :1].repeat(n, axis=-1) for n in given[1:]))

    def multiply(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        store_registers(group, targets, _evaluate(shape, types, satfinite, (a(group), b(group), c(group))))

    return multiply


def _evaluate(shape: str, types: tuple[str, str, str, str], satfinite: bool, matrices: tuple[Value, ...]) -> Value:
    return numerics.mma(shape, *types, *matrices, satfinite=satfinite)


DECODERS: dict[str, Callable[[Site], Step]] = {
    "ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix,
}  # fmt: skip
