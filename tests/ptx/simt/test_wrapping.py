"""Signed 32-bit indices that wrap in a launch, and numbers that may: hashes, unsigned indices, sums that come back."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ptx import Launch, launch

_HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
.reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<10>;
ld.param.u64 %rd1, [out];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
"""
"""%r1: n; %r2: the thread."""
WIDE = "cvt.s64.s32 %rd2, %r9; shl.b64 %rd2, %rd2, 2; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1;"
USE = "mul.wide.s32 %rd2, %r9, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;"
BIG = 1 << 30


def run(body: str, n: int, threads: int = 4, *, checks: bool = True) -> Launch:
    args = [np.zeros(64, np.int32), np.int32(n)]
    return launch(f"{_HEAD}{body}\nret;\n}}\n", grid=1, block=threads, args=args, checks=checks)


def wrapped(ran: Launch) -> list[int]:
    return [found.count for found in ran.findings if found.kind == "index_overflow"]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (f"mul.lo.s32 %r9, %r2, %r1; {USE}", 2),
        (f"mad.lo.s32 %r9, %r2, %r1, 5; {USE}", 2),
        (f"shl.b32 %r9, %r1, 2; {USE}", 4),
        (f"mul.lo.s32 %r8, %r2, %r1; mul.lo.s32 %r9, %r8, %r1; {USE}", 3),
        (f"mul.lo.s32 %r8, %r2, %r1; sub.s32 %r9, 7, %r8; {USE}", 1),
        (f"mul.lo.s32 %r9, %r2, %r1; {WIDE}", 2),
        (f"mul24.lo.s32 %r9, %r2, %r1; {USE}", 4),
        (f"mul24.lo.u32 %r9, %r2, %r1; {USE}", 4),
        (f"mad24.lo.s32 %r9, %r2, %r1, %r2; {USE}", 4),
        (f"add.s32 %r8, %r1, %r1; dp4a.s32.s32 %r9, %r2, %r2, %r8; {USE}", 4),
    ],
)  # fmt: skip
def test_sums_and_products_that_do_not_fit(body: str, count: int) -> None:
    assert wrapped(run(body, BIG)) == [count]
    assert wrapped(run(body, 3)) == []
    assert wrapped(run(body, BIG, checks=False)) == []


def test_a_wrong_element_inside_of_the_array_is_found() -> None:
    body = f"mul.lo.s32 %r8, %r2, %r1; div.s32 %r8, %r8, 268435456; and.b32 %r8, %r8, 63; mov.u32 %r9, %r8; {USE}"
    assert run(body, BIG).status == "finished" and wrapped(run(body, BIG)) == []  # bits are a number of their own
    body = f"mul.lo.s32 %r8, %r2, %r1; rem.s32 %r8, %r8, 16; abs.s32 %r9, %r8; {USE}"
    ran = run(body, BIG)
    assert ran.status == "finished" and wrapped(ran) == [2]


@pytest.mark.parametrize(
    "body",
    [
        f"mul.lo.s32 %r8, %r2, %r1; rem.u32 %r9, %r8, 64; {USE}",
        f"mul.lo.s32 %r8, %r2, %r1; shr.u32 %r9, %r8, 27; {USE}",
        f"mul.lo.s32 %r8, %r2, 1073741824; and.b32 %r9, %r8, 63; {USE.replace('wide.s32', 'wide.u32')}",
        f"add.s32 %r8, %r1, %r1; sub.s32 %r9, %r8, %r1; sub.s32 %r9, %r9, %r1; add.s32 %r9, %r9, %r2; {USE}",
        f"mul.lo.s32 %r8, %r2, %r1; setp.lt.s32 %p1, %r2, 2; selp.b32 %r9, %r8, %r2, %p1; mov.u32 %r9, %r2; {USE}",
        f"mul.lo.s32 %r8, %r2, %r1; setp.lt.s32 %p1, %r2, 0; selp.b32 %r9, %r8, %r2, %p1; {USE}",
        f"mul.lo.s32 %r9, %r2, %r1; setp.lt.s32 %p1, %r2, 1; {USE.replace('st.', '@%p1 st.')}",
    ],
    ids=["unsigned-remainder", "bits", "unsigned", "there-and-back", "overwritten", "not-chosen", "not-accessed"],
)  # fmt: skip
def test_numbers_that_may_wrap(body: str) -> None:
    ran = run(body, BIG)
    assert wrapped(ran) == [] and {found.kind for found in ran.findings} <= {"global_race"}


def test_the_finding_names_the_sum_and_its_threads() -> None:
    (found,) = (f for f in run(f"mul.lo.s32 %r9, %r2, %r1;\n{USE}", BIG).findings if f.kind == "index_overflow")
    ((text, span),) = found.others
    assert (found.thread, found.count, text, span.line) == ((2, 0, 0), 2, "the sum or product", 10)
    assert "mul.lo.s32 in line 10" in found.message and found.span.line == 11


@pytest.mark.parametrize(
    ("body", "n", "count"),
    [
        (f"mul24.lo.s32 %r9, %r1, %r1; {USE}", 46_341, 4),
        (f"mul24.lo.s32 %r9, %r1, %r1; {USE}", 46_340, 0),
        (f"mul24.lo.u32 %r9, %r1, %r2; {USE}", 1 << 23, 0),
        (f"mad24.lo.s32 %r9, %r1, %r1, 88048; {USE}", 46_340, 4),
        (f"dp4a.s32.s32 %r9, %r1, 1, 2147483647; {USE}", 1, 4),
        (f"dp4a.s32.s32 %r9, %r1, 1, 2147483646; {USE}", 1, 0),
        (f"dp4a.s32.s32 %r9, %r1, 255, 2147483647; {USE}", 1, 0),
        (f"dp2a.lo.u32.u32 %r9, %r1, 255, 2147483392; {USE}", 1, 0),
        (f"dp2a.lo.u32.u32 %r9, %r1, 255, 2147483392; {USE}", 2, 4),
        (f"add.s32 %r8, %r1, %r1; dp4a.s32.s32 %r9, %r8, %r8, 1000; {USE}", BIG, 0),
    ],
)
def test_products_of_parts_of_words(body: str, n: int, count: int) -> None:
    """The launch leaves its array, so that it is looked at for wraps."""
    assert sum(wrapped(run(body, n))) == count


def test_chains_longer_than_calls_may_be_deep() -> None:
    count = 300
    chain = "".join(f".reg .b32 %c{n + 1000}; " for n in range(count)) + f"mov.u32 %c{999 + count}, %r2; "
    chain += "".join(f"add.s32 %c{n + 999}, %c{n + 1000}, 0; " for n in range(count - 1, 0, -1))  # by name, the last comes first
    ran = run(f"{chain} mov.u32 %r9, %c1000; {USE}", 1)
    assert ran.status == "finished" and wrapped(ran) == []
