"""wmma.load, wmma.store, wmma.mma: matrices of whole warps in fragments that PTX leaves open (PTX ISA 9.7.14.4).

Their accesses are checked as those of single elements; sectors and wavefronts are not counted, since which lane asks for what is
the hardware's choice.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warploom.ptx.simt import numerics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.code import Group, Piece, RunningBlocks, Step
from warploom.ptx.simt.matrix import registers_of, require_whole_warps, store_registers
from warploom.ptx.simt.numerics.wmma import Whole
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.races import note_read, note_write
from warploom.ptx.simt.spaces import addresses, check_writable, resolve
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Name, Operand, operand_text

_IGNORED = frozenset(("sync", "aligned", "rn"))


def decode(site: Site) -> Step:
    """UnsupportedError for other forms: s4, u4 and b1, and roundings of f64 other than to nearest."""
    modifiers = [m for m in site.instruction.modifiers if m not in _IGNORED]
    match modifiers:
        case ["load", ("a" | "b" | "c") as matrix, ("row" | "col") as layout, shape, *spaces, type_name]:
            return _load(site, numerics.whole(matrix, shape, type_name), spaces, layout == "row")
        case ["store", "d", ("row" | "col") as layout, shape, *spaces, type_name]:
            return _store(site, numerics.whole("d", shape, type_name), spaces, layout == "row")
        case ["mma", "row" | "col", "row" | "col", shape, *types]:
            return _multiply(site, shape, types)
        case _:
            raise site.unsupported(site.instruction.name)


class _Elements:
    """Where the elements of a matrix lie in memory: `rows` apart by the stride, or columns."""

    def __init__(self, site: Site, matrix: Whole, operand: Operand, stride: Operand | None, spaces: list[str], kind: str) -> None:
        space = "".join(space.partition("::")[0] for space in spaces)
        if not isinstance(operand, Address):
            raise site.wrong("an address in brackets", operand_text(operand))
        if space not in ("", "global", "shared"):
            raise site.unsupported(site.instruction.name)
        width = matrix.element_bytes
        self.matrix = matrix
        self.stride = -1 if stride is None else site.sized(stride, "b32")
        self.first = access_of(site, operand, kind, width, 1, space, is_strong=False)
        self.slot = site.extra("address of a matrix element", np.dtype(np.uint64))
        self.access = access_of(site, Address(Name("address of a matrix element"), 0), kind, width, 1, space, is_strong=False)

    def each(self, group: Group, running: RunningBlocks, *, by_rows: bool) -> list[list[Piece]]:
        """For each element of a lane the places in memory, in order."""
        rows, columns = self.matrix.shape
        lanes = group.threads & 31
        row, column = np.divmod(self.matrix.places[lanes], columns)
        stride = np.array(columns if by_rows else rows) if self.stride < 0 else value_of(group.registers, self.stride)
        far, near = (row, column) if by_rows else (column, row)
        apart = np.broadcast_to(stride, group.size).astype(np.int64)[:, None]
        begin = np.broadcast_to(addresses(self.first, group), group.size)[:, None]
        places = begin + (self.matrix.element_bytes * (far * apart + near)).astype(np.uint64)
        found: list[list[Piece]] = []
        for element in range(places.shape[1]):
            group.registers[self.slot] = np.ascontiguousarray(places[:, element])
            found.append(resolve(self.access, group, running))
        return found


def _load(site: Site, matrix: Whole, spaces: list[str], by_rows: bool) -> Step:
    target, address, *rest = site.instruction.operands
    targets = _slots(site, target, matrix, site.register)
    elements = _Elements(site, matrix, address, rest[0] if rest else None, spaces, "ld")

    def load(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        values: list[Value] = []
        for pieces in elements.each(group, running, by_rows=by_rows):
            if running.is_watching:
                note_read(elements.access, pieces, group, running)
            value = np.zeros(group.size, f"u{matrix.element_bytes}")
            for chosen, region, index in pieces:
                value[slice(None) if chosen is None else chosen] = region.views.by_width[matrix.element_bytes][index]
            values.append(value)
        whole = np.stack([group.layout.full_rows(value) for value in values], axis=-1)
        if matrix.per_register > 1:
            whole = numerics.join(whole.reshape(*whole.shape[:-1], matrix.registers, matrix.per_register))
        store_registers(group, targets, whole)

    return load


def _store(site: Site, matrix: Whole, spaces: list[str], by_rows: bool) -> Step:
    address, source, *rest = site.instruction.operands
    slots = _slots(site, source, matrix, site.sized)
    rows = registers_of(slots)
    elements = _Elements(site, matrix, address, rest[0] if rest else None, spaces, "st")

    def store(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        registers = rows(group)
        whole = registers if matrix.per_register == 1 else numerics.split(registers, matrix.per_register)
        whole = whole.reshape(*registers.shape[:-1], -1)
        for number, pieces in enumerate(elements.each(group, running, by_rows=by_rows)):
            check_writable(elements.access, pieces, group, running)
            value = np.broadcast_to(group.layout.lanes(whole[..., number]), group.size)
            if running.is_watching:
                note_write(elements.access, pieces, [value], group, running)
            for chosen, region, index in pieces:
                region.views.by_width[matrix.element_bytes][index] = value if chosen is None else value[chosen]

    return store


def _multiply(site: Site, shape: str, modifiers: list[str]) -> Step:
    satfinite = "satfinite" in modifiers
    types = numerics.whole_types(shape, tuple(m for m in modifiers if m != "satfinite"))
    if satfinite and types[0] != "s32":
        raise site.unsupported(site.instruction.name)
    matrices = [numerics.whole(name, shape, one) for name, one in zip("dabc", types, strict=True)]
    d, *sources = site.instruction.operands
    targets = _slots(site, d, matrices[0], site.register)
    rows = [registers_of(_slots(site, o, m, site.sized)) for o, m in zip(sources, matrices[1:], strict=True)]

    def multiply(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        left, right, addend = (m.gather(row(group)) for m, row in zip(matrices[1:], rows, strict=True))
        found = numerics.product_sum(types, left, right, addend, satfinite=satfinite)
        store_registers(group, targets, matrices[0].scatter(found))

    return multiply


def _slots(site: Site, operand: Operand, matrix: Whole, slot: Callable[[Operand, str], int]) -> list[int]:
    """UserError (PTX_OPERAND) for another number of registers than the matrix has."""
    parts = site.elements(operand)
    if len(parts) != matrix.registers:
        raise site.wrong(f"{matrix.registers} registers", str(len(parts)))
    return [slot(part, "b64" if matrix.element_bytes == 8 else "b32") for part in parts]


DECODERS: dict[str, Callable[[Site], Step]] = {"wmma": decode}
