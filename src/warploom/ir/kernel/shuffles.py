"""Source thread of a warp shuffle."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray


def source_thread(
    kind: Literal["idx", "up", "down", "xor"], thread: NDArray[np.int64], operand: NDArray[np.int64], width: int, warp_size: int
) -> NDArray[np.int64]:
    """The thread that each thread reads; only the operand's value modulo `warp_size` counts, as in the hardware.

    Outside its segment of `width` lanes a lane reads itself, except that xor may reach an earlier segment.
    Source: PTX ISA, shfl.sync.
    """
    lane = thread % warp_size
    segment = lane - lane % width
    operand = operand % warp_size
    match kind:
        case "idx":
            source = segment + operand % width
        case "up":
            source = np.where(lane - operand >= segment, lane - operand, lane)
        case "down":
            source = np.where(lane + operand < segment + width, lane + operand, lane)
        case "xor":
            source = np.where(lane ^ operand < segment + width, lane ^ operand, lane)
    return thread - lane + source
