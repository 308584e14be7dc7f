"""Small kernels written as PTX text."""

import numpy as np
from numpy.typing import NDArray

from warploom.ptx import Launch, launch

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<24>; .reg .b64 %rd<24>; .reg .pred %p<8>; .reg .f32 %f<8>; .reg .b16 %h<8>; .reg .f64 %fd<8>;"
PLACE = """ld.param.u64 %rd1, [p0];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r2, %r3, %r1;
mul.wide.u32 %rd2, %r4, 4;
add.s64 %rd3, %rd1, %rd2;
"""
"""%r1: thread in the block; %r4: in the grid; %rd3: its word of the first argument."""


def kernel(body: str, *, parameters: int = 1, before: str = "") -> str:
    """A kernel `k` of pointer parameters p0, p1, ...; `before` stands in front of it."""
    declared = ", ".join(f".param .u64 p{n}" for n in range(parameters))
    return f"{HEADER}{before}.visible .entry k({declared}) {{\n{REGISTERS}\n{PLACE}{body}\nret;\n}}\n"


def run(
    body: str, *, grid: int = 1, block: int = 64, before: str = "", limit: int | None = None, others: tuple[NDArray, ...] = ()
) -> Launch:
    """On one zeroed word per thread."""
    words = np.zeros(grid * block, np.uint32)
    text = kernel(body, before=before, parameters=1 + len(others))
    return launch(text, grid=grid, block=block, args=[words, *others], limit=limit)


def words(body: str, *, grid: int = 1, block: int = 64, before: str = "") -> list[int]:
    """The word that each thread left, when nothing was found."""
    ran = run(body, grid=grid, block=block, before=before)
    assert (ran.status, ran.findings) == ("finished", ())
    return ran.arrays[0].tolist()


def kinds(ran: Launch) -> list[str]:
    return [finding.kind for finding in ran.findings]
