"""Names of printed text."""

from __future__ import annotations

import re

import pytest

from warploom.ctext import CUDA_FUNCTIONS, RESERVED, Names, block_comment, comment
from warploom.ctext.names import legal


@pytest.mark.parametrize("wish, expected", [
    ("row", "row"), ("a.b c", "a_b_c"), ("3x", "v_3x"), ("_3", "v_3"), ("", "v"), ("__", "v"), ("_x", "_x"), ("_X", "X"),
    ("__x", "x"), ("é", "v"), ("größe", "gr_e"),
])  # fmt: skip
def test_legal(wish: str, expected: str) -> None:
    assert legal(wish) == expected


@pytest.mark.parametrize(
    "word", ["int", "restrict", "friend", "co_await", "linux", "threadIdx", "float4", "make_int2", "uint8_t", "NAN"]
)
def test_words_of_the_languages_are_left_alone(word: str) -> None:
    assert word in RESERVED
    assert Names().fresh(word) == f"{word}_2"


def test_each_name_is_given_once() -> None:
    names = Names(["unit"], numbered="{}{}".format)
    found = [names("unit"), names("a b"), names("a-b"), names.fresh("a_b"), names("a b")]
    assert found == ["unit2", "a_b", "a_b2", "a_b3", "a_b"]
    assert all(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) for name in found)


def test_comments_end_where_they_should() -> None:
    assert comment("a\nb \\ c\u2028d") == "// a b ? c d"
    assert block_comment("x */ y /* z") == "/* x * / y / * z */"


def test_kernels_are_not_named_like_functions_of_cuda() -> None:
    names = Names()
    assert [names("norm", CUDA_FUNCTIONS), names("norm"), names.fresh("roundf", CUDA_FUNCTIONS)] == [
        "norm_2",
        "norm_2",
        "roundf_2",
    ]
    assert Names().fresh("norm") == "norm"
