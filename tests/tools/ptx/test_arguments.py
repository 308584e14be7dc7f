"""Shapes of arrays as `ptx prove` and `same` take them, also in the form of `lint`."""

import pytest

from warploom.core import UserError
from warploom.ptx import lower, parse
from warploom.tools.ptx.prove import read_argument

ENTRY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) { ret; }\n"
(PARAMETER,) = lower(parse(ENTRY)).kernels[0].parameters


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[64]", (64,)), ("f32[64,32]", (64, 32)), ("f32[64x32]", (64, 32)), ("f32[ 64 , 32, ]", (64, 32)),
        ("zeros:f32:64x32", (64, 32)), ("zeros:f32:64", (64,)),
    ],
)  # fmt: skip
def test_shapes(text: str, shape: tuple[int, ...]) -> None:
    assert getattr(read_argument(text, "a", PARAMETER), "shape") == shape  # noqa: B009


@pytest.mark.parametrize("text", ["f32[]", "f32[,]", "f32[3 4]", "f32[x]", "f32[3x]", "zeros:f32:3x", "f32[3,,4]"])
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="ARG_FORM"):
        read_argument(text, "a", PARAMETER)
