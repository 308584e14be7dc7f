"""Layouts of tiles in shared memory: which place each element gets, what accesses cost then, and whether that can be bettered.

Takes tiles and the accesses of warps. Gives maps as expressions, counts of wavefronts with the least that is possible, and
certificates that `recheck` follows without the search. Open `search.py` first, then `banks.py`.
"""

from warploom.layout.accesses import NAMES, Access, access, has_name
from warploom.layout.banks import Price, prices, wavefronts
from warploom.layout.certificates import Certificate, accesses_of, certificate, map_of, misnamed, tile_of
from warploom.layout.checking import Checked, check, equal
from warploom.layout.emit import TARGETS, Target, emit
from warploom.layout.maps import Map
from warploom.layout.recheck import faults
from warploom.layout.search import Answer, NoLinear, Room, layout, plain
from warploom.layout.sources import access_of_function, map_of_array, map_of_function, map_of_text
from warploom.layout.tiles import Tile, tile

__all__ = [
    "NAMES", "TARGETS", "Access", "Answer", "Certificate", "Checked", "Map", "NoLinear", "Price", "Room", "Target", "Tile",
    "access", "access_of_function", "accesses_of", "certificate", "check", "emit", "equal", "faults", "has_name", "layout",
    "map_of", "map_of_array", "map_of_function", "map_of_text", "misnamed", "plain", "prices", "tile", "tile_of",
    "wavefronts",
]  # fmt: skip
