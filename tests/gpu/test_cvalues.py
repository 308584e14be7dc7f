"""C's arithmetic in the read-back, against Python's own integers and NumPy's conversions."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import numpy as np
import pytest

from warploom.gpu.cvalues import NUMPY, Value, binary, common, component_type, convert, promoted, type_named

WORDS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
ON = np.array([True])


def bits(name: str) -> int:
    return int(name[1:])


def of_c(a: str, b: str) -> str:
    """The usual arithmetic conversions. Source: C17, 6.3.1.8."""
    wide = [n if bits(n) >= 32 else "i32" for n in (a, b)]
    return max(wide, key=lambda n: (bits(n), n[0] == "u"))


def wrapped(value: int, name: str) -> int:
    value %= 1 << bits(name)
    return value - (1 << bits(name)) if name[0] == "i" and value >> (bits(name) - 1) else value


def quietly(code: str, message: str, where: object) -> None:
    raise AssertionError(code)


def test_types_have_their_names_sizes_and_signs() -> None:
    for name in WORDS:
        assert np.dtype(NUMPY[name]).itemsize * 8 == bits(name)
        assert (np.iinfo(NUMPY[name]).min < 0) == (name[0] == "i")
    assert [np.dtype(NUMPY[n]).itemsize for n in ("bool", "f16", "bf16", "f32", "f64")] == [1, 2, 4, 4, 8]
    spelled = {
        "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16", "int": "i32",
        "unsigned": "u32", "long long": "i64", "unsigned long long": "u64", "__half": "f16",
        "__nv_bfloat16": "bf16", "float": "f32", "double": "f64", "bool": "bool", "float4": "float4",
    }  # fmt: skip
    assert {text: type_named(text.split()) for text in spelled} == spelled
    vectors = {"char2": "i8", "uchar4": "u8", "short2": "i16", "ushort2": "u16", "int4": "i32", "uint2": "u32",
               "longlong2": "i64", "ulonglong4": "u64", "float2": "f32", "double2": "f64", "i32": "i32"}  # fmt: skip
    assert {name: component_type(name) for name in vectors} == vectors


def test_the_type_of_two_operands() -> None:
    for a, b in itertools.product(WORDS, WORDS):
        assert common(a, b) == of_c(a, b)
    assert [promoted(n) for n in ("bool", "i8", "u16", "u32", "i64")] == ["i32", "i32", "i32", "u32", "i64"]
    assert [common(*p) for p in (("f32", "i64"), ("u8", "f16"), ("f64", "f32"), ("bf16", "f32"), ("float4", "float4"))] == [
        "f32", "f16", "f64", "f32", "float4",
    ]  # fmt: skip


def test_conversions_wrap_and_truncate() -> None:
    for a, b in itertools.product(WORDS, WORDS):
        for value in (0, 1, -1, 127, 128, -129, 255, 40_000, 2**31, -(2**31), 2**40 + 7):
            given = wrapped(value, a)
            assert int(convert(Value(a, np.array([given], NUMPY[a])), b).data[0]) == wrapped(given, b)
    for value in (2.75, -2.75, 100.5):
        assert int(convert(Value("f32", np.array([value], np.float32)), "i8").data[0]) == int(value)
    assert convert(Value("f32", np.array([0.0, -0.5], np.float32)), "bool").data.tolist() == [False, True]


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "%", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "<<", ">>"])
def test_operators(op: str) -> None:
    exact: dict[str, Callable[[int, int], int]] = {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
        "/": lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
        "%": lambda x, y: abs(x) % abs(y) * (-1 if x < 0 else 1), "<<": operator.lshift, ">>": operator.rshift,
        "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    }  # fmt: skip
    for a, b in itertools.product(("i8", "u8", "i32", "u32", "i64", "u64"), ("i8", "u32", "i64")):
        for x, y in [(7, 2), (-7, 2), (7, -2), (-7, -2), (5, 5), (100, 3), (0, 4)]:
            if op in ("<<", ">>") and (y < 0 or (op == "<<" and x < 0)):
                continue
            values = Value(a, np.array([wrapped(x, a)], NUMPY[a])), Value(b, np.array([wrapped(y, b)], NUMPY[b]))
            kind = promoted(a) if op in ("<<", ">>") else of_c(a, b)
            expected = exact[op](*(wrapped(int(v.data[0]), kind) for v in values))
            if kind[0] == "i" and not -(1 << (bits(kind) - 1)) <= expected < 1 << (bits(kind) - 1):
                continue  # undefined
            found = binary(op, *values, ON, quietly)
            if op in ("==", "!=", "<", "<=", ">", ">="):
                assert (found.type, bool(found.data[0])) == ("bool", bool(expected))
            else:
                assert (found.type, int(found.data[0])) == (kind, wrapped(expected, kind)), (a, b, x, y)


@pytest.mark.parametrize(
    ("op", "x", "y", "code"),
    [
        ("+", 2**31 - 1, 1, "SIGNED_OVERFLOW"), ("-", -(2**31), 1, "SIGNED_OVERFLOW"), ("*", 2**16, 2**15, "SIGNED_OVERFLOW"),
        ("/", 1, 0, "DIVISION_BY_ZERO"), ("%", 1, 0, "DIVISION_BY_ZERO"),
    ],
)  # fmt: skip
def test_undefined_behaviour_is_told_of_threads_that_run(op: str, x: int, y: int, code: str) -> None:
    told: list[str] = []
    values = [Value("i32", np.array([n], np.int32)) for n in (x, y)]
    binary(op, values[0], values[1], ON, lambda code, message, where: told.append(code))
    assert told == [code]
    binary(op, values[0], values[1], ~ON, quietly)


@pytest.mark.parametrize(("op", "x", "y"), [("+", 2**31 - 2, 1), ("-", 1 - 2**31, 1), ("*", 2**16, -(2**15))])
def test_the_last_numbers_in_range_are_in_range(op: str, x: int, y: int) -> None:
    values = [Value("i32", np.array([n], np.int32)) for n in (x, y)]
    assert int(binary(op, values[0], values[1], ON, quietly).data[0]) in (2**31 - 1, -(2**31))
