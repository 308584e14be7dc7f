"""No conflicts and still slow: TileFoundry#173, iree#23329. The width of an access is part of the answer.

A swizzle inside of 16 bytes has no conflict with accesses of 2 bytes, and makes wide ones impossible: the same rows then take
eight times the instructions. Chunks of 16 bytes that move as a whole keep them.
"""

import warploom as wl

TILE = "64x64:f16"
narrow = wl.check_layout("c ^ (r & 7)", TILE, ["rows"])
print("c ^ (r & 7), rows of 2 bytes a lane:", narrow.wavefronts["rows"], "wavefronts, optimal" if narrow.optimal else "")
wide = wl.check_layout("c ^ (r & 7)", TILE, ["rows:128bit", "ldmatrix"])
print("c ^ (r & 7), 16 bytes a lane:", wide.status, "-", wide.reason)
print("instead:", wide.better)
found = wl.check_layout(wide.better, TILE, ["rows:128bit", "ldmatrix"])
print("with it:", found.wavefronts, "at least", found.least)
