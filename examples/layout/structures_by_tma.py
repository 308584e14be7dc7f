"""A transposing BlockLoad by bulk copies: cccl#9057. Structures of 2 to 32 words, each lane loads its own from shared memory.

For each size some mode of the tensor map is free of conflicts, and which one is said.
"""

import warploom as wl

for words in range(2, 33):
    found = wl.exchange("striped", "blocked", regs=words, via="tma")
    plain = next(mode for mode in found.pareto if mode["program"] == "SWIZZLE_NONE")
    if plain["wavefronts"] > found.wavefronts:
        print(f"{words} words: {plain['wavefronts']} wavefronts plain, {found.wavefronts} with {found.line['program']}")
    assert found.wavefronts == found.least_wavefronts
print("all others: no conflict without a swizzle")
