"""Names of the element types in CUDA C++ and in C."""

from __future__ import annotations

from warploom.core import DType, vector_of

_SCALARS: dict[str, tuple[str, str | None]] = {
    "i8": ("signed char", "int8_t"), "i16": ("short", "int16_t"), "i32": ("int", "int32_t"), "i64": ("long long", "int64_t"),
    "u8": ("unsigned char", "uint8_t"), "u16": ("unsigned short", "uint16_t"), "u32": ("unsigned", "uint32_t"),
    "u64": ("unsigned long long", "uint64_t"), "f16": ("__half", "_Float16"), "bf16": ("__nv_bfloat16", "uint16_t"),
    "tf32": ("float", None), "e4m3": ("__nv_fp8_e4m3", None),
    "e5m2": ("__nv_fp8_e5m2", None),
    "f32": ("float", "float"), "f64": ("double", "double"),
    "i8x4": ("int", "i8x4"), "u8x4": ("unsigned", "u8x4"), "bf16x2": ("unsigned", "bf16x2"),
}  # fmt: skip
"""Name in CUDA C++, name in C with `stdint.h` (None: it has no such type); bf16 is its word there."""

MOST_VECTOR_BYTES = 16
"""Bytes that one access of a thread moves at most."""


def cuda_type(dtype: DType) -> str:
    """`float`, `unsigned char`, `__half`, `float4`: vectors have CUDA's names already."""
    return dtype.name if dtype.lanes > 1 else _SCALARS[dtype.name][0]


def c_type(dtype: DType) -> str | None:
    """`float`, `uint8_t`, `_Float16`, of bf16 the word; None for what C has no scalar type of."""
    return _SCALARS[dtype.name][1] if dtype.lanes == 1 else None


def vector_type(dtype: DType, lanes: int) -> DType | None:
    """The type whose values one access moves, as `float4`; None where CUDA moves no such vector at once."""
    if dtype.size_bytes * lanes > MOST_VECTOR_BYTES or lanes not in (2, 4):
        return None
    try:
        return vector_of(dtype, lanes)
    except KeyError:
        return None


def make(dtype: DType) -> str:
    """CUDA's constructor of a vector type: `make_float4`."""
    return f"make_{dtype.name}"


def is_signed_word(dtype: DType) -> bool:
    """int and long long: C leaves their overflow undefined, the IR wraps."""
    return dtype.kind == "int" and dtype.bits >= 32 and dtype.lanes == 1


def is_narrow(dtype: DType) -> bool:
    """8- and 16-bit integers: C computes them as int, the IR in their own width."""
    return not dtype.is_float and dtype.bits < 32 and dtype.lanes == 1
