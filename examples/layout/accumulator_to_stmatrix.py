"""Is what the accumulators hold what stmatrix stores? cutlass#3099 #1383: an epilogue from mma or wgmma through shared memory.

Halves of a 16 x 8 tile lie in registers as stmatrix.x2 takes them, so nothing moves. The transposed form differs, and is a few
shuffles away.
"""

import warploom as wl

same = wl.exchange("mma:m16n8k16:D:f16", "ldmatrix:x2")
print("accumulator and stmatrix.x2:", "equal" if same.equal else same.line["differs"])
other = wl.exchange("mma:m16n8k16:D:f16", "ldmatrix.trans:x2")
print("accumulator and stmatrix.trans.x2:", other.line["differs"])
print(f"to change one into the other: {other.shuffles} shuffles (at least {other.least_shuffles}), {other.permutes} permutes")

lanes = wl.exchange("mma:m16n8k16:D:f16", "blocked", regs=2, bits=16, via="matrix")
print("to eight bytes of a row a lane:", lanes.line["program"], lanes.line["matrix_accesses"], "access;", end=" ")
print(lanes.wavefronts, "wavefronts, at least", lanes.line["least_wavefronts"])
