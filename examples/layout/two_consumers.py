"""Two consumers want different layouts: tilelang#1736 #2642, sglang#31563. One map for both, or the proof that there is none.

Rows, columns and blocks are served by one linear map. With the main diagonal, too, none is without conflict: all were tried. And
no map of any kind serves chunks of 16 bytes by rows, columns and blocks at any origin: each rules out one bank after the other.
"""

import warploom as wl
from warploom.layout import faults

BLOCKS = ["rows", "columns", "blocks:4x8", "blocks:8x4", "blocks:16x2", "blocks:2x16"]
both = wl.layout("32x32:f32", BLOCKS)
print("blocks:", "one map, optimal" if both.optimal else "no map found")
more = wl.layout("32x32:f32", [*BLOCKS, "diagonals"])
print("with diagonals:", "no linear map without conflict" if more.line["no_linear"] else "unknown")
print("the best found:", sum(more.wavefronts.values()), "wavefronts, at least", sum(more.least.values()))
print("certificate:", faults(more.line["certificate"]) or "confirmed")

CHUNKS = ["rows:128bit", "blocks:8x1:128bit", "blocks:2x4:128bit@any", "blocks:4x2:128bit@any"]
none = wl.layout("16x64:f16", CHUNKS, table=True)
print("chunks at any origin:", "no map at all" if none.line["no_map"] else "unknown")
print("certificate:", faults(none.line["certificate"]) or "confirmed")
