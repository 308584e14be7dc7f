"""mbarriers in every launch: pipelines of producers and consumers are proved; with a mistake planted none is.

The oracle of those without bulk copies is the interpreter: it finds the race or the fault where its order of threads shows it,
and nothing in what is proved.
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from warploom.ptx import launch, lower, parse
from warploom.ptx.launches import Meeting, NotDecided, RaceFree, assumptions, races
from warploom.ptx.symbolic import emulate

BLOCK = "blockDim.x == 96 && blockDim.y == 1 && blockDim.z == 1"
HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {
.reg .pred %p<20>; .reg .b32 %r<60>; .reg .b64 %rd<9>;
.shared .align 16 .b8 tile[1024]; .shared .align 8 .b8 full[96]; .shared .align 8 .b8 empty[24];
ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u32 %r9, [n]; mov.u32 %r1, %tid.x;
mov.u32 %r2, tile; mov.u32 %r3, full; mov.u32 %r4, empty; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;
setp.ne.u32 %p1, %r1, 0; mov.u32 %r8, 0;
"""
MADE = (
    "@%p1 bra MADE;\n"
    + "".join(f"mbarrier.init.shared.b64 [%r3+{8 * s}], FULL; mbarrier.init.shared.b64 [%r4+{8 * s}], 64;\n" for s in range(3))
    + "fence.mbarrier_init.release.cluster;\nMADE: bar.sync 0; setp.ge.u32 %p2, %r1, 64;\n@%p2 bra PRODUCER;\n"
)
CONSUMER = """mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; setp.eq.u32 %p7, %r9, 0;
@%p7 bra DONE;
CONSUME: shl.b32 %r23, %r21, 3; add.u32 %r24, %r3, %r23; add.u32 %r25, %r4, %r23;
shl.b32 %r26, %r21, 8; add.u32 %r27, %r2, %r26; shl.b32 %r28, %r1, 2; sub.u32 %r29, 252, %r28; add.u32 %r27, %r27, %r29;
FILLED: mbarrier.try_wait.parity.shared.b64 %p3, [%r24], %r22;
@!%p3 bra FILLED;
ld.shared.u32 %r30, [%r27]; add.u32 %r8, %r8, %r30;
mbarrier.arrive.shared.b64 _, [%r25];
add.u32 %r21, %r21, 1; setp.eq.u32 %p4, %r21, 3; selp.u32 %r31, 1, 0, %p4; selp.u32 %r21, 0, %r21, %p4; xor.b32 %r22, %r22, %r31;
add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra CONSUME;
DONE: st.global.u32 [%rd4], %r8; ret;
"""
PRODUCER = """PRODUCER: mov.u32 %r40, 0; mov.u32 %r41, 0; mov.u32 %r42, 1; setp.eq.u32 %p8, %r9, 0; sub.u32 %r50, %r1, 64;
@%p8 bra END;
PRODUCE: shl.b32 %r43, %r41, 3; add.u32 %r44, %r3, %r43; add.u32 %r45, %r4, %r43;
shl.b32 %r46, %r41, 8; add.u32 %r47, %r2, %r46; shl.b32 %r48, %r50, 3; add.u32 %r49, %r47, %r48;
EMPTIED: mbarrier.try_wait.parity.shared.b64 %p9, [%r45], %r42;
@!%p9 bra EMPTIED;
FILL
add.u32 %r41, %r41, 1; setp.eq.u32 %p10, %r41, 3; selp.u32 %r51, 1, 0, %p10; selp.u32 %r41, 0, %r41, %p10;
xor.b32 %r42, %r42, %r51; add.u32 %r40, %r40, 1; setp.lt.u32 %p11, %r40, %r9;
@%p11 bra PRODUCE;
END: ret;
"""
STORES = "st.shared.v2.u32 [%r49], {%r1, %r40};\nmbarrier.arrive.shared.b64 _, [%r44];"
EXPECT = "mbarrier.arrive.expect_tx.shared.b64 _, [%r44], 256;\n"
BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r47], [%rd6], 256, [%r44];"
SOURCE = "mul.wide.u32 %rd5, %r40, 256; add.s64 %rd6, %rd2, %rd5;\n"
ONLY = "setp.ne.u32 %p12, %r1, 64;\n@%p12 bra END;\n@%p8"
PIPE = (MADE + CONSUMER + PRODUCER).replace("FULL", "32").replace("FILL\n", STORES + "\n")
COPIED = (MADE + CONSUMER + PRODUCER).replace("FULL", "1").replace("FILL\n", SOURCE + EXPECT + BULK + "\n").replace("@%p8", ONLY)
ONCE = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 1; fence.mbarrier_init.release.cluster;
MADE: bar.sync 0;
@%p1 bra FILLED;
mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 512;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 512, [%r3];
FILLED: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;
@!%p3 bra FILLED;
shl.b32 %r5, %r1, 2; add.u32 %r6, %r2, %r5; ld.shared.u32 %r7, [%r6]; st.global.u32 [%rd4], %r7;
ret;
"""
STEP = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 1; mbarrier.init.shared.b64 [%r3+8], 1; fence.mbarrier_init.release.cluster;
MADE: bar.sync 0; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0;
ROUND: shl.b32 %r23, %r21, 3; add.u32 %r24, %r3, %r23; shl.b32 %r26, %r21, 8; add.u32 %r27, %r2, %r26;
@%p1 bra FILLED;
mul.wide.u32 %rd5, %r20, 256; add.s64 %rd6, %rd2, %rd5;
mbarrier.arrive.expect_tx.shared.b64 _, [%r24], 256;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r27], [%rd6], 256, [%r24];
FILLED: mbarrier.try_wait.parity.shared.b64 %p3, [%r24], %r22;
@!%p3 bra FILLED;
and.b32 %r5, %r1, 63; shl.b32 %r5, %r5, 2; add.u32 %r6, %r27, %r5; ld.shared.u32 %r7, [%r6]; add.u32 %r8, %r8, %r7;
add.u32 %r21, %r21, 1; setp.eq.u32 %p4, %r21, 2; selp.u32 %r31, 1, 0, %p4; selp.u32 %r21, 0, %r21, %p4; xor.b32 %r22, %r22, %r31;
bar.sync 0;
add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra ROUND;
st.global.u32 [%rd4], %r8; ret;
"""
TOGETHER = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 96;
MADE: bar.sync 0; mov.u32 %r20, 0; mov.u32 %r22, 0; shl.b32 %r5, %r1, 2;
add.u32 %r6, %r2, %r5; xor.b32 %r7, %r5, 4; add.u32 %r7, %r2, %r7;
ROUND: st.shared.u32 [%r6], %r20;
mbarrier.arrive.shared.b64 _, [%r3];
WRITTEN: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r22;
@!%p3 bra WRITTEN;
ld.shared.u32 %r8, [%r7];
mbarrier.arrive.shared.b64 _, [%r3+8];
xor.b32 %r22, %r22, 1; add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra ROUND;
ret;
"""
TWICE = (
    TOGETHER.replace("mov.u32 %r22, 0;", "mov.u32 %r21, 0; mov.u32 %r22, 0;")
    .replace("[%r3], 96;", "[%r3], 96; mbarrier.init.shared.b64 [%r3+8], 96;", 1)
    .replace("xor.b32 %r22", "READ: mbarrier.try_wait.parity.shared.b64 %p6, [%r3+8], %r22;\n@!%p6 bra READ;\nxor.b32 %r22")
)
LATE = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 1; mbarrier.init.shared.b64 [%r3+8], 1; fence.mbarrier_init.release.cluster;
MADE: bar.sync 0; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; and.b32 %r5, %r1, 63; shl.b32 %r5, %r5, 2;
ROUND: shl.b32 %r23, %r21, 3; add.u32 %r24, %r3, %r23; shl.b32 %r26, %r21, 8; add.u32 %r27, %r2, %r26;
sub.u32 %r28, 256, %r26; add.u32 %r28, %r28, %r2; add.u32 %r28, %r28, %r5;
ld.shared.u32 %r7, [%r28]; add.u32 %r8, %r8, %r7; bar.sync 0;
@%p1 bra FILLED;
mul.wide.u32 %rd5, %r20, 256; add.s64 %rd6, %rd2, %rd5;
mbarrier.arrive.expect_tx.shared.b64 _, [%r24], 256;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r27], [%rd6], 256, [%r24];
FILLED: mbarrier.try_wait.parity.shared.b64 %p3, [%r24], %r22;
@!%p3 bra FILLED;
NEXT: add.u32 %r21, %r21, 1; setp.eq.u32 %p4, %r21, 2; selp.u32 %r31, 1, 0, %p4; selp.u32 %r21, 0, %r21, %p4;
xor.b32 %r22, %r22, %r31; add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra ROUND;
st.global.u32 [%rd4], %r8; ret;
"""
TOLD = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 1;
MADE: bar.sync 0;
@%p1 bra FILLED;
st.shared.u32 [%r2], 1; mbarrier.arrive.shared.b64 _, [%r3];
FILLED: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;
@!%p3 bra FILLED;
ld.shared.u32 %r7, [%r2]; st.global.u32 [%rd4], %r7;
ret;
"""
UNEQUAL = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 63; mbarrier.init.shared.b64 [%r3+8], 1; st.shared.u32 [%r4], 0;
MADE: bar.sync 0;
setp.ge.u32 %p2, %r1, 64;
@%p2 bra C;
@%p1 bra A;
W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3+8], 0;
@!%p3 bra W;
ld.shared.u32 %r10, [%r4];
bra S;
A: ld.shared.u32 %r10, [%r4];
mbarrier.arrive.shared.b64 _, [%r3];
S: and.b32 %r10, %r10, 7; add.u32 %r11, %r10, %r1; shl.b32 %r11, %r11, 2; add.u32 %r11, %r11, %r2;
st.shared.u32 [%r11], %r1;
ret;
C: setp.ne.u32 %p4, %r1, 95;
@%p4 bra END;
V: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;
@!%p3 bra V;
st.shared.u32 [%r4], 1;
mbarrier.arrive.shared.b64 _, [%r3+8];
END: ret;
"""
RINGS_AGAIN = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 1; mbarrier.init.shared.b64 [%r3+8], 1;
MADE: bar.sync 0; mov.u32 %r20, 0; mov.u32 %r22, 0;
@%p1 bra FIRST;
ROUND: mbarrier.arrive.shared.b64 _, [%r3];
W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r22;
@!%p3 bra W;
mbarrier.arrive.shared.b64 _, [%r3+8];
V: mbarrier.try_wait.parity.shared.b64 %p3, [%r3+8], %r22;
@!%p3 bra V;
xor.b32 %r22, %r22, 1; add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra ROUND;
ret;
FIRST: mov.u32 %r50, 1;
X: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r22;
@!%p3 bra X;
xor.b32 %r22, %r22, 1; add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra FIRST;
mov.u32 %r20, 0; mov.u32 %r22, 0;
AGAIN: mov.u32 %r50, 1;
Y: mbarrier.try_wait.parity.shared.b64 %p3, [%r3+8], %r22;
@!%p3 bra Y;
xor.b32 %r22, %r22, 1; add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra AGAIN;
st.global.u32 [%rd4], 1; ret;
"""
FETCH = "cp.async.ca.shared.global [%r49], [%rd8], 8; cp.async.commit_group; cp.async.wait_group 0;"
WITH_SOURCE = "PRODUCER: mul.wide.u32 %rd7, %r1, 8; add.s64 %rd8, %rd2, %rd7; "
FETCHED = PIPE.replace("PRODUCER: ", WITH_SOURCE).replace("st.shared.v2.u32 [%r49], {%r1, %r40};", FETCH)
LEFT_EARLY = """@%p1 bra MADE;
mbarrier.init.shared.b64 [%r3], 96; mbarrier.init.shared.b64 [%r3+8], 96;
MADE: bar.sync 0; mov.u32 %r20, 0; mov.u32 %r22, 0; shl.b32 %r5, %r1, 2; setp.ge.u32 %p12, %r1, 64;
add.u32 %r6, %r2, %r5; xor.b32 %r7, %r5, 4; add.u32 %r7, %r2, %r7; ENDS
ROUND: ld.shared.u32 %r8, [%r7]; mbarrier.arrive.shared.b64 _, [%r3+8];
READ: mbarrier.try_wait.parity.shared.b64 %p6, [%r3+8], %r22;
@!%p6 bra READ;
st.shared.u32 [%r6], %r20; mbarrier.arrive.shared.b64 _, [%r3];
@%p12 bra NEXT;
ENDS
WRITTEN: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r22;
@!%p3 bra WRITTEN;
NEXT: xor.b32 %r22, %r22, 1; add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;
@%p5 bra ROUND;
END: ret;
"""
PROVED = {
    "late": LATE, "told": TOLD, "pipe": PIPE, "copied": COPIED, "fetched": FETCHED, "once": ONCE, "step": STEP, "twice": TWICE,
}  # fmt: skip


def judged(body: str, assumed: str = BLOCK) -> RaceFree | Meeting | NotDecided:
    return races(lower(parse(f"{HEAD}{body}}}\n", "k.ptx")), "k", assumptions(assumed))


def mistakes_when_run(body: str) -> list[str]:
    program = lower(parse(f"{HEAD}{body}}}\n", "k.ptx"))
    arrays = [np.zeros(96, np.int32), np.zeros(4096, np.int32)]
    return [one.kind for one in launch(program, "k", grid=(1,), block=(96,), args=[*arrays, np.int32(9)], limit=40_000).findings]


WAIT = "FILLED: mbarrier.try_wait.parity.shared.b64 %p3, [%r24], %r22;\n@!%p3 bra FILLED;\n"
FREE = "EMPTIED: mbarrier.try_wait.parity.shared.b64 %p9, [%r45], %r42;\n@!%p9 bra EMPTIED;\n"
LOAD = "ld.shared.u32 %r30, [%r27]; add.u32 %r8, %r8, %r30;\n"
GIVE = "mbarrier.arrive.shared.b64 _, [%r25];\n"
STORE, TELL = STORES.split("\n")
C_TURN = "selp.u32 %r21, 0, %r21, %p4; xor.b32 %r22, %r22, %r31;"
MORE = " mbarrier.init.shared.b64 [%r3+16], 96; mbarrier.init.shared.b64 [%r4], 96;"
BUGS: dict[str, tuple[str, str, str]] = {
    "wrong parity of consumers": (PIPE, "mov.u32 %r22, 0", "mov.u32 %r22, 1"),
    "wrong parity of producers": (PIPE, "mov.u32 %r42, 1", "mov.u32 %r42, 0"),
    "a parity that stays": (PIPE, C_TURN, "selp.u32 %r21, 0, %r21, %p4;"),
    "a parity that turns in each round": (PIPE, "xor.b32 %r22, %r22, %r31", "xor.b32 %r22, %r22, 1"),
    "consumers do not wait": (PIPE, WAIT, ""),
    "producers do not wait": (PIPE, FREE, ""),
    "consumers do not arrive": (PIPE, GIVE, ""),
    "producers do not arrive": (PIPE, TELL, ""),
    "too few producers are counted": (PIPE, "[%r3+8], 32", "[%r3+8], 31"),
    "too many producers are counted": (PIPE, "[%r3+8], 32", "[%r3+8], 33"),
    "too few consumers are counted": (PIPE, "[%r4+16], 64", "[%r4+16], 63"),
    "too many consumers are counted": (PIPE, "[%r4+16], 64", "[%r4+16], 65"),
    "given back before it is read": (PIPE, LOAD + GIVE, GIVE + LOAD),
    "told before it is written": (PIPE, STORE + "\n" + TELL, TELL + "\n" + STORE),
    "written before the wait": (PIPE, FREE + STORE, STORE + "\n" + FREE),
    "read before the wait": (PIPE, WAIT + LOAD, LOAD + WAIT),
    "another stage is read": (PIPE, "sub.u32 %r29, 252, %r28", "sub.u32 %r29, 508, %r28"),
    "another stage is written": (PIPE, "add.u32 %r49, %r47, %r48", "add.u32 %r49, %r47, %r48; add.u32 %r49, %r49, 256"),
    "stages overlap": (PIPE, "shl.b32 %r46, %r41, 8", "shl.b32 %r46, %r41, 7"),
    "one consumer arrives for all": (PIPE.replace("], 64", "], 1"), GIVE, "@%p1 bra NEXT;\n" + GIVE + "NEXT: "),
    "one producer tells for all": (
        PIPE.replace("], 32", "], 1"), TELL, "setp.ne.u32 %p12, %r1, 64;\n@%p12 bra NEXT;\n" + TELL + "\nNEXT: ",
    ),
    "only some wait": (PIPE, WAIT, "setp.lt.u32 %p13, %r1, 32;\n@%p13 bra NEXT;\n" + WAIT + "NEXT: "),
    "waits for the other one": (PIPE, "%p3, [%r24]", "%p3, [%r25]"),
    "tries once": (PIPE, "@!%p3 bra FILLED;\n", ""),
    "leaves when it fails": (PIPE, "@!%p3 bra FILLED", "@%p3 bra FILLED"),
    "arrives at the next one": (PIPE, "mbarrier.arrive.shared.b64 _, [%r44]", "mbarrier.arrive.shared.b64 _, [%r44+8]"),
    "no barrier after the making": (PIPE, "MADE: bar.sync 0;", "MADE: "),
    "arrives where data say so": (PIPE, GIVE, "setp.ne.u32 %p13, %r30, 7;\n@%p13 bra NEXT;\n" + GIVE + "NEXT: "),
    "arrives without release": (PIPE, GIVE, GIVE.replace("arrive.", "arrive.relaxed.cta.")),
    "made twice": (PIPE, "[%r4+16], 64;", "[%r4+16], 64; mbarrier.init.shared.b64 [%r4+16], 64;"),
    "made for a number of threads that is a parameter": (PIPE, "[%r4+16], 64;", "[%r4+16], %r9;"),
    "not made": (PIPE, "mbarrier.init.shared.b64 [%r4+16], 64;", ""),
    "written over": (PIPE, STORE, STORE + "\nst.shared.u32 [%r4], 0;"),
    "stages lie over them": (PIPE, "add.u32 %r49, %r47, %r48", "add.u32 %r49, %r4, %r48"),
    "two phases in a round": (PIPE, GIVE, GIVE + GIVE),
    "fewer bytes are expected": (COPIED, "[%r44], 256", "[%r44], 128"),
    "more bytes are expected": (COPIED, "[%r44], 256", "[%r44], 512"),
    "no bytes are expected": (COPIED, "arrive.expect_tx.shared.b64 _, [%r44], 256", "arrive.shared.b64 _, [%r44]"),
    "copies overlap": (COPIED.replace("[%r44], 256", "[%r44], 512"), "[%rd6], 256", "[%rd6], 512"),
    "a copy counts elsewhere": (COPIED, "256, [%r44]", "256, [%r44+8]"),
    "a copy before the wait": (COPIED, FREE + SOURCE + EXPECT + BULK, SOURCE + EXPECT + BULK + "\n" + FREE),
    "a copy without a wait": (COPIED, FREE, ""),
    "a copy is read at once": (COPIED, WAIT, ""),
    "each producer copies": (COPIED, ONLY, "@%p8"),
    "the copier reads what it copies": (COPIED, BULK, BULK + "\nld.shared.u32 %r52, [%r47];"),
    "a copy of what is written": (COPIED, "add.s64 %rd6, %rd2, %rd5", "add.s64 %rd6, %rd1, %rd5"),
    "a tensor copy": (
        COPIED, BULK,
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r47], [%rd6, {%r1}], [%r44];",
    ),
    "a copy to other blocks": (COPIED, "mbarrier::complete_tx::bytes", "mbarrier::complete_tx::bytes.multicast::cluster"),
    "once, the wrong parity": (ONCE, "[%r3], 0;", "[%r3], 1;"),
    "once, no wait": (ONCE, "\n@!%p3 bra FILLED;", ""),
    "once, read before": (ONCE, "bar.sync 0;", "bar.sync 0; ld.shared.u32 %r7, [%r2];"),
    "once, not all bytes": (ONCE, "_, [%r3], 512", "_, [%r3], 256"),
    "step by step, no barrier": (STEP, "\nbar.sync 0;\nadd", "\nadd"),
    "step by step, no wait": (STEP, "@!%p3 bra FILLED;\nand", "and"),
    "nobody waits for the readers": (TOGETHER, "", ""),
    "the second wait is for the first": (TWICE, "%p6, [%r3+8]", "%p6, [%r3]"),
    "loops in a loop": (
        TWICE, "mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0;",
        "mov.u32 %r40, 0;\nOUTER: mov.u32 %r21, 0; mov.u32 %r20, 0; mov.u32 %r22, 0;",
    ),
    "made in a loop": (
        TWICE, "mbarrier.init.shared.b64 [%r3], 96;",
        "mov.u32 %r40, 0;\nAGAIN: mbarrier.init.shared.b64 [%r3], 96; add.u32 %r40, %r40, 1; setp.lt.u32 %p9, %r40, %r9;\n"
        "@%p9 bra AGAIN;\n",
    ),
    "leaves by a table": (
        TWICE, "@!%p6 bra READ;", "selp.u32 %r41, 1, 0, %p6;\nT: .branchtargets READ, GO;\nbrx.idx %r41, T;\nGO:",
    ),
    "arrives under a predicate": (PIPE, GIVE, "setp.ne.u32 %p13, %r30, 7; @%p13 " + GIVE),
    "made nobody knows where": (TWICE, "mbarrier.init.shared.b64 [%r3], 96;",
                                "mbarrier.init.shared.b64 [%r3], 96; mbarrier.init.shared.b64 [%r9], 1;"),
    "made at a place that is a parameter": (
        TWICE, "mbarrier.init.shared.b64 [%r3], 96;",
        "mbarrier.init.shared.b64 [%r3], 96; and.b32 %r40, %r9, 8; add.u32 %r40, %r4, %r40; mbarrier.init.shared.b64 [%r40], 1;",
    ),
    "a parity that is a parameter": (TWICE, "%p6, [%r3+8], %r22", "%p6, [%r3+8], %r9"),
    "some arrive, by two ways": (
        PIPE, GIVE,
        "setp.lt.u32 %p12, %r1, 32;\n@%p12 bra ARRIVE;\nsetp.ne.u32 %p13, %r30, 7;\n@%p13 bra ARRIVE;\nbra NEXT;\nARRIVE: "
        + GIVE + "NEXT: ",
    ),
    "made where data say so": (TWICE, "@%p1 bra MADE;", "@%p1 bra MADE;\nsetp.eq.u32 %p13, %r9, 7;\n@%p13 bra MADE;"),
    "several loops": (
        TWICE.replace("[%r3+8], 96;", "[%r3+8], 96;" + MORE, 1),
        "ret;\n", re.sub(r"ROUND|WRITTEN|READ", r"\g<0>2", TWICE[TWICE.index("ROUND"):]).replace("[%r3+8]", "[%r4]")
        .replace("[%r3]", "[%r3+16]").replace("ROUND2:", "mov.u32 %r20, 0; mov.u32 %r22, 0;\nROUND2:", 1),
    ),
    "behind the loop": (
        TWICE.replace("[%r3+8], 96;", "[%r3+8], 96; mbarrier.init.shared.b64 [%r3+16], 96;", 1),
        "ret;\n", "mbarrier.arrive.shared.b64 _, [%r3+16];\nret;\n",
    ),
    "two arrivals in a round": (
        TWICE.replace("[%r3+8]", "[%r3]").replace("mbarrier.init.shared.b64 [%r3], 96; ", "", 1),
        "[%r3], %r22;\n@!%p3", "[%r3], 0;\n@!%p3",
    ),
    "each producer copies its part": (
        COPIED.replace(EXPECT, EXPECT.replace("256", "8"))
        .replace("[%r47], [%rd6], 256", "[%r49], [%rd6], 8")
        .replace("], 1;", "], 32;"),
        ONLY, "@%p8",
    ),
    "a copy counts for those who read": (COPIED, "256, [%r44]", "256, [%r45]"),
    "told before it is written, once": (
        TOLD, "st.shared.u32 [%r2], 1; mbarrier.arrive.shared.b64 _, [%r3];",
        "mbarrier.arrive.shared.b64 _, [%r3]; st.shared.u32 [%r2], 1;",
    ),
    "some read late without a wait": (
        LATE, "FILLED: mb",
        "FILLED: setp.ge.u32 %p12, %r1, 64;\n@%p12 bra NEXT;\nmov.u32 %r50, 1;\nTRY: mb",
    ),
    "one or the other": (
        ONCE, ONCE,
        "@%p1 bra MADE;\nmbarrier.init.shared.b64 [%r3], 96; mbarrier.init.shared.b64 [%r4], 96;\nMADE: bar.sync 0;\n"
        "setp.eq.u32 %p13, %r9, 5;\n@%p13 bra ONE;\nmbarrier.arrive.shared.b64 _, [%r4];\nbra BOTH;\n"
        "ONE: mbarrier.arrive.shared.b64 _, [%r3];\nBOTH: st.global.u32 [%rd4], 1; ret;\n",
    ),
    "nothing between the making and the copies": (COPIED, "fence.mbarrier_init.release.cluster;", ""),
    "stores and then a copy, without a fence": (
        ONCE, "MADE: bar.sync 0;", "MADE: shl.b32 %r40, %r1, 2; add.u32 %r41, %r2, %r40; st.shared.u32 [%r41], 0; bar.sync 0;",
    ),
    "they overlap": (TWICE.replace("[%r3+8]", "[%r3+4]"), "", ""),
    "one lies behind its variable": (TWICE.replace("[%r3+8]", "[%r3+96]"), "", ""),
    "what was loaded differs": (UNEQUAL, "", ""),
    "behind an end of the loop that the thread's number decides": (
        TWICE.replace("[%r3+8], 96;", "[%r3+8], 96; mbarrier.init.shared.b64 [%r3+16], 32;", 1),
        "@%p5 bra ROUND;\nret;\n",
        "setp.ge.u32 %p12, %r1, 64;\n@%p12 bra BEHIND;\n@%p5 bra ROUND;\nret;\nBEHIND: "
        "mbarrier.arrive.shared.b64 _, [%r3+16];\nret;\n",
    ),
    "several loops without data": (RINGS_AGAIN, "", ""),
    "copies of several lengths": (
        COPIED, EXPECT + BULK,
        "shl.b32 %r53, %r41, 6; and.b32 %r53, %r53, 64; add.u32 %r53, %r53, 128;\n"
        + (EXPECT + BULK).replace("256", "%r53"),
    ),
    "a copy of what was written before": (
        ONCE.replace("512", "384").replace("[%rd2]", "[%rd1]").replace("st.global.u32 [%rd4], %r7;", ""),
        "MADE: bar.sync 0;", "MADE: st.global.u32 [%rd4], %r1; bar.sync 0;",
    ),
    "written over by the thread that makes it": (ONCE, "fence.mb", "st.shared.u32 [%r3], 0; fence.mb"),
    "a parity that follows many numbers": (
        TWICE, "xor.b32 %r22, %r22, 1;",
        "add.u32 %r21, %r21, 1; setp.eq.u32 %p4, %r21, 80; selp.u32 %r21, 0, %r21, %p4; and.b32 %r22, %r21, 1;",
    ),
    "a fetch goes on when its thread arrives": (FETCHED, "wait_group 0", "wait_group 1"),
    "a fetch is waited for as if it were a bulk copy": (FETCHED, "cp.async.wait_group", "cp.async.bulk.wait_group"),
    "a fetch is never waited for": (FETCHED, " cp.async.wait_group 0;", ""),
    "the second parity is wrong": (TWICE, "%p6, [%r3+8], %r22", "%p6, [%r3+8], %r20"),
}  # fmt: skip


READ_BY_SOME = BUGS["some read late without a wait"]
BUGS["some read late without a wait"] = (READ_BY_SOME[0].replace("@!%p3 bra FILLED", "@!%p3 bra TRY"), *READ_BY_SOME[1:])
BUGS["two arrivals in a round"] = (
    BUGS["two arrivals in a round"][0].replace("%p6, [%r3], %r22", "%p6, [%r3], 1"), *BUGS["two arrivals in a round"][1:],
)  # fmt: skip
BUGS["loops in a loop"] = (
    TWICE.replace("ret;\n", "add.u32 %r40, %r40, 1; setp.lt.u32 %p9, %r40, 4;\n@%p9 bra OUTER;\nret;\n"),
    *BUGS["loops in a loop"][1:],
)


def rings(*stages: int) -> str:
    """All threads arrive at a ring of mbarriers and wait there, then at the next ring, round by round."""
    made = "".join(f"mbarrier.init.shared.b64 [%r3+{8 * n}], 96;\n" for n in range(sum(stages)))
    text = f"@%p1 bra MADE;\n{made}MADE: bar.sync 0; mov.u32 %r20, 0;\n"
    text += "".join(f"mov.u32 %r{21 + 2 * n}, 0; mov.u32 %r{22 + 2 * n}, 0;\n" for n in range(len(stages))) + "ROUND:\n"
    before = 0
    for n, count in enumerate(stages):
        stage, parity = f"%r{21 + 2 * n}", f"%r{22 + 2 * n}"
        text += f"shl.b32 %r40, {stage}, 3; add.u32 %r41, %r3, %r40; mbarrier.arrive.shared.b64 _, [%r41+{8 * before}];\n"
        text += f"W{n}: mbarrier.try_wait.parity.shared.b64 %p3, [%r41+{8 * before}], {parity};\n@!%p3 bra W{n};\n"
        text += f"add.u32 {stage}, {stage}, 1; setp.eq.u32 %p4, {stage}, {count}; selp.u32 %r42, 1, 0, %p4;\n"
        text += f"selp.u32 {stage}, 0, {stage}, %p4; xor.b32 {parity}, {parity}, %r42;\n"
        before += count
    return text + "add.u32 %r20, %r20, 1; setp.lt.u32 %p5, %r20, %r9;\n@%p5 bra ROUND;\nst.global.u32 [%rd4], 1; ret;\n"


def test_rings_of_any_length_are_proved_up_to_a_limit() -> None:
    assert isinstance(judged(rings(3)), RaceFree) and isinstance(judged(rings(2, 1)), RaceFree)
    found = judged(rings(7, 5))
    assert isinstance(found, NotDecided) and found.reason == "mbarriers that do not repeat after 64 rounds are not followed"


def test_steps_before_a_loop_are_followed_up_to_a_limit() -> None:
    ahead = "".join(
        f"mbarrier.arrive.shared.b64 _, [%r3+{at}];\n"
        f"A{at}: mbarrier.try_wait.parity.shared.b64 %p3, [%r3+{at}], 0;\n@!%p3 bra A{at};\n"
        for at in (64, 72)
    )
    made = "".join(f"mbarrier.init.shared.b64 [%r3+{at}], 96;\n" for at in (64, 72))
    for stages, is_followed in ((2, True), (8, False)):
        found = judged(rings(stages).replace("MADE:", made + "MADE:").replace("ROUND:", ahead + "ROUND:", 1))
        if is_followed:
            assert isinstance(found, RaceFree)
        else:
            assert isinstance(found, NotDecided) and found.reason == "so many mbarriers before a loop are not followed"


@pytest.mark.parametrize("name", PROVED)
def test_pipelines_are_proved(name: str) -> None:
    found = judged(PROVED[name])
    assert isinstance(found, RaceFree), found
    assert found.has_copies == ("cp.async" in PROVED[name])
    if "bulk" not in PROVED[name]:
        assert mistakes_when_run(PROVED[name]) == []


REASONS = {
    "a parity that stays": "a thread does not wait for one phase after the other",
    "two phases in a round": "threads do not use an mbarrier equally often",
    "too few producers are counted": "32 threads arrive at an mbarrier that waits for 31",
    "two arrivals in a round": "two arrivals of one round at one mbarrier are not followed",
    "each producer copies its part": "bytes of a bulk copy that nobody expects are not followed",
    "a copy counts for those who read": "bytes of a bulk copy that nobody expects are not followed",
    "wrong parity of producers": "threads may wait for a phase of an mbarrier that never ends",
}
"""Where more than one check refuses, the first says why."""


@pytest.mark.parametrize("name", REASONS)
def test_why_a_kernel_is_not_followed(name: str) -> None:
    body, before, after = BUGS[name]
    found = judged(body.replace(before, after, 1))
    assert isinstance(found, NotDecided) and found.reason == REASONS[name]


@pytest.mark.parametrize("name", BUGS)
def test_planted_mistakes_are_not_proved(name: str) -> None:
    body, before, after = BUGS[name]
    assert before in body
    assert not isinstance(judged(body.replace(before, after, 1)), RaceFree)


def test_threads_that_leave_a_round_early_are_told_by_all_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path condition of a long way keeps its first parts and the last: the branch by number lies in the middle."""
    conditions = [(1, 2), (3, 4)]
    body = LEFT_EARLY
    for numbers in conditions:
        ends = "".join(f"setp.eq.u32 %p15, %r9, {n};\n@%p15 bra END;\n" for n in numbers)
        body = body.replace("ENDS\n", f"\n{ends}", 1)
    assert isinstance(judged(body.replace("@%p12 bra NEXT;", "")), RaceFree)
    monkeypatch.setattr(sys.modules[emulate.__module__], "_CONDITIONS", 4)
    assert not isinstance(judged(body), RaceFree)


def test_a_block_of_any_size_is_not_followed() -> None:
    found = judged(PIPE, "blockDim.y == 1")
    assert isinstance(found, NotDecided) and "blocks of known size" in found.reason


@pytest.mark.slow
def test_most_planted_mistakes_are_met_by_the_interpreter() -> None:
    met = [name for name, (body, old, new) in BUGS.items() if "bulk" not in body and _is_met(body.replace(old, new, 1))]
    assert len(met) >= 12, met


def _is_met(body: str) -> bool:
    if re.search(r"relaxed|cluster", body):
        return False
    return bool(mistakes_when_run(body))
