"""Is what the accumulators hold what stmatrix and TMA store? cutlass#3099 #1383, tvm#20068, Fuser#3473: an epilogue.

Halves of an accumulator of mma and wgmma lie in registers as stmatrix takes them, so nothing moves; a tile swizzled as the tensor
map's SWIZZLE_128B takes these stores, and those of tcgen05, whose lanes hold a row each, without conflict. The transposed form
differs, and is a few shuffles away.
"""

import warploom as wl

same = wl.exchange("mma:m16n8k16:D:f16", "ldmatrix:x2")
print("accumulator and stmatrix.x2:", "equal" if same.equal else same.line["differs"])
other = wl.exchange("mma:m16n8k16:D:f16", "ldmatrix.trans:x2")
print("accumulator and stmatrix.trans.x2:", other.line["differs"])
print(f"to change one into the other: {other.shuffles} shuffles (at least {other.least_shuffles}), {other.permutes} permutes")


def stmatrix_x4(warp: int, lane: int, register: int, slot: int) -> tuple[int, int]:
    """Four registers of a warp are one stmatrix.x4 of 16 x 16 halves: two matrices of columns 0 to 7, two of 8 to 15."""
    matrix = register % 4
    return warp * 16 + matrix % 2 * 8 + lane // 4, register // 4 * 16 + matrix // 2 * 8 + lane % 4 * 2 + slot


def row_of_a_lane(warp: int, lane: int, step: int) -> list[tuple[int, int]] | None:
    """tcgen05.ld.32x32b: lane l of warp w has row 32 w + l, and stores it 16 bytes at a time."""
    return [(warp * 32 + lane, step * 8 + n) for n in range(8)] if warp < 4 and step < 8 else None


wide = wl.exchange("wgmma:m64n64:D:f16", stmatrix_x4, regs=16, bits=16)
print("wgmma m64n64 in halves and four stmatrix.x4 a warp:", "equal" if wide.equal else wide.line["differs"])
tile = wl.check_layout("SW128", "128x64:f16", ["stmatrix", row_of_a_lane], equal="tma:SWIZZLE_128B")
print("SW128 is what TMA stores with SWIZZLE_128B:", tile.line["verdict"])
print("  wavefronts", tile.wavefronts, "at least", tile.least)
plain = wl.check_layout("r * 64 + c", "128x64:f16", ["stmatrix", row_of_a_lane])
print("  without a swizzle", plain.wavefronts)
place = "r * 64 + (c ^ ((r & 7) << 3))"
found = wl.check_layout(place, "128x64:f16", equal="SW128")
print(f"  place of element (r, c), in halves: {place} ({found.line['verdict']})")

lanes = wl.exchange("mma:m16n8k16:D:f16", "blocked", regs=2, bits=16, via="matrix")
print("to eight bytes of a row a lane:", lanes.line["program"], lanes.line["matrix_accesses"], "access;", end=" ")
print(lanes.wavefronts, "wavefronts, at least", lanes.line["least_wavefronts"])
