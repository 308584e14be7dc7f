"""cp.async.bulk with an mbarrier in the interpreter: tiles of 64 words through two stages, and what goes wrong without a wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warploom.core import UnsupportedError, UserError
from warploom.ptx.simt import Launch, launch

TILES = 5
TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out, .param .u32 tiles)
{
.reg .pred %first, %there, %more;
.reg .b32 %t, %n, %k, %stage, %parity, %place, %full, %left, %x;
.reg .b64 %data, %out, %far;
.shared .align 16 .b8 tile[512];
.shared .align 8 .b64 full[2];
ld.param.u64 %data, [data];
ld.param.u64 %out, [out];
ld.param.u32 %n, [tiles];
mov.u32 %t, %tid.x;
setp.eq.u32 %first, %t, 0;
@%first mbarrier.init.shared.b64 [full], 1;
@%first mbarrier.init.shared.b64 [full+8], 1;
bar.sync 0;
mov.u32 %k, 0;
loop:
and.b32 %stage, %k, 1;
shr.u32 %parity, %k, 1;
and.b32 %parity, %parity, 1;
mad.lo.u32 %full, %stage, 8, full;
mad.lo.u32 %place, %stage, 256, tile;
mul.wide.u32 %far, %k, 256;
add.u64 %far, %far, %data;
@!%first bra wait;
mbarrier.arrive.expect_tx.shared.b64 _, [%full], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%place], [%far], 256, [%full];
wait:
mbarrier.try_wait.parity.shared.b64 %there, [%full], %parity;
@!%there bra wait;
mad.lo.u32 %x, %t, 4, %place;
ld.shared.u32 %x, [%x];
mad.wide.u32 %far, %k, 64, 0;
cvt.u64.u32 %far, %t;
mad.lo.u32 %left, %k, 64, %t;
mul.wide.u32 %far, %left, 4;
add.u64 %far, %far, %out;
st.global.u32 [%far], %x;
bar.sync 0;
add.u32 %k, %k, 1;
setp.lt.u32 %more, %k, %n;
@%more bra loop;
ret;
}
"""


def run(text: str, data: np.ndarray | None = None, out_tiles: int = TILES) -> Launch:
    data = np.arange(64 * TILES, dtype=np.uint32) if data is None else data
    args: list[Any] = [data, np.zeros(64 * out_tiles, np.uint32), TILES]
    return launch(text, grid=2 if out_tiles == 0 else 1, block=64, args=args, limit=50_000)


def without(*lines: str) -> str:
    text = TEXT
    for line in lines:
        assert f"\n{line}\n" in text
        text = text.replace(f"\n{line}\n", "\n")
    return text


WAIT = ("mbarrier.try_wait.parity.shared.b64 %there, [%full], %parity;", "@!%there bra wait;")


def test_tiles_arrive() -> None:
    done = run(TEXT)
    assert done.status == "finished" and not done.findings
    assert (done.arrays[1] == np.arange(64 * TILES)).all()


def test_who_does_not_wait_is_told() -> None:
    found = run(without(*WAIT)).findings
    assert {f.kind for f in found} == {"early_copy_read", "shared_race"}
    assert all(
        TEXT.splitlines()[f.others[0][1].line - 1].startswith("cp.async.bulk") for f in found if f.kind == "early_copy_read"
    )


def test_a_wait_for_another_mbarrier_is_none() -> None:
    text = TEXT.replace(f"wait:\n{WAIT[0]}", f"xor.b32 %left, %stage, 1;\nmad.lo.u32 %left, %left, 8, full;\nwait:\n{WAIT[0]}")
    text = text.replace("[%full], %parity;", "[%left], 1;")
    assert "early_copy_read" in {f.kind for f in run(text).findings}


def test_the_next_tile_must_not_come_before_the_last_is_read() -> None:
    kinds = {f.kind for f in run(TEXT.replace("bar.sync 0;\nadd.u32", "add.u32")).findings}
    assert kinds == {"shared_race"}


def test_bytes_that_nobody_brings_are_waited_for_in_vain() -> None:
    ran = run(TEXT.replace("[%full], 256;", "[%full], 512;"))
    assert ran.status == "deadlock" and "the bytes that it expects (256 more)" in ran.findings[-1].message
    assert "mbarrier.try_wait" in (ran.findings[-1].span.source or "")


def test_mistakes_are_located() -> None:
    (found,) = run(TEXT, np.arange(64 * TILES - 4, dtype=np.uint32)).findings
    assert found.kind == "out_of_bounds" and found.span.source is not None and "cp.async.bulk" in found.span.source
    (found,) = run(TEXT.replace("[%far], 256, [%full]", "[%far], 200, [%full]")).findings
    assert found.kind == "misaligned" and "200 bytes, not a multiple of 16" in found.message
    (found,) = run(TEXT.replace("[%far], 256, [%full]", "[%far+4], 256, [%full]")).findings
    assert found.kind == "misaligned"


def test_copies_out_of_shared_memory_and_hints() -> None:
    text = TEXT.replace("st.global.u32 [%far], %x;\n", "").replace(
        "bar.sync 0;\nadd.u32", "bar.sync 0;\nmul.wide.u32 %far, %k, 256;\nadd.u64 %far, %far, %out;\n"
        "@%first cp.async.bulk.global.shared::cta.bulk_group [%far], [%place], 256;\n"
        "@%first cp.async.bulk.commit_group;\n@%first cp.async.bulk.wait_group.read 0;\n"
        "@%first cp.async.bulk.prefetch.L2.global [%data], 256;\nbar.sync 0;\nadd.u32",
    )  # fmt: skip
    done = run(text)
    assert done.status == "finished" and not done.findings
    assert (done.arrays[1] == np.arange(64 * TILES)).all()
    (found, *_) = run(text, out_tiles=0).findings
    assert found.kind == "out_of_bounds"
    constant = text.replace("[%far], [%place], 256;", "[kept], [%place], 256;")
    (found, *_) = run(constant.replace(".visible", ".const .align 16 .b8 kept[1280];\n.visible", 1)).findings
    assert found.kind == "read_only"


def test_a_copy_from_one_array_into_the_next_is_one_out_of_bounds() -> None:
    apart = 4 * 64 * TILES + (1 << 20)  # the second array begins so many bytes after the first
    copy = f"mov.u32 %x, {apart + 16};\n@%first cp.async.bulk.global.shared::cta.bulk_group [%data], [tile], %x;\n"
    text = TEXT.replace("bar.sync 0;\nadd.u32", f"{copy}bar.sync 0;\nadd.u32")
    (found,) = run(text).findings
    assert found.kind == "out_of_bounds" and "does not end in the array where it begins" in found.message


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("cp.async.bulk.shared::cluster.global.mbarrier", "cp.async.bulk.shared::cluster.global.ignore_oob.mbarrier",
         UnsupportedError),
        ("[%place], [%far]", "%place, [%far]", UserError),
    ],
)  # fmt: skip
def test_other_forms_are_refused(old: str, new: str, error: type[Exception]) -> None:
    assert old in TEXT
    with pytest.raises(error):
        run(TEXT.replace(old, new, 1))
