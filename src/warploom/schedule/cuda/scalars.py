"""CUDA C++ of scalar types, constants and operations."""

from __future__ import annotations

from warploom.core import Diagnostic, DType, UnsupportedError
from warploom.schedule.backbone import ROWS, Operator

_TYPES = {
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long long",
    "f16": "__half", "bf16": "__nv_bfloat16", "f32": "float", "f64": "double",
}  # fmt: skip

_VECTORS = {
    "i32": "int", "u32": "uint", "i64": "longlong", "u64": "ulonglong", "f32": "float", "f64": "double",
    "i16": "short", "u16": "ushort", "i8": "char", "u8": "uchar",
}  # fmt: skip

MOST_VECTOR_BYTES = 16

KEEPING_NAN = {Operator.MAX: "max_or_nan", Operator.MIN: "min_or_nan"}
"""Helpers, since CUDA's own functions would forget a NaN; functions, since an operand may be a shuffle, which lanes run once."""
_REDUCING = (Operator.ADD, Operator.MUL, Operator.MAX, Operator.MIN)


def c_type(dtype: DType) -> str:
    return _TYPES[dtype.name]


def vector_type(dtype: DType, lanes: int) -> str | None:
    """`float4` and the like; None where CUDA moves no such vector at once."""
    if dtype.size_bytes * lanes > MOST_VECTOR_BYTES or lanes not in (2, 4):
        return None
    base = _VECTORS.get(dtype.name)
    return None if base is None else f"{base}{lanes}"


def operation(operator: Operator, dtype: DType, arguments: list[str], *, approximate: bool = False) -> str:
    """`operator` on texts of operands, each an atom or in parentheses where it must be."""
    if dtype.name in ("f16", "bf16") and operator not in (Operator.MOVE, Operator.CAST):
        raise UnsupportedError(
            Diagnostic(
                "CUDA_TYPE", f"expected f32, f64 or an integer type of {operator.value}, got {dtype.name}", fix="cast to f32"
            )
        )
    match operator:
        case Operator.MOVE:
            return arguments[0]
        case Operator.CAST:
            return f"static_cast<{c_type(dtype)}>({arguments[0]})"
        case Operator.NEG:
            return f"-{_atom(arguments[0])}"
        case Operator.ADD | Operator.SUB | Operator.MUL | Operator.DIV:
            return f" {ROWS[operator].c} ".join(_atom(a) for a in arguments)
        case Operator.LOAD | Operator.STORE:
            raise AssertionError(f"{operator.value} is no arithmetic")
        case _:
            return _function(operator, dtype, arguments, approximate=approximate)


def _function(operator: Operator, dtype: DType, arguments: list[str], *, approximate: bool) -> str:
    texts = ", ".join(arguments)
    if dtype.is_float:
        if approximate and dtype.bits == 32 and ROWS[operator].approximate:
            return f"{ROWS[operator].approximate}({texts})"
        if operator in (Operator.MAX, Operator.MIN):
            return f"{KEEPING_NAN[operator]}({texts})"
        return f"{ROWS[operator].c}{'f' if dtype.bits == 32 else ''}({texts})"
    match operator:
        case Operator.MAX | Operator.MIN | Operator.ABS:
            return f"{operator.value}({texts})"
        case Operator.FMA:
            return f"{_atom(arguments[0])} * {_atom(arguments[1])} + {_atom(arguments[2])}"
        case _:
            raise UnsupportedError(Diagnostic("CUDA_TYPE", f"expected a float type of {operator.value}, got {dtype.name}"))


def reduction(operator: Operator, dtype: DType, first: str, second: str) -> str:
    if operator not in _REDUCING:
        raise UnsupportedError(Diagnostic("CUDA_COMBINE", f"expected add, mul, max or min to combine, got {operator.value}"))
    return operation(operator, dtype, [first, second])


def _atom(text: str) -> str:
    """`text` in parentheses if it is more than a name, a call or an element."""
    depth = 0
    for position, letter in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if depth == 0 and (letter == " " or (letter == "-" and position == 0)):
            return f"({text})"
    return text
