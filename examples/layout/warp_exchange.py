"""WarpExchange for any number of items, by shuffles or shared memory: cccl#3760 #271 #8509.

The least number of shuffles is proved, and shared memory takes two wavefronts a register without padding. Shuffles win for few
items.
"""

import warploom as wl

for items in (3, 5, 7, 8, 16, 17, 32):
    found = wl.exchange("striped", "blocked", regs=items)
    print(
        f"{items} items: {found.via}, {found.shuffles} shuffles, {found.selects} selects, {found.wavefronts} wavefronts;", end=" "
    )
    print(f"at least {found.least_shuffles} shuffles or {found.least_wavefronts} wavefronts")
print(wl.exchange("striped", "blocked", regs=3).code, end="")
