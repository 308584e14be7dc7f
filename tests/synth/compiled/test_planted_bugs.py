"""Bugs planted in PTX are reported with the element that differs or the accesses that race."""

import pytest
from tests.synth.compiled.programs import (
    SECOND_DIFFERENCE,
    TURNED_ARGUMENTS,
    TURNED_ROUND,
    difference_arguments,
    line_of,
    planted,
    proved,
    second_difference,
    turned_round,
)


@pytest.mark.parametrize(("n", "blocks", "threads"), [(64, 1, 64), (100, 2, 64), (33, 3, 16), (5, 1, 48), (70, 2, 40)])
def test_right_stencil_is_proved(n: int, blocks: int, threads: int) -> None:
    proof = proved(SECOND_DIFFERENCE, second_difference, difference_arguments(n), blocks, threads)
    assert (proof.verdict, proof.domain) == ("proved", "real sums reordered, activemask: threads together or alone")


def test_right_exchange_is_proved() -> None:
    proof = proved(TURNED_ROUND, turned_round, TURNED_ARGUMENTS, 1, 64)
    assert (proof.verdict, proof.domain) == ("proved", "real sums reordered")


@pytest.mark.parametrize(
    ("old", "new", "index", "found"),
    [
        ("shfl.sync.up.b32 %f2|%p4, %f1, 1,", "shfl.sync.up.b32 %f2|%p4, %f1, 2,", 2, "a shuffle from lane 0"),
        ("shfl.sync.down.b32 %f3|%p5, %f1, 1,", "shfl.sync.down.b32 %f3|%p5, %f1, 3,", 1, "a[4]"),
        ("sub.f32 %f4, %f3, %f1", "sub.f32 %f4, %f1, %f3", 1, "-a[2]"),
        ("sub.f32 %f6, %f4, %f5", "add.f32 %f6, %f4, %f5", 1, "-a[0] + a[2]"),
    ],
)
def test_wrong_lane_or_operand(old: str, new: str, index: int, found: str) -> None:
    text = planted(SECOND_DIFFERENCE, old, new)
    proof = proved(text, second_difference, difference_arguments(64), 1, 64)
    assert proof.verdict == "refuted" and proof.difference is not None
    assert (proof.difference.array, proof.difference.index) == ("out", (index,))
    assert proof.difference.line == line_of(text, "st.global.f32")
    assert found in proof.difference.found
    assert proof.difference.expected == f"-2*a[{index}] + a[{index - 1}] + a[{index + 1}]"


def test_guard_that_lets_an_undefined_lane_through() -> None:
    text = planted(SECOND_DIFFERENCE, "and.pred %p4, %p4, %p6", "or.pred %p4, %p4, %p6")
    proof = proved(text, second_difference, difference_arguments(40), 2, 32)
    assert proof.verdict == "refuted" and proof.difference is not None
    assert proof.difference.index == (1,)
    assert proof.difference.found.startswith("the undefined value of a shuffle from lane 0, which takes no part in it (line")


def test_another_right_guard_is_proved() -> None:
    """Lane 31 has a left neighbour, so the guard of the right one is right for both."""
    text = planted(SECOND_DIFFERENCE, "@!%p4 ld.global.nc.f32 %f2", "@%p5 ld.global.nc.f32 %f2")
    assert proved(text, second_difference, difference_arguments(64), 1, 64).verdict == "proved"


def test_dropped_guard_stores_too_much() -> None:
    text = planted(SECOND_DIFFERENCE, "\t@%p3 bra $done;\n", "")
    proof = proved(text, second_difference, difference_arguments(64), 1, 64)
    assert proof.verdict == "refuted" and proof.fault is not None
    assert proof.fault.kind == "out of bounds"
    assert proof.fault.span.line == line_of(text, "ld.global.nc.f32 %f2, [%rd4+-4]")
    assert proof.fault.accesses[0].thread == (0, 0, 0)


def test_half_a_guard_leaves_a_difference() -> None:
    text = planted(SECOND_DIFFERENCE, "@%p3 bra", "@%p2 bra")
    proof = proved(text, second_difference, (difference_arguments(64)), 1, 64)
    assert proof.verdict == "refuted" and proof.fault is not None and proof.fault.element == "a"


def test_dropped_predicate_of_a_load() -> None:
    text = planted(SECOND_DIFFERENCE, "@!%p5 ld.global.nc.f32 %f3, [%rd4+4];", "")
    proof = proved(text, second_difference, difference_arguments(64), 1, 64)
    assert proof.verdict == "refuted" and proof.difference is not None
    assert proof.difference.index == (31,)


def test_missing_barrier_is_a_race() -> None:
    text = planted(TURNED_ROUND, "\tbar.sync 0;\n", "")
    proof = proved(text, turned_round, TURNED_ARGUMENTS, 1, 64)
    assert proof.verdict == "refuted" and proof.fault is not None and proof.fault.kind == "race"
    store, load = proof.fault.accesses
    assert (store.what, store.line) == ("store", line_of(text, "st.shared.f32"))
    assert (load.what, load.line) == ("load", line_of(text, "ld.shared.f32"))
    assert store.thread[0] == 63 - load.thread[0]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("fma.rn.f32 %f4, %f3, %f1, %f2", "fma.rn.f32 %f4, %f3, %f2, %f1", "a[0]*a[63] + scale"),
        ("fma.rn.f32 %f4, %f3, %f1, %f2", "fma.rn.f32 %f4, %f2, %f1, %f3", "a[0]*scale + a[63]"),
        ("sub.s32 %r5, 252, %r2", "sub.s32 %r5, 248, %r2", ""),
    ],
)
def test_swapped_operands(old: str, new: str, found: str) -> None:
    text = planted(TURNED_ROUND, old, new)
    proof = proved(text, turned_round, TURNED_ARGUMENTS, 1, 64)
    assert proof.verdict == "refuted"
    if found:
        assert proof.difference is not None and proof.difference.index == (0,)
        assert proof.difference.found == found
    else:
        assert proof.fault is not None and proof.fault.kind == "out of bounds"


def test_guarded_barrier_is_not_followed_and_divergent_one_is_a_fault() -> None:
    divergent = planted(
        TURNED_ROUND,
        "\tbar.sync 0;\n",
        "\tsetp.lt.u32 %q, %r1, 5;\n\t@%q bra $other;\n\tbar.sync 0;\n\tbra $on;\n$other:\n\tbar.sync 0;\n$on:\n",
    )
    divergent = planted(divergent, "\t.reg .b32 %r<9>;\n", "\t.reg .b32 %r<9>;\n\t.reg .pred %q;\n")
    proof = proved(divergent, turned_round, TURNED_ARGUMENTS, 1, 64)
    assert proof.fault is not None and proof.fault.kind == "barrier"


def test_skipped_barrier_leaves_threads_waiting_or_races() -> None:
    text = planted(TURNED_ROUND, "\tbar.sync 0;\n", "\tsetp.lt.u32 %q, %r1, 32;\n\t@%q bra $on;\n\tbar.sync 0;\n$on:\n")
    text = planted(text, "\t.reg .b32 %r<9>;\n", "\t.reg .b32 %r<9>;\n\t.reg .pred %q;\n")
    proof = proved(text, turned_round, TURNED_ARGUMENTS, 1, 64)
    assert proof.verdict == "refuted" and proof.fault is not None


def test_store_that_the_spec_does_not_make() -> None:
    text = planted(TURNED_ROUND, "\tret;", "\tadd.s64 %rd6, %rd5, 256;\n\tst.global.f32 [%rd6], %f2;\n\tret;")
    longer = (TURNED_ARGUMENTS[0].__class__("out", TURNED_ARGUMENTS[0].dtype, (128,)), *TURNED_ARGUMENTS[1:])
    proof = proved(text, turned_round, longer, 1, 64)
    assert proof.verdict == "refuted" and proof.difference is not None
    assert proof.difference.index == (64,)
    assert proof.difference.expected == "out[64] (its content before: the spec does not store it)"
    assert proof.difference.line == line_of(text, "st.global.f32 [%rd6]")


def test_store_that_is_missing() -> None:
    text = planted(TURNED_ROUND, "\tst.global.f32 [%rd5], %f4;\n", "")
    proof = proved(text, turned_round, TURNED_ARGUMENTS, 1, 64)
    assert proof.verdict == "refuted" and proof.difference is not None
    assert (proof.difference.index, proof.difference.line) == ((0,), None)
    assert proof.difference.found == "out[0] (its content before: nothing is stored here)"
