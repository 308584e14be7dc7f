"""An accumulator as the next product's operand: flash-attention's P, triton#3370 #5362, flashinfer#4887, cutlass#2140.

In fixed order FP8 needs 4 shuffles for 16 x 32, which is the least. If the k of the product may be renamed none is needed: then
the other operand is loaded in that order. Both answers are printed for FP8, to be pasted: the exchange in fixed order, or four
permutations with the address function of the other operand.
"""

import warploom as wl

for kind, deep in (("tf32", 8), ("f16", 16), ("e4m3", 32), ("e2m1", 64)):
    source, destination = f"mma:m16n8k{deep}:C:{kind}", f"mma:m16n8k{deep}:A:{kind}"
    fixed = wl.exchange(source, destination)
    free = wl.exchange(source, destination, free=["k"])
    print(f"{kind}: {fixed.shuffles} shuffles (at least {fixed.least_shuffles}),", end=" ")
    print(f"{fixed.selects} selects, {fixed.permutes} permutes;", end=" ")
    print(f"k renamed: {free.shuffles} shuffles, {free.selects} selects, {free.permutes} permutes")

FP8 = "mma:m16n8k32:C:e4m3", "mma:m16n8k32:A:e4m3"
fixed, free = wl.exchange(*FP8), wl.exchange(*FP8, free=["k"])
print("\nFP8 in fixed order:", fixed.code, sep="\n")
print("FP8 with k renamed:", free.code, sep="\n")
print("// where the other operand had element i of k, it has element renamed(i):")
print(f"__device__ __forceinline__ int renamed(int i) {{ return {free.line['renaming_index']['k']}; }}")
