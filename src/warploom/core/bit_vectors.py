"""Vectors of bits, as integers whose sum is XOR: vectors over GF(2), and the elimination that solves for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def echelon(vectors: npt.NDArray[Any]) -> dict[int, int]:
    """The reduced basis of all sums of `vectors`, which must not be negative: leading bit -> vector, highest first.

    The leading bit of each stands in no other, so two sets with the same sums have the same basis. Vectors of more bits than
    a machine word come as Python integers, in an array of objects.
    """
    rest, found = vectors.copy(), dict[int, int]()
    for bit in reversed(range(int(rest.max(initial=0)).bit_length())):
        using = np.flatnonzero(rest >> bit & 1)
        if not len(using):
            continue
        chosen = int(rest[using[0]])
        rest[using] ^= chosen
        found = {lead: vector ^ chosen if vector >> bit & 1 else vector for lead, vector in found.items()}
        found[bit] = chosen
    return found
