"""The grammar that the paper grows in its section 8: compositions of rot, fan, group, unit, xor and cm2linear.

Takes the ranges of an index and its parameter, or a table of values. Gives every composition of up to two primitives by price,
longer ones for a table, and both as sets of functions for holes. Open `listing.py` first, then `peel.py`.
"""

from warploom.ir.swizzle.grown.alphabet import (
    NEVER,
    PARAMETERS,
    ROT,
    USUAL,
    Alphabet,
    alphabet,
    identity_row,
    mask_rows,
    reach_of,
    windows,
)
from warploom.ir.swizzle.grown.candidates import Candidates, candidates
from warploom.ir.swizzle.grown.expressions import expression
from warploom.ir.swizzle.grown.forms import forms
from warploom.ir.swizzle.grown.listing import LENGTH
from warploom.ir.swizzle.grown.orders import cheapest_order
from warploom.ir.swizzle.grown.peel import peel, permutes, rotations
from warploom.ir.swizzle.grown.sets import LongSet, ShortSet

__all__ = [
    "LENGTH", "NEVER", "PARAMETERS", "ROT", "USUAL", "Alphabet", "Candidates", "LongSet", "ShortSet", "alphabet", "candidates",
    "cheapest_order", "expression", "forms", "identity_row", "mask_rows", "peel", "permutes", "reach_of", "rotations", "windows",
]  # fmt: skip
