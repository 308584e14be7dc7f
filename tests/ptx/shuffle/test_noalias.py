"""`noalias`: plain stores through another pointer parameter stand between a load and its source, and the report names them."""

from __future__ import annotations

import pytest
from tests.ptx.shuffle.kernels import arguments, kernel
from tests.ptx.shuffle.same import differences, report, rewritten
from tests.ptx.shuffle.test_wrap import narrow

import warploom as wl
from warploom.ptx.shuffle import KernelReport, ShuffleOptions, apply_all, apply_none

OPTIONS = ShuffleOptions(policy=apply_all, noalias=True)
BODY = """
ld.global.f32 %f1, [%rd5];
{store}
ld.global.f32 %f2, [%rd5+{offset}];
sub.f32 %f3, %f1, %f2;
st.global.f32 [%rd6], %f3;
"""
OTHER = "st.global.f32 [%rd6+64], %f1;"


def found(store: str, offset: int = 0) -> KernelReport:
    return report(kernel(BODY.format(store=store, offset=offset)), OPTIONS)


@pytest.mark.parametrize("offset", [0, 4])
def test_a_store_through_another_parameter_is_passed_over(offset: int) -> None:
    text = kernel(BODY.format(store=OTHER, offset=offset))
    (only,) = report(text, OPTIONS).candidates
    assert (only.stores, only.assumed) == (0, ("the store in line 42 through p_out leaves what is behind p_in alone",))
    new = rewritten(text, OPTIONS)
    assert new.reports[0].json()["domain"] == "launches of arrays that do not overlap where one is written (noalias)"
    assert not differences(text, new.text, (2, 1, 1), (48, 1, 1), arguments((48, 1, 1)))
    # Without the option the same thread tests, and another lane's value is not taken.
    plain = report(text)
    assert [c.stores for c in plain.candidates] == ([1] if offset == 0 else [])
    assert "domain" not in plain.json()


@pytest.mark.parametrize(
    "store",
    [
        "st.global.f32 [%rd5+64], %f1;",
        "st.volatile.global.f32 [%rd6+64], %f1;",
        "st.f32 [%rd6+64], %f1;",
        "red.global.add.f32 [%rd6+64], %f1;",
        "add.s64 %rd9, %rd1, %rd2; st.global.f32 [%rd9], %f1;",
        "cvt.u64.u32 %rd9, %r20; st.global.f32 [%rd9], %f1;",
    ],
    ids=["same-array", "volatile", "generic", "atomic", "two-pointers", "no-pointer"],
)
def test_other_writes_keep_the_load_of_another_lane(store: str) -> None:
    assert not found(store, 4).candidates


def test_what_is_read_at_a_place_of_its_own_has_no_pointer() -> None:
    body = (
        BODY.format(store=OTHER, offset=4).replace("%rd5", "%rd9").replace("ld.global", "add.s64 %rd9, %rd5, %rd2; ld.global", 1)
    )
    assert not report(kernel(body), OPTIONS).candidates


def test_a_wrap_that_is_assumed_is_named_beside() -> None:
    text = narrow(is_signed=True, delta=1).replace("ld.global.f32 %f2", f"{OTHER} ld.global.f32 %f2")
    made = report(text, ShuffleOptions(policy=apply_all, noalias=True, assume_nsw=True))
    assert made.domain == (
        "launches of arrays that do not overlap where one is written (noalias), in which no signed index wraps (nsw)"
    )


VECTORS = ShuffleOptions(policy=apply_none, vectors=True, assume_aligned=True, noalias=True)
ADJACENT = """
ld.global.f32 %f1, [%rd{place}];
{store}
ld.global.f32 %f2, [%rd{place}+4];
sub.f32 %f3, %f1, %f2;
st.global.f32 [%rd6], %f3;
"""


def adjacent(store: str) -> str:
    return kernel("shl.b64 %rd7, %rd4, 1;\nadd.s64 %rd8, %rd1, %rd7;" + ADJACENT.format(store=store, place=8))


def test_a_vector_passes_over_a_store_through_another_parameter() -> None:
    text = adjacent(OTHER)
    made = rewritten(text, VECTORS)
    (only,) = made.reports[0].vectors
    assert only.untouched == ("the store in line 44 through p_out leaves what is behind p_in alone",)
    assert only.json()["untouched"] == list(only.untouched)
    assert made.reports[0].domain == (
        "launches of arrays that do not overlap where one is written (noalias), of arrays at multiples of 16 bytes (aligned)"
    )
    assert not differences(text, made.text, (2, 1, 1), (48, 1, 1), arguments((48, 1, 1)))
    assert not rewritten(text, ShuffleOptions(policy=apply_none, vectors=True)).reports[0].vectors
    from_python = wl.shuffle_ptx(text, policy="none", vectors=True, assume=["aligned", "noalias"])
    assert from_python.reports[0].vectors[0].untouched == only.untouched
    assert not wl.shuffle_ptx(text, policy="none", vectors=True, assume="aligned").reports[0].vectors


@pytest.mark.parametrize("store", ["st.global.f32 [%rd8+64], %f1;", "red.global.add.f32 [%rd6+64], %f1;", "bar.sync 0;"])
def test_other_writes_between_adjacent_loads_keep_them_apart(store: str) -> None:
    assert not rewritten(adjacent(store), VECTORS).reports[0].vectors
