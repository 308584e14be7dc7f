"""Machine words in the solver mean what they mean to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.solve import Sat, Unsat
from warploom.solve.smt.word_identities import Word, WordConst, WordOp, WordVar, differing_words

PAIRS = [(200, 3), (-7, 2), (100, 100), (-128, 1), (5, 7)]
X, Y = WordVar("x"), WordVar("y")


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^", "<<", ">>", "min", "max", "neg", "~"])
def test_operations(op: str, is_signed: bool) -> None:
    dtype = np.int8 if is_signed else np.uint8
    ufunc = {
        "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
        "<<": np.left_shift, ">>": np.right_shift, "min": np.minimum, "max": np.maximum, "neg": np.negative, "~": np.invert,
    }[op]  # fmt: skip
    for pair in PAIRS:
        words = [np.array([n & 255], np.uint8).view(dtype) for n in (pair if op not in ("neg", "~") else pair[:1])]
        if op in ("<<", ">>") and not 0 <= int(words[1][0]) < 8:
            continue
        value = int(ufunc(*words)[0])
        term = WordOp(op, tuple(WordConst(int(w[0])) for w in words))
        assert isinstance(differing_words(term, WordConst(value), 8, is_signed=is_signed), Unsat), (op, pair)
        assert isinstance(differing_words(term, WordConst(value ^ 1), 8, is_signed=is_signed), Sat), (op, pair)


def test_operators_take_any_number_of_words() -> None:
    three = WordOp("+", (X, Y, X))
    assert isinstance(differing_words(three, WordOp("+", (WordOp("*", (X, WordConst(2))), Y)), 32, is_signed=True), Unsat)
    assert isinstance(differing_words(three, WordOp("+", (X, Y)), 32, is_signed=True), Sat)


@pytest.mark.parametrize("is_signed", [True, False])
def test_a_witness_names_its_inputs(is_signed: bool) -> None:
    """x >> 1 and x // 2 of the other signedness differ just where the sign bit is set."""
    halves: Word = WordOp(">>", (X, WordConst(1)))
    found = differing_words(halves, WordOp("&", (halves, WordConst(0x7F))), 8, is_signed=is_signed)
    if is_signed:
        assert isinstance(found, Sat) and -128 <= found.model["x"] < 0
    else:
        assert isinstance(found, Unsat)
    one = differing_words(WordOp("max", (X, WordConst(254))), WordConst(254), 8, is_signed=False)
    assert isinstance(one, Sat) and one.model == {"x": 255}


def test_no_word_operation() -> None:
    with pytest.raises(ValueError, match="no word operation"):
        differing_words(WordOp("//", (X, Y)), X, 8, is_signed=True)
