"""Notes of `lint`: each where it holds, and not in a twin in which it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tools.lint.test_lint import COMPILED, kernel, linted, rules

from warploom.ptx import lower, parse
from warploom.tools.lint.advice import idle_barriers
from warploom.tools.lint.resources import occupancy_text

RUN = ("--json", "--launch", "1", "32", "--arg", "zeros:i32:64")
OWN = "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2;"


@pytest.fixture(autouse=True)
def no_ptxas(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "ptxas" not in request.node.name:
        monkeypatch.setattr("warploom.tools.lint.launched.resources", lambda *_: [])


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("red.global.add.f32 [%rd1], 0f3F800000;", ["WL202"]),
        ("red.global.add.u32 [%rd1], 1;", []),
        ("atom.global.max.u32 %r1, [%rd1], 1;", []),
        ("setp.eq.u64 %p1, %rd1, 0; @%p1 bra E;\nbra F;\nE: red.global.add.f32 [%rd1], 0f3F800000;\nF:", []),
        ("st.global.u32 [%rd1], 7;", ["WL203"]),
        ("mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], 7;", []),
    ],
)
def test_notes_of_what_runs(tmp_path: Path, body: str, found: list[str]) -> None:
    result = linted(*RUN, file=kernel(tmp_path, body))
    assert rules(result) == found and result.exit_code == 0


WRITE, READ = "st.shared.u32 [%r4], %r1;", "ld.shared.u32 %r5, [%r4];"


@pytest.mark.parametrize(
    ("body", "idle"),
    [
        (f"{WRITE} bar.sync 0; {READ}", 0),
        (f"{READ} bar.sync 0; {WRITE}", 0),
        (f"{READ} bar.sync 0; {READ}", 1),
        (f"{WRITE} bar.sync 0; ld.global.u32 %r5, [%rd1];", 1),
        (f"{WRITE} bar.sync 0; ld.u32 %r5, [%rd1];", 0),
        (f"{WRITE} bar.sync 0; bar.sync 0; {READ}", 1),
        (f"{WRITE} bar.sync 0; fence.acq_rel.gpu;", 0),
        (f"{WRITE} bar.sync 0; bar.warp.sync -1; {READ}", 0),
        (f"{READ} bar.sync 0;", 1),
        (f"L: {READ} bar.sync 0; setp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;\n{WRITE}", 0),
        (f"L: {WRITE} bar.sync 0; setp.eq.u32 %p1, %r5, 0;\n@%p1 bra L;", 0),
        (f"{WRITE} bar.arrive 1, 64; {READ}", 0),
        (f"{WRITE} bar.arrive 1, 64; bar.sync 0; {READ}", 0),
        (f"{WRITE} bar.sync 1, 64; bar.sync 0; {READ}", 0),
        (f"{WRITE} @%p1 bar.sync 0; bar.sync 0; {READ}", 0),
        (f"{WRITE} bar.red.popc.u32 %r5, 0, %p1; bar.sync 0; {READ}", 0),
        (f"{WRITE} bar.sync %r1; bar.sync 0; {READ}", 0),
        (f"@%p1 bra L;\n{WRITE} bar.sync 0; bra M;\nL: bar.sync 0; {READ}\nM:", 0),
        (f"@%p1 bra L;\n{WRITE} bar.sync 0; bra M;\nL: bar.sync 0;\nM:", 2),
        (f"{WRITE} bar.sync 0; st.local.u32 [%r4], %r1;", 1),
    ],
)
def test_barriers_that_order_nothing(tmp_path: Path, body: str, idle: int) -> None:
    program = lower(parse(kernel(tmp_path, f"{OWN}\n{body}").read_text(), "k.ptx"))
    assert len(list(idle_barriers(program.routines["k"]))) == idle


def test_an_idle_barrier_has_its_line(tmp_path: Path) -> None:
    assert rules(linted(*RUN, file=kernel(tmp_path, f"{OWN}\n{WRITE}\nbar.sync 0;\n{READ}"))) == []
    result = linted(*RUN, file=kernel(tmp_path, f"{OWN}\n{WRITE}\nbar.sync 0;"))
    assert rules(result) == ["WL201"] and '"line": 10' in result.stdout


def test_what_keeps_warps_from_a_multiprocessor() -> None:
    assert occupancy_text("sm_90", 32, 0, 256) == "" and occupancy_text("nothing", 255, 0, 256) == ""
    assert occupancy_text("sm_90", 255, 0, 256).endswith("because of 255 registers of each thread")
    told = "2 of 64 warps fit on a multiprocessor of sm_90, because of 200,000 bytes of shared memory of each block"
    assert occupancy_text("sm_90", 32, 200_000, 64) == told


@COMPILED
def test_local_memory_and_occupancy_are_what_ptxas_says(tmp_path: Path) -> None:
    body = f"{OWN} .local .align 4 .b8 own[64]; mov.u32 %r5, own; and.b32 %r6, %r2, 60; add.u32 %r5, %r5, %r6;"
    body += "st.local.u32 [%r5], %r1; ld.local.u32 %r7, [own]; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], %r7;"
    assert "WL105" in rules(linted(*RUN, file=kernel(tmp_path, body)))
    plain = kernel(tmp_path, "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], %r1;")
    assert rules(linted(*RUN, file=plain)) == []
    assert rules(linted(*RUN, "--shared", "60000", file=plain)) == ["WL104"]


def test_loads_that_neighbours_repeat(tmp_path: Path) -> None:
    head = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd2, %rd1; ld.global.nc.u32 %r2, [%rd2];\n"
    tail = " add.u32 %r4, %r2, %r3; st.global.u32 [%rd2+256], %r4;"
    path = kernel(tmp_path, f"{head}ld.global.nc.u32 %r3, [%rd2+4];{tail}")
    run = (*RUN[:-1], "zeros:i32:128")
    assert rules(linted(*run, file=path)) == []
    assert rules(linted(*run, "--repeated-loads", file=path)) == ["WL106"]
    path = kernel(tmp_path, f"{head}ld.global.nc.u32 %r3, [%rd2+200];{tail}")
    assert rules(linted(*run, "--repeated-loads", file=path)) == []


def test_a_barrier_of_an_unrolled_loop_is_idle_in_all_rounds_or_not(tmp_path: Path) -> None:
    text = kernel(tmp_path, f"{OWN}\n.loc 1 7 1\nbar.sync 0;\n.loc 1 8 1\n{WRITE}\n.loc 1 7 1\nbar.sync 0;\n{READ}")
    text.write_text(text.read_text() + '.file 1 "k.cu"\n')
    assert rules(linted(*RUN, file=text)) == []
