"""Bytes from striped to blocked without byte stores: triton#7809 #7815 #6569 #7604.

Bytes change places with lanes by shuffles and byte permutations until whole words can move; Triton stores each byte by itself.
The function for 8 bytes a lane is printed.
"""

import warploom as wl

code: dict[int, str] = {}
for items in (4, 8, 16, 32):
    found = wl.exchange("striped", "blocked", regs=items // 4, bits=8)
    crossbar = found.shuffles + found.wavefronts
    code[items] = found.code
    print(f"{items} bytes a lane: {found.via}, crossbar {crossbar} cycles, {found.permutes} permutes, {found.selects} selects")
print(code[8], end="")
