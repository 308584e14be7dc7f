"""Instructions that the interpreter refuses, each for one reason alone, located and in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warploom.core import UnsupportedError, UserError
from warploom.ptx import launch

from .written import HEADER, kernel, run

DECLARED = (
    ".reg .b8 %b<4>; .reg .b128 %q<4>; .reg .v2 .b32 %v; .reg .v4 .b32 %w; .reg .v2 .pred %pv; "
    ".shared .align 16 .b8 sh[256]; .local .b32 stack[4];\n"
)
"""More registers, and memory, than the kernels of this folder have."""


def refused(body: str, before: str = "") -> str:
    with pytest.raises((UserError, UnsupportedError)) as caught:
        run(DECLARED + body, before=before)
    found = caught.value.diagnostics[0]
    text = kernel(DECLARED + body, before=before)
    if found.span.line > 1:
        assert text.splitlines()[found.span.line - 1].strip().startswith(body.split("\n")[-1][:12])
    return f"{found.code}: {found.message}"


UNKNOWN = "PTX_UNSUPPORTED: expected an instruction that the interpreter knows, got "
OPERAND = "PTX_OPERAND: expected "


@pytest.mark.parametrize(
    ("body", "told"),
    [
        # loads and stores
        ("ld.global.frob.u32 %r5, [%rd3];", f"{UNKNOWN}modifier .frob in ld.global.frob.u32"),
        ("ld.global.b128 %q1, [%rd3];", f"{UNKNOWN}ld.global.b128"),
        ("ld.global.u32 %r5, %rd3;", f"{OPERAND}an address in brackets in ld.global.u32, got %rd3"),
        ("ld.global.v2.u32 {%r5, %r6, %r7}, [%rd3];", f"{OPERAND}2 destinations in ld.global.v2.u32, got 3"),
        ("ld.global.v2.u32 %r5, [%rd3];", f"{OPERAND}2 destinations in ld.global.v2.u32, got 1"),
        ("ld.global.u32 %h1, [%rd3];", f"{OPERAND}a destination of at least 32 bits in ld.global.u32, got one of 16"),
        ("st.global.u32 %rd3, %r5;", f"{OPERAND}an address in brackets in st.global.u32, got %rd3"),
        ("st.global.v2.u32 [%rd3], {%r1, %r1, %r1};", f"{OPERAND}2 sources in st.global.v2.u32, got 3"),
        ("mov.u16 %h1, 0;\nst.global.u32 [%rd3], %h1;", f"{OPERAND}a source of at least 32 bits in st.global.u32, got one of 16"),
        ("ld.global.u32 %r5, [-1.5];", f"{OPERAND}an address in ld.global.u32, got -1.5"),
        # arithmetic
        ("add.u32;", f"{OPERAND}3 operands in add.u32, got 0"),
        ("add.u32 %r5, %r1;", f"{OPERAND}3 operands in add.u32, got 2"),
        ("add.u32 %r5, %r1, %r1, %r1;", f"{OPERAND}3 operands in add.u32, got 4"),
        ("setp.lt.u32 %p1|%p2, %r1, %r1, %p3, %p4;", f"{OPERAND}3 to 4 operands in setp.lt.u32, got 5"),
        ("add.u32 %r5|%p1, %r1, %r1;", f"{OPERAND}1 destinations in add.u32, got 2"),
        ("lop3.b32 %r5, %r1, %r1, %r1, %r1;", f"{OPERAND}an integer constant in lop3.b32, got %r1"),
        ("add.u32 %h1, %r1, %r1;", f"{OPERAND}a destination of 32 bits in add.u32, got one of 16"),
        ("add %r5, %r1, %r1;", f"{UNKNOWN}add"),
        ("@%r1 add.u32 %r5, %r1, %r1;", f"{OPERAND}a predicate as the guard in add.u32, got %r1"),
        # operands
        ("add.u32 %q1, %r1, %r1;", f"{UNKNOWN}a register of type .b128"),
        ("add.u32 %r5, %q1, %r1;", f"{UNKNOWN}a register of type .b128"),
        ("setp.eq.u32 %p1|%r5, %r1, 3;", f"{OPERAND}a destination of type .pred in setp.eq.u32, got .b32"),
        ("selp.b32 %r5, %r1, %r1, %r1;", f"{OPERAND}a predicate in selp.b32, got %r1 (.b32)"),
        ("add.u32 %r5, %p1, %r1;", f"{OPERAND}a register of bits in add.u32, got %p1 (.pred)"),
        ("add.u32 %r5, {%h1, %h2}, %r1;", f"{UNKNOWN}the operand {{%h1, %h2}} in add.u32"),
        ("mov.u16 %h1, 0;\nadd.u32 %r5, %h1, %r1;", f"{OPERAND}an operand of 32 bits in add.u32, got one of 16"),
        ("mov.b128 %q1, 5;", f"{UNKNOWN}a register of type .b128"),
        ("add.f16 %h1, 1.5, %h1;", f"{OPERAND}an immediate of type .f16 in add.f16, got one of 64 bits"),
        ("add.u32 _, _, %r1;", f"{OPERAND}a register or a constant in add.u32, got _"),
        ("setp.lt %p1, %r1, %r1;", "PTX_UNSUPPORTED: expected an operation with known arithmetic, got setp.lt (setp.lt)"),
        ("add.u8 %b1, %b1, %b1;", f"{UNKNOWN}add.u8"),
        ("setp.lt.and.u32 %p1, %r1, %r1;", f"{OPERAND}3 source operands in setp.lt.and.u32, got 2"),
        ("max.f64 %fd1, %fd2, %fd2, %fd2;", f"{OPERAND}2 source operands in max.f64, got 3"),
        ("createpolicy;", f"{UNKNOWN}createpolicy"),
        ("st.global.u32 [%rd3], %pv.x;", f"{OPERAND}a register of bits in st.global.u32, got %pv.x (.pred)"),
        ("mov.b128 {%rd5, %rd6}, 5;", f"{UNKNOWN}an immediate of type .b128"),
        # moves
        ("mov %r5, %r1;", f"{UNKNOWN}mov"),
        ("mov.b64 {%r5, %r6, %r7}, {%r1, %r2};", f"{OPERAND}3 source elements in mov.b64, got 2"),
        ("mov.b16 {%b1, %b2, %b3, %b1}, %h1;", f"{UNKNOWN}mov.b16"),
        ("mov.b64 %r5, {%r1, %r2};", f"{OPERAND}a destination of 64 bits in mov.b64, got one of 32"),
        ("cvta.u64 %rd5, %rd3;", f"{UNKNOWN}cvta.u64"),
        ("isspacep.tex %p1, %rd3;", f"{UNKNOWN}isspacep.tex"),
        # atomics
        ("atom.global.frob.add.u32 %r5, [%rd3], 1;", f"{UNKNOWN}modifier .frob in atom.global.frob.add.u32"),
        ("atom.global.add.u8 %r5, [%rd3], 1;", f"{UNKNOWN}atom.global.add.u8"),
        ("atom.global.inc.s32 %r5, [%rd3], 1;", f"{UNKNOWN}atom.global.inc.s32"),
        ("atom.global.xor.f32 %f1, [%rd3], %f2;", f"{UNKNOWN}atom.global.xor.f32"),
        ("atom.global.add.u32 %r5, %rd3, 1;", f"{OPERAND}an address in brackets in atom.global.add.u32, got %rd3"),
        ("atom.global.cas.b32 %r5, [%rd3], 1;",
         f"{OPERAND}a value to compare with and a new one in atom.global.cas.b32, got one"),
        ("mov.f32 %f3, 0f00000000;\nred.global.v2.f32.add [%rd3], {%f3, %f3, %f3};",
         f"{OPERAND}2 elements in red.global.v2.f32.add, got 3"),
        ("mov.f32 %f3, 0f00000000;\natom.global.v2.f32.add %f1, [%rd3], {%f3, %f3};",
         f"{OPERAND}2 elements in atom.global.v2.f32.add, got 1 and 2"),
        # barriers and calls
        ("bar.sync.frob 0;", f"{UNKNOWN}bar.sync.frob"),
        ("bar.red.popc.u32 %r5, 0, 32, 32, %p1;", f"{OPERAND}3 to 4 operands in bar.red.popc.u32, got 5"),
        ("barrier.arrive 0;", f"{OPERAND}2 operands in barrier.arrive, got 1"),
        ("bra (%r1);", "PTX_LABEL: expected a label of k after bra, found '(%r1)'"),
        ("bra 5;", "PTX_LABEL: expected a label of k after bra, found '5'"),
        ("call 5;", f"{OPERAND}a function in call, got 5"),
        ("bar.warp.frob.sync 3;", f"{UNKNOWN}bar.warp.frob.sync"),
        ("tcgen05.shift.cta_group::1.down [%r1];", f"{UNKNOWN}tcgen05.shift.cta_group::1.down"),
        # warps
        ("shfl.sync.frob.b32 %r5, %r1, 0, 31, -1;", f"{UNKNOWN}shfl.sync.frob.b32"),
        ("shfl.sync.up.b64 %rd5, %rd3, 0, 31, -1;", f"{UNKNOWN}shfl.sync.up.b64"),
        ("vote.sync.most.pred %p1, %p2, -1;", f"{UNKNOWN}vote.sync.most.pred"),
        ("match.most.sync.b32 %r5, %r1, -1;", f"{UNKNOWN}match.most.sync.b32"),
        ("match.any.sync.b16 %r5, %h1, -1;", f"{UNKNOWN}match.any.sync.b16"),
        ("redux.sync.add.u16 %h1, %h1, -1;", f"{UNKNOWN}redux.sync.add.u16"),
        # branches
        ("L:\nbrx.idx %r1, L;", f"{OPERAND}the label of a .branchtargets list in brx.idx, got L"),
        # asynchronous copies
        ("cp.frob.ca.shared.global [sh], [%rd3], 4;", f"{UNKNOWN}cp.frob.ca.shared.global"),
        ("cp.frob.async.wait_all;", f"{UNKNOWN}cp.frob.async.wait_all"),
        ("cp.async.wait_group %r1;", f"{OPERAND}an integer constant in cp.async.wait_group, got %r1"),
        ("cp.async.ca.shared.global [sh], [%rd3], %r1;", f"{UNKNOWN}cp.async.ca.shared.global"),
        ("cp.async.ca.shared.global [sh], [%rd3], 5;", f"{OPERAND}4, 8 or 16 bytes in cp.async.ca.shared.global, got 5"),
        # matrices
        ("ldmatrix.sync.aligned.m8n8.x3.shared.b16 %r5, [sh];", f"{UNKNOWN}ldmatrix.sync.aligned.m8n8.x3.shared.b16"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, %rd3;",
         f"{OPERAND}an address in brackets in ldmatrix.sync.aligned.m8n8.x1.shared.b16, got %rd3"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r5}, [sh];",
         f"{OPERAND}2 destinations in ldmatrix.sync.aligned.m8n8.x2.shared.b16, got 1"),
        ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [sh], {%r1};",
         f"{OPERAND}2 sources in stmatrix.sync.aligned.m8n8.x2.shared.b16, got 1"),
        ("movmatrix.sync.aligned.m8n8.b16 %r5, %r1;", f"{UNKNOWN}movmatrix.sync.aligned.m8n8.b16"),
        ("mma.sync.aligned.m8n8k4.row.f16.f16.f16.f16 %r5, %r1, %r1, %r1;",
         f"{UNKNOWN}mma.sync.aligned.m8n8k4.row.f16.f16.f16.f16"),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r5}, {%r1, %r1}, {%r1}, {%r1, %r1};",
         f"{OPERAND}2 registers for D in mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16, got 1"),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r5, %r6}, {%r1, %r1}, {%r1}, {%r1, %r1}, %r1;",
         f"{UNKNOWN}mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"),
        # mbarriers
        ("mbarrier.init.frob.shared.b64 [sh], 1;", f"{UNKNOWN}mbarrier.init.frob.shared.b64"),
        ("mbarrier.init.shared.b64 %rd3, 1;", f"{OPERAND}an address in brackets in mbarrier.init.shared.b64, got %rd3"),
        ("mbarrier.init.b64 [%rd1], 1;", f"{UNKNOWN}mbarrier.init.b64 outside of shared memory"),
        # names
        ("call f, ();", "PTX_UNSUPPORTED: expected a function with a body, got f, which this file only declares"),
    ],
)  # fmt: skip
def test_refused(body: str, told: str) -> None:
    assert refused(body, before=".extern .func f();\n").startswith(told)


STATE = ".global .align 4 .u32 word; .const .align 4 .u32 two[2] = {1, 2};\n"


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ("t: .branchtargets L, M;\nadd.u32 %r5, %r1, 1;\nbrx.idx %r5, t;\nL:\nM:", "bad_call", "index 64 of 2 branch targets"),
        ("bar.sync 16;", "bad_call", "barrier 16 of 16"),
        ("mbarrier.init.shared.b64 [sh], 1;\nmbarrier.arrive.shared.b64 %rd5, [sh];\nmbarrier.arrive.shared.b64 %rd5, [sh], 2;",
         "bad_call", "2 arrivals at an mbarrier that waits for 1"),
        ("call big, ();", "stack_overflow", "a stack of more than 16777216 bytes per thread, 1 calls deep"),
        ("ld.global.v4.u64 {%rd5, %rd6, %rd7, %rd8}, [two];", "out_of_bounds",
         "it starts in two and runs over its end (8 bytes)"),
    ],
)  # fmt: skip
def test_stopped(body: str, kind: str, told: str) -> None:
    before = STATE + ".func big() { .local .align 4 .b8 a[20000000]; ret; }\n"
    ran = run(DECLARED + body, before=before, block=64)
    assert (ran.status, ran.findings[-1].kind) == ("fault", kind)
    assert told in ran.findings[-1].message


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("call two_of, (%r1);", "PTX_OPERAND: expected 2 arguments for two_of in call, got 1"),
        ("mov.u64 %rd5, f;", "PTX_UNSUPPORTED: expected the address of a variable or function with a body, got f"),
        (
            "mov.u64 %rd5, sh;\ncvta.shared.u64 %rd5, %rd5;\nsetp.lt.u32 %p1, %r1, 4;\nselp.b64 %rd5, %rd5, %rd1, %p1;\n"
            "ldmatrix.sync.aligned.m8n8.x1.b16 {%r5}, [%rd5];",
            f"{UNKNOWN}ldmatrix.sync.aligned.m8n8.x1.b16 on several memories at once",
        ),
    ],
)
def test_refused_when_it_runs(body: str, told: str) -> None:
    before = ".extern .func f();\n.func two_of(.param .b32 a, .param .b32 b) { ret; }\n"
    assert refused(body, before=before).startswith(told)


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (".global .u32 x[2] = {1, 2, 3};", "expected at most 8 bytes of initial values for x, got more"),
        (".global .u64 x = f;", "expected a variable or function with a body in the initial value of x, got f"),
        (".global .u32 x[2] = {{1}, {a = 2}};", "expected a constant or an address as an initial value of x, got a"),
        (".global .u32 x = !f;", "expected a constant or an address as an initial value of x, got !f"),
    ],
)
def test_initial_values(declared: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        run("ld.global.u32 %r5, [x];", before=".extern .func f();\n" + declared)
    assert caught.value.diagnostics[0].message.startswith(told)


@pytest.mark.parametrize(
    ("symbols", "told"),
    [
        (
            {"nothing": np.zeros(1, np.uint32)},
            "expected a .const or .global variable of the module, got nothing; it has: word, two",
        ),
        ({"two": np.zeros(1, np.uint32)}, "expected 8 bytes for two, got 4"),
        ({"two": np.zeros(3, np.uint32)}, "expected 8 bytes for two, got 12"),
    ],
)
def test_contents_of_variables(symbols: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as caught:
        launch(kernel("", before=STATE), grid=1, block=1, args=[np.zeros(1)], symbols=symbols)
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].message) == ("LAUNCH_SYMBOL", told)


@pytest.mark.parametrize(
    ("grid", "block", "directive", "told"),
    [
        ((1, 65536), 1, "", "expected a grid of at most (2147483647, 65535, 65535) for k, got (1, 65536, 1)"),
        (1, (1, 1, 65), "", "expected a block of at most (1024, 1024, 64) for k, got (1, 1, 65)"),
        ((2**28 + 1,), 1, "", "expected a grid of at most 268435456 blocks for k, got 268435457"),
        (1, (64, 32), "", "expected at most 1024 threads in a block of k, got 2048"),
        (1, 65, ".maxntid 64, 1, 1", "expected at most 64 threads in a block of k, got 65"),
        (1, 64, ".reqntid 32", "expected blocks of (32,) threads (.reqntid of k), got (64, 1, 1)"),
    ],
)
def test_shapes(grid: int | tuple[int, ...], block: int | tuple[int, ...], directive: str, told: str) -> None:
    text = f"{HEADER}.visible .entry k() {directive} {{ ret; }}"
    with pytest.raises((UserError, UnsupportedError)) as caught:
        launch(text, grid=grid, block=block, args=[], limit=1)  # ends at once where it is not refused
    assert caught.value.diagnostics[0].message == told


@pytest.mark.parametrize(
    ("declared", "value", "told"),
    [
        (".u32 n", np.float32(1), "a float32"),
        (".b32 n", np.complex64(1), "a complex64"),
        (".align 4 .b8 n[8]", np.int32(1), "a int32"),
        (".align 4 .b8 n[8]", 1, "the number 1"),
        (".u64 n", np.array([None]), "an array of object"),
        (".f32 n", np.zeros(2), "an array of float64"),
        (".u32 n", 1.5, "the number 1.5"),
        (".u32 n", 2**32, "the number 4294967296"),
        (".u32 n", -(2**31) - 1, "the number -2147483649"),
        (".u32 n", b"abc", "3 bytes"),
    ],
)
def test_arguments(declared: str, value: Any, told: str) -> None:
    with pytest.raises(UserError) as caught:
        launch(f"{HEADER}.visible .entry k(.param {declared}) {{ ret; }}", grid=1, block=1, args=[value])
    assert caught.value.diagnostics[0].message.endswith(f"got {told}")
