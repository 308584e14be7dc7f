"""Places of a network's elements in banked memory.

Takes the accesses of a scan network. Gives an index remapping (`best_layout`) with the bank conflicts and the cost that remain.
Open `choice.py` first, then `remaps.py`.
"""

from warploom.scan.layouts.choice import FAMILIES, TABLE_ELEMENTS, Family, Layout, Priced, best_layout, priced
from warploom.scan.layouts.remaps import Lookup, Padding, Plain, Remap, Swizzle, addresses, operations, paddings, swizzles
from warploom.scan.layouts.tables import BestTable, best_table
from warploom.scan.layouts.trace import Access, Barrier, Compute, Conflicts, Cost, Event, Lanes, Trace, Weights, trace

__all__ = [
    "FAMILIES", "TABLE_ELEMENTS", "Access", "Barrier", "BestTable", "Compute", "Conflicts", "Cost", "Event", "Family", "Lanes",
    "Layout", "Lookup", "Padding", "Plain", "Priced", "Remap", "Swizzle", "Trace", "Weights", "addresses", "best_layout",
    "best_table", "operations", "paddings", "priced", "swizzles", "trace",
]  # fmt: skip
