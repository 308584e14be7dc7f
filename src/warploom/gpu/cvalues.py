"""C values of many threads at once: types, conversions and operators as the C++ standard and CUDA define them.

Part of the read-back: shares nothing with the kernel IR or its interpreter. Integers are 8 to 64 bits, `/` and `%` truncate
towards zero, narrow integers promote to int, mixed operands convert to the common type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Data: TypeAlias = NDArray[Any]
Trouble: TypeAlias = Callable[[str, str, NDArray[np.bool_]], None]
"""Takes a code, a message, and the threads in which the problem occurs."""

NUMPY: dict[str, Any] = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32,
    "i64": np.int64, "u64": np.uint64, "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
_FLOAT_RANK = ["f16", "bf16", "f32", "f64"]
_INT_RANK = ["i32", "u32", "i64", "u64"]
_SPELLED = {
    "bool": "bool", "_Bool": "bool", "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16",
    "int": "i32", "unsigned": "u32", "unsigned int": "u32", "long long": "i64", "unsigned long long": "u64",
    "__half": "f16", "__nv_bfloat16": "bf16", "float": "f32", "double": "f64",
}  # fmt: skip
_COMPONENTS = {
    "char": "i8", "uchar": "u8", "short": "i16", "ushort": "u16", "int": "i32", "uint": "u32", "longlong": "i64",
    "ulonglong": "u64", "float": "f32", "double": "f64",
}  # fmt: skip


def type_named(words: list[str]) -> str:
    """Short name of a C type: `i32` for `int`; a vector keeps its name."""
    return _SPELLED.get(" ".join(words), words[-1])


def component_type(name: str) -> str:
    """Type of one component of a vector type; a scalar is its own."""
    return _COMPONENTS[name[:-1]] if name not in NUMPY else name


@dataclass(frozen=True, slots=True)
class Value:
    """A value in every thread: `data` is [threads] for a scalar type, [threads, components] for a vector."""

    type: str
    data: Data


def rounded(name: str, data: Data) -> Data:
    """float32 data rounded to bf16 where that is the type (to nearest, ties to even)."""
    if name != "bf16":
        return data
    bits = np.ascontiguousarray(data, dtype=np.float32).view(np.uint32)
    up = ((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF)
    return np.where(np.isfinite(data), ((bits + up) & np.uint32(0xFFFF0000)).view(np.float32), data)


def convert(value: Value, to: str) -> Value:
    """C's conversion: integers wrap, floats truncate to integers, everything else rounds."""
    if value.type == to:
        return value
    if to == "bool":
        return Value(to, value.data != 0)
    source = value.data
    if source.dtype.kind == "f" and NUMPY[to] in (np.int8, np.uint8, np.int16, np.uint16):
        source = source.astype(np.int64)
    return Value(to, rounded(to, source.astype(NUMPY[to])))


def promoted(name: str) -> str:
    return "i32" if name in ("bool", "i8", "u8", "i16", "u16") else name


def common(a: str, b: str) -> str:
    """Type of both operands after the usual arithmetic conversions."""
    if a == b and a not in NUMPY:
        return a
    floats = [t for t in (a, b) if t in _FLOAT_RANK]
    if floats:
        return max(floats, key=_FLOAT_RANK.index)
    return max((promoted(a), promoted(b)), key=_INT_RANK.index)


def binary(op: str, a: Value, b: Value, active: NDArray[np.bool_], trouble: Trouble) -> Value:
    """`a op b` for arithmetic, bit and comparison operators; undefined behaviour in an active thread is reported."""
    if op in ("<<", ">>"):
        return _shift(op, a, b, active, trouble)
    kind = common(a.type, b.type)
    x, y = convert(a, kind).data, convert(b, kind).data
    match op:
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            compare = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater}
            return Value("bool", compare.get(op, np.greater_equal)(x, y))
        case "/" | "%" if kind in _INT_RANK:
            return Value(kind, _divide(op, x, y, active, trouble))
        case "/":
            return Value(kind, rounded(kind, np.asarray(np.divide(x, y), dtype=NUMPY[kind])))
        case "&" | "|" | "^":
            bits = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
            return Value(kind, bits[op](x, y))
        case _:
            arithmetic = {"+": np.add, "-": np.subtract, "*": np.multiply}[op]
            if kind == "i32":
                wide = arithmetic(x.astype(np.int64), y.astype(np.int64))
                over = active & ((wide < -(2**31)) | (wide >= 2**31))
                if over.any():
                    trouble("SIGNED_OVERFLOW", f"int {op} overflows", over)
                return Value(kind, wide.astype(np.int32))
            return Value(kind, rounded(kind, arithmetic(x, y)))


def _divide(op: str, x: Data, y: Data, active: NDArray[np.bool_], trouble: Trouble) -> Data:
    zero = y == 0
    if (zero & active).any():
        trouble("DIVISION_BY_ZERO", f"{op} by zero", zero & active)
    y = np.where(zero, np.ones_like(y), y)
    quotient, rest = np.floor_divide(x, y), np.remainder(x, y)
    crossed = (rest != 0) & ((x < 0) != (y < 0))
    if op == "/":
        return np.where(crossed, quotient + 1, quotient).astype(x.dtype)
    return np.where(crossed, rest - y, rest).astype(x.dtype)


def _shift(op: str, a: Value, b: Value, active: NDArray[np.bool_], trouble: Trouble) -> Value:
    kind = promoted(a.type)
    bits = NUMPY[kind](0).nbytes * 8
    x, count = convert(a, kind).data, b.data.astype(np.int64)
    wrong = active & ((count < 0) | (count >= bits))
    if wrong.any():
        trouble("SHIFT_COUNT", f"{op} by less than 0 or at least {bits}", wrong)
    count = np.clip(count, 0, bits - 1).astype(x.dtype)
    return Value(kind, np.left_shift(x, count) if op == "<<" else np.right_shift(x, count))


def unary(op: str, a: Value, active: NDArray[np.bool_], trouble: Trouble) -> Value:
    match op:
        case "!":
            return Value("bool", a.data == 0)
        case "-" if a.type in _FLOAT_RANK:
            return Value(a.type, -a.data)
        case "-":
            return binary("-", Value("i32", np.zeros(a.data.shape, np.int32)), a, active, trouble)
        case "~":
            kind = promoted(a.type)
            return Value(kind, ~convert(a, kind).data)
        case _:
            return convert(a, promoted(a.type))


def extremum(name: str, a: Value, b: Value) -> Value:
    """min, max, fminf, __hmax and their like."""
    kind = common(a.type, b.type)
    choose = np.minimum if "min" in name else np.maximum
    if kind in _FLOAT_RANK:
        choose = np.fmin if "min" in name else np.fmax
    return Value(kind, choose(convert(a, kind).data, convert(b, kind).data))


def fused(a: Value, b: Value, c: Value) -> Value:
    """fmaf: the float nearest to a * b + c."""
    product, addend = (np.asarray(x, np.float64) for x in (a.data.astype(np.float64) * b.data, c.data))
    with np.errstate(invalid="ignore"):
        total = product + addend
        back = total - product  # what the double sum leaves out is the rest of both
        rest = (product - (total - back)) + (addend - back)
        inexact = np.isfinite(total) & (rest != 0) & (total.view(np.int64) & 1 == 0)
    # to odd: rounded once more, the sum is what it would be at once
    odd = total.view(np.int64) + np.where((rest > 0) == (total > 0), 1, -1)
    with np.errstate(over="ignore"):
        return Value("f32", np.where(inexact, odd.view(np.float64), total).astype(np.float32))


def constant(kind: str, text: str, threads: int) -> Value:
    """A literal as pycparser gives it."""
    if kind in ("float", "double", "long double"):
        name = "f32" if text[-1] in "fF" else "f64"
        return Value(name, np.full(threads, float(text.rstrip("fF")), NUMPY[name]))
    digits = text.rstrip("uUlL")
    suffix, number = text[len(digits) :].lower(), int(digits, 0)
    choices = (
        ["u64"]
        if "u" in suffix and "l" in suffix
        else ["i64", "u64"]
        if "l" in suffix
        else ["u32", "u64"]
        if suffix
        else (["i32", "i64"] if digits.isdigit() else ["i32", "u32", "i64", "u64"])
    )
    name = next(t for t in choices if number <= np.iinfo(NUMPY[t]).max)
    return Value(name, np.full(threads, number, NUMPY[name]))
