"""Bytes from striped to blocked without byte stores: triton#7809 #7815 #6569 #7604.

Bytes change places with lanes by shuffles and byte permutations until whole words can move; Triton stores each byte by itself.
"""

import warploom as wl

for items in (4, 8, 16, 32):
    found = wl.exchange("striped", "blocked", regs=items // 4, bits=8)
    crossbar = found.shuffles + found.wavefronts
    print(f"{items} bytes a lane: {found.via}, crossbar {crossbar} cycles, {found.permutes} permutes, {found.selects} selects")
