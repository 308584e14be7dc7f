"""What every layer shares: source spans, diagnostics, element types. Standard library and NumPy only."""

from warploom.core.diagnostics import Diagnostic, UnsupportedError, UserError, WarploomError
from warploom.core.dtypes import (
    BY_NAME,
    INT,
    SCALARS,
    VECTORS,
    DType,
    bf16,
    common_type,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    integer_range,
    promoted,
    scalar_of,
    to_numpy,
    u8,
    u16,
    u32,
    u64,
    vector_of,
)
from warploom.core.spans import NOWHERE, Span

__all__ = [
    "BY_NAME", "INT", "NOWHERE", "SCALARS", "VECTORS", "DType", "Diagnostic", "Span", "UnsupportedError", "UserError",
    "WarploomError", "bf16", "common_type", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "integer_range", "promoted",
    "scalar_of", "to_numpy", "u8", "u16", "u32", "u64", "vector_of",
]  # fmt: skip
