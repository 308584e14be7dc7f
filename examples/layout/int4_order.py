"""The order of int4 weights for lop3 and mma: IST-DASLab/marlin#18, llm-awq#169, llm-compressor#1613, vllm#49529.

`(word >> 4 * i) & 0x000f000f` takes two nibbles at once, 16 bits apart, into the halves of a word that mma's operand wants. With
the order of the weights free, `exchange` finds the one that such words have as they are; in straight order their nibbles have to
be moved first. The packing is checked against NumPy, and so is the unpacking; two packers are one if all places are.
"""

import numpy as np

import warploom as wl

TILE = "16x64:u4"


def by_lop3(lane: int, item: int) -> int:
    """The nibbles that `(word >> 4 * i) & 0x000f000f` leaves: i and i + 4, one after the other."""
    return lane * 8 + item // 2 + item % 2 * 4


def wanted(lane: int, item: int) -> int:
    """Pairs of weights in their order."""
    return lane * 8 + item


fixed = wl.exchange(by_lop3, wanted, lanes=1, regs=1, bits=4)
free = wl.exchange(by_lop3, wanted, lanes=1, regs=1, bits=4, free=["e"])
packing = free.renaming["e"]
print(
    "straight order:", fixed.permutes + fixed.line["logic"], "instructions more a word; free:", free.permutes + free.line["logic"]
)
ORDER = tuple(packing.index(nibble) for nibble in range(8))
print("nibble n of a word is weight", ORDER, "of eight")


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
pairs = np.stack([words >> np.uint32(4 * i) & np.uint32(0x000F000F) | np.uint32(0x64006400) for i in range(4)], axis=1)
halves = pairs.view(np.float16).reshape(16, 64) - np.float16(1024)
print("unpacked as below:", "the weights in order" if (halves == values).all() else "wrong")
print("// out[i]: weights 2 i and 2 i + 1 of eight as half2, one LOP3 each beside the shift")
print("__device__ __forceinline__ void unpack(unsigned word, __half2 (&out)[4]) {")
print("    for (int i = 0; i < 4; ++i) {")
print("        const unsigned bits = ((word >> (4 * i)) & 0x000f000fu) | 0x64006400u;  // 1024 + weight, twice")
print("        out[i] = __hsub2(reinterpret_cast<const __half2&>(bits), __float2half2_rn(1024.0f));\n    }\n}")
