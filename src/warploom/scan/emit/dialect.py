"""Text of values in each target language: one table per language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from warploom.core import f32, f64, i32, i64
from warploom.ctext import (
    ADDITIVE,
    CONDITIONAL,
    LEVELS,
    MULTIPLICATIVE,
    PRIMARY,
    UNARY,
    Text,
    cuda_type,
    decimal,
    integer,
    literal,
)
from warploom.operations import BY_NAME

IntType = Literal["int32", "int64"]
RealType = Literal["float32", "float64"]
Scalar = Literal["int32", "int64", "float32", "float64", "bool"]
Infinities = Literal["numbers", "sentinels"]
"""Whole numbers of the language have infinities, or its least and greatest number stand for them."""

TERNARY, OR, AND, NOT, COMPARE, BITWISE, SUM, PRODUCT, ATOM = range(9)
"""Precedence in Python and what is built on it; `&`, `^` and `|` are never mixed without parentheses."""


@dataclass(frozen=True, slots=True)
class Levels:
    """How tightly sums, products and their factors bind, and what needs parentheses nowhere."""

    sum: int
    product: int
    factor: int
    atom: int


_PYTHON = Levels(SUM, PRODUCT, ATOM, ATOM)


@dataclass(frozen=True, slots=True)
class Types:
    """Machine types of whole and of real numbers."""

    whole: IntType = "int32"
    real: RealType = "float32"


@dataclass(frozen=True, slots=True)
class Spelling:
    """A text with `{0}`, `{1}`, ... for operands that bind at least as tightly as `inner`; `{T}` is the result's type."""

    text: str
    level: int
    inner: int


@dataclass(frozen=True, slots=True)
class Join:
    """An operation of any number of operands that bind at least as tightly as `inner`."""

    sign: str
    level: int
    inner: int


Joined = Literal["and", "or", "bitand", "bitor", "bitxor"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One language."""

    name: str
    types: Mapping[Scalar, str]
    spellings: Mapping[str, Spelling]
    """By operation; what is missing is not served."""
    joins: Mapping[Joined, Join]
    levels: Levels
    number: Callable[[int | Fraction, Scalar], Text]
    true: str
    false: str
    infinities: Infinities
    below: Mapping[Scalar, str]
    """Text for minus infinity, by scalar type."""
    above: Mapping[Scalar, str]


def _c_number(value: int | Fraction, scalar: Scalar) -> Text:
    if scalar in ("float32", "float64"):
        return literal(f32 if scalar == "float32" else f64, value)
    bits = 64 if scalar == "int64" else 32
    return integer(int(value), bits) if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else decimal(int(value))


def _python_number(value: int | Fraction, scalar: Scalar) -> Text:
    text = repr(float(value)) if scalar in ("float32", "float64") else str(value)
    return Text(text, SUM if value < 0 else ATOM)


def _triton_number(value: int | Fraction, scalar: Scalar) -> Text:
    """Triton takes the least type that holds a number of the text, and single precision, before it asks what is done with it."""
    if scalar in ("int64", "float64") or (scalar == "int32" and not -(1 << 31) <= value < 1 << 31):
        kind = "float64" if scalar == "float64" else "int64"
        return Text(f"tl.full((), {_python_number(value, scalar).text}, tl.{kind})", ATOM)
    return _python_number(value, scalar)


def _c_join(sign: str, inner: int | None = None) -> Join:
    return Join(f" {sign} ", LEVELS[sign], LEVELS[sign] + 1 if inner is None else inner)


def _call(function: str, operands: int) -> Spelling:
    """A call in Python and what is built on it."""
    return Spelling(f"{function}({', '.join(f'{{{n}}}' for n in range(operands))})", ATOM, TERNARY)


_SIGNS = (">=", ">", "<", "<=", "==", "!=")
_MAX, _MIN, _EXP = (BY_NAME[name] for name in ("max", "min", "exp"))

C = Dialect(
    "cuda",
    {"int32": cuda_type(i32), "int64": cuda_type(i64), "float32": cuda_type(f32), "float64": cuda_type(f64), "bool": "bool"},
    {
        **{sign: Spelling(f"{{0}} {sign} {{1}}", LEVELS[sign], ADDITIVE) for sign in _SIGNS},
        "not": Spelling("!{0}", UNARY, PRIMARY),
        "select": Spelling("{0} ? {1} : {2}", CONDITIONAL, CONDITIONAL + 1),
        "max": Spelling("largest<{T}>({0}, {1})", PRIMARY, CONDITIONAL),
        "min": Spelling("smallest<{T}>({0}, {1})", PRIMARY, CONDITIONAL),
        "floordiv": Spelling("floor_quotient<{T}>({0}, {1})", PRIMARY, CONDITIONAL),
        "mod": Spelling("floor_remainder<{T}>({0}, {1})", PRIMARY, CONDITIONAL),
        "div": Spelling("{0} / {1}", MULTIPLICATIVE, UNARY),
        "gcd": Spelling("greatest_common_divisor<{T}>({0}, {1})", PRIMARY, CONDITIONAL),
        "exp": Spelling("exponential({0})", PRIMARY, CONDITIONAL),
        "cast": Spelling("({T}){0}", UNARY, UNARY),
    },
    {
        "and": _c_join("&&"), "or": _c_join("||"), "bitand": _c_join("&", UNARY), "bitor": _c_join("|", UNARY),
        "bitxor": _c_join("^", UNARY),
    },
    Levels(ADDITIVE, MULTIPLICATIVE, UNARY, PRIMARY),
    _c_number,
    "true",
    "false",
    "sentinels",
    {"int32": "INT_BELOW", "int64": "INT_BELOW", "float32": "(-INFINITY_F)", "float64": "(-(double)INFINITY_F)"},
    {"int32": "INT_ABOVE", "int64": "INT_ABOVE", "float32": "INFINITY_F", "float64": "((double)INFINITY_F)"},
)  # fmt: skip

_PYTHON_BITS: Mapping[Joined, Join] = {
    "bitand": Join(" & ", BITWISE, SUM), "bitor": Join(" | ", BITWISE, SUM), "bitxor": Join(" ^ ", BITWISE, SUM),
}  # fmt: skip

NUMBA = Dialect(
    "numba",
    {"int32": "int32", "int64": "int64", "float32": "float32", "float64": "float64", "bool": "boolean"},
    {
        **{sign: Spelling(f"{{0}} {sign} {{1}}", COMPARE, BITWISE) for sign in _SIGNS},
        "not": Spelling("not {0}", NOT, NOT),
        "select": Spelling("{1} if {0} else {2}", TERNARY, OR),
        "max": _call(_MAX.name, 2),
        "min": _call(_MIN.name, 2),
        "floordiv": Spelling("{0} // {1}", PRODUCT, ATOM),
        "mod": Spelling("{0} % {1}", PRODUCT, ATOM),
        "div": Spelling("{0} / {1}", PRODUCT, ATOM),
        "gcd": _call("greatest_common_divisor", 2),
        "exp": _call(f"math.{_EXP.name}", 1),
        "log": _call("math.log", 1),
        "sqrt": _call("math.sqrt", 1),
        "cast": Spelling("{T}({0})", ATOM, TERNARY),
    },
    {
        "and": Join(" and ", AND, NOT), "or": Join(" or ", OR, AND), **_PYTHON_BITS,
    },
    _PYTHON,
    _python_number,
    "True",
    "False",
    "sentinels",
    {"int32": "INT_BELOW", "int64": "INT_BELOW", "float32": "(-math.inf)", "float64": "(-math.inf)"},
    {"int32": "INT_ABOVE", "int64": "INT_ABOVE", "float32": "math.inf", "float64": "math.inf"},
)  # fmt: skip

TRITON = Dialect(
    "triton",
    {"int32": "tl.int32", "int64": "tl.int64", "float32": "tl.float32", "float64": "tl.float64", "bool": "tl.int1"},
    {
        **{sign: Spelling(f"({{0}} {sign} {{1}})", ATOM, BITWISE) for sign in _SIGNS},
        "not": Spelling("(~{0})", ATOM, ATOM),
        "select": _call("tl.where", 3),
        "max": _call("tl.maximum", 2),
        "min": _call("tl.minimum", 2),
        "floordiv": _call("floor_quotient", 2),
        "mod": _call("floor_remainder", 2),
        "div": Spelling("{0} / {1}", PRODUCT, ATOM),
        "div_numbers": Spelling("tl.full((), {0}, {T}) / {1}", PRODUCT, ATOM),
        "exp": _call("tl.exp", 1),
        "log": _call("tl.log", 1),
        "sqrt": _call("tl.sqrt", 1),
        "cast": Spelling("({0}).to({T})", ATOM, TERNARY),
    },
    {
        "and": Join(" & ", BITWISE, SUM), "or": Join(" | ", BITWISE, SUM), **_PYTHON_BITS,
    },
    _PYTHON,
    _triton_number,
    "True",
    "False",
    "sentinels",
    {"int32": "INT_BELOW", "int64": "INT_BELOW", "float32": 'float("-inf")', "float64": 'float("-inf")'},
    {"int32": "INT_ABOVE", "int64": "INT_ABOVE", "float32": 'float("inf")', "float64": 'float("inf")'},
)  # fmt: skip

NUMPY = Dialect(
    "numpy",
    {"int32": "np.int64", "int64": "np.int64", "float32": "np.float64", "float64": "np.float64", "bool": "np.bool_"},
    {
        **{sign: Spelling(f"({{0}} {sign} {{1}})", ATOM, BITWISE) for sign in _SIGNS},
        "not": Spelling("~{0}", ATOM, ATOM),
        "select": _call("np.where", 3),
        "select_whole": Spelling("_either({0}, {1}, {2}, kind)", ATOM, TERNARY),
        "max": _call(f"np.{_MAX.numpy}", 2),
        "min": _call(f"np.{_MIN.numpy}", 2),
        "floordiv": Spelling("{0} // {1}", PRODUCT, ATOM),
        "mod": Spelling("{0} % {1}", PRODUCT, ATOM),
        "div": Spelling("{0} / {1}", PRODUCT, ATOM),
        "div_numbers": _call("np.divide", 2),  # Python's division by a zero raises, though nobody may take the quotient
        "gcd": _call("np.gcd", 2),
        "exp": _call(f"np.{_EXP.numpy}", 1),
        "log": _call("np.log", 1),
        "sqrt": _call("np.sqrt", 1),
        "cast": Spelling("np.asarray({0}, {T})", ATOM, TERNARY),
    },
    {
        "and": Join(" & ", BITWISE, SUM), "or": Join(" | ", BITWISE, SUM), **_PYTHON_BITS,
    },
    _PYTHON,
    _python_number,
    "np.True_",
    "np.False_",
    "sentinels",
    {"int32": "INT_BELOW", "int64": "INT_BELOW", "float32": "(-np.inf)", "float64": "(-np.inf)"},
    {"int32": "INT_ABOVE", "int64": "INT_ABOVE", "float32": "np.inf", "float64": "np.inf"},
)  # fmt: skip
