"""Every choice and every constraint of a kernel's space, each with its reason.

Takes nothing; the description is the same for all kernels. Gives the `Space` that `schedule.choices` makes instances of. Open
`whole.py` first. `order`: how statements lie, and the flow of values between them; `kinds`: what loops become; `threads`:
hardware levels; `warps`: how threads make up warps; `values`: registers or temporaries; `memory`: layouts and caches; `limits`:
scarce resources of the machine; `ties`: one implementation of each code.

Source: Beaugnon et al., sections 3 and 4; facts of the published implementation.
"""

from warploom.schedule.choices.description.shared_sums import MOST_SUMS
from warploom.schedule.choices.description.vocabulary import (
    AHEAD,
    CACHES,
    KINDS,
    MAPPINGS,
    MOST_LOOPS,
    ORDERS,
    SEQUENTIAL,
    SPACES,
    TRANSFERS,
    VECTOR_SIZES,
    WARP_SHAPES,
    Flavour,
)
from warploom.schedule.choices.description.whole import description

__all__ = [
    "AHEAD", "CACHES", "KINDS", "MAPPINGS", "MOST_LOOPS", "MOST_SUMS", "ORDERS", "SEQUENTIAL", "SPACES", "TRANSFERS",
    "VECTOR_SIZES", "WARP_SHAPES", "Flavour", "description",
]  # fmt: skip
