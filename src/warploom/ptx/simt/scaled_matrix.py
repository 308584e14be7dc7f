"""mma.sync of elements of 4, 6 and 8 bits, with and without scale factors (sm_120; PTX ISA 9.7.14.3, 9.7.14.5.14).

Fragments are those of bytes: one element to a byte (`held`), or two of e2m1 in the kinds mxf4 and mxf4nvf4. The scale factors of
row r of A come from lane 4 (r mod 8) + r / 8 + 2 t, those of column c of B from lane 4 c + t, from byte b of its register on; t
and b are the thread and the byte that the instruction names.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warploom.ptx.simt import numerics
from warploom.ptx.simt.code import Group, RunningBlocks, Step
from warploom.ptx.simt.matrix import decode_plain, registers_of, require_whole_warps, store_registers
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Operand

_BYTES = frozenset(("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"))
_GROUPS: dict[tuple[str, str, str], int] = {
    ("kind::mxf8f6f4", "scale_vec::1X", "ue8m0"): 1, ("kind::mxf8f6f4", "", "ue8m0"): 1,
    ("kind::mxf4", "scale_vec::2X", "ue8m0"): 2, ("kind::mxf4", "", "ue8m0"): 2,
    ("kind::mxf4nvf4", "scale_vec::2X", "ue8m0"): 2, ("kind::mxf4nvf4", "scale_vec::4X", "ue8m0"): 4,
    ("kind::mxf4nvf4", "scale_vec::4X", "ue4m3"): 4,
}  # fmt: skip
"""Scale factors of each row, by kind, modifier and type."""
_ROWS, _COLUMNS = np.arange(16), np.arange(8)


def decode_mma(site: Site) -> Step:
    """mma.sync of all types."""
    modifiers = [m for m in site.instruction.modifiers if m not in ("sync", "aligned")]
    return decode_scaled(site, modifiers) if any(m.startswith("kind::") for m in modifiers) else decode_plain(site)


def decode_scaled(site: Site, modifiers: list[str]) -> Step:
    """All modifiers but `sync` and `aligned`; UnsupportedError for what the manual does not list."""
    given = list(modifiers)
    kind = next(m for m in given if m.startswith("kind::"))
    factor = next((m for m in given if m.startswith("scale_vec::")), "")
    is_scaled = "block_scale" in given
    match [m for m in given if m not in (kind, factor, "block_scale")]:
        case ["m16n8k32" | "m16n8k64" as shape, "row", "col", d_type, a_type, b_type, c_type, *rest] if len(rest) == is_scaled:
            scale_type = (rest or [""])[0]
        case _:
            raise site.unsupported(site.instruction.name)
    groups = _GROUPS.get((kind, factor, scale_type), 0) if is_scaled else 0
    is_dense = kind in ("kind::mxf4", "kind::mxf4nvf4")
    allowed = frozenset(("e2m1",)) if is_dense else _BYTES
    sums = ("f32",) if is_scaled else ("f16", "f32")
    if (
        (not groups if is_scaled else kind != "kind::f8f6f4")
        or shape != ("m16n8k64" if is_dense else "m16n8k32")
        or not {a_type, b_type} <= allowed
        or d_type != c_type
        or d_type not in sums
    ):
        raise site.unsupported(site.instruction.name)
    operands = site.instruction.operands
    if len(operands) != (8 if is_scaled else 4):
        raise site.wrong(
            "D, A, B, C" + ", and a register and its selectors for A and for B" * is_scaled, f"{len(operands)} operands"
        )
    layouts = [numerics.fragment(name, "m16n8k32", t) for name, t in (("d", d_type), ("a", "u8"), ("b", "u8"), ("c", c_type))]
    slots: list[list[int]] = []
    for number, (operand, layout) in enumerate(zip(operands[:4], layouts, strict=True)):
        parts = site.elements(operand)
        if len(parts) != layout.registers:
            raise site.wrong(f"{layout.registers} registers for {'DABC'[number]}", str(len(parts)))
        slots.append([site.register(part, "b32") if number == 0 else site.sized(part, "b32") for part in parts])
    read = [registers_of(chosen) for chosen in slots[1:]]
    factors = _factors(site, operands[4:], groups) if is_scaled else None
    packing = "dense" if is_dense else "held"

    def multiply(group: Group, running: RunningBlocks) -> None:
        require_whole_warps(site, group, running)
        a, b, c = (numerics.gather(layout, rows(group)) for layout, rows in zip(layouts[1:], read, strict=True))
        left = numerics.elements(a_type, np.ascontiguousarray(a), packing)
        right = numerics.elements(b_type, np.ascontiguousarray(b.swapaxes(-1, -2)), packing)
        if factors is not None:
            left, right = (numerics.scaled(m, scale_type, s) for m, s in zip((left, right), factors(group), strict=True))
        store_registers(group, slots[0], numerics.scatter(layouts[0], numerics.product_of_values(left, right, c, d_type)))

    return multiply


class _Factors:
    """The scale factors of one matrix: [warps, rows, groups] bytes."""

    def __init__(self, site: Site, given: list[Operand], groups: int, *, is_left: bool) -> None:
        register, byte, thread = given
        self.slot = site.sized(register, "b32")
        self.byte, self.thread = site.sized(byte, "b16"), site.sized(thread, "b16")
        self.groups, self.is_left = groups, is_left
        self.site = site

    def of(self, group: Group) -> Value:
        rows = group.layout.full_rows(value_of(group.registers, self.slot))
        byte, thread = (int(np.ravel(value_of(group.registers, slot))[0]) for slot in (self.byte, self.thread))
        if byte not in range(0, 4, self.groups) or thread not in range(2 if self.is_left else 4):
            raise self.site.unsupported(f"{self.site.instruction.name} with the selectors {byte} and {thread}")
        lanes = 4 * (_ROWS % 8) + _ROWS // 8 + 2 * thread if self.is_left else 4 * _COLUMNS + thread
        words = np.ascontiguousarray(rows[:, lanes]).view(np.uint8).reshape(len(rows), len(lanes), 4)
        return words[..., byte : byte + self.groups]


def _factors(site: Site, operands: tuple[Operand, ...], groups: int) -> Callable[[Group], tuple[Value, ...]]:
    flat = [part for operand in operands for part in site.elements(operand)]
    if len(flat) != 6:
        raise site.wrong("a register, a byte and a thread for A and for B", f"{len(flat)} operands")
    both = _Factors(site, flat[:3], groups, is_left=True), _Factors(site, flat[3:], groups, is_left=False)
    return lambda group: tuple(one.of(group) for one in both)
