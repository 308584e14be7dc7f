"""Which elements a mask in the text of a function rules out, and where none is read of it."""

# pyright: basic, reportArgumentType=false, reportOptionalMemberAccess=false

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.schedule.online import masked_forms as forms
from tests.schedule.online.attention_forms import causal, plain, random_arrays

from warploom.schedule.backbone import Backbone, evaluate, parse_backbone
from warploom.schedule.online import online


def rewritten(function, n: int, m: int, tile: int) -> Backbone:
    sizes = {"n": n, "m": m, "d": 2}
    found = online(plain(function, sizes), tile)
    assert isinstance(found, Backbone)
    return found


def kept(stage: Backbone, n: int, m: int) -> np.ndarray:
    """Whether no form is negative, by row and element, of axes i and j of a rewritten kernel."""
    made = stage.rewritten
    assert made is not None and made.mask is not None
    tile = stage.axes[made.inner].size
    names = {axis.name: number for number, axis in enumerate(stage.axes)}
    found = np.ones((n, m), bool)
    for form, i, j in product(made.mask.forms, range(n), range(m)):
        found[i, j] &= form.at({names["i"]: i, made.outer: j // tile, made.inner: j % tile}) >= 0
    return found


@pytest.mark.parametrize("function", forms.MASKS, ids=lambda f: f.name)
@pytest.mark.parametrize(("n", "m"), [(8, 8), (6, 12)])
def test_forms_rule_out_what_the_text_does(function, n: int, m: int) -> None:
    stage = rewritten(function, n, m, 2)
    wanted = forms.MASKS[function](*np.indices((n, m)))
    assert (kept(stage, n, m) == wanted).all()
    mask = stage.rewritten.mask
    counts = wanted.sum(axis=1) / m
    assert (mask.least, mask.mean, mask.most) == pytest.approx((counts.min(), counts.mean(), counts.max()))


def test_what_is_ruled_out_adds_nothing() -> None:
    """Other scores, keys and values there change nothing: the sums are those of numpy."""
    stage = rewritten(forms.window, 12, 12, 3)
    data = random_arrays(stage)
    made = evaluate(stage, data, {"scale": 0.7})["Y"]
    np.testing.assert_allclose(made, forms.masked_by_numpy(forms.window, data, 0.7), rtol=2e-5)


@pytest.mark.parametrize(
    "function",
    [
        forms.strict, forms.whole_rows, forms.small_rather_than_none, forms.of_data, forms.either, forms.scores_as_weights,
        forms.masked_twice, forms.always,
    ],
    ids=lambda f: f.name,
)  # fmt: skip
def test_no_mask_is_read(function) -> None:
    found = online(plain(function, {"n": 8, "m": 8}), 2)
    if isinstance(found, Backbone):
        assert found.rewritten is not None and found.rewritten.mask is None


def test_rows_without_an_element_keep_all_tiles() -> None:
    """Window of 3 behind row i: rows from 7 on have none of 4 elements."""
    assert rewritten(forms.window, 6, 4, 2).rewritten.mask is not None
    assert rewritten(forms.window, 7, 4, 2).rewritten.mask is None


BY_HAND = """backbone by_hand
axis i 8: 8
axis j 8: 8
input X f32 [8, 8] strides [8, 1]
output y f32 [8] strides [1]
load_X[i, j] = load f32 X[i, j]
behind[i, j] = less_equal i32 at(j), at(i)
chosen[i, j] = cast f32 behind[i, j]
s[i, j] = select f32 chosen[i, j], load_X[i, j], -inf
least[i] = move f32 -inf
top[i, j] = max f32 carry(least; j), s[i, j]
less[i, j] = sub f32 s[i, j], top[i]
e[i, j] = exp f32 less[i, j]
zero[i] = move f32 0.0
total[i, j] = add f32 carry(zero; j), e[i, j]
store_y[i] = store f32 total[i] to y[i]
"""


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("less_equal i32 at(j), at(i)", "less_equal f32 at(j), at(i)"),  # f32 does not hold all indices
        ("less_equal i32 at(j), at(i)", "less_equal i32 at(j), at(1000000000*i)"),
        ("cast f32 behind[i, j]", "move f32 1.0"),
        ("chosen[i, j], load_X[i, j], -inf", "chosen[i, j], -inf, -inf"),
        ("sub f32 s[i, j], top[i]", "add f32 s[i, j], s[i, j]"),
        ("less_equal i32 at(j), at(i)", "equal i32 at(i), at(3)"),  # whole rows
    ],
)
def test_conditions_that_are_not_read(line: str, other: str) -> None:
    right = online(parse_backbone(BY_HAND), 4)
    assert isinstance(right, Backbone) and right.rewritten is not None and right.rewritten.mask is not None
    assert line in BY_HAND
    found = online(parse_backbone(BY_HAND.replace(line, other)), 4)
    assert isinstance(found, str) or (found.rewritten is not None and found.rewritten.mask is None)


def test_causal_halves_the_elements() -> None:
    mask = rewritten(causal, 16, 16, 4).rewritten.mask
    assert (mask.least, mask.mean, mask.most) == (1 / 16, 17 / 32, 1.0)
