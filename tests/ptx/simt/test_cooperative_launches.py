"""Cooperative launches: blocks that wait for their grid as CUDA's headers do, what such a wait orders, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.core import UnsupportedError
from warploom.ptx import Launch, launch
from warploom.ptx.simt.launch import BATCH_THREADS

GRID_SYNC = """
	mov.u32 %e2, %envreg2;
	mov.u32 %e1, %envreg1;
	mov.b64 %w, {%e2, %e1};
	setp.ne.s64 %q, %w, 0;
	@%q bra GO;
	trap;
GO:
	barrier.sync 0;
	mov.u32 %t, %tid.x;
	setp.ne.u32 %q, %t, 0;
	@%q bra DONE;
	mov.u32 %n, %nctaid.x;
	mov.u32 %c, %ctaid.x;
	sub.u32 %n, -2147483647, %n;
	setp.eq.u32 %q, %c, 0;
	selp.b32 %n, %n, 1, %q;
	atom.add.release.gpu.u32 %old, [%w+4], %n;
SPIN:
	ld.acquire.gpu.u32 %now, [%w+4];
	xor.b32 %now, %now, %old;
	setp.gt.s32 %q, %now, -1;
	@%q bra SPIN;
DONE:
	barrier.sync 0;
"""
"""The wait of `this_grid().sync()` in one dimension: block 0 adds what makes the sum of all 2^31, and the top bit flips."""


def run(sync: str, *, grid: int = 4, block: int = 32, cooperative: bool = True, limit: int | None = None) -> Launch:
    """Each thread stores its number; behind `sync` it reads the one of its mirror image."""
    text = f"""
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
	.reg .b32 %e1, %e2, %t, %n, %c, %old, %now, %i, %m, %v; .reg .b64 %w, %a, %b, %x; .reg .pred %q;
	ld.param.u64 %a, [a];
	ld.param.u64 %b, [b];
	mov.u32 %c, %ctaid.x;
	mov.u32 %n, %ntid.x;
	mov.u32 %t, %tid.x;
	mad.lo.u32 %i, %c, %n, %t;
	mov.u32 %m, %nctaid.x;
	mul.lo.u32 %m, %m, %n;
	sub.u32 %m, %m, 1;
	sub.u32 %m, %m, %i;
	mad.wide.u32 %x, %i, 4, %a;
	st.global.u32 [%x], %i;
	{sync}
	mad.wide.u32 %x, %m, 4, %a;
	ld.global.u32 %v, [%x];
	mad.wide.u32 %x, %i, 4, %b;
	st.global.u32 [%x], %v;
	ret;
}}
"""
    count = grid * block
    arrays = [np.zeros(count, np.uint32), np.zeros(count, np.uint32)]
    return launch(text, grid=grid, block=block, args=arrays, cooperative=cooperative, limit=limit)


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (4, 32), (7, 96)])
def test_blocks_that_wait_for_their_grid(grid: int, block: int) -> None:
    ran = run(GRID_SYNC, grid=grid, block=block)
    assert (ran.status, ran.findings) == ("finished", ())
    assert (ran.arrays[1] == np.arange(grid * block)[::-1]).all()


def test_two_waits() -> None:
    again = GRID_SYNC.replace("GO", "GO2").replace("SPIN", "SPIN2").replace("DONE", "DONE2")
    ran = run(GRID_SYNC + again)
    assert (ran.status, ran.findings) == ("finished", ())


@pytest.mark.parametrize("sync", ["", GRID_SYNC.replace("atom.add.release", "atom.add.relaxed")])
def test_races_where_nothing_orders_the_blocks(sync: str) -> None:
    ran = run(sync)
    assert {one.kind for one in ran.findings} == {"global_race"}


def test_a_block_that_never_arrives_is_waited_for_until_the_limit() -> None:
    assert run("setp.eq.u32 %q, %c, 2;\n@%q ret;\n" + GRID_SYNC, limit=4_000).status == "limit"


def test_other_launches_trap_there() -> None:
    assert run(GRID_SYNC, cooperative=False).status == "fault"


def test_more_blocks_than_run_together() -> None:
    with pytest.raises(UnsupportedError, match="expected a cooperative launch of at most 1024 such blocks, got 1025"):
        run(GRID_SYNC, grid=BATCH_THREADS // 32 + 1)
