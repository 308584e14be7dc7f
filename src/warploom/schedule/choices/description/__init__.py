"""The space of a kernel's implementations: every choice and every constraint, each with its reason.

`order`: how statements lie, and the flow of values between them; `kinds`: what loops become; `threads`: hardware levels;
`values`: registers or temporaries; `memory`: layouts and caches; `limits`: what the machine has only so much of; `ties`: one
implementation of each code.

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
    SPACES,
    TRANSFERS,
    VECTOR_SIZES,
    Flavour,
)
from warploom.schedule.choices.description.whole import description

__all__ = [
    "AHEAD", "CACHES", "KINDS", "MAPPINGS", "MOST_LOOPS", "MOST_SUMS", "ORDERS", "SPACES", "TRANSFERS", "VECTOR_SIZES", "Flavour",
    "description",
]  # fmt: skip
