"""Places of instructions in the user's source, from `.loc` and `.file`."""

from __future__ import annotations

import pytest

from warploom.ptx import Place, Places, parse

HEADER = ".version 8.3\n.target sm_90\n.address_size 64\n"
TEXT = (
    HEADER
    + """.visible .entry k()
{
.reg .b32 %r<9>;
mov.u32 %r1, 1;
.loc 1 10 3
mov.u32 %r1, 2;
{
.loc 1 4 5, function_name $L__a, inlined_at 1 10 3
mov.u32 %r1, 3;
.loc 2 2 7, function_name $L__a+6, inlined_at 1 4 5
mov.u32 %r1, 4;
}
.loc 1 11 3
.loc 1 4 5, function_name $L__a, inlined_at 1 11 3
.loc 2 2 7, function_name $L__a+6, inlined_at 1 4 5
mov.u32 %r1, 5;
.loc 7 1 1
mov.u32 %r1, 6;
.loc 1 0 0
mov.u32 %r1, 7;
.loc 1 20 1
// begin inline asm
.loc 1 20 1
mov.u32 %r1, 10;
.loc 1 21 1
mov.u32 %r1, 11;
// end inline asm
mov.u32 %r1, 12;
ret;
}
.visible .entry other()
{
.reg .b32 %r<9>;
mov.u32 %r1, 8;
.loc 2 5 1, function_name $L__none, inlined_at 1 4 5
mov.u32 %r1, 9;
ret;
}
.file 1 "a b.cu"
.file 2 "h.cuh", 123, 456
.section .debug_str
{
$L__a:
.b8 111,117,116,101,114,0
.b8 105,110,110,101,114,0
}
"""
)
OUTER, INNER = Place("a b.cu", 4, 5, "outer"), Place("h.cuh", 2, 7, "inner")


@pytest.mark.parametrize(
    ("number", "chain"),
    [
        (1, ()),
        (2, (Place("a b.cu", 10, 3),)),
        (3, (OUTER, Place("a b.cu", 10, 3))),
        (4, (INNER, OUTER, Place("a b.cu", 10, 3))),
        (5, (INNER, OUTER, Place("a b.cu", 11, 3))),
        (6, ()),
        (7, ()),
        (8, ()),
        (10, (Place("a b.cu", 20, 1),)),
        (11, (Place("a b.cu", 20, 1),)),
        (12, (Place("a b.cu", 20, 1),)),
        (9, (Place("h.cuh", 5, 1), Place("a b.cu", 4, 5))),
    ],
)
def test_places(number: int, chain: tuple[Place, ...]) -> None:
    line = next(n for n, row in enumerate(TEXT.splitlines(), 1) if row == f"mov.u32 %r1, {number};")
    assert Places(parse(TEXT)).of(line) == chain


def test_before_any_function_there_is_none() -> None:
    assert Places(parse(TEXT)).of(1) == Places(parse(HEADER)).of(3) == ()
