"""Arrays of terms that a spec reads and writes."""

from __future__ import annotations

import numpy as np

from warploom.terms import Term, as_terms, stored_mask, symbols, zero_array


def test_a_whole_sum_is_stored_as_a_term() -> None:
    given, out = symbols("x", (3,)), zero_array("out", (2,))
    out[0] = np.sum(given)
    out[1] = given[1:].sum()
    assert [type(element) for element in np.asarray(out).tolist()] == [Term, Term]
    assert [str(element) for element in out] == ["x[0] + x[1] + x[2]", "x[1] + x[2]"]


def test_numbers_that_numpy_stores_past_the_array_are_kept() -> None:
    out = zero_array("out", (4,))
    np.put(out, [1], 3)
    out[2:3].fill(0)
    assert [str(term) for term in as_terms(out)] == ["0", "3", "0", "0"]
    assert stored_mask(out).tolist() == [False, True, True, False]
