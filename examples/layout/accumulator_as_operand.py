"""An accumulator as the next product's operand: flash-attention's P, triton#3370 #5362, flashinfer#4887, cutlass#2140.

In fixed order FP8 needs 4 shuffles for 16 x 32, which is the least. If the k of the product may be renamed none is needed: then
the other operand is loaded in that order.
"""

import warploom as wl

for kind, deep in (("tf32", 8), ("f16", 16), ("e4m3", 32), ("e2m1", 64)):
    source, destination = f"mma:m16n8k{deep}:C:{kind}", f"mma:m16n8k{deep}:A:{kind}"
    fixed = wl.exchange(source, destination)
    free = wl.exchange(source, destination, free=["k"])
    print(f"{kind}: {fixed.shuffles} shuffles (at least {fixed.least_shuffles}),", end=" ")
    print(f"{fixed.selects} selects, {fixed.permutes} permutes;", end=" ")
    print(f"k renamed: {free.shuffles} shuffles, {free.selects} selects, {free.permutes} permutes")
    if kind == "e4m3":
        print("  k:", free.renaming["k"][:8], "...;", free.line["other_side"]["k"])
