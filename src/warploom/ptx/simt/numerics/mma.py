"""mma.sync: D = A B + C on fragments.

Products are exact. PTX leaves the order and precision of the sum open: here floats are summed in double precision in
the order of k, C last, and rounded once (f64: a chain of fused multiply-adds from C in the order of k); integers are exact.
Hardware may differ in the last bits of f16 and f32 results.

Source: PTX ISA 9.0, section 9.7.14 (mma).
"""

from __future__ import annotations

import numpy as np

from warploom.ptx.simt.numerics.float_exact import fma_f64
from warploom.ptx.simt.numerics.float_formats import decode, encode
from warploom.ptx.simt.numerics.fragments import fragment, gather, scatter
from warploom.ptx.simt.numerics.scalars import Bits, signed, unsupported

_DEPTHS: dict[str, tuple[str, ...]] = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "e4m3": ("m16n8k16", "m16n8k32"),
    "e5m2": ("m16n8k16", "m16n8k32"),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "u8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
}
_ACCUMULATORS: dict[str, tuple[str, ...]] = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "e4m3": ("f16", "f32"),
    "e5m2": ("f16", "f32"),
    "s8": ("s32",),
    "u8": ("s32",),
    "f64": ("f64",),
}
_MIXED = (frozenset(("s8", "u8")), frozenset(("e4m3", "e5m2")))


def mma(
    shape: str, d_type: str, a_type: str, b_type: str, c_type: str, a: Bits, b: Bits, c: Bits, *, satfinite: bool = False
) -> Bits:
    """mma.sync.aligned.shape.row.col[.satfinite].d_type.a_type.b_type.c_type on registers [warps, 32, registers].

    Returns D's registers, laid out as `fragment("d", shape, d_type)`. Shapes: m16n8k8 and k16 of f16 and bf16, m16n8k4
    and k8 of tf32, m8n8k16 and m16n8k16 and k32 of s8 and u8 (mixed too; `satfinite` clamps the sum to s32), m16n8k16 and k32
    of e4m3 and e5m2, and the f64 ones. f16 operands accumulate in f16 or f32, C's type and D's alike or not.
    """
    if shape not in _DEPTHS.get(a_type, ()) or (a_type != b_type and frozenset((a_type, b_type)) not in _MIXED):
        raise unsupported(f"mma.{shape}.{d_type}.{a_type}.{b_type}.{c_type}")
    if d_type not in _ACCUMULATORS[a_type] or c_type not in _ACCUMULATORS[a_type]:
        raise unsupported(f"mma.{shape}.{d_type}.{a_type}.{b_type}.{c_type}")
    left = gather(fragment("a", shape, a_type), a)
    right = gather(fragment("b", shape, b_type), b)
    addend = gather(fragment("c", shape, c_type), c)
    found = product_sum((d_type, a_type, b_type, c_type), left, right, addend, satfinite=satfinite)
    return scatter(fragment("d", shape, d_type), found)


def product_sum(types: tuple[str, str, str, str], left: Bits, right: Bits, addend: Bits, *, satfinite: bool = False) -> Bits:
    """A B + C of matrices of raw elements, [warps, rows, columns] each; types of D, A, B, C."""
    d_type, a_type, b_type, c_type = types
    if d_type == "s32":
        return _integers(a_type, b_type, left, right, addend, satfinite)
    x, y, z = decode(a_type, left), decode(b_type, right), decode(c_type, addend)
    if d_type == "f64":
        for step in range(x.shape[-1]):
            z = fma_f64(x[..., :, step, None], y[..., None, step, :], z, "rn")
        return encode("f64", z)
    total = np.zeros(addend.shape, np.float64)
    for step in range(x.shape[-1]):
        total += x[..., :, step, None] * y[..., None, step, :]
    return encode(d_type, total + z)


def _integers(a_type: str, b_type: str, left: Bits, right: Bits, addend: Bits, satfinite: bool) -> Bits:
    x = (signed(left) if a_type == "s8" else left).astype(np.int64)
    y = (signed(right) if b_type == "s8" else right).astype(np.int64)
    total = signed(addend).astype(np.int64)
    for step in range(x.shape[-1]):
        total += x[..., :, step, None] * y[..., None, step, :]
    if satfinite:
        total = np.clip(total, -(2**31), 2**31 - 1)
    return total.astype(np.int32).view(np.uint32)
