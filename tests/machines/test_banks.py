"""Wavefronts and sectors against sets and dictionaries, and against the count of the PTX interpreter."""

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.machines.banks import lines, passes, wavefronts
from warploom.ptx.simt.counts import _sectors, _wavefronts
from warploom.ptx.simt.threads import WarpLayout


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.booleans()), min_size=32, max_size=32),
    st.sampled_from([1, 2, 4, 8, 16, 32]),
)
def test_counts_against_sets(lanes, size):
    addresses = np.array([[place * size for place, _ in lanes]] * 2)
    active = np.array([[on for _, on in lanes]] * 2)
    touched = {place * size // 32 for place, on in lanes if on}
    assert lines(addresses, active) == 2 * len(touched)
    expected, group = 0, 32 // max(1, min(size, 16) // 4)
    for part in range(0, size, 16):
        for start in range(0, 32, group):
            banks = defaultdict(set)
            for place, on in lanes[start : start + group]:
                for byte in range(place * size + part, place * size + min(part + 16, size) if on else 0):
                    banks[byte // 4 % 32].add(byte // 4)
            expected += max((len(words) for words in banks.values()), default=0)
    assert wavefronts(addresses, active, size) == 2 * expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.booleans()), min_size=64, max_size=64), st.sampled_from([1, 2, 4, 8, 16]))
def test_the_interpreter_of_ptx_counts_the_same(lanes, size):
    places = np.array([place for place, _ in lanes])
    active = np.array([on for _, on in lanes])
    threads = np.flatnonzero(active)
    if not len(threads):
        return
    layout = WarpLayout(threads)
    rows = places.reshape(2, 32), active.reshape(2, 32)
    assert wavefronts(rows[0] * size, rows[1], size) == _wavefronts(layout, places[threads] * size, size)
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
