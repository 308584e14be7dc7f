"""The order of int4 weights for lop3 and mma: IST-DASLab/marlin#18, llm-awq#169, llm-compressor#1613, vllm#49529.

`(word >> 4 * i) & 0x000f000f` takes two nibbles at once, 16 bits apart, into the halves of a word that mma's operand wants. So
nibble k of a word has to lie at 4 * ORDER.index(k). The packing is checked against NumPy; two packers are one if all places are.
"""

import numpy as np

import warploom as wl

ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
TILE = "16x64:u4"


def packed(row: int, column: int) -> int:
    """Place of a weight, counted in nibbles."""
    return row * 64 + column // 8 * 8 + ORDER.index(column % 8)


def straight(row: int, column: int) -> int:
    """Packed in its own order."""
    return row * 64 + column


expression = "r * 64 + (c & ~7) + ((c & 6) >> 1) + ((c & 1) << 2)"
print("the expression and the table:", wl.check_layout(expression, TILE, equal=packed).line["verdict"])
print("packed in order:", wl.check_layout(straight, TILE, equal=packed).reason)

values = np.random.default_rng(0).integers(0, 16, (16, 64), dtype=np.uint32)
nibbles = np.zeros(16 * 64, dtype=np.uint32)
nibbles[[packed(r, c) for r in range(16) for c in range(64)]] = values.ravel()
words = (nibbles.reshape(-1, 8) << np.arange(0, 32, 4, dtype=np.uint32)).sum(axis=1, dtype=np.uint32)
halves = np.stack([words >> np.uint32(4 * i) & np.uint32(0x000F000F) for i in range(4)], axis=1)
pairs = np.stack([halves & np.uint32(0xFFFF), halves >> np.uint32(16)], axis=2)
print("unpacked by shifts and masks:", "the weights in order" if (pairs.reshape(16, 64) == values).all() else "wrong")
