"""Two consumers want different layouts: tilelang#1736 #2642, sglang#31563. One map for both, or the proof that there is none.

Rows, columns and blocks are served by one linear map. With the main diagonal, too, none is without conflict: all were tried. And
no map of any kind serves chunks of 16 bytes by rows, columns and blocks at any origin: each rules out one bank after the other.
Then either one map is shared, or the tile is converted between two: rows are loaded under one and stored under the other, as
wide as can be, which takes no more than bringing all bytes through the banks twice.
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

shared = wl.layout("16x64:f16", CHUNKS)
columns = wl.layout("16x64:f16", CHUNKS[:2], emit="cuda")
blocks = wl.layout("16x64:f16", ["rows:128bit", *CHUNKS[2:]], emit="cuda")
more = sum(shared.wavefronts[name] for name in CHUNKS[1:])
fewer = columns.wavefronts[CHUNKS[1]] + sum(blocks.wavefronts[name] for name in CHUNKS[2:])
conversion = columns.wavefronts["rows:128bit"] + blocks.wavefronts["rows:128bit"]
print(f"one map for both consumers: {more} wavefronts each time; a map for each: {fewer}, and once {conversion} to convert")
print("the conversion cannot take fewer:", conversion == columns.least["rows:128bit"] + blocks.least["rows:128bit"])
print(columns.code.replace("place", "place_columns"), end="")
print(blocks.code.replace("place", "place_blocks"), end="")
print("""// each lane has a chunk of 8 halves; 4 rows a warp stay 4 rows, so this is done in place
__device__ __forceinline__ void convert(__half* tile) {
    const int lane = threadIdx.x & 31;
    for (int first = 0; first < 16; first += 4) {
        const int r = first + lane / 8, c = lane % 8 * 8;
        const uint4 chunk = *reinterpret_cast<const uint4*>(&tile[place_columns(r, c)]);
        __syncwarp();
        *reinterpret_cast<uint4*>(&tile[place_blocks(r, c)]) = chunk;
    }
    __syncwarp();
}""")
