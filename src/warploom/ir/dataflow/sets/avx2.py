"""Shuffles of x86 AVX2 between 256-bit registers, on [registers, lanes] arrays of 8, 16 or 32 lanes (of 32, 16 or 8 bits).

    avx2{in_lim, in, out, fresh, inplace, NAME, ..}     all instructions, or those named: vmovdqa and the identity are always in

    vpermd                 every 32 bits read any 32 bits of one operand (factored)
    vpshufb                every element reads any element of its 128-bit half, or 0 (factored)
    vpblendd               every 32 bits from the one or the other operand (factored)
    vperm2i128             every half from any half of two operands, or 0
    vpunpcklX, vpunpckhX   elements of the low or high parts of both halves interleaved; X = bw 8, wd 16, dq 32, qdq 64 bits
    vpalignr               bytes 16h.. of the halves first:second shifted right
    vpslldq, vpsrldq       bytes of each half shifted up or down, 0 shifted in

A variant that would split elements is left out.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: VPERMD, PSHUFB, VPBLENDD, VPERM2I128, PUNPCKL*,
PUNPCKH*, PALIGNR, PSLLDQ, PSRLDQ (VEX.256 encoded versions).
"""

from __future__ import annotations

from itertools import product

import numpy as np

from warploom.ir.dataflow.gather_set import ZERO, GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.registers import REGISTER_OPTIONS, FreeOp, LaneOp, register_set, registers
from warploom.ir.swizzle import BoolArray, IntArray

BYTES, HALF = 32, 16
LANES = (8, 16, 32)
NAMES = (
    "vpermd", "vpshufb", "vpblendd", "vperm2i128",
    "vpunpcklbw", "vpunpckhbw", "vpunpcklwd", "vpunpckhwd", "vpunpckldq", "vpunpckhdq", "vpunpcklqdq", "vpunpckhqdq",
    "vpalignr", "vpslldq", "vpsrldq",
)  # fmt: skip


def avx2(call: Call) -> GatherSet:
    call.only(*REGISTER_OPTIONS, *NAMES)
    chosen = registers(call)
    if chosen.lanes not in LANES:
        raise call.mismatch("8, 16 or 32 lanes")
    named = [name for name in NAMES if call.flag(name)]
    move = LaneOp("vmovdqa", 1, np.arange(chosen.lanes)[None], ("",), cost=0)
    ops = [op for op in (*_free_ops(chosen.lanes), *_byte_ops(chosen.lanes)) if not named or op.name in named]
    return register_set(call, [((move, *ops), chosen, 1)])


def _free_ops(n: int) -> tuple[FreeOp, ...]:
    lane: IntArray = np.arange(n)
    words = lane.reshape(8, n // 8)
    half = lane[:, None] // (n // 2) * (n // 2) + np.arange(n // 2)
    shuffled = np.concatenate([half, np.full((n, 1), ZERO)], axis=1)
    blended = np.stack([words, n + words], axis=1)
    return (
        FreeOp("vpermd", 1, words, np.broadcast_to(words, (8, *words.shape)), _list),
        FreeOp("vpshufb", 1, lane[:, None], shuffled[:, :, None], lambda options: _list(options, n // 2)),
        FreeOp("vpblendd", 2, words, blended, _bits, is_symmetric=True),
    )


def _list(options: tuple[int, ...], zero: int | None = None) -> str:
    return f", [{', '.join('z' if option == zero else str(option) for option in options)}]"


def _bits(options: tuple[int, ...]) -> str:
    return f", {sum(bit << place for place, bit in enumerate(options)):#04x}"


def _byte_ops(n: int) -> list[LaneOp]:
    """Instructions with immediates, from their definitions on bytes: 0..31 of the first operand, 32..63 of the second."""
    byte: IntArray = np.arange(BYTES)
    local, start = byte % HALF, byte - byte % HALF
    ops: list[LaneOp] = []

    def add(name: str, operands: int, sources: IntArray, immediates: list[str]) -> None:
        lanes, whole = _elements(sources, n)
        if whole.any():
            ops.append(LaneOp(name, operands, lanes, tuple(np.array(immediates)[whole].tolist())))

    halves = [*(half * HALF + np.arange(HALF) for half in range(4)), np.full(HALF, ZERO)]
    selectors = (*range(4), 8)
    pairs = list(product(range(5), repeat=2))
    add(
        "vperm2i128",
        2,
        np.stack([np.concatenate([halves[low], halves[high]]) for low, high in pairs]),
        [f", {selectors[high] << 4 | selectors[low]:#04x}" for low, high in pairs],
    )
    for letters, size in (("bw", 1), ("wd", 2), ("dq", 4), ("qdq", 8)):
        for side, offset in (("l", 0), ("h", HALF // 2)):
            element, within = np.divmod(local, size)
            source = (element % 2) * BYTES + start + offset + element // 2 * size + within
            add(f"vpunpck{side}{letters}", 2, source[None], [""])
    shift = np.arange(2 * HALF)[:, None]
    moved = local + shift
    joined = np.where(moved < HALF, BYTES + start + moved, start + moved - HALF)
    add("vpalignr", 2, np.where(moved < 2 * HALF, joined, ZERO), [f", {s}" for s in range(2 * HALF)])
    shift = np.arange(1, HALF + 1)[:, None]
    names = [f", {s}" for s in range(1, HALF + 1)]
    add("vpslldq", 1, np.where(local >= shift, byte - shift, ZERO), names)
    add("vpsrldq", 1, np.where(local + shift < HALF, byte + shift, ZERO), names)
    return ops


def _elements(sources: IntArray, n: int) -> tuple[IntArray, BoolArray]:
    """[whole variants, n] sources in elements, and which of the variants ([variants, bytes]) keep all elements whole."""
    size = BYTES // n
    grouped = sources.reshape(-1, n, size)
    first = grouped[:, :, :1]
    is_zero = (grouped == ZERO).all(axis=2)
    is_moved = ((first >= 0) & (first % size == 0) & (grouped == first + np.arange(size))).all(axis=2)
    whole: BoolArray = (is_zero | is_moved).all(axis=1)
    lanes = np.where(is_zero, ZERO, first[:, :, 0] // size)
    return lanes[whole], whole
