"""Is what TMA writes what wgmma reads? cutlass#1688 #2872 #3089 #1396 #2388, tilelang#2593 (silently wrong), Fuser#4918.

An operand of 64 rows of 64 halves: SWIZZLE_128B of the tensor map and the canonical K-major layout of the descriptor are one map,
and so are the narrower modes on narrower tiles. The descriptor's stride (SBO) is how far eight rows lie apart; its leading offset
(LBO) is not used by K-major operands under a swizzle. A descriptor of another mode reads other elements: one is shown.

An MN-major operand of 128 x 16 halves has its columns side by side (`:mn`). TMA brings it in boxes of 64 x 16; there LBO is how
far the next 64 of a column lie apart, and SBO the next eight columns. Source: CUTLASS, mma_traits_sm90_gmma.hpp.
"""

import warploom as wl


def tma(mode: int, columns: int) -> str:
    """The tensor map's change of a byte address: chunks of 16 bytes xor the number of the 128-byte row."""
    place = f"(r * {columns} + c)"
    return f"{place} ^ (({place} >> 3) & {((1 << mode) - 1) << 3})" if mode else place


def place(mode: int, columns: int, row: int, column: int) -> int:
    """The same as a number."""
    element = row * columns + column
    return element ^ ((element >> 3) & (((1 << mode) - 1) << 3))


CANONICAL = {1: "Swizzle<1,4,3>", 2: "Swizzle<2,4,3>", 3: "Swizzle<3,4,3>"}
for mode, swizzle in CANONICAL.items():
    columns = 8 << mode
    tile = f"64x{columns}:f16"
    wgmma = f"{swizzle} o smem_ptr[16b](0) o (64,{columns}):({columns},1)"
    same = wl.check_layout(tma(mode, columns), tile, ["rows:128bit", "ldmatrix"], equal=wgmma)
    strides = {2 * (place(mode, columns, r + 8, c) - place(mode, columns, r, c)) for r in range(56) for c in range(columns)}
    assert len(strides) == 1
    print(
        f"SWIZZLE_{16 << mode}B and {swizzle}: {same.line['verdict']};", "no conflict" if same.optimal else "conflicts", end="; "
    )
    print(f"layout type {16 << mode}B, SBO {strides.pop()} bytes")
wrong = wl.check_layout(tma(2, 32), "64x32:f16", equal="Swizzle<1,4,3> o smem_ptr[16b](0) o (64,32):(32,1)")
print("SWIZZLE_64B read as 32B:", wrong.reason)

box = wl.check_layout("tma:SWIZZLE_128B:mn", "64x16:f16", equal="SW128:mn")
print("MN-major, a box of 64 x 16 by SWIZZLE_128B and the atom:", box.line["verdict"])
both = "Swizzle<3,4,3> o smem_ptr[16b](0) o ((64,2),16):((1,1024),64)"
boxes = wl.check_layout(both, "128x16:f16", equal="SW128:mn")
print("two boxes one after the other and tile_to_shape of the atom:", boxes.reason)
text = wl.check_layout(both, "128x16:f16").line["map"]
print("two boxes, the place of row r and column c:", text)
lbo, sbo = (2 * eval(text, {"r": row, "c": column}) for row, column in ((64, 0), (0, 8)))
print(f"two boxes: LBO {lbo} bytes, SBO {sbo} bytes")
