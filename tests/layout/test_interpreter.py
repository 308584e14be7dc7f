"""The PTX interpreter, which counts by itself, sees the wavefronts that the layouts promise."""

import numpy as np
import pytest

from warploom.layout import Access, access, layout, prices, tile
from warploom.layout.maps import row_major
from warploom.ptx import launch

LOADS = {
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];",
    "ldmatrix.trans": "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r3], {%r4, %r5, %r6, %r7};",
    "rows:128bit": "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];",
    "columns": "ld.shared.u16 %h0, [%r3];",
}


def seen(name: str, taken: Access, table: np.ndarray, bits: int) -> int:
    """Wavefronts of the first request of the access."""
    addresses = (table[taken.elements[0, :, 0]] * bits // 8).astype(np.uint32)
    text = f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry f(.param .u64 a)
{{
    .shared .align 16 .b8 tile[16384];
    .reg .u32 %r<8>;
    .reg .u16 %h<1>;
    .reg .u64 %d<4>;
    ld.param.u64 %d0, [a];
    cvta.to.global.u64 %d1, %d0;
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d2, %r0, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.u32 %r1, [%d3];
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    {LOADS[name]}
    ret;
}}
"""
    counts = launch(text, grid=1, block=32, args=[addresses], counts=True, checks=False).counts
    assert counts is not None
    return counts.shared_wavefronts


@pytest.mark.parametrize("name", LOADS)
def test_promised_wavefronts_are_those_of_the_interpreter(name: str) -> None:
    given = tile("64x64:f16")
    taken = access(name, given)
    found = layout(given, [taken, access("ldmatrix", given)])
    for table in (found.map.table, row_major(given, 64).table, row_major(given, 72).table):
        (price,) = prices(given, [taken], table)
        per_request = price.wavefronts / len(taken.elements)
        assert seen(name, taken, table, 16) == per_request
