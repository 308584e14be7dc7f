"""Is there a simpler one? DeepGEMM#313: 4 x 32 words are transposed by a warp, through shared memory.

128 words take 4 wavefronts in and 4 out wherever they lie, so only instructions can be saved: one access of 16 bytes takes the
place of four. Shuffles need 4, and selects besides. Each count stands beside the least that is possible.
"""

import warploom as wl

found = wl.exchange("striped", "blocked", regs=4)
shared = wl.exchange("striped", "blocked", regs=4, via="shared")
loads = shared.code.count("const uint4 ")
stores = shared.code.count("    shared[")
print(f"shuffles: {found.shuffles} (at least {found.least_shuffles}), {found.selects} selects")
print(f"shared memory: {shared.wavefronts} wavefronts (at least {shared.least_wavefronts}), {stores} stores, {loads} load")
print(shared.code, end="")
