"""Types of factors in NumPy's arrays, against the formats of the PTX interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.core import FACTORS, DType, bf16, e4m3, e5m2, f32, tf32, to_numpy, values_of, words_of
from warploom.ptx.simt.numerics.float_formats import decode, encode


@pytest.mark.parametrize("dtype", [e4m3, e5m2], ids=str)
def test_every_word_of_eight_bits(dtype: DType) -> None:
    words = np.arange(256, dtype=np.uint8)
    values = values_of(dtype, words)
    with np.errstate(invalid="ignore"):  # of NaN that signal
        np.testing.assert_array_equal(values, decode(dtype.name, words).astype(np.float32))
    finite = np.isfinite(values)
    np.testing.assert_array_equal(words_of(dtype, values)[finite], words[finite])


@pytest.mark.parametrize("dtype", [e4m3, e5m2], ids=str)
def test_other_numbers_are_rounded_to_the_nearest(dtype: DType) -> None:
    chance = np.random.default_rng(3)
    table = values_of(dtype, np.arange(256, dtype=np.uint8)).astype(np.float64)
    finite = np.unique(table[np.isfinite(table)])
    halves = (finite[1:] + finite[:-1]) / 2
    values = np.concatenate([halves, chance.normal(size=400) * 2.0 ** chance.integers(-18, 8, 400)])
    found = values_of(dtype, words_of(dtype, values))
    np.testing.assert_array_equal(found, decode(dtype.name, encode(dtype.name, values)).astype(np.float32))
    assert np.isnan(values_of(dtype, words_of(dtype, np.array([np.nan])))[0])
    assert values_of(dtype, words_of(dtype, np.array([1e9, -1e9]))).tolist() == [finite[-1], finite[0]]


def test_words_of_tf32_are_rounded_where_they_are_read() -> None:
    chance = np.random.default_rng(4)
    halves = np.array([0x3F801000, 0x3F803000, 0x3F800FFF, 0xBF801000], np.uint32).view(np.float32)
    values = np.concatenate([halves, chance.normal(size=400).astype(np.float32), np.array([np.inf, -0.0], np.float32)])
    words = words_of(tf32, values)
    np.testing.assert_array_equal(words, values)
    assert np.abs(values_of(tf32, words)[4:-2] / values[4:-2] - 1).max() <= 2.0**-11
    assert values_of(tf32, words)[:4].tolist() == [1.0009765625, 1.001953125, 1.0, -1.0009765625]
    assert not (values_of(tf32, words).view(np.uint32)[:-2] & 0x1FFF).any()
    assert values_of(tf32, words)[-2] == np.inf


def test_what_numpy_lacks_is_held_in_float32() -> None:
    assert [t for t in (*FACTORS, bf16, f32) if t.is_held] == [e4m3, e5m2, bf16]
    assert {to_numpy(t) for t in (*FACTORS, bf16)} == {np.dtype(np.float32)}
