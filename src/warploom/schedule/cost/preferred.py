"""Which of two kernels is taken whose modelled times differ by less than the model can tell: the one that does less.

A model of pipes cannot say which of two kernels is faster that keep one of them equally busy. What hardware does beside it is
less sure: lines that a cache is trusted to keep, lanes that are switched off, blocks that start and end.
"""

from __future__ import annotations

import math

from warploom.machines import WARP_LANES
from warploom.schedule.cost.time import Modelled

_UNSURE = 0.05
"""Share of a time that idle lanes and small blocks may count each, at most; repeated loads twice as much."""
_USUAL_THREADS = 128
"""Threads of a block from which on more of them are no better."""


def judged_ms(found: Modelled) -> float:
    """The time by which kernels are compared: the modelled one, and up to 10 % for what loads ask for again, and up to
    5 % each for lanes without a thread and for blocks of few threads where there are many of them."""
    idle = 1.0 - found.threads / (-(-found.threads // WARP_LANES) * WARP_LANES)
    small = 0.0
    if found.blocks > 1 and found.threads < _USUAL_THREADS:
        small = min(1.0, math.log2(_USUAL_THREADS / found.threads) / 4)
    return found.time_ms * (1.0 + _UNSURE * (2 * found.traffic.repeated + idle + small))
