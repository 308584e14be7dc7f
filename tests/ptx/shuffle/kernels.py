"""Small kernels in PTX: one frame around a body that loads neighbours and stores what it made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PAD = 64
"""Elements on either side of what a thread may call its own."""
PITCH = 400
"""Elements from one row of threads to the next."""

FRAME = """\
.version 8.0
.target sm_75
.address_size 64
{before}
.visible .entry k(
	.param .u64 p_in,
	.param .u64 p_out,
	.param .u32 p_n,
	.param .u32 p_trip
)
{{
	.reg .pred %p<16>;
	.reg .b16 %h<32>;
	.reg .b32 %r<64>;
	.reg .b64 %rd<64>;
	.reg .f32 %f<64>;
	.reg .f64 %fd<32>;
{declared}
	ld.param.u64 %rd1, [p_in];
	ld.param.u64 %rd2, [p_out];
	ld.param.u32 %r20, [p_n];
	ld.param.u32 %r21, [p_trip];
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %ctaid.x;
	mad.lo.s32 %r4, %r3, %r2, %r1;
	mov.u32 %r5, %tid.y;
	mov.u32 %r6, %tid.z;
	mov.u32 %r7, %ntid.y;
	mad.lo.s32 %r5, %r6, %r7, %r5;
	mad.lo.s32 %r8, %r5, {pitch}, %r4;
	setp.ge.s32 %p1, %r4, %r20;
	@%p1 bra DONE;
	cvt.s64.s32 %rd3, %r8;
	add.s64 %rd3, %rd3, {pad};
	shl.b64 %rd4, %rd3, {shift};
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
{body}
DONE:
	ret;
}}
"""
"""%rd5, %rd6: addresses of the thread's own elements; %r4: its place in a row; %r20: the rows' length; %r21: a number."""


def kernel(body: str, *, size: int = 4, declared: str = "", before: str = "") -> str:
    """`size`: bytes of an element."""
    text = "\n".join(
        f"\t{line}" if line and not line.endswith(":") else line for line in map(str.strip, body.strip().splitlines())
    )
    shift = size.bit_length() - 1
    return FRAME.format(body=text, declared=f"\t{declared}", before=before, pitch=PITCH, pad=PAD, shift=shift)


def arguments(
    block: tuple[int, int, int], *, size: int = 4, blocks: int = 2, n: int | None = None, trip: int = 3, aliased: bool = False
) -> list[Any]:
    """For a row of `blocks` blocks; aliased: both pointers to one array."""
    rows = block[1] * block[2]
    count = 4 * (PITCH * rows + 2 * PAD + 64)
    assert blocks * block[0] + PAD <= PITCH
    rng = np.random.default_rng(block[0] * 1009 + block[1])
    given = _random(rng, count, size)
    out = given if aliased else _random(rng, count, size)
    return [given, out, np.int32(blocks * block[0] if n is None else n), np.int32(trip)]


def _random(rng: np.random.Generator, count: int, size: int) -> NDArray[Any]:
    if size == 4:
        return rng.uniform(-1, 1, count).astype(np.float32)
    if size == 8:
        return rng.uniform(-1, 1, count)
    return rng.integers(0, 1 << (8 * size), count).astype(f"u{size}")
