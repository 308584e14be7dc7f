"""Wavefronts and sectors against sets and dictionaries, and against the count of the PTX interpreter."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.machines.banks import lines, passes, wavefronts
from warploom.ptx.simt.counts import _sectors, _wavefronts
from warploom.ptx.simt.threads import WarpLayout


def passes_by_hand(lanes, size):
    """Passes of one warp of (place, is active): sets of words by bank, group by group."""
    group = 32 // max(1, size // 4)
    for step in (1, 2):
        pairs = [(lanes[n], lanes[n ^ step]) for n in range(32)]
        if size > 4 and all(one[0] == two[0] or not (one[1] and two[1]) for one, two in pairs):
            group = 64 // (size // 4)
            break
    total = 0
    for start in range(0, 32, group):
        banks = defaultdict(set)
        for place, on in lanes[start : start + group]:
            for byte in range(place * size, (place + 1) * size if on else 0):
                banks[byte // 4 % 32].add(byte // 4)
        total += max((len(words) for words in banks.values()), default=0)
    return total


PLACES = st.integers(0, 200)
LANES = st.one_of(
    st.lists(st.tuples(PLACES, st.booleans()), min_size=32, max_size=32),
    st.lists(st.tuples(PLACES, st.booleans()), min_size=16, max_size=16).map(lambda few: [x for x in few for _ in range(2)]),
    st.lists(st.tuples(PLACES, st.booleans()), min_size=16, max_size=16).map(
        lambda few: [few[n // 4 * 2 + n % 2] for n in range(32)]
    ),
)


@settings(max_examples=100, deadline=None)
@given(LANES, st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_counts_against_sets(lanes, size):
    addresses = np.array([[place * size for place, _ in lanes]] * 2)
    active = np.array([[on for _, on in lanes]] * 2)
    touched = {place * size // 32 for place, on in lanes if on}
    assert lines(addresses, active) == 2 * len(touched)
    parts = [([(2 * place + half, on) for place, on in lanes], 16) for half in range(2)] if size == 32 else [(lanes, size)]
    assert wavefronts(addresses, active, size) == 2 * sum(passes_by_hand(part, each) for part, each in parts)


@pytest.mark.parametrize(
    ("places", "size", "expected"),
    [
        ([7] * 32, 4, 1), ([7] * 32, 8, 1), ([7] * 32, 16, 2), (list(range(32)), 8, 2), (list(range(32)), 16, 4),
        ([n // 2 for n in range(32)], 16, 2), ([n // 4 * 2 + n % 2 for n in range(32)], 16, 2),
        ([n % 8 for n in range(32)], 16, 4), ([n // 8 for n in range(32)], 16, 2), ([n // 16 * 16 for n in range(32)], 8, 2),
    ],
)  # fmt: skip
def test_wide_accesses_by_hand(places, size, expected):
    """An explored matrix product reads columns as [n // 8]: NVIDIA says 2 requests of 16 bytes where pairs agree, not 4."""
    addresses = np.array([places]) * size
    assert wavefronts(addresses, np.ones((1, 32), bool), size) == expected
    assert _wavefronts(WarpLayout(np.arange(32)), addresses[0], size) == expected


@settings(max_examples=60, deadline=None)
@given(LANES, LANES, st.sampled_from([1, 2, 4, 8, 16]))
def test_the_interpreter_of_ptx_counts_the_same(first, second, size):
    lanes = [*first, *second]
    places = np.array([place for place, _ in lanes])
    active = np.array([on for _, on in lanes])
    threads = np.flatnonzero(active)
    if not len(threads):
        return
    layout = WarpLayout(threads)
    rows = places.reshape(2, 32), active.reshape(2, 32)
    assert wavefronts(rows[0] * size, rows[1], size) == _wavefronts(layout, places[threads] * size, size).sum()
    assert lines(rows[0] * size, rows[1]) == _sectors(layout, places[threads], size)


def test_lines_that_a_lane_straddles():
    addresses, active = np.array([[-4, 60, 1000]]), np.array([[True, True, False]])
    assert lines(addresses, active, 8, 32) == 4
    assert lines(addresses, active, 4, 32) == 2
    assert lines(addresses, active, 130, 64) == 4
    assert lines(addresses, np.zeros((1, 3), bool), 8, 32) == 0


def test_passes_of_any_number_of_banks():
    words = np.array([[0, 4, 8, 8], [0, 1, 2, 3], [-4, 4, 0, 0]])
    active = np.array([[True] * 4, [True] * 4, [True, True, False, False]])
    assert passes(words, active, 4).tolist() == [3, 1, 2]
    assert passes(words, active & False, 4).tolist() == [0, 0, 0]
    assert passes(np.zeros((0, 4), int), np.zeros((0, 4), bool)).tolist() == []
