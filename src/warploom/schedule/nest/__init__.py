"""Loop nests of fully specified implementations: nodes, text form, verifier.

Takes loops and statements that `schedule.choices` builds with `Builder`, or text. Gives a verified nest and its text.
Open `nodes.py` first.
"""

from warploom.schedule.nest.block import WARP, Masks, Threads, launch_digits, threads_of
from warploom.schedule.nest.build import Builder, Index, OpenLoop
from warploom.schedule.nest.exchange import with_barriers
from warploom.schedule.nest.facts import Count, bytes_of_shared, code_size, counts, rounds_held, share_of, words_of_sum
from warploom.schedule.nest.fusion import fused
from warploom.schedule.nest.groups import ATOM_BYTES, Group, GroupFactor, atoms_swizzle
from warploom.schedule.nest.key import identity
from warploom.schedule.nest.matrices import Factor, Products, Way, products_of
from warploom.schedule.nest.nodes import (
    Affine,
    Argument,
    Barrier,
    Buffer,
    Cache,
    Combine,
    Compute,
    Digit,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Register,
    Rows,
    Space,
    Store,
    Trips,
    Value,
)
from warploom.schedule.nest.places import buffer_of, placed
from warploom.schedule.nest.run_time import at_run_time, at_value
from warploom.schedule.nest.swizzle import Swizzle
from warploom.schedule.nest.text import text
from warploom.schedule.nest.tiles import StoredTotals, TileFactor, TileProducts, stored_totals, tiles_of
from warploom.schedule.nest.verify import verify
from warploom.schedule.nest.walk import (
    Blocks,
    Statement,
    blocks_of,
    guarded_interval,
    guards_of,
    hardware_sizes,
    interval,
    loops,
    references,
    renumbered,
    replaced,
    staged_fills,
    statements,
)

__all__ = [
    "ATOM_BYTES", "WARP", "Affine", "Argument", "Barrier", "Blocks", "Buffer", "Builder", "Cache", "Combine", "Compute",
    "Count", "Digit", "Factor", "Group", "GroupFactor", "Guard", "Index", "Kind", "Load", "Loop", "Masks", "Memory", "Nest",
    "Node", "OpenLoop", "Products", "Ref", "Register", "Rows", "Space", "Statement", "Store", "StoredTotals", "Swizzle",
    "Threads", "TileFactor", "TileProducts", "Trips", "Value", "Way", "at_run_time", "at_value", "atoms_swizzle", "blocks_of",
    "buffer_of", "bytes_of_shared", "code_size", "counts", "fused", "guarded_interval", "guards_of", "hardware_sizes",
    "identity", "interval", "launch_digits", "loops", "placed", "products_of", "references", "renumbered", "replaced",
    "rounds_held", "share_of", "staged_fills", "statements", "stored_totals", "text", "threads_of", "tiles_of", "verify",
    "with_barriers", "words_of_sum",
]  # fmt: skip
