"""The share of a bound that a mask which leaves tiles out leaves at least.

A bound counts blocks of equal work: if there are k of them to each place that runs blocks, rounded up, it has k times what one
takes. With a mask no block takes less than the row with the fewest elements, so that a place with k blocks has that k times; one
block has the row with the most; and all places together have the mean of k - 1 blocks or more each. The least of these over all k
is left of every part of the bound, since what is read, moved or stored falls by no more than the elements do.
"""

from __future__ import annotations

import math

from warploom.schedule.backbone import Backbone
from warploom.schedule.bound.problem import Masks


def unmasked_share(backbone: Backbone, divides: Masks) -> float:
    """The least share of a kernel's bound that is left where it leaves out tiles; 1 where it leaves out none.

    divides: by axis, whether all of its tiles divide it.
    """
    mask = backbone.rewritten.mask if backbone.rewritten is not None else None
    if mask is None:
        return 1.0
    if not all(divides[a] for form in mask.forms for a, _ in form.terms):
        return mask.least  # a block at the end of an axis may have few rows, and counts as one
    filled = math.floor(mask.most / mask.mean) + 1  # with so many blocks to each place, the longest is about what all take
    return max(mask.least, min(mask.most / filled, mask.mean * filled / (filled + 1)))
