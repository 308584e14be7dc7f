"""Is what TMA writes what wgmma reads? cutlass#1688 #2872 #3089 #1396 #2388, tilelang#2593 (silently wrong), Fuser#4918.

An operand of 64 rows of 64 halves: SWIZZLE_128B of the tensor map and the canonical K-major layout of the descriptor are one map,
and so are the narrower modes on narrower tiles. The descriptor's stride (SBO) is how far eight rows lie apart; its leading offset
(LBO) is not used by K-major operands under a swizzle. A descriptor of another mode reads other elements: one is shown.
"""

import warploom as wl


def tma(mode: int, columns: int) -> str:
    """What the tensor map does to the byte address: chunks of 16 bytes xor the number of the 128-byte row."""
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
