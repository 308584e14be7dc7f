"""Restrictions of a candidate: which of many are possible, each by itself, without propagating most of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from warploom.solve.space.engine import Ints, Masks
from warploom.solve.space.instance import Candidate

IS_REFUTED, IS_POSSIBLE, IS_UNKNOWN = 0, 1, 2
_REFUSALS = 4
"""Refutations of restrictions behind others after which those behind the candidate itself are asked about again."""


def find_possible(
    candidate: Candidate, variables: Ints, masks: Masks, states: NDArray[np.uint8], is_over: Callable[[int], bool]
) -> None:
    """Whether propagation refutes each restriction (position in `domains`, values that may stay): writes `IS_REFUTED` or
    `IS_POSSIBLE` into `states` where it is `IS_UNKNOWN`, until all are known or, after so many propagations, it `is_over`.

    Propagation is monotone: what it leaves of a smaller candidate it leaves of a larger one. So any candidate behind this one
    shows that all restrictions are possible that its domains fulfil. Restrictions are added to those before them as long as
    that is possible: such a row of a large space shows tens of thousands.
    """
    chance = np.random.default_rng(0)
    tried = 0
    states[(candidate.domains[variables] & masks == 0) & (states == IS_UNKNOWN)] = IS_REFUTED
    while (states == IS_UNKNOWN).any() and not is_over(tried):
        current, refused = candidate, 0
        turn = states == IS_UNKNOWN
        while refused < _REFUSALS and not is_over(tried):
            domains = current.domains[variables]
            states[(domains & ~masks == 0) & turn] = IS_POSSIBLE
            turn &= (states == IS_UNKNOWN) & (domains & masks != 0)
            left = np.flatnonzero(turn)
            if not left.size:
                break
            one = chance.choice(left, 1)
            child = current.narrowed(variables[one], masks[one])
            tried += 1
            turn[one] = False
            if child is not None:
                states[one] = IS_POSSIBLE
                current = child
            elif current is candidate:
                states[one] = IS_REFUTED
            else:
                refused += 1
