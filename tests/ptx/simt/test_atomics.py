"""Atomics against threads that act one after another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.ptx.simt.atomics import apply, atomic

INTEGER = ("add", "min", "max", "and", "or", "xor", "exch")


def one(operation: str, old: int, b: int, c: int, bits: int, *, signed: bool) -> int:
    mask = (1 << bits) - 1

    def number(value: int) -> int:
        return value - (1 << bits) if signed and value >> (bits - 1) else value

    match operation:
        case "add":
            return (old + b) & mask
        case "min":
            return min(old, b, key=number)
        case "max":
            return max(old, b, key=number)
        case "and":
            return old & b
        case "or":
            return old | b
        case "xor":
            return old ^ b
        case "exch":
            return b
        case "cas":
            return c if old == b else old
        case "inc":
            return 0 if old >= b else old + 1
        case _:
            return b if old == 0 or old > b else old - 1


CASES = [
    *((operation, type_name) for operation in ("add", "min", "max") for type_name in ("u32", "s32", "u64", "s64")),
    *((operation, type_name) for operation in ("and", "or", "xor", "exch", "cas") for type_name in ("b32", "b64")),
    ("inc", "u32"), ("dec", "u32"), ("cas", "b16"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "type_name"), CASES)
@given(st.data())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_as_if_one_after_another(operation: str, type_name: str, data: st.DataObject) -> None:
    bits = int(type_name[1:])
    count = data.draw(st.sampled_from([1, 5, 40, 200]))
    places = data.draw(st.sampled_from([1, 3, 50]))
    seed = data.draw(st.integers(0, 2**32))
    random = np.random.default_rng(seed)
    small = data.draw(st.booleans())
    high = 4 if small else 2**bits - 1
    dtype = np.dtype(f"u{bits // 8}")
    words = random.integers(0, high, places, dtype, endpoint=True)
    index = random.integers(0, places, count)
    b, c = (random.integers(0, high, count, dtype, endpoint=True) for _ in range(2))
    expected = [int(word) for word in words]
    before: list[int] = []
    for place, first, second in zip(index.tolist(), b.tolist(), c.tolist(), strict=True):
        before.append(expected[place])
        expected[place] = one(operation, expected[place], first, second, bits, signed=type_name.startswith("s"))
    kind = atomic(operation, type_name)
    assert kind is not None
    without = words.copy()
    old = apply(kind, words, index, b, c, wants_old=True)
    assert words.tolist() == expected
    assert old.tolist() == before
    apply(kind, without, index, b, c, wants_old=False)
    assert without.tolist() == expected


@pytest.mark.parametrize("count", [10, 300])
def test_floats_round_after_every_addition(count: int) -> None:
    values = np.random.default_rng(3).random(count, np.float32) * np.float32(1e3)
    total = np.float32(0)
    for value in values:
        total = np.float32(total + value)
    words = np.zeros(1, np.uint32)
    kind = atomic("add", "f32")
    assert kind is not None
    apply(kind, words, np.zeros(count, np.int64), values.view(np.uint32), np.zeros((), np.uint32), wants_old=False)
    assert words.view(np.float32)[0] == total


def test_halves() -> None:
    kind = atomic("add", "f16x2")
    assert kind is not None
    words = np.zeros(1, np.uint32)
    pair = np.array([1.5, -2.0], np.float16).view(np.uint32)
    apply(kind, words, np.zeros(3, np.int64), np.repeat(pair, 3), np.zeros((), np.uint32), wants_old=False)
    assert words.view(np.float16).tolist() == [4.5, -6.0]


@pytest.mark.parametrize(("operation", "type_name"), [("and", "f32"), ("inc", "u64"), ("cas", "f32")])
def test_there_is_none(operation: str, type_name: str) -> None:
    assert atomic(operation, type_name) is None
