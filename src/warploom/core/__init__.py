"""Basics that every layer shares: source spans, diagnostics, element types, limits of a run, private folders, the C compiler.

Takes nothing of the other packages (only the standard library and NumPy are imported). Gives `Diagnostic`, `UserError`, `DType`
and the helpers around them. Open `diagnostics.py` first.
"""

import warploom.core.starting  # noqa: F401  # pyright: ignore[reportUnusedImport]
from warploom.core.c_types import INT, common_type, promoted
from warploom.core.collecting import rarely_collected
from warploom.core.diagnostics import Diagnostic, UnsupportedError, UserError, WarploomError, placed
from warploom.core.dtypes import (
    BY_NAME,
    FACTORS,
    SCALARS,
    VECTORS,
    DType,
    bf16,
    bf16_values,
    bf16_words,
    e4m3,
    e5m2,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    integer_range,
    scalar_of,
    tf32,
    to_numpy,
    u8,
    u16,
    u32,
    u64,
    values_of,
    vector_of,
    words_of,
)
from warploom.core.inputs import read_bytes, read_text, read_text_file, require_file
from warploom.core.programs import find_program, find_tool, program_folders, safe_path
from warploom.core.raised import raised_at
from warploom.core.spans import NOWHERE, Span
from warploom.core.targets import assigns_to_element
from warploom.core.verdicts import Status, Verdict

__all__ = [
    "BY_NAME",
    "FACTORS",
    "INT",
    "NOWHERE",
    "SCALARS",
    "VECTORS",
    "DType",
    "Diagnostic",
    "Span",
    "Status",
    "UnsupportedError",
    "UserError",
    "Verdict",
    "WarploomError",
    "assigns_to_element",
    "bf16",
    "bf16_values",
    "bf16_words",
    "common_type",
    "e4m3",
    "e5m2",
    "f16",
    "f32",
    "f64",
    "find_program",
    "find_tool",
    "i8",
    "i16",
    "i32",
    "i64",
    "integer_range",
    "placed",
    "program_folders",
    "promoted",
    "raised_at",
    "rarely_collected",
    "read_bytes",
    "read_text",
    "read_text_file",
    "require_file",
    "safe_path",
    "scalar_of",
    "tf32",
    "to_numpy",
    "u8",
    "u16",
    "u32",
    "u64",
    "values_of",
    "vector_of",
    "words_of",
]  # fmt: skip
