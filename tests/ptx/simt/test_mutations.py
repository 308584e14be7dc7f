"""Damaged kernels: every one runs, is refused with its place, or stops as hardware would; nothing else happens."""

import random
import re
from collections import Counter

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ptx import launch

from .written import kernel

BODY = """.shared .align 16 .b32 tile[64];
.local .align 8 .b8 own[16];
mov.u64 %rd4, tile; add.s64 %rd6, %rd4, %rd2;
ld.global.v2.u32 {%r5, %r6}, [%rd1+8];
st.shared.u32 [%rd6], %r1;
bar.sync 0;
setp.lt.u32 %p1, %r1, 20;
@%p1 bra LOW;
shfl.sync.bfly.b32 %r7|%p2, %r1, 1, 31, 0xfff00000;
st.local.u32 [own+4], %r7;
cvt.rn.f32.u32 %f1, %r7;
fma.rn.f32 %f2, %f1, 0f40000000, %f1;
bra END;
LOW: atom.shared.add.u32 %r8, [%rd4], %r1;
vote.sync.ballot.b32 %r9, %p1, 0x000fffff;
prmt.b32 %r10, %r8, %r9, 0x3210;
call (%r11), twice, (%r10);
cvt.f64.f32 %fd1, %f3;
END: red.global.max.s32 [%rd1], %r4;
match.any.sync.b32 %r12, %r1, -1;
redux.sync.add.s32 %r13, %r1, -1;
selp.b32 %r14, %r12, %r13, %p1;
st.global.u32 [%rd3], %r14;"""
BEFORE = ".func (.reg .b32 %out) twice(.reg .b32 %in) { add.u32 %out, %in, %in; ret; }\n"
NAMES = sorted(set(re.findall(r"[a-z][a-z0-9]*(?:\.[a-z0-9]+)+", BODY)))
TYPES = ("u32", "s32", "b32", "f32", "u64", "b64", "f64", "u16", "u8", "pred", "v2", "v4", "sync", "shared", "global", "local")


def damaged(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    places = [n for n, line in enumerate(lines) if line.endswith(";") and not line.startswith(".")]
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.choice(places)
        line = lines[at]
        match rng.randrange(7):
            case 0:
                lines[at] = ""
            case 1:
                lines[at] = f"{line}\n{lines[rng.choice(places)]}"
            case 2:
                lines[at] = re.sub(r"[a-z][a-z0-9]*(?:\.[a-z0-9]+)+", lambda _: rng.choice(NAMES), line, count=1)
            case 3:
                lines[at] = re.sub(r"\.(u32|s32|b32|f32|v2|sync)\b", lambda _: f".{rng.choice(TYPES)}", line, count=1)
            case 4:
                lines[at] = re.sub(
                    r"%(r|f|rd|p)(\d)\b",
                    lambda m: f"%{rng.choice(('r', 'f', 'rd', 'p'))}{m[2]}" if rng.random() < 0.4 else m[0],
                    line,
                )
            case 5:
                lines[at] = f"@{rng.choice(('', '!'))}%p{rng.randrange(4)} {line}" if ":" not in line else line
            case _:
                other = rng.choice(places)
                lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_kernels(seed: int) -> None:
    rng = random.Random(seed)
    text = kernel(BODY, before=BEFORE)
    seen: Counter[str] = Counter()
    for _ in range(60):
        try:
            words, grid, block = np.arange(256, dtype=np.uint32), rng.choice((1, 2)), rng.choice((20, 32, 64))
            ran = launch(damaged(text, rng), grid=grid, block=block, args=[words], limit=100_000, counts=rng.random() < 0.3)
            seen[ran.status] += 1
        except UserError as error:
            assert all(d.span.line > 0 for d in error.diagnostics), error
            seen["refused"] += 1
    assert seen["refused"] > 5
    assert seen["finished"] + seen["fault"] > 5


def test_undamaged() -> None:
    ran = launch(kernel(BODY, before=BEFORE), grid=1, block=64, args=[np.arange(256, dtype=np.uint32)])
    assert ran.status == "finished"
