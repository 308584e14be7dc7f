"""What every layer shares: source spans, diagnostics, element types. Standard library and NumPy only."""

import warploom.core.starting  # noqa: F401  # pyright: ignore[reportUnusedImport]
from warploom.core.diagnostics import Diagnostic, UnsupportedError, UserError, WarploomError
from warploom.core.dtypes import (
    BY_NAME,
    SCALARS,
    VECTORS,
    DType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    scalar_of,
    to_numpy,
    u8,
    u16,
    u32,
    u64,
    vector_of,
)
from warploom.core.inputs import require_file
from warploom.core.programs import find_program, program_folders, safe_path
from warploom.core.spans import NOWHERE, Span

__all__ = [
    "BY_NAME", "NOWHERE", "SCALARS", "VECTORS", "DType", "Diagnostic", "Span", "UnsupportedError", "UserError",
    "WarploomError", "bf16", "f16", "f32", "f64", "find_program", "i8", "i16", "i32", "i64", "program_folders", "require_file",
    "safe_path", "scalar_of", "to_numpy", "u8", "u16", "u32", "u64", "vector_of",
]  # fmt: skip
