"""The rows of the tables against plain Python and NumPy, written out here once more."""

import ast
import math
import operator

import numpy as np
import pytest

from warploom.core import f32, i8, u32
from warploom.operations import (
    BY_NAME,
    BY_SIGN,
    COMPARISONS,
    FOLDS,
    FUNCTIONS,
    OF_REALS,
    PAIRS,
    SIGN_OF,
    identity_of,
    numpy_function,
)

NUMBERS = (-3, -1, 0, 1, 2, 5)
MEANINGS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "min": min,
    "max": max, "neg": operator.neg, "abs": abs, "~": operator.invert,
}  # fmt: skip


@pytest.mark.parametrize("sign", COMPARISONS)
def test_a_comparison_its_negation_and_its_mirror_image(sign):
    row = COMPARISONS[sign]
    for a in NUMBERS:
        for b in NUMBERS:
            assert row.holds(a, b) == eval(f"{a} {sign} {b}")
            assert COMPARISONS[row.negated].holds(a, b) != row.holds(a, b)
            assert COMPARISONS[row.mirrored].holds(b, a) == row.holds(a, b)
    assert isinstance(ast.parse(f"a {sign} b", mode="eval").body.ops[0], row.python)
    assert row.holds(np.array(NUMBERS), 1).tolist() == [row.holds(a, 1) for a in NUMBERS]


@pytest.mark.parametrize("sign", MEANINGS)
def test_the_functions_of_a_row_mean_its_sign(sign):
    row = BY_SIGN[sign]
    for a in NUMBERS:
        for b in NUMBERS if row.arity == 2 else (0,):
            if (sign in ("/", "//", "%") and b == 0) or (sign in ("<<", ">>") and b < 0):
                continue
            want = MEANINGS[sign](a, b) if row.arity == 2 else MEANINGS[sign](a)
            assert row.exact(*(a, b)[: row.arity]) == want
            assert numpy_function(sign)(*(np.array([a]), np.array([b]))[: row.arity])[0] == want


def test_signs_of_python():
    assert {sign for sign in MEANINGS if sign in SIGN_OF.values()} == set(SIGN_OF.values())
    for kind, sign in SIGN_OF.items():
        assert isinstance(ast.parse(f"a {sign} b", mode="eval").body.op, kind)


@pytest.mark.parametrize("row", [row for row in BY_NAME.values() if row.is_function], ids=lambda row: row.name)
def test_a_function_is_the_same_in_python_and_numpy(row):
    for x in (0.25, 0.5, 1.0, 2.0):
        assert row.exact is getattr(math, row.name) and row.exact(x) == pytest.approx(getattr(math, row.called[0])(x))
        if row.numpy:
            assert float(numpy_function(row.sign)(x)) == pytest.approx(row.exact(x))
    assert row.keeps_zero == (row.name not in ("log", "log2") and row.exact(0.0) == 0)
    assert FUNCTIONS[row.called[0]] is row


@pytest.mark.parametrize("sign", FOLDS)
def test_the_identity_changes_nothing(sign):
    for dtype, values in ((i8, (-128, -3, 0, 127)), (u32, (0, 5, 2**32 - 1))):
        start = identity_of(sign, dtype)
        assert [BY_SIGN[sign].exact(start, v) for v in values] == list(values)
    start = identity_of(sign, f32)
    if BY_SIGN[sign].operands == "integers":
        assert start is None
    else:
        assert isinstance(start, float) and [BY_SIGN[sign].exact(start, v) for v in (-1.5, 0.0, 2.0)] == [-1.5, 0.0, 2.0]


def test_what_folds_nothing_has_no_identity():
    assert not PAIRS & set(FOLDS) and all(identity_of(sign, f32) is None for sign in PAIRS)
    assert identity_of("no operation", f32) is None


def test_what_real_numbers_have():
    """Laws on infinities are asked for these; a function that is missing here would follow the laws of numbers."""
    functions = {row.sign for row in BY_NAME.values() if row.is_function}
    assert functions | {"+", "-", "*", "/", "neg", "abs", "min", "max"} == OF_REALS


def test_all_ones_change_no_word() -> None:
    assert (identity_of("&", u32), identity_of("&", i8)) == (2**32 - 1, -1)


def test_a_function_without_a_sign_goes_by_its_name() -> None:
    assert BY_SIGN["sqrt"] is BY_NAME["sqrt"] and "" not in BY_SIGN
