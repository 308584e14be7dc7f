"""Variants of scan programs: backward, segmented, exclusive.

Takes a scan program for every size and the names of variants. Gives the program that computes the variant, and whether it is
valid. Takes a lifted operator and a `ScanForm`. Gives the operator that a kernel of that form combines. Open `variant.py` first.
"""

from warploom.scan.variants.operators import FORWARD, ScanForm, variant_operator
from warploom.scan.variants.segments import (
    Flags,
    SegmentedOperator,
    is_associative,
    is_serial_step,
    segmented_operator,
    solutions,
)
from warploom.scan.variants.variant import (
    Validity,
    Variant,
    exclusive,
    inclusive,
    mirrored,
    segmented,
    validity,
    variant_source,
    whole,
)

__all__ = [
    "FORWARD", "Flags", "ScanForm", "SegmentedOperator", "Validity", "Variant", "exclusive", "inclusive", "is_associative",
    "is_serial_step", "mirrored", "segmented", "segmented_operator", "solutions", "validity", "variant_operator",
    "variant_source", "whole",
]  # fmt: skip
