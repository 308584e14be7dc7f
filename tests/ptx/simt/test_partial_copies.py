"""Copies without waiting that read less than they write: the rest is zero, and nothing else is touched."""

from __future__ import annotations

import pytest
from tests.ptx.simt.written import words

SHARED = ".shared .align 16 .b32 sh[16];\n"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("", [9, 8, 7, 6]),
        (", 16", [9, 8, 7, 6]),
        (", 8", [9, 8, 0, 0]),
        (", 4", [9, 0, 0, 0]),
        (", 0", [0, 0, 0, 0]),
        (", %p1", [9, 8, 7, 6]),
        (", !%p1", [0, 0, 0, 0]),
    ],
)
def test_what_is_not_read_becomes_zero(limit: str, expected: list[int]) -> None:
    """Thread 0 fills shared memory with ones, copies four words of `source` to words 4 to 7, and all look."""
    body = """
mov.u32 %r9, sh;
shl.b32 %r5, %r1, 2;
add.u32 %r5, %r9, %r5;
mov.u32 %r6, 1;
st.shared.u32 [%r5], %r6;
bar.sync 0;
mov.u64 %rd5, source;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra DONE;
cp.async.ca.shared.global [%r9+16], [%rd5], 16LIMIT;
cp.async.wait_all;
DONE:
bar.sync 0;
ld.shared.u32 %r7, [%r5];
st.global.u32 [%rd3], %r7;
""".replace("LIMIT", limit)
    before = SHARED + ".global .align 16 .b32 source[4] = {9, 8, 7, 6};\n"
    assert words(body, block=16, before=before) == [1] * 4 + expected + [1] * 8
