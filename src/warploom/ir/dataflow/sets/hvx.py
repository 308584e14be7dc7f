"""Register instructions of Qualcomm's Hexagon Vector Extensions, on elements of any width.

    hvx_2x1{swaps}       mov, vshuffo, vshuffe, valign, vlalign 1..n-1; with `swaps` vmux and all its masks (factored)
    hvx{vmux}            the same
    hvx_2x2{swaps}       two results d, d+1 with d even: vshuffoe, vdeal; with `swaps` vswap and all its masks (factored)
    hvx_inplace{swaps}   both, in place

With first operand u, second v, lane i of n:

    vshuffo     v[i+1] if i even else u[i]              valign m    v[i+m] if i < n-m else u[i-(n-m)]
    vshuffe     v[i] if i even else u[i-1]              vlalign m   v[n-m+i] if i < m else u[i-m]  (= valign n-m)
    vmux        u[i] where the mask has bit i, else v[i]
    vshuffoe    result r: v[i+r] if i even else u[i-1+r]
    vdeal       result r: u[2i+r] if i < n/2 else v[2(i-n/2)+r]
    vswap       results (u[i], v[i]) where the mask has bit i, else (v[i], u[i])

The exchange of two registers is vswap with all bits set: it comes with `swaps` (29 members on [4, 8] in place without it).

Source: Swizzleflow, section 6, and the authors' tool; Qualcomm Hexagon HVX Programmer's Reference Manual (80-N2040), permute
instructions.
"""

from __future__ import annotations

import numpy as np

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.registers import REGISTER_OPTIONS, FreeOp, LaneOp, Registers, register_set, registers
from warploom.ir.swizzle import IntArray


def hvx_2x1(call: Call) -> GatherSet:
    """`hvx_2x1` and `hvx`."""
    flag = "vmux" if call.name == "hvx" else "swaps"
    call.only(*REGISTER_OPTIONS, flag)
    chosen = _registers(call)
    return register_set(call, [(_one_result(chosen.lanes, masks=call.flag(flag)), chosen, 1)])


def hvx_2x2(call: Call) -> GatherSet:
    call.only(*REGISTER_OPTIONS, "swaps")
    chosen = _registers(call)
    return register_set(call, [(_two_results(chosen.lanes, masks=call.flag("swaps")), chosen, 2)])


def hvx_inplace(call: Call) -> GatherSet:
    call.only("in_lim", "in", "out", "swaps")
    chosen, masks = _registers(call, in_place=True), call.flag("swaps")
    return register_set(
        call, [(_one_result(chosen.lanes, masks=masks), chosen, 1), (_two_results(chosen.lanes, masks=masks), chosen, 2)]
    )


def _registers(call: Call, *, in_place: bool = False) -> Registers:
    chosen = registers(call, in_place=in_place)
    if chosen.lanes % 2:
        raise call.mismatch("an even number of lanes")
    return chosen


def _one_result(n: int, *, masks: bool) -> list[LaneOp | FreeOp]:
    i: IntArray = np.arange(n)
    m = np.arange(1, n)[:, None]
    is_even = i % 2 == 0
    ops: list[LaneOp | FreeOp] = [
        LaneOp("mov", 1, i[None], ("",), cost=0),
        LaneOp("vshuffo", 2, np.where(is_even, n + i + 1, i)[None], ("",)),
        LaneOp("vshuffe", 2, np.where(is_even, n + i, i - 1)[None], ("",)),
        LaneOp("valign", 2, np.where(i < n - m, n + i + m, i - (n - m)), tuple(f", {shift}" for shift in range(1, n))),
    ]
    if masks:
        ops.append(FreeOp("vmux", 2, i[:, None], np.stack([n + i, i], axis=1)[:, :, None], _mask, is_symmetric=True))
    return ops


def _two_results(n: int, *, masks: bool) -> list[LaneOp | FreeOp]:
    i: IntArray = np.arange(n)
    r = np.arange(2)[:, None]
    oe = np.where(i % 2 == 0, n + i + r, i - 1 + r)
    deal = np.where(i < n // 2, 2 * i + r, n + 2 * (i - n // 2) + r)
    ops: list[LaneOp | FreeOp] = [LaneOp("vshuffoe", 2, oe.reshape(1, -1), ("",)), LaneOp("vdeal", 2, deal.reshape(1, -1), ("",))]
    if masks:
        # A bit of the mask decides the lane of both results.
        pairs = np.stack([np.stack([n + i, i], axis=1), np.stack([i, n + i], axis=1)], axis=1)
        ops.append(FreeOp("vswap", 2, np.stack([i, n + i], axis=1), pairs, _mask, is_symmetric=True))
        # A register with itself leaves nothing to choose: both results are its copy.
        ops.append(LaneOp("vswap", 2, np.concatenate([n + i, i])[None], (", mask=0x0",)))
    return ops


def _mask(bits: tuple[int, ...]) -> str:
    """Lane 0 is the lowest bit."""
    return f", mask={sum(bit << lane for lane, bit in enumerate(bits)):#x}"
