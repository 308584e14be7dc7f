"""Every way in which published tools went wrong: the kernel is refused, or right for every block (notes on PTXASW, 1 to 7)."""

# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from tests.ptx.shuffle.kernels import arguments, kernel
from tests.ptx.shuffle.same import SHAPES, differences, report, rewritten

from warploom.gpu import assemble, toolchain_available
from warploom.ptx.shuffle import Mode, ShuffleOptions, apply_all

MODES: tuple[Mode, ...] = ("shuffle", "cache")


@dataclass(frozen=True)
class Case:
    """One kernel and what becomes of its loads."""

    body: str
    shuffles: tuple[int, ...] = ()
    """Deltas, in program order."""
    reuses: int = 0
    refused: str = ""
    """Part of the reason for some load."""
    size: int = 4
    declared: str = ""
    before: str = ""
    options: ShuffleOptions = field(default_factory=lambda: ShuffleOptions(policy=apply_all))

    @property
    def text(self) -> str:
        return kernel(self.body, size=self.size, declared=self.declared, before=self.before)


TWO = "ld.global.f32 %f1, [%rd5];\n{}\nld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;"
FUNCTION = ".func touch(.param .b64 p)\n{\n.reg .b64 %q;\n.reg .f32 %v;\nld.param.b64 %q, [p];\nmov.f32 %v, 0f3F800000;\nst.f32 [%q], %v;\nret;\n}"
LOOP = """
mov.u32 %r30, 0;
mov.f32 %f9, 0f00000000;
{before}
AGAIN:
{body}
add.s32 %r30, %r30, 1;
setp.lt.s32 %p2, %r30, {bound};
@%p2 bra AGAIN;
st.global.f32 [%rd6], %f9;
"""
ROW = "mul.wide.s32 %rd9, %r30, 16;\nadd.s64 %rd9, %rd5, %rd9;\n"
PAIR = "ld.global.f32 %f1, [{0}];\nld.global.f32 %f2, [{0}+4];\nsub.f32 %f3, %f1, %f2;\nadd.f32 %f9, %f9, %f3;"

CASES: dict[str, Case] = {
    # 1. what happens to memory between the loads
    "comment behind a guard": Case("setp.ne.u32 %p2, %r1, 9;\n" + TWO.format("").replace("ld.global.f32 %f2", "@%p2 /* ld.x */ ld.global.f32 %f2"), (1,)),
    "load in a comment": Case("setp.ne.u32 %p2, %r1, 9;\nmov.f32 %f2, 0f3F800000;\n" + TWO.format("").replace("ld.global.f32 %f2", "@ /* ! */ ! // %p3 ld.x\n%p2 // ld.global.f32 %f2, [%rd5+9];\n ld.global.f32 %f2"), (1,)),
    "plain": Case(TWO.format(""), (1,)),
    "store": Case(TWO.format("st.global.f32 [%rd6], %f1;"), refused="may change"),
    "store elsewhere": Case(TWO.format("st.global.f32 [%rd6+4096], %f1;"), refused="may change"),
    "store just beside": Case(TWO.format("st.global.f32 [%rd5+-4], %f1;"), refused="may change"),
    "generic store": Case(TWO.format("st.f32 [%rd6], %f1;"), refused="may change"),
    "atomic": Case(TWO.format("atom.global.add.f32 %f4, [%rd6], %f1;"), refused="may change"),
    "reduction": Case(TWO.format("red.global.add.f32 [%rd6], %f1;"), refused="may change"),
    "barrier": Case(TWO.format("bar.sync 0;"), refused="may change"),
    "fence": Case(TWO.format("membar.gl;"), refused="may change"),
    "warp barrier": Case(TWO.format("bar.warp.sync -1;"), refused="may change"),
    "acquire": Case(TWO.format("ld.global.acquire.gpu.u32 %r40, [%rd6];"), refused="may change"),
    "call": Case(
        TWO.format("{\n.param .b64 a;\nst.param.b64 [a], %rd6;\ncall touch, (a);\n}"), refused="may change", before=FUNCTION
    ),
    "shared store": Case(
        TWO.format("mov.u32 %r40, tile;\nmov.u32 %r41, %tid.x;\nst.shared.u32 [%r40], %r41;"),
        (1,), declared=".shared .align 4 .b8 tile[4];",
    ),
    "read-only across a store": Case(
        "ld.global.nc.f32 %f1, [%rd5];\nst.global.f32 [%rd6+4096], %f1;\nld.global.nc.f32 %f2, [%rd5+4];\nst.global.f32 [%rd6], %f2;",
        (1,),
    ),
    "store in a loop": Case(
        LOOP.format(before="ld.global.f32 %f8, [%rd5];", bound="%r21",
                    body="ld.global.f32 %f2, [%rd5+4];\nadd.f32 %f9, %f9, %f2;\nst.global.f32 [%rd5+-4], %f9;"),
        refused="may change",
    ),
    # 2. a source that does not always run
    "source under an if": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f32 %f1, 0f00000000;\n@!%p3 bra SKIP;\nld.global.f32 %f1, [%rd5];\nSKIP:\n"
        "ld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
        (1,),
    ),
    "both in ifs of their own": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\n@!%p3 bra SKIP;\nld.global.f32 %f1, [%rd5];\n"
        "SKIP:\nsetp.lt.s32 %p3, %r1, 25;\n@!%p3 bra OVER;\nld.global.f32 %f2, [%rd5+4];\nld.global.f32 %f4, [%rd5+4];\nOVER:\n"
        "add.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
        (1, 1),
    ),
    "two targets of a source under an if": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f64 %fd1, 0d0000000000000000;\n@!%p3 bra SKIP;\nld.global.f64 %fd1, [%rd5];\nSKIP:\n"
        "ld.global.f64 %fd2, [%rd5+8];\nld.global.f64 %fd3, [%rd5];\nadd.f64 %fd1, %fd1, %fd2;\nadd.f64 %fd1, %fd1, %fd3;\n"
        "st.global.f64 [%rd6], %fd1;",
        (1,), reuses=1, size=8,
    ),
    "source under an if, target in a loop": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f32 %f1, 0f00000000;\nmov.u32 %r30, 0;\n@!%p3 bra AGAIN;\nld.global.nc.f32 %f1, [%rd5];\n"
        "AGAIN:\nld.global.nc.f32 %f2, [%rd5+4];\nadd.f32 %f1, %f1, %f2;\nadd.s32 %r30, %r30, 1;\nsetp.lt.s32 %p2, %r30, %r21;\n"
        "@%p2 bra AGAIN;\nst.global.f32 [%rd6], %f1;",
        (1,),
    ),
    "source under an if, a store in the other branch": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f32 %f1, 0f00000000;\n@!%p3 bra ELSE;\nld.global.f32 %f1, [%rd5];\nbra AFTER;\nELSE:\n"
        "st.global.f32 [%rd6], %f1;\nAFTER:\nld.global.f32 %f2, [%rd5];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
        refused="may change",
    ),
    "source under an if, then a store": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f32 %f1, 0f00000000;\n@!%p3 bra AFTER;\nld.global.f32 %f1, [%rd5];\nAFTER:\n"
        "st.global.f32 [%rd6], %f1;\nld.global.f32 %f2, [%rd5];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
        refused="may change",
    ),
    "source in the other branch": Case(
        "setp.lt.s32 %p3, %r4, 20;\n@!%p3 bra ELSE;\nld.global.f32 %f1, [%rd5];\nbra AFTER;\nELSE:\nld.global.f32 %f1, [%rd5+4];\n"
        "AFTER:\nst.global.f32 [%rd6], %f1;",
        refused="never in a lane that comes to it",
    ),
    "source under an if and a predicate": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f32 %f1, 0f00000000;\nsetp.lt.s32 %p4, %r4, 15;\n@!%p3 bra AFTER;\n"
        "@%p4 ld.global.f32 %f1, [%rd5];\nAFTER:\nld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
        refused="and under a predicate",
    ),
    "source under an if, target under a predicate": Case(
        "setp.lt.s32 %p3, %r4, 20;\nmov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nsetp.lt.s32 %p4, %r4, 15;\n@!%p3 bra AFTER;\n"
        "ld.global.f32 %f1, [%rd5];\nAFTER:\n@%p4 ld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\n"
        "st.global.f32 [%rd6], %f3;",
        refused="and it is predicated",
    ),
    "reuse over a store that may alias": Case(
        "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd6], %f2;\nld.global.f32 %f3, [%rd5];\n"
        "add.f32 %f4, %f3, %f1;\nst.global.f32 [%rd6+4], %f4;", reuses=1,
    ),
    "reuse over two stores that may overlap in part": Case(
        "mov.u16 %h1, 77;\nld.global.v2.f32 {%f1, %f2}, [%rd5];\nst.global.u16 [%rd6+-2], %h1;\nst.global.u16 [%rd6+6], %h1;\n"
        "ld.global.v2.f32 {%f3, %f4}, [%rd5];\nadd.f32 %f1, %f1, %f3;\nadd.f32 %f1, %f1, %f4;\nst.global.f32 [%rd6+8], %f1;",
        reuses=1, size=8,
    ),
    "reuse over a store before the load and one behind it": Case(
        "mov.u16 %h1, 77;\nld.global.f32 %f1, [%rd5+4];\nst.global.u16 [%rd5+2], %h1;\nst.global.u16 [%rd5+8], %h1;\n"
        "ld.global.f32 %f3, [%rd5+4];\nadd.f32 %f1, %f1, %f3;\nst.global.f32 [%rd6], %f1;", reuses=1, size=8,
    ),
    "reuse over a store to the same place": Case(
        "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd5], %f2;\nld.global.f32 %f3, [%rd5];\n"
        "st.global.f32 [%rd6], %f3;", refused="may change",
    ),
    "reuse over a store at an address that changes": Case(
        "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd6], %f2;\nadd.s64 %rd6, %rd6, 8;\n"
        "ld.global.f32 %f3, [%rd5];\nst.global.f32 [%rd6], %f3;", refused="may change",
    ),
    "reuse over a generic store": Case(
        "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\nst.f32 [%rd6], %f2;\n"
        "ld.global.f32 %f3, [%rd5];\nst.global.f32 [%rd6], %f3;", refused="may change",
    ),
    "reuse over a volatile store": Case(
        "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\nst.volatile.global.f32 [%rd6], %f2;\n"
        "ld.global.f32 %f3, [%rd5];\nst.global.f32 [%rd6], %f3;", refused="may change",
    ),
    "reuse over an atomic": Case(
        "ld.global.f32 %f1, [%rd5];\nred.global.add.f32 [%rd6], %f1;\nld.global.f32 %f3, [%rd5];\nst.global.f32 [%rd6], %f3;",
        refused="may change",
    ),
    "reuse over five stores": Case(
        "ld.global.f32 %f1, [%rd5];\n" + "".join(f"st.global.f32 [%rd6+{4 * n}], %f1;\n" for n in range(5))
        + "ld.global.f32 %f3, [%rd5];\nst.global.f32 [%rd6], %f3;", refused="may change",
    ),
    "reuse over a store, the address overwritten": Case(
        "ld.global.b64 %rd7, [%rd5];\nst.global.b64 [%rd6], %rd7;\nmov.b64 %rd8, %rd5;\nld.global.b64 %rd8, [%rd8];\n"
        "st.global.b64 [%rd6], %rd8;", refused="may change", size=8,
    ),
    "reuse over a predicated store": Case(
        "setp.lt.s32 %p3, %r4, 20;\nld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\n@%p3 st.global.f32 [%rd6], %f2;\n"
        "ld.global.f32 %f3, [%rd5];\nst.global.f32 [%rd6], %f3;", reuses=1,
    ),
    "source in a loop of no iterations": Case(
        "mov.f32 %f1, 0f00000000;\nsetp.lt.s32 %p3, %r4, 7;\nmov.u32 %r30, 0;\n@%p3 bra AFTER;\nAGAIN:\nld.global.f32 %f1, [%rd5];\n"
        "add.s32 %r30, %r30, 1;\nsetp.lt.s32 %p2, %r30, %r21;\n@%p2 bra AGAIN;\nAFTER:\nld.global.f32 %f2, [%rd5+4];\n"
        "add.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
        refused="does not always run",
    ),
    "both under one if": Case(
        "setp.lt.s32 %p3, %r4, 40;\nmov.f32 %f3, 0f00000000;\n@!%p3 bra SKIP;\nld.global.f32 %f1, [%rd5];\n"
        "ld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\nSKIP:\nst.global.f32 [%rd6], %f3;",
        (1,),
    ),
    "target under an if": Case(
        "ld.global.f32 %f1, [%rd5];\nsetp.lt.s32 %p3, %r4, 40;\n@!%p3 bra SKIP;\n"
        "ld.global.f32 %f2, [%rd5+4];\nadd.f32 %f1, %f1, %f2;\nSKIP:\nst.global.f32 [%rd6], %f1;",
        (1,),
    ),
    "paths that meet": Case(
        "and.b32 %r40, %r4, 1;\nsetp.eq.s32 %p3, %r40, 0;\nmov.u64 %rd9, %rd5;\n@%p3 bra EVEN;\nadd.s64 %rd9, %rd5, 8;\nEVEN:\n"
        "ld.global.f32 %f1, [%rd9];\nld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
    ),
    # 3. iterations that differ from lane to lane
    "uniform loop": Case(LOOP.format(before="", bound="%r21", body=ROW + PAIR.format("%rd9")), (1,)),
    "loop of different lengths": Case(
        LOOP.format(before="and.b32 %r31, %r4, 7;", bound="%r31", body=ROW + PAIR.format("%rd9")), (1,)
    ),
    "iterations skipped": Case(
        "mov.u32 %r30, 0;\nmov.f32 %f9, 0f00000000;\nand.b32 %r31, %r4, 3;\nAGAIN:\nadd.s32 %r30, %r30, 1;\n"
        "setp.gt.s32 %p2, %r30, %r21;\n@%p2 bra AFTER;\nsetp.eq.s32 %p4, %r30, %r31;\n@%p4 bra AGAIN;\n"
        + ROW + PAIR.format("%rd9") + "\nbra AGAIN;\nAFTER:\nst.global.f32 [%rd6], %f9;",
        refused="different iterations",
    ),
    "a longer way in the loop": Case(
        LOOP.format(
            before="and.b32 %r31, %r4, 3;", bound="%r21",
            body="setp.eq.s32 %p4, %r30, %r31;\n@%p4 bra SHORT;\nadd.f32 %f9, %f9, %f9;\nSHORT:\n" + ROW + PAIR.format("%rd9"),
        ),
        (1,),
    ),
    "different starts": Case(
        LOOP.format(before="and.b32 %r30, %r4, 3;", bound="%r21", body=ROW + PAIR.format("%rd9")),
    ),
    "different steps": Case(
        LOOP.format(before="and.b32 %r31, %r4, 3;", bound="40", body=ROW + PAIR.format("%rd9") + "\nadd.s32 %r30, %r30, %r31;"),
    ),
    "source in the loop before": Case(
        LOOP.format(before="and.b32 %r31, %r4, 7;", bound="%r31", body=ROW + "ld.global.f32 %f1, [%rd9];\nadd.f32 %f9, %f9, %f1;")
        + "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f9, %f9, %f2;\nst.global.f32 [%rd6], %f9;",
    ),
    "inner loop of different lengths": Case(
        """mov.u32 %r30, 0;
        mov.f32 %f9, 0f00000000;
        and.b32 %r31, %r4, 7;
        OUTER:
        mov.u32 %r32, 0;
        INNER:
        mad.lo.s32 %r33, %r30, 3, %r32;
        mul.wide.s32 %rd9, %r33, 4;
        add.s64 %rd9, %rd5, %rd9;
        """ + PAIR.format("%rd9") + """
        add.s32 %r32, %r32, 1;
        setp.lt.s32 %p2, %r32, %r31;
        @%p2 bra INNER;
        add.s32 %r30, %r30, 1;
        setp.lt.s32 %p3, %r30, %r21;
        @%p3 bra OUTER;
        st.global.f32 [%rd6], %f9;""",
        (1,),
    ),
    # 5. widths, qualifiers, registers
    "other width": Case("ld.global.u32 %r40, [%rd5];\nld.global.u16 %h1, [%rd5+4];\nst.global.u16 [%rd6], %h1;"),
    "other sign": Case(
        "ld.global.s16 %r40, [%rd5];\nld.global.u16 %r41, [%rd5+2];\nshr.u32 %r41, %r41, 9;\nadd.s32 %r42, %r40, %r41;\n"
        "st.global.u16 [%rd6], %r42;", size=2
    ),
    "same bits": Case(
        "ld.global.u32 %r40, [%rd5];\nld.global.f32 %f1, [%rd5+4];\nmov.b32 %r41, %f1;\nadd.s32 %r40, %r40, %r41;\n"
        "st.global.u32 [%rd6], %r40;", (1,),
    ),
    "volatile": Case(
        "ld.volatile.global.f32 %f1, [%rd5];\nld.volatile.global.f32 %f2, [%rd5+4];\nld.global.f32 %f3, [%rd5+4];\n"
        "add.f32 %f4, %f2, %f3;\nst.global.f32 [%rd6], %f4;", refused="volatile",
    ),
    "relaxed": Case(
        "ld.relaxed.gpu.global.f32 %f1, [%rd5];\nld.relaxed.gpu.global.f32 %f2, [%rd5+4];\nadd.f32 %f4, %f2, %f1;\n"
        "st.global.f32 [%rd6], %f4;", refused="relaxed",
    ),
    "own address register": Case(
        "ld.global.u64 %rd10, [%rd5];\nadd.s64 %rd11, %rd5, 8;\nld.global.u64 %rd11, [%rd11];\nadd.s64 %rd10, %rd10, %rd11;\n"
        "st.global.u64 [%rd6], %rd10;", (1,), size=8,
    ),
    "source overwritten": Case(
        "ld.global.f32 %f1, [%rd5];\nmov.f32 %f5, %f1;\nmov.f32 %f1, 0f40000000;\nld.global.f32 %f2, [%rd5+4];\n"
        "add.f32 %f3, %f1, %f2;\nadd.f32 %f3, %f3, %f5;\nst.global.f32 [%rd6], %f3;", (1,),
    ),
    "target overwrites its source": Case(
        "ld.global.f32 %f1, [%rd5];\nmov.f32 %f5, %f1;\nld.global.f32 %f1, [%rd5+4];\nld.global.f32 %f2, [%rd5+-4];\n"
        "add.f32 %f3, %f1, %f2;\nadd.f32 %f3, %f3, %f5;\nst.global.f32 [%rd6], %f3;", (1, -1),
    ),
    "bit field insert": Case(
        "bfi.b32 %r40, %r20, %r8, 0, 3;\nmul.wide.u32 %rd9, %r40, 4;\nadd.s64 %rd9, %rd1, %rd9;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
    ),
    "bit field extract": Case(
        "bfe.u32 %r40, %r4, 1, 3;\nmul.wide.u32 %rd9, %r40, 4;\nadd.s64 %rd9, %rd1, %rd9;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
    ),
    "shuffled address": Case(
        "activemask.b32 %r39;\nshfl.sync.idx.b32 %r40, %r1, 0, 31, %r39;\nadd.s32 %r40, %r40, %r1;\nmul.wide.u32 %rd9, %r40, 4;\n"
        "add.s64 %rd9, %rd1, %rd9;\nld.global.f32 %f1, [%rd9];\nld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\n"
        "st.global.f32 [%rd6], %f3;",
    ),
    "vote in the address": Case(
        "activemask.b32 %r39;\nsetp.lt.u32 %p3, %r1, 9;\nvote.sync.ballot.b32 %r40, %p3, %r39;\nand.b32 %r40, %r40, 15;\n"
        "add.s32 %r40, %r40, %r1;\nmul.wide.u32 %rd9, %r40, 4;\nadd.s64 %rd9, %rd1, %rd9;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
    ),
    "far addresses": Case(
        "add.s64 %rd9, %rd5, 4294967300;\nadd.s64 %rd9, %rd9, -4294967296;\nld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd9];\n"
        "add.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;", (1,),
    ),
    # 6. forms that need more than one shfl
    "double": Case(
        "ld.global.f64 %fd1, [%rd5];\nld.global.f64 %fd2, [%rd5+8];\nld.global.f64 %fd3, [%rd5+-16];\nadd.f64 %fd4, %fd1, %fd2;\n"
        "sub.f64 %fd4, %fd4, %fd3;\nst.global.f64 [%rd6], %fd4;", (1, -2), size=8,
    ),
    "bytes": Case(
        "ld.global.u8 %h1, [%rd5];\nld.global.u8 %h2, [%rd5+1];\nld.global.s8 %h3, [%rd5+2];\nld.global.s8 %h4, [%rd5+5];\n"
        "add.s16 %h5, %h1, %h2;\nsub.s16 %h5, %h5, %h3;\nxor.b16 %h5, %h5, %h4;\nst.global.u8 [%rd6], %h5;", (1, 3), size=1,
    ),
    "bytes in words": Case(
        "ld.global.s8 %r40, [%rd5];\nld.global.s8 %r41, [%rd5+1];\nshr.s32 %r42, %r41, 7;\nadd.s32 %r42, %r42, %r40;\n"
        "st.global.u8 [%rd6], %r42;", (1,), size=1,
    ),
    "halves": Case(
        "ld.global.u16 %h1, [%rd5];\nld.global.u16 %h2, [%rd5+-6];\nadd.s16 %h5, %h1, %h2;\nst.global.u16 [%rd6], %h5;",
        (-3,), size=2,
    ),
    "vectors": Case(
        "shl.b64 %rd7, %rd3, 3;\nadd.s64 %rd8, %rd1, %rd7;\nld.global.v2.f32 {%f1, %f2}, [%rd8];\n"
        "ld.global.v2.f32 {%f3, %f4}, [%rd8+8];\nsub.f32 %f5, %f1, %f3;\nsub.f32 %f6, %f2, %f4;\nadd.f32 %f5, %f5, %f6;\n"
        "st.global.f32 [%rd6], %f5;", (1,),
    ),
    "longer vectors": Case(
        "shl.b64 %rd7, %rd3, 4;\nadd.s64 %rd8, %rd1, %rd7;\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd8];\n"
        "ld.global.v4.f32 {%f5, _, %f7, %f8}, [%rd8+16];\nld.global.v2.f32 {%f9, %f10}, [%rd8+-8];\n"
        "ld.global.v2.u64 {%rd20, %rd21}, [%rd8];\nld.global.v2.u64 {%rd22, %rd23}, [%rd8+-16];\nadd.f32 %f5, %f5, %f1;\n"
        "add.f32 %f5, %f5, %f2;\nsub.f32 %f5, %f5, %f3;\nadd.f32 %f5, %f5, %f4;\nadd.f32 %f5, %f5, %f7;\nsub.f32 %f5, %f5, %f8;\n"
        "add.f32 %f5, %f5, %f9;\nsub.f32 %f5, %f5, %f10;\nadd.s64 %rd20, %rd20, %rd22;\nxor.b64 %rd20, %rd20, %rd21;\n"
        "sub.s64 %rd20, %rd20, %rd23;\ncvt.u32.u64 %r50, %rd20;\nmov.b32 %r51, %f5;\nadd.s32 %r50, %r50, %r51;\n"
        "st.global.u32 [%rd6], %r50;",
        (1, -1, -1),
    ),
    "an element of a vector": Case(
        "shl.b64 %rd7, %rd3, 3;\nadd.s64 %rd8, %rd1, %rd7;\nld.global.v2.f32 {%f1, %f2}, [%rd8];\n"
        "ld.global.f32 %f3, [%rd8+-4];\nsub.f32 %f5, %f1, %f3;\nadd.f32 %f5, %f5, %f2;\nst.global.f32 [%rd6], %f5;", (-1,),
    ),
    "vectors that swap registers": Case(
        "shl.b64 %rd7, %rd3, 3;\nadd.s64 %rd8, %rd1, %rd7;\nld.global.v2.f32 {%f1, %f2}, [%rd8];\nadd.f32 %f7, %f1, %f2;\n"
        "ld.global.v2.f32 {%f2, %f1}, [%rd8+8];\nsub.f32 %f5, %f1, %f2;\nadd.f32 %f5, %f5, %f7;\nst.global.f32 [%rd6], %f5;", (1,),
    ),
    "predicated target": Case(
        "and.b32 %r40, %r4, 3;\nsetp.eq.s32 %p3, %r40, 1;\nld.global.f32 %f1, [%rd5];\nmov.f32 %f2, 0f40400000;\n"
        "@%p3 ld.global.f32 %f2, [%rd5+4];\nmov.f32 %f4, 0f40400000;\n@!%p3 ld.global.f32 %f4, [%rd5+-4];\nadd.f32 %f3, %f1, %f2;\n"
        "add.f32 %f3, %f3, %f4;\nst.global.f32 [%rd6], %f3;", (1, -1),
    ),
    "predicated source": Case(
        "and.b32 %r40, %r4, 3;\nsetp.eq.s32 %p3, %r40, 1;\nmov.f32 %f1, 0f40400000;\n@%p3 ld.global.f32 %f1, [%rd5];\n"
        "ld.global.f32 %f2, [%rd5+4];\nld.global.f32 %f4, [%rd5+-8];\nadd.f32 %f3, %f1, %f2;\nadd.f32 %f3, %f3, %f4;\n"
        "st.global.f32 [%rd6], %f3;",
        (1, -2),
    ),
    "both predicated": Case(
        "and.b32 %r40, %r4, 3;\nsetp.eq.s32 %p3, %r40, 1;\nsetp.gt.s32 %p4, %r4, 5;\nmov.f32 %f1, 0f40400000;\n"
        "mov.f32 %f2, 0f40400000;\n@!%p3 ld.global.f32 %f1, [%rd5];\n@%p4 ld.global.f32 %f2, [%rd5+8];\nadd.f32 %f3, %f1, %f2;\n"
        "st.global.f32 [%rd6], %f3;",
        (2,),
    ),
    "predicated source in another block": Case(
        "and.b32 %r40, %r4, 3;\nsetp.eq.s32 %p3, %r40, 1;\nmov.f32 %f1, 0f40400000;\n@%p3 ld.global.f32 %f1, [%rd5];\n@%p3 bra SKIP;\n"
        "ld.global.f32 %f2, [%rd5+4];\nadd.f32 %f1, %f1, %f2;\nSKIP:\nst.global.f32 [%rd6], %f1;",
        refused="under a predicate",
    ),
    "reuse under one predicate": Case(
        "and.b32 %r40, %r4, 3;\nsetp.eq.s32 %p3, %r40, 1;\nmov.f32 %f1, 0f40400000;\nmov.f32 %f2, 0f40400000;\n"
        "@%p3 ld.global.f32 %f1, [%rd5];\n@%p3 ld.global.f32 %f2, [%rd5];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
        reuses=1,
    ),
    # 7. what others stumble over
    "odd instructions": Case(
        "prmt.b32 %r40, %r4, %r1, 12816;\nlop3.b32 %r41, %r4, %r1, %r3, 150;\npopc.b32 %r42, %r40;\nbrev.b32 %r43, %r41;\n"
        "and.b32 %r44, %r42, 7;\nmul.wide.u32 %rd9, %r44, 4;\nadd.s64 %rd9, %rd5, %rd9;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
    ),
    "jump table": Case(
        "and.b32 %r40, %r4, 1;\nTABLE: .branchtargets ONE, TWO;\nmov.f32 %f3, 0f00000000;\nbrx.idx %r40, TABLE;\nONE:\n"
        "ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f1, %f2;\nTWO:\nst.global.f32 [%rd6], %f3;", (1,),
    ),
    "labels and registers in braces": Case(
        "{\n.reg .f32 %f1;\n.reg .pred q;\nld.global.f32 %f1, [%rd5];\nsetp.gt.f32 q, %f1, 0f00000000;\n@q bra INSIDE;\n"
        "add.f32 %f1, %f1, %f1;\nINSIDE:\nmov.f32 %f7, %f1;\n}\nld.global.f32 %f2, [%rd5+4];\nadd.f32 %f3, %f7, %f2;\n"
        "st.global.f32 [%rd6], %f3;", (1,),
    ),
    # distances
    "far": Case("ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd5+124];\nld.global.f32 %f3, [%rd5+-124];\n"
                "sub.f32 %f4, %f2, %f3;\nadd.f32 %f4, %f4, %f1;\nst.global.f32 [%rd6], %f4;", (31, -31)),
    "too far": Case("ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd5+128];\nadd.f32 %f4, %f2, %f1;\nst.global.f32 [%rd6], %f4;"),
    "between elements": Case(
        "ld.global.u16 %h1, [%rd5];\nld.global.u16 %h2, [%rd5+2];\nadd.s16 %h1, %h1, %h2;\nst.global.u16 [%rd6], %h1;"
    ),
    "stride of two": Case(
        "shl.b64 %rd7, %rd3, 3;\nadd.s64 %rd8, %rd1, %rd7;\nld.global.f32 %f1, [%rd8];\nld.global.f32 %f2, [%rd8+4];\n"
        "ld.global.f32 %f3, [%rd8+8];\nsub.f32 %f4, %f1, %f2;\nadd.f32 %f4, %f4, %f3;\nst.global.f32 [%rd6], %f4;", (1,),
    ),
    "backwards": Case(
        "sub.s32 %r40, 300, %r4;\nmul.wide.s32 %rd7, %r40, 4;\nadd.s64 %rd8, %rd1, %rd7;\nld.global.f32 %f1, [%rd8];\n"
        "ld.global.f32 %f2, [%rd8+4];\nadd.f32 %f4, %f1, %f2;\nst.global.f32 [%rd6], %f4;", (-1,),
    ),
    "reuse": Case("ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd5];\nadd.f32 %f4, %f1, %f2;\nst.global.f32 [%rd6], %f4;", reuses=1),
    "everybody reads one": Case(
        "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd1+4];\nld.global.f32 %f3, [%rd1];\nadd.f32 %f4, %f1, %f2;\n"
        "add.f32 %f4, %f4, %f3;\nst.global.f32 [%rd6], %f4;", reuses=1,
    ),
    "remainder": Case(
        "rem.u32 %r40, %r1, 5;\nmul.wide.u32 %rd9, %r40, 4;\nadd.s64 %rd9, %rd1, %rd9;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;",
    ),
    "remainder of the neighbour": Case(
        "rem.u32 %r40, %r1, 5;\nadd.s32 %r41, %r1, 1;\nrem.u32 %r41, %r41, 5;\nmul.wide.u32 %rd9, %r40, 4;\nadd.s64 %rd9, %rd1, %rd9;\n"
        "mul.wide.u32 %rd10, %r41, 4;\nadd.s64 %rd10, %rd1, %rd10;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd10];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;", (1,),
    ),
    "lane in the address": Case(
        "mov.u32 %r40, %laneid;\nmul.wide.u32 %rd9, %r40, 4;\nadd.s64 %rd9, %rd1, %rd9;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;", (1,),
    ),
    "thread indices add up": Case(
        "add.s32 %r40, %r1, %r5;\nmul.wide.u32 %rd9, %r40, 4;\nadd.s64 %rd9, %rd1, %rd9;\nld.global.f32 %f1, [%rd9];\n"
        "ld.global.f32 %f2, [%rd9+4];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd6], %f3;", (1,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_found_or_refused(name: str) -> None:
    case = CASES[name]
    found = report(case.text, case.options)
    assert tuple(c.delta for c in found.shuffles) == case.shuffles, found.refused
    assert len(found.reuses) == case.reuses
    assert not case.refused or any(case.refused in r.reason for r in found.refused), found.refused


@pytest.mark.parametrize("name", CASES)
def test_right_for_every_block(name: str) -> None:
    case = CASES[name]
    new = rewritten(case.text, case.options).text
    for number, block in enumerate(SHAPES):
        launches = ((None, False), (max(block[0] - 3, 1), False), (40, True))
        for n, aliased in launches if number < 2 else launches[number % 3 : number % 3 + 1]:
            args: list[Any] = arguments(block, size=case.size, n=n, aliased=aliased)
            assert not differences(case.text, new, (2, 1, 1), block, args), (name, block, n, aliased)


CACHED = (
    "plain", "read-only across a store", "target under an if", "loop of different lengths", "own address register", "source overwritten",
    "target overwrites its source", "double", "bytes", "halves", "vectors", "longer vectors", "an element of a vector", "vectors that swap registers",
    "predicated target", "far", "stride of two", "backwards", "thread indices add up",
)  # fmt: skip


@pytest.mark.parametrize("name", CACHED)
def test_register_cache_is_right_for_every_block(name: str) -> None:
    case = CASES[name]
    new = rewritten(case.text, replace(case.options, mode="cache")).text
    if name not in ("target under an if", "an element of a vector", "predicated target", "far"):
        assert "selp" in new
    for block in SHAPES[:7]:
        args: list[Any] = arguments(block, size=case.size, n=40 if block[1] == 1 else None)
        assert not differences(case.text, new, (2, 1, 1), block, args), (name, block)


@pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA wheels")
@pytest.mark.parametrize("mode", MODES)
def test_ptxas_takes_all(mode: Mode) -> None:
    """All kernels in one file, under names of their own."""
    kernels: list[str] = []
    for number, case in enumerate(CASES.values()):
        text = rewritten(case.text, replace(case.options, mode=mode)).text
        kernels.append(text.partition(".address_size 64\n")[2].replace(".entry k(", f".entry k{number}("))
    assemble("\n".join([".version 8.0\n.target sm_75\n.address_size 64", *kernels]), "sm_75")


def test_aliased_pointers_stay_one_array() -> None:
    args = arguments((32, 1, 1), aliased=True)
    assert args[0] is args[1]
    assert np.shares_memory(args[0], args[1])
