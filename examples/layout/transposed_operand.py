"""A transposed operand of 8 bits: flash-attention#1041, cutlass#1394 #1692. B of a product lies by rows, k x n, n next to itself.

ldmatrix.trans takes pairs of bytes (two n) for units, so a lane gets two columns of B, two bytes of k at a time. If k and n may
be renamed, byte permutations alone make the fragments of two products out of that: A takes that order of k, and the columns of
the result come in that order of n.
"""

import warploom as wl


def loaded(lane: int, item: int) -> tuple[int, int]:
    """Byte of ldmatrix.x4.trans on rows k of 16 bytes: register item / 4, half item / 2 % 2."""
    k = item // 4 * 8 + lane % 4 * 2 + item // 2 % 2
    return k, lane // 4 * 2 + item % 2


def wanted(lane: int, item: int) -> tuple[int, int]:
    """B of two m16n8k32: two registers each."""
    k = item // 4 % 2 * 16 + lane % 4 * 4 + item % 4
    return k, item // 8 * 8 + lane // 4


found = None
for names, free in (("nothing", ()), ("k", ("0",)), ("k and n", ("0", "1"))):
    found = wl.exchange(loaded, wanted, regs=4, bits=8, free=free)
    print(f"{names} free: {found.shuffles} shuffles, {found.selects} selects, {found.permutes} permutes")
assert found is not None
print("k:", found.renaming["0"])
print("n:", found.renaming["1"])
print("// after ldmatrix.x4.trans into in[0..3]: out[0..1] is B of one mma, out[2..3] of the next")
print(found.code, end="")
