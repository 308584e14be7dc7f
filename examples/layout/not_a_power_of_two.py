"""Not a power of two: facebookexperimental/triton#1629 #1684, cutlass#1499.

Rows and columns are read from any origin on, blocks of 4 x 8 from aligned ones. None of the three needs an extra word: whole rows
or whole columns fill the banks, and what is left over lies below them.
"""

import warploom as wl

ACCESSES = ["rows@any", "columns@any", "blocks:4x8"]
for tile in ("48x33:f32", "40x28:f32", "33x20:f32"):
    found = wl.layout(tile, ACCESSES, room="any")
    before, now, least = (sum(counts.values()) for counts in (found.line["before"], found.wavefronts, found.least))
    print(f"{tile}: {before} wavefronts row-major, {now} now, at least {least}; {found.line['extra_words']} extra words")
    print(f"  {found.map}")
