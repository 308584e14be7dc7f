"""Scale factors 128x4: TransformerEngine#3011, vllm#50084 (silent corruption), Fuser#5401, flashinfer#3927, DeepGEMM#289.

The reader, a block-scaled product, finds them in blocks of 128 rows and 4 columns, whole at the edges. A kernel that writes them
is right if it gives each the same place, for sizes that are no multiples of 128 and 4 above all.
"""

import warploom as wl


def writer(row: int, column: int, columns: int) -> int:
    """Lane row % 32 stores 16 bytes: four columns of the rows that are 32 apart."""
    blocks = (columns + 3) // 4
    store = (row // 128 * blocks + column // 4) * 32 + row % 32
    return store * 16 + row // 32 % 4 * 4 + column % 4


def corrupting(row: int, column: int, columns: int) -> int:
    """Counts blocks by columns // 4, which is right for multiples of 4 only."""
    return writer(row, column, columns // 4 * 4)


for rows, columns in ((128, 4), (256, 8), (200, 7), (129, 5), (1, 1), (300, 30)):
    tile = f"{rows}x{columns}:e8m0"
    right = wl.check_layout(lambda r, c, n=columns: writer(r, c, n), tile, equal="scale:128x4")
    wrong = wl.check_layout(lambda r, c, n=columns: corrupting(r, c, n), tile, equal="scale:128x4")
    print(f"{tile}: {right.line['verdict']}; blocks rounded down: {wrong.reason or 'the same'}")


def stores(warp: int, lane: int, step: int) -> list[tuple[int, int]] | None:
    """Each warp stores a block of the tile that is rounded up to 256 x 8, in one step."""
    if warp == 4 or step:
        return None
    return [(warp // 2 * 128 + lane + 32 * group, warp % 2 * 4 + k) for group in range(4) for k in range(4)]


OFFSET = "((r // 128 * 8 + c // 4) * 32 + r % 32) * 16 + r // 32 % 4 * 4 + c % 4"
print("__device__ int offset(int r, int c, int columns) {  // bytes")
print(f"    return {OFFSET.replace('* 8', '* ((columns + 3) / 4)').replace('//', '/')};\n}}")
print("the same for 30 columns:", wl.check_layout(OFFSET, "300x30:e8m0", equal="scale:128x4").line["verdict"])

wide = wl.check_layout("scale:128x4", "256x8:e8m0", [stores])
print(f"stores of 16 bytes a lane: {wide.wavefronts} wavefronts, at least {wide.least}")
held = wl.exchange(lambda lane, item: (lane + 32 * (item // 4), item % 4), "scale:128x4")
print("lanes that hold rows 32 apart:", "store them as they are" if held.equal else "exchange first")
other = wl.exchange(lambda lane, item: (4 * lane + item // 4, item % 4), "scale:128x4")
print(f"lanes that hold four rows in a row: {other.shuffles} shuffles, {other.wavefronts} wavefronts, {other.permutes} permutes")
