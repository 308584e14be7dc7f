"""Arrays of terms that a spec reads and writes."""

from __future__ import annotations

import numpy as np

from warploom.terms import Term, symbolic_array, zero_array


def test_a_whole_sum_is_stored_as_a_term() -> None:
    given, out = symbolic_array("x", (3,)), zero_array("out", (2,))
    out[0] = np.sum(given)
    out[1] = given[1:].sum()
    assert [type(element) for element in np.asarray(out).tolist()] == [Term, Term]
    assert [str(element) for element in out] == ["x[0] + x[1] + x[2]", "x[1] + x[2]"]
