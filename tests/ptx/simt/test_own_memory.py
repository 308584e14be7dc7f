"""Local memory that a thread uses without having written it, and what is no use: copies, values not taken, holes of structs."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ptx import Launch, launch

THREADS = 8
_HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
.local .align 16 .b8 own[64];
.reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<10>;
ld.param.u64 %rd1, [out];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd2, %r2, 4;
add.u64 %rd1, %rd1, %rd2;
mov.u64 %rd3, own;
add.u64 %rd4, %rd3, %rd2;
"""
"""%r2: the thread; %rd1: its element; %rd3: the array; %rd4: the element of the array by the thread's number."""
SET = "setp.lt.u32 %p1, %r2, %r1; @%p1 st.local.u32 [%rd4], 7;"
"""Threads below n write their element."""
STORE = "st.global.u32 [%rd1], %r3;"


def run(body: str, n: int = 5, *, functions: str = "", checks: bool = True) -> Launch:
    head, _, rest = _HEAD.partition(".visible")
    text = f"{head}{functions}.visible{rest}{body}\nret;\n}}\n"
    return launch(text, grid=2, block=THREADS, args=[np.zeros(THREADS, np.int32), np.int32(n)], checks=checks)


def own(ran: Launch) -> list[int]:
    """Threads of the findings about local memory, of both blocks; there are no others but races of the two blocks."""
    assert {f.kind for f in ran.findings} <= {"uninitialised_local", "global_race"}
    return [f.count for f in ran.findings if f.kind == "uninitialised_local"]


@pytest.mark.parametrize(
    "load",
    ["ld.local.u32 %r3, [%rd4];", "cvta.local.u64 %rd5, %rd4; ld.u32 %r3, [%rd5];", "ld.local.u8 %r3, [%rd4+3];",
     "@!%p3 ld.local.u32 %r3, [%rd4];"],
    ids=["local", "generic", "byte", "guarded"],
)  # fmt: skip
def test_a_value_that_reaches_memory(load: str) -> None:
    body = f"mov.u32 %r3, 0; setp.ne.u32 %p3, %r2, %r2; {SET} {load} {STORE}"
    assert own(run(body)) == [2 * (THREADS - 5)]
    assert own(run(body, THREADS)) == []
    assert own(run(body, checks=False)) == []


@pytest.mark.parametrize(
    "use",
    ["add.u32 %r4, %r3, 1;", "setp.eq.u32 %p2, %r3, 0; @%p2 bra L; L:", "cvt.u64.u32 %rd5, %r3;",
     "mov.b64 %rd5, {%r3, %r2}; add.u64 %rd5, %rd5, 1;"],
)  # fmt: skip
def test_other_uses(use: str) -> None:
    assert own(run(f"{SET} ld.local.u32 %r3, [%rd4]; {use}")) == [2 * (THREADS - 5)]


def test_who_wrote_may_read() -> None:
    """Each thread has memory of its own: that another has written there is no matter."""
    other = "xor.b32 %r5, %r2, 1; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd3, %rd6;"
    assert own(run(f"{SET} {other} ld.local.u32 %r3, [%rd6]; {STORE}", THREADS)) == [2 * THREADS]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("ld.local.u32 %r3, [%rd4]; selp.b32 %r3, %r3, 9, %p1;", id="not taken"),
        pytest.param("ld.local.u32 %r3, [%rd4]; mov.u32 %r4, %r3; mov.u32 %r3, 1;", id="overwritten"),
        pytest.param("@%p1 ld.local.u32 %r3, [%rd4]; @!%p1 mov.u32 %r3, 4;", id="not loaded"),
        pytest.param("ld.local.u32 %r4, [%rd4]; st.local.u32 [%rd4+32], %r4; mov.u32 %r3, 0;", id="copied"),
        pytest.param("st.local.u8 [%rd4+1], 1; ld.local.u32 %r3, [%rd4];", id="written in part"),
    ],
)
def test_what_is_no_use(body: str) -> None:
    assert own(run(f"{SET} {body} {STORE}")) == []


def test_a_copy_stays_undefined() -> None:
    body = f"{SET} ld.local.u32 %r4, [%rd4]; st.local.u32 [%rd4+32], %r4; ld.local.u32 %r3, [%rd4+32]; {STORE}"
    assert own(run(body)) == [2 * (THREADS - 5)]
    (found,) = (f for f in run(body).findings if f.kind == "uninitialised_local")
    assert "reads from local memory that the thread has not written" in found.message and found.others[0][0] == "the load"


def test_a_copy_takes_back_what_was_there() -> None:
    body = f"st.local.u32 [%rd4+32], 1; {SET} ld.local.u32 %r4, [%rd4]; st.local.u32 [%rd4+32], %r4;"
    assert own(run(f"{body} ld.local.u32 %r3, [%rd4+32]; {STORE}")) == [2 * (THREADS - 5)]


def test_an_undefined_place_of_a_copy_is_a_use() -> None:
    load = "ld.local.u64 %rd6, [own+56]; and.b64 %rd6, %rd6, 0; add.u64 %rd6, %rd6, %rd3;"
    assert own(run(f"{load} st.local.u64 [%rd6], %rd6;")) == [2 * THREADS]
    place = "st.local.u64 [own], %rd3; ld.local.u64 %rd6, [own+8]; st.local.u64 [own+16], %rd6; mov.u32 %r3, 1;"
    assert own(run(f"{place} {STORE}")) == []


def test_elements_of_a_vector_are_told_apart() -> None:
    body = "st.local.u32 [own], 1; ld.local.v2.u32 {%r3, %r4}, [own];"
    assert own(run(f"{body} {STORE}")) == []
    assert own(run(f"{body} st.global.u32 [%rd1], %r4;")) == [2 * THREADS]


def test_a_function_that_fills_the_array() -> None:
    fill = """.func fill(.param .u64 a) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [a]; st.u32 [%rd1], 3; st.u32 [%rd1+4], 4; ret; }
"""
    call = "cvta.local.u64 %rd5, %rd3; { .param .u64 p; st.param.u64 [p], %rd5; call fill, (p); }"
    read = "rem.u32 %r5, %r2, {}; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd3, %rd6; ld.local.u32 %r3, [%rd6];"
    assert own(run(f"{call} {read.format(2)} {STORE}", functions=fill)) == []
    assert own(run(f"{call} {read.format(4)} {STORE}", functions=fill)) == [2 * THREADS // 2]


def test_what_functions_find_on_the_stack_is_not_looked_at() -> None:
    reads = """.func reads() { .local .align 4 .b8 x[16]; .reg .b32 %r<3>; ld.local.u32 %r1, [x]; add.u32 %r2, %r1, 1; ret; }
"""
    assert own(run("call reads, ();", functions=reads)) == []
