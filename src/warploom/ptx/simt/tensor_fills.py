"""tcgen05.cp: shared memory to tensor memory (PTX ISA 9.7.16.9.1). The copy is done at once.

Rows of 16 or 32 bytes, described as matrices of products are, go to lanes; copies of 64 and 32 rows go to several quarters of the
lanes. It ends where a wait for its commit has passed; products of the same thread that follow see it.
"""

from __future__ import annotations

import numpy as np

from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.bulk_copies import note_words
from warploom.ptx.simt.code import Group, RunningBlocks, Step
from warploom.ptx.simt.descriptors import fetch
from warploom.ptx.simt.numerics import padded_as_held
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.tensor_memory import check_columns, tensor_address
from warploom.ptx.syntax import Address, Integer, operand_text

_SHAPES: dict[tuple[str, ...], tuple[int, tuple[int, ...]]] = {
    ("128x256b",): (32, (0, 1, 2, 3)), ("128x128b",): (16, (0, 1, 2, 3)),
    ("64x128b", "warpx2::02_13"): (16, (0, 1, 0, 1)), ("64x128b", "warpx2::01_23"): (16, (0, 0, 1, 1)),
    ("32x128b", "warpx4"): (16, (0, 0, 0, 0)),
}  # fmt: skip
"""Bytes of a row, and the 32 rows that each quarter of the lanes gets."""
_FORMATS = {"b6x16_p32": 6, "b4x16_p64": 4}
_QUARTER = 32


def decode_fill(site: Site, modifiers: list[str]) -> Step:
    """The modifiers after `cp`; UnsupportedError for 4x256b."""
    bits = 8
    if (len(modifiers) > 2 and modifiers[-2] == "b8x16") or modifiers[1:2] == ["b8x16"]:
        bits = _FORMATS.get(modifiers[-1], 0)
        modifiers = modifiers[:-2]
    shape = _SHAPES.get(tuple(sorted(modifiers, key=lambda m: m.startswith("warpx"))))
    if shape is None or not bits:
        raise site.unsupported(site.instruction.name)
    wide, pieces = shape
    target, source = site.instruction.operands
    if not isinstance(target, Address):
        raise site.wrong("an address in brackets", operand_text(target))
    into, described = tensor_address(site, target), site.sized(source, "b64")
    access = access_of(site, Address(Integer(0), 0), "ld", 4, 1, "shared", is_strong=False)
    code, index = site.code, site.index
    rows = _QUARTER * (max(pieces) + 1)
    lanes = np.arange(_QUARTER * len(pieces))
    sources = np.concatenate([np.arange(_QUARTER) + _QUARTER * piece for piece in pieces])

    def fill(group: Group, running: RunningBlocks) -> None:
        words = np.broadcast_to(value_of(group.registers, described), group.size)
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            thread = int(one.threads[0])
            block = int(running.block_of[thread])
            at = int(np.ravel(into(one))[0])
            lane, column = at >> 16, at & 0xFFFF
            if lane:
                raise running.fault("bad_call", f"a copy to lane {lane} of tensor memory on", code, index, thread)
            check_columns(site, block, column, wide // 4, thread, running)
            places, _ = fetch(
                access, int(words[position]), (rows, wide, 1), block, one, running, is_mn_major=False, is_blackwell=True
            )
            read = np.unique(places[:, np.arange(wide) % 16 < 2 * bits] >> 2)
            if running.is_watching:
                note_words(access, running.shared, read, one, running)
            content = running.shared.views.bytes[places]
            if bits < 8:
                content = padded_as_held(content, bits)
            cells = np.ascontiguousarray(content[sources]).view(np.uint32)
            running.tensor_memory.cells(block)[:, column : column + wide // 4] = cells
            if running.launch.checks:
                span = code.routine.span(index)
                number = running.tensor_memory.started(thread, block, lanes, (column, column + wide // 4), span)
                running.readers.started("tcgen05", thread, read, access, running, number=number)

    return fill
