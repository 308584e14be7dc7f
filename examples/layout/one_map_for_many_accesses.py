"""One map for all accesses: mirage#441, cutlass#1234, iree#24428. A 32 x 32 tile of floats is read by rows, columns and blocks.

One Swizzle cannot serve them all. The column xor the reversed row can, with three index instructions and no padding.
"""

import warploom as wl

ACCESSES = ["rows", "columns", "blocks:4x8", "blocks:8x4", "blocks:16x2", "blocks:2x16"]
found = wl.layout("32x32:f32", ACCESSES, emit="cuda")
for name, before in found.line["before"].items():
    print(f"{name:<12} row-major {before:>4}  now {found.wavefronts[name]:>3}  at least {found.least[name]:>3}")
print("optimal, proved" if found.optimal else "not proved optimal")
print(found.code, end="")
