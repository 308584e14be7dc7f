"""Arguments of a launch: one form for `ptx run`, `lint`, `ptx prove` and `same`, read as numbers or as symbols."""

import re

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ptx import Surface, TensorMap, Texture, lower, parse
from warploom.tools.ptx.arguments import arguments, launch_texts, unread
from warploom.tools.ptx.prove import read_argument

ENTRY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) { ret; }\n"
(PARAMETER,) = lower(parse(ENTRY)).kernels[0].parameters


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[64]", (64,)), ("f32[64,32]", (64, 32)), ("f32[64x32]", (64, 32)), ("f32[ 64 , 32, ]", (64, 32)),
        ("zeros:f32:64x32", (64, 32)), ("zeros:f32:64", (64,)), ("random:f32:64:7", (64,)), ("ones:s32:8x8", (8, 8)),
    ],
)  # fmt: skip
def test_shapes(text: str, shape: tuple[int, ...]) -> None:
    assert getattr(read_argument(text, "a", PARAMETER), "shape") == shape  # noqa: B009


@pytest.mark.parametrize("text", ["f32[]", "f32[,]", "f32[3 4]", "f32[x]", "f32[3x]", "zeros:f32:3x", "f32[3,,4]", "some:f32:3"])
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="ARG_FORM"):
        read_argument(text, "a", PARAMETER)


def test_only_zeros_are_taken_as_they_stand() -> None:
    contents = [getattr(read_argument(f"{fill}:f32:4", "a", PARAMETER), "content") for fill in ("zeros", "ones", "random")]  # noqa: B009
    assert contents == ["zeros", "symbols", "symbols"]


def test_a_run_fills_arrays_of_any_numbers_at_random() -> None:
    shaped, count = arguments(["1=u32:7", "0=f32[4,2]"], 2, "k")
    assert isinstance(shaped, np.ndarray) and (shaped.shape, count) == ((4, 2), 7)
    assert len(set(shaped.ravel())) > 1


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["f32[4", "u32:7"], "expected INDEX="), (["f32[4,,]", "u32:7"], "a shape such as"),
        (["f32[4]", "u32"], "a value of argument"),
        (["f32[4]", "7"], "the type of argument 1"), (["f32[4]"], "got none for parameter 1"),
        (["1=u32:7", "u32:7"], "argument 1 once"),
        (["f32[4]", "u32:7", "u32:7"], "an index below 2"), (["x=f32[4]", "u32:7"], "expected INDEX="),
    ],
)  # fmt: skip
def test_arguments_that_are_no_numbers_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        arguments(texts, 2, "k")


def test_parameters_that_the_kernel_does_not_read_are_said_to_be_free() -> None:
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 k_0, .param .u64 k_0x, .param .u32 k_1, .param .u64 k_2, .param .u64 k_3)\n"
        "{ .reg .b64 %rd<3>; ld.param.u64 %rd1, [k_0]; ld.param.u64 %rd2, [k_2+0]; ret; }\n"
    )
    program = lower(parse(text))
    (kernel,) = program.kernels
    free = unread(program, kernel)
    assert free == {1, 4}  # k_1 has 32 bits
    with pytest.raises(UserError, match="does not read it, .* add --arg 4=u64:0"):
        arguments(["u64:0", "u64:0", "u32:0", "u64:0"], 5, "k", free)
    with pytest.raises(UserError, match="Add --arg 2=..., where"):
        arguments(["u64:0", "u64:0", "3=u64:0"], 5, "k", free)
    assert arguments(["u64:0", "u64:0", "u32:0", "u64:0", "u64:0"], 5, "k", free)[4] == 0


@pytest.mark.parametrize(
    ("launched", "grid", "block", "message"),
    [
        (None, None, None, "expected --launch GRID BLOCK"), (None, "1", None, "expected --block"),
        (None, None, "1", "expected --grid"),
        (("1", "1"), "1", None, "got both"), (("1", "1"), None, "1", "got both"),
    ],
)  # fmt: skip
def test_a_launch_is_given_once(launched: tuple[str, str] | None, grid: str | None, block: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        launch_texts(launched, grid, block)


def test_a_launch_in_either_form() -> None:
    assert launch_texts(("1", "2"), None, None) == launch_texts(None, "1", "2") == ("1", "2")


def test_tensor_maps_are_made_of_arrays() -> None:
    one, other = arguments(["tensormap,8x64,128B:zeros:f16:16x128", "tensormap,bf16,nan,32:arange:u16:64"], 2, "k")
    assert isinstance(one, TensorMap) and isinstance(other, TensorMap)
    assert (tuple(one.box), one.swizzle, one.array.shape) == ((8, 64), "128B", (16, 128))
    assert (tuple(other.box), other.fill, other.element) == ((32,), "nan", "bf16")


@pytest.mark.parametrize(
    "text", ["tensormap:zeros:f16:16x64", "tensormap,8x64,8x64:zeros:f16:16x64", "tensormap,8x64,half:zeros:f16:16x64"]
)
def test_what_makes_no_tensor_map_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="tensormap,BOX:SPEC such as"):
        arguments([text], 1, "k")


def test_textures_and_surfaces_are_made_of_arrays() -> None:
    texture, surface = arguments(["texture,linear,mirror,normalized,float:arange:u8:4x3", "surface:zeros:f32:8"], 2, "k")
    assert isinstance(texture, Texture) and isinstance(surface, Surface)
    assert (texture.filter, texture.outside, texture.normalized, texture.reads) == ("linear", "mirror", True, "normalized_float")
    assert texture.array.tolist() == np.arange(12).reshape(4, 3).tolist() and surface.array.shape == (8,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("texture,cubic:zeros:f32:4", "settings among point, linear"), ("surface,linear:zeros:f32:4", "settings among none"),
        ("texture:zeros:f64:4", "at most 4 bytes"), ("texture:f32", "expected INDEX="), ("texture", "expected INDEX="),
    ],
)  # fmt: skip
def test_what_makes_no_image_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        arguments([text], 1, "k")
