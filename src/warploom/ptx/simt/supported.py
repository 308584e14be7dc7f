"""Instructions that the interpreter has: for documentation, and to check a file before it runs."""

from __future__ import annotations

from collections.abc import Mapping

from warploom.core import UnsupportedError
from warploom.ptx.instructions import ROWS, find_row
from warploom.ptx.simt.decode import DECODERS
from warploom.ptx.simt.numerics import bind, is_arithmetic
from warploom.ptx.syntax import Instruction

_CONTROL = frozenset(("bra", "brx", "call", "ret", "exit", "trap", "brkpt", "bar", "barrier"))
_LIMITED: Mapping[str, str] = {
    "mma.sync": "f16, bf16, tf32, e4m3, e5m2, s8, u8, f64",
    **dict.fromkeys(("wmma.load", "wmma.store", "wmma.mma"), "f16, bf16, tf32, s8, u8, f64"),
    "ldmatrix": "m8n8 of b16",
    "stmatrix": "m8n8 of b16",
    "cp.async": "yes",
    "cp.async.commit_group": "yes",
    "cp.async.wait_group": "yes",
    "cp.async.wait_all": "yes",
    "cp.async.mbarrier.arrive": "yes",
    "cp.async.bulk": "between global and shared memory of the cluster",
    "cp.reduce.async.bulk": "into global memory",
    "cp.async.bulk.tensor": "tiles, gather4, scatter4",
    "cp.reduce.async.bulk.tensor": "tiles",
    "cp.async.bulk.prefetch.tensor": "no effect",
    "tensormap.replace": "yes",
    "tensormap.cp_fenceproxy": "yes",
    "st.async": "yes",
    "red.async": "32 and 64 bits",
    "wgmma.mma_async": "f16, bf16, tf32, e4m3, e5m2, s8, u8",
    "wgmma.fence": "yes",
    "wgmma.commit_group": "yes",
    "wgmma.wait_group": "yes",
    "tcgen05.alloc": "one block",
    "tcgen05.dealloc": "one block",
    "tcgen05.relinquish_alloc_permit": "no effect",
    "tcgen05.ld": "yes",
    "tcgen05.st": "yes",
    "tcgen05.wait": "no effect",
    "tcgen05.fence": "no effect",
    "tcgen05.commit": "one block",
    "tcgen05.cp": "one block, not 4x256b",
    "tcgen05.mma": "one block, f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8, scale factors",
    "cp.async.bulk.prefetch": "no effect",
    "cp.async.bulk.commit_group": "yes",
    "cp.async.bulk.wait_group": "yes",
    "tex": "1d, 2d, 3d, a1d, a2d, cube, acube of 32 bits, one level",
    "tld4": "2d, a2d",
    "suld": "1d, 2d, 3d, a1d, a2d, unformatted",
    "sust": "1d, 2d, 3d, a1d, a2d, unformatted",
    "sured": "1d, 2d, 3d, a1d, a2d, unformatted",
    "prefetch": "no effect",
    "prefetchu": "no effect",
    "nanosleep": "no effect",
    "pmevent": "no effect",
    "discard": "lines of 128 bytes",
    "applypriority": "no effect",
    "griddepcontrol": "no effect",
    "setmaxnreg": "no effect",
    "createpolicy.range": "no effect",
    "createpolicy.fractional": "no effect",
    "createpolicy.cvt": "no effect",
}
_WITHOUT = ("mma.sp", "st.bulk", "mov.b128")


def _status(title: str, name: str, opcode: str) -> str:
    for key in (title, name):
        if key in _LIMITED:
            return _LIMITED[key]
    if opcode in ("cp", "mma", "wgmma", "tcgen05") or name.startswith(_WITHOUT) or title.startswith(_WITHOUT):
        return ""
    return "yes" if opcode in DECODERS or opcode in _CONTROL or is_arithmetic(opcode) else ""


SUPPORTED: Mapping[str, str] = {row.title: _status(row.title, row.name, row.opcode) for row in ROWS}
"""Title of every row of the instruction table -> "yes", what of it, or "" for not at all."""


def is_supported(instruction: Instruction) -> bool:
    """Whether the interpreter has the instruction with these modifiers; of others than arithmetic only the row counts."""
    if is_arithmetic(instruction.opcode):
        try:
            bind(instruction.opcode, instruction.modifiers)
        except UnsupportedError:
            return False
        return True
    row = find_row(instruction)
    return row is not None and bool(SUPPORTED[row.title])
