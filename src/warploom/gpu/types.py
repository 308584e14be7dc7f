"""CUDA C++ names and literals of the element types."""

from __future__ import annotations

import math

import numpy as np

from warploom.core import DType

_SCALARS = {
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long long",
    "f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "f64": "double",
}  # fmt: skip


def c_type(dtype: DType) -> str:
    """`float`, `unsigned char`, `__half`, `float4`; vectors have CUDA's names in the IR already."""
    return dtype.name if dtype.lanes > 1 else _SCALARS[dtype.name]


def is_signed_word(dtype: DType) -> bool:
    """int and long long: C leaves their overflow undefined, the IR wraps."""
    return dtype.kind == "int" and dtype.bits >= 32 and dtype.lanes == 1


def is_narrow(dtype: DType) -> bool:
    """8- and 16-bit integers: C computes them as int, the IR in their own width."""
    return not dtype.is_float and dtype.bits < 32 and dtype.lanes == 1


def literal(dtype: DType, value: int | float) -> str:
    """`value` as a constant of a scalar type, exact; integers wrap to the type."""
    match dtype.name:
        case "f32":
            return _float32(float(value))
        case "f64":
            if math.isinf(value) or math.isnan(value):
                return f"__longlong_as_double(0x{np.float64(value).view(np.uint64):016x}LL)"
            return repr(float(value))
        case "f16":
            return f"__float2half({_float32(float(value))})"
        case "bf16":
            return f"__float2bfloat16({_float32(float(value))})"
        case _:
            return _integer(dtype, int(value))


def _float32(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return f"__int_as_float(0x{np.float32(value).view(np.uint32):08x})"
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return f"{np.format_float_positional(np.float32(value), trim='0')}f"
    return f"{np.float32(value)!s}f"


def _integer(dtype: DType, value: int) -> str:
    value &= (1 << dtype.bits) - 1
    if dtype.kind == "int" and value >> (dtype.bits - 1):
        value -= 1 << dtype.bits
        if value == -(1 << (dtype.bits - 1)) and dtype.bits >= 32:
            return "(-2147483647 - 1)" if dtype.bits == 32 else "(-9223372036854775807LL - 1)"
    suffix = {("int", 64): "LL", ("uint", 64): "ULL", ("uint", 32): "u"}.get((dtype.kind, dtype.bits), "")
    return f"{value}{suffix}"
