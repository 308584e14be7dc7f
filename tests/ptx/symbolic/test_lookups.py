"""Truth tables, loops that order memory, integers of loops."""

from __future__ import annotations

import pytest
from tests.ptx.symbolic.test_emulate import emulated
from tests.ptx.symbolic.test_operations import result

from warploom.ptx.symbolic import evaluate
from warploom.ptx.symbolic.effects import written_spaces
from warploom.ptx.symbolic.loops import _is_integer
from warploom.ptx.symbolic.operations import _LOOKUPS
from warploom.ptx.syntax import Instruction


@pytest.mark.parametrize("table", sorted(_LOOKUPS))
def test_every_truth_table_is_its_number(table: int) -> None:
    """With a, b, c as 0xF0, 0xCC, 0xAA the result is the table itself."""
    found = result(f"mov.b32 %r3, 0xF0; mov.b32 %r4, 0xCC; mov.b32 %r5, 0xAA; lop3.b32 %r7, %r3, %r4, %r5, {table};")
    assert evaluate(found, lambda leaf, given: 0) & 0xFF == table


def instructions(text: str) -> tuple[Instruction, ...]:
    return tuple(emulated(text).routine.instructions)


@pytest.mark.parametrize(
    ("text", "spaces"),
    [
        ("add.s32 %r1, %r1, 1;", set()), ("ld.global.u32 %r1, [%rd1];", set()), ("ld.acquire.gpu.global.u32 %r1, [%rd1];", {"*"}),
        ("st.global.u32 [%rd1], %r1;", {"global"}), ("st.shared.u32 [%rd1], %r1;", {"shared"}), ("bar.sync 0;", {"*"}),
        ("atom.global.add.u32 %r1, [%rd1], 1;", {"global"}),
    ],
)  # fmt: skip
def test_what_a_loop_may_write(text: str, spaces: set[str]) -> None:
    own = [i for i in instructions(text) if i.opcode not in ("ret", "exit")]
    assert written_spaces(tuple(own)) == spaces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add.s32 %r1, %r1, 1;", True), ("add.f32 %f1, %f1, %f1;", False), ("cvt.rn.f32.s32 %f1, %r1;", False),
        ("cvt.rzi.s32.f32 %r1, %f1;", False), ("setp.lt.f32 %p1, %f1, %f2;", False), ("setp.lt.s32 %p1, %r1, 3;", True),
        ("mov.f32 %f1, %f2;", True), ("ld.global.u32 %r1, [%rd1];", False),
    ],
)  # fmt: skip
def test_what_is_computed_from_integers_alone(text: str, expected: bool) -> None:
    (first, *_) = instructions(text)
    assert _is_integer(first) is expected
