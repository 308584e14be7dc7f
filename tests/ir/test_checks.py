"""Findings of the interpreter: races, undefined and out-of-bounds elements, divergent barriers, inactive lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warploom.ir as ir
from warploom.ir.kernel import interp

HEAD = """
@kernel(block=(8, 1, 1), grid=(2, 1, 1), warp_size=8)
def k(x: Global[i32, 16], y: Global[i32, 16] | inout, z: Global[i32, 16] | out):
    s = shared(i32, 8)
    r = register(i32, 4)
    g = block_id * 8 + thread_id
"""


def findings(body, **options):
    text = HEAD + "".join(f"    {line}\n" for line in body)
    x = np.arange(16, dtype=np.int32)
    return ir.run(ir.parse_kernel(text, "k"), {"x": x, "y": x}, **options).diagnostics


def codes(*body, **options):
    return [d.code for d in findings(body, **options)]


def test_a_clean_kernel_has_no_findings():
    body = ["s[thread_id] = x[g]", "sync()", "y[g] = s[7 - thread_id]", "sync()", "s[7 - thread_id] = x[g]"]
    assert codes(*body) == []
    body[-1] = "s[0 if thread_id == 3 else thread_id] = x[g]"
    assert codes(*body) == ["RACE"]


def test_a_missing_barrier_is_reported_with_both_places_and_the_fix():
    (found,) = findings(["s[thread_id] = x[g]", "y[g] = s[7 - thread_id]"])
    assert found.code == "RACE"
    assert found.span.line == 8
    assert found.notes[0][1].line == 7
    assert found.fix == "insert sync() between the two accesses"
    assert found.message.startswith("the read of s[7] by block 0, thread 0 races with the store by block 0, thread 7: no barrier")


@pytest.mark.parametrize(
    "body",
    [
        ["s[thread_id] = x[g]", "v: i32 = s[thread_id]", "s[7 - thread_id] = v"],  # read, then another thread's write
        ["s[thread_id // 2] = x[g]"],  # two writers in one statement
        ["s[3] = x[g]"],
        [
            "if thread_id == 7:",
            "    s[0] = x[g]",
            "sync()",
            "z[g] = s[0]",
            "if thread_id == 7:",
            "    s[0] = x[g]",
        ],  # a reader writes
        ["s[thread_id] = x[g]", "if thread_id == 2:", "    s[3] = i32(0)"],
        [
            "for k in range(2):",
            "    s[thread_id] = x[g]",
            "    sync()",
            "    y[g] = s[7 - thread_id]",
        ],
        ["y[block_id * 8 + 7 - thread_id] = y[g]"],  # global memory inside a block
    ],
)
def test_races_inside_a_block(body):
    found = findings(body)
    assert {d.code for d in found} == {"RACE"}
    assert all(d.fix == "insert sync() between the two accesses" for d in found)
    assert codes(*body, check_races=False) == []


@pytest.mark.parametrize(
    "body",
    [
        ["z[thread_id] = x[g]"],  # two blocks write one element
        ["sync()", "z[15 - thread_id] = x[g]", "sync()"],
        ["v: i32 = y[15 - g]", "sync()", "y[g] = v"],  # the other block may have written it
        ["y[g] = x[g]", "sync()", "z[g] = y[15 - g]"],
    ],
)
@pytest.mark.parametrize("chunk", [8, 65536])
def test_no_barrier_orders_two_blocks(body, chunk, monkeypatch):
    monkeypatch.setattr(interp, "CHUNK_THREADS", chunk)
    found = findings(body)
    assert {(d.code, d.fix) for d in found} == {("RACE", "let one block own each element")}


def test_barriers_order_global_memory_inside_a_block():
    assert codes("y[g] = x[g]", "sync()", "z[g] = y[block_id * 8 + 7 - thread_id]") == []


def test_a_barrier_of_some_blocks_orders_only_those():
    body = ["s[thread_id] = x[g]", "if block_id == 1:", "    sync()", "z[g] = s[7 - thread_id]"]
    (found,) = findings(body)
    assert found.code == "RACE"
    assert "by block 0, thread 0 races" in found.message
    body = ["y[g] = x[g]", "if block_id == 0:", "    sync()", "z[g] = y[block_id * 8 + 7 - thread_id]"]
    (found,) = findings(body)
    assert "by block 1, thread 0 races" in found.message


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.just(None), st.tuples(st.booleans(), st.lists(st.integers(0, 3), min_size=3, max_size=3), st.integers(1, 7))
        ),
        max_size=6,
    )
)
def test_a_race_is_found_exactly_when_there_is_one(accesses):
    """Random stores and reads by three threads, against the definition over all pairs."""
    lines, events, interval = [], [], 0
    for access in accesses:
        if access is None:
            lines.append("sync()")
            interval += 1
            continue
        is_store, places, active = access
        index = f"{places[0]} if thread_id == 0 else {places[1]} if thread_id == 1 else {places[2]}"
        lines += [f"if {active} >> thread_id & 1:", f"    s[{index}] = i32(1)" if is_store else f"    v: i32 = s[{index}]"]
        events += [(interval, t, places[t], is_store) for t in range(3) if active >> t & 1]
    expected = any(
        a[0] == b[0] and a[1] != b[1] and a[2] == b[2] and (a[3] or b[3]) for i, a in enumerate(events) for b in events[:i]
    )
    text = "@kernel(block=(3, 1, 1), grid=(2, 1, 1), warp_size=4)\ndef k():\n    s = shared(i32, 4)\n    v: i32 = i32(0)\n"
    result = ir.run(ir.parse_kernel(text + "".join(f"    {line}\n" for line in lines)), {})
    assert ("RACE" in {d.code for d in result.diagnostics}) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (["z[g] = x[g + 1]"], "expected an index of x[16], got [16] (block 1, thread 7)"),
        (["z[g] = x[g - 1]"], "expected an index of x[16], got [-1] (block 0, thread 0)"),
        (["z[g + 2] = x[g]"], "expected an index of z[16], got [16] (block 1, thread 6)"),
        (["s[thread_id * 2] = x[g]"], "expected an index of s[8], got [8] (block 0, thread 4)"),
        (["r[4] = x[g]"], "expected an index of r[4], got [4] (block 0, thread 0)"),
        (["if block_id == 1:", "    z[g] = x[20]"], "expected an index of x[16], got [20] (block 1, thread 0)"),
    ],
)
def test_out_of_bounds(body, message):
    (found,) = findings(body)
    assert (found.code, found.message) == ("OUT_OF_BOUNDS", message)
    assert found.span.line == 6 + len(body)


def test_masked_accesses_may_be_out_of_bounds():
    assert codes("z[g] = x[g + 1] if g < 15 else i32(0)", "if g > 15:", "    z[g + 99] = x[99]") == []


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (["z[g] = r[2]"], "r"),
        (["if thread_id < 4:", "    r[0] = x[g]", "z[g] = r[0]"], "r"),
        (["r[thread_id % 2] = x[g]", "z[g] = r[0]"], "r"),
        (["z[g] = s[thread_id]"], "s"),
        (["if thread_id > 0:", "    s[thread_id] = x[g]", "sync()", "z[g] = s[thread_id]"], "s"),
        (["if thread_id > 0:", "    v: i32 = x[g]", "z[g] = v"], "v"),
        (["if thread_id > 0:", "    i = 1", "z[g] = x[i]"], "i"),
        (["if thread_id < 0:", "    v: i32 = x[g]", "z[g] = v"], "v"),
    ],
)
def test_undefined_elements(body, name):
    found = findings(body)
    assert {d.code for d in found} == {"UNDEFINED_READ"}
    assert f" {name} is read before" in found[0].message
    assert found[0].span.line == 6 + len(body)


def test_defined_elements_are_not_reported():
    assert (
        codes("r[thread_id % 2] = x[g]", "z[g] = r[thread_id % 2]", "if thread_id < 4:", "    v: i32 = x[g]", "    z[g] = v")
        == []
    )


@pytest.mark.parametrize(
    "body",
    [
        ["v: i32 = i32(0)", "if thread_id < 4:", "    v: i32 = shfl(x[g], thread_id + 1, 8)"],
        ["z[g] = shfl(x[g], 5, 8) if thread_id < 4 else i32(0)"],
        ["v: i32 = i32(0)", "if block_id == 0 and thread_id != 0:", "    v: i32 = shfl_up(x[g], 1, 8)"],
    ],
)
def test_a_shuffle_from_an_inactive_lane(body):
    (found,) = findings(body)
    assert found.code == "SHUFFLE_INACTIVE"
    assert found.fix == "move the shuffle out of the condition"


def test_shuffles_among_active_lanes_are_fine():
    assert codes("if thread_id < 4:", "    v: i32 = shfl(x[g], 3 - thread_id, 8)", "    z[g] = shfl_xor(v, 1, 8)") == []


def test_a_partial_warp_has_no_lanes_beyond_its_threads():
    text = """
@kernel(block=(6, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(y: Global[i32, 6] | out):
    y[thread_id] = shfl(from_index(i32, thread_id), {}, 4)
"""
    assert [d.code for d in ir.run(ir.parse_kernel(text.format("2")), {}).diagnostics] == ["SHUFFLE_INACTIVE"]
    result = ir.run(ir.parse_kernel(text.format("1 - thread_id % 2")), {})
    assert not result.diagnostics
    assert result.arrays["y"].tolist() == [1, 0, 1, 0, 5, 4]


def test_a_barrier_that_a_block_diverges_on():
    """`verify` refuses the plain form; one that slips through in a completed condition is caught while running."""
    kernel = ir.parse_kernel(HEAD + "    if block_id == 1:\n        sync()\n")
    assert not ir.run(kernel, {"x": np.zeros(16, np.int32), "y": np.zeros(16, np.int32)}).diagnostics
    machine = interp.KernelRun(kernel, {}, {}, ir.MachineArithmetic(), interp.Findings(kernel), (2, 1, 1), 0, 2, True)
    test = ir.Compare("<", ir.Builtin("thread_id", 0), ir.IndexConst(4))
    machine._body((ir.If(test, (ir.Sync(),)),), None)
    (found,) = machine.findings.diagnostics.values()
    assert found.code == "DIVERGENT_SYNC"
    assert "(block 0, thread 4)" in found.message


def test_arithmetic_errors_are_reported_for_active_threads_only():
    assert codes("z[g] = i32(5) / x[g]") == ["DIVISION_BY_ZERO"]
    assert codes("z[g] = i32(5) / x[g] if g > 0 else i32(0)") == []
    assert codes("i = 5 // thread_id") == ["INDEX_DIVISION_BY_ZERO"]
    assert codes("i = 1 if thread_id == 0 else 5 // thread_id", "j = thread_id != 0 and 5 // thread_id") == []
    assert codes("i = 5 // thread_id if thread_id > 0 else 1", "j = thread_id == 0 or 4 % thread_id == 1") == []


def test_one_finding_per_place_however_often_it_happens():
    assert codes("for i in range(5):", "    z[g] = x[g + i]") == ["OUT_OF_BOUNDS"]


def test_coordinates_are_named_where_there_is_more_than_one_axis():
    text = """
@kernel(block=(2, 4, 1), grid=(1, 3, 1), warp_size=8)
def k(y: Global[i32, 5] | out):
    if thread_id("y") == 3 and block_id("y") == 2:
        y[thread_id + 5] = i32(1)
"""
    (found,) = ir.run(ir.parse_kernel(text), {}).diagnostics
    assert found.message == "expected an index of y[5], got [5] (block (0, 2, 0), thread (0, 3, 0))"
