"""Elimination over GF(2), against all sums written out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core.bit_vectors import echelon


def sums(vectors: Iterable[int]) -> set[int]:
    found = {0}
    for vector in vectors:
        found |= {vector ^ known for known in found}
    return found


@given(st.lists(st.integers(0, 63), min_size=1, max_size=8), st.integers(0, 90))
@settings(max_examples=60, deadline=None)
def test_a_basis_has_the_sums_of_the_vectors_and_leading_bits_of_its_own(vectors: list[int], moved: int) -> None:
    vectors = [vector << moved for vector in vectors]
    basis = echelon(np.array(vectors, np.int64 if max(vectors) < 1 << 63 else object))
    assert sums(basis.values()) == sums(vectors)
    assert len(sums(vectors)) == 2 ** len(basis)
    assert list(basis) == sorted((vector.bit_length() - 1 for vector in basis.values()), reverse=True)
    assert all(not other >> lead & 1 for lead in basis for at, other in basis.items() if at != lead)


def test_vectors_stay_as_they_are() -> None:
    vectors = np.array([3, 1, 2])
    assert echelon(vectors) == {1: 2, 0: 1}
    assert vectors.tolist() == [3, 1, 2]
