"""Attention with rounded weights and with a causal mask becomes one pass; other roundings stay in two."""

from __future__ import annotations

import numpy as np
import pytest
from tests.schedule.online.attention_forms import (
    attention_f16,
    by_numpy,
    causal,
    causal_f16,
    for_matrices,
    plain,
    random_arrays,
    rounded_powers,
    rounded_products,
    rounded_weights,
    whole_numbers,
)

from warploom.schedule.backbone import Backbone, Operator, evaluate, matrix_of, verify
from warploom.schedule.choices import Features, objects_of
from warploom.schedule.choices.habits import habits
from warploom.schedule.choices.habits_one_pass_matrices import OnePassMatrices
from warploom.schedule.online import online
from warploom.schedule.targets import target

SIZES = {"h": 2, "n": 64, "m": 64, "d": 32}
SM_90 = target("sm_90")


def one_pass(stage: Backbone, tile: int) -> Backbone:
    found = online(stage, tile)
    assert isinstance(found, Backbone), found
    verify(found)
    return found


@pytest.mark.parametrize("function", [attention_f16, causal_f16], ids=lambda f: f.name)
def test_both_products_are_of_f16_and_the_results_those_of_numpy(function) -> None:
    stage = one_pass(for_matrices(function, SIZES), 16)
    sums = [i for i in stage.instructions if matrix_of(stage.instructions, i) is not None]
    assert [i.name for i in sums] == ["mad", "weighted_tile"]
    data = random_arrays(stage)
    made = evaluate(stage, data, {"scale": 0.3})["Y"]
    wanted = by_numpy(data, 0.3, is_causal=function is causal_f16)
    np.testing.assert_allclose(made, wanted, atol=2e-3)


def test_a_tile_has_the_levels_of_the_products() -> None:
    stage = one_pass(for_matrices(attention_f16, SIZES), 32)
    assert stage.rewritten is not None
    assert stage.axes[stage.rewritten.inner].tiles == ((2, 4), (8,))
    assert one_pass(for_matrices(attention_f16, SIZES), 8).axes[-1].tiles == ((8,),)
    assert one_pass(plain(causal, {"n": 6, "m": 12, "d": 2}), 4).axes[-1].tiles == ((1, 2, 4),)


@pytest.mark.parametrize("masked", [0, 1])
def test_tiles_behind_the_diagonal_add_nothing_and_no_nan(masked: int) -> None:
    """Rows before the last tile have no score in it; with `masked` all keys before row 5 are infinitely far, too."""
    stage = one_pass(plain(causal, {"n": 12, "m": 12, "d": 2}), 3)
    data = random_arrays(stage)
    if masked:
        data["Q"] = abs(data["Q"])
        data["K"][:5] = -np.inf
    made = evaluate(stage, data, {"scale": 0.7})["Y"][5 * masked :]
    np.testing.assert_allclose(made, by_numpy(data, 0.7, is_causal=True)[5 * masked :], rtol=2e-5)


def test_rounding_to_a_narrow_type_is_of_numbers_up_to_1() -> None:
    stage = one_pass(plain(rounded_weights, {"n": 3, "m": 8}), 4)
    assert [i.operator for i in stage.instructions].count(Operator.CAST) == 2


@pytest.mark.parametrize("function", [rounded_products, rounded_powers, whole_numbers], ids=lambda f: f.name)
def test_other_roundings_stay_in_two_passes(function) -> None:
    found = online(plain(function, {"n": 3, "m": 8}), 4)
    assert isinstance(found, str)
    assert "got cast in" in found


def habits_of(stage: Backbone) -> list[OnePassMatrices]:
    assert stage.rewritten is not None
    objects = objects_of(stage, Features.of(SM_90))
    return [OnePassMatrices(objects, stage.rewritten, warps, groups) for warps, groups in ((4, 2), (2, 1))]


def test_habits_are_those_of_both_products() -> None:
    stage = one_pass(for_matrices(causal_f16, SIZES), 16)
    wide, narrow = habits_of(stage)
    assert wide.applies and wide.warps == narrow.warps == 2, "a tile of 16 has two rows of 8 threads"
    names = [stage.instructions[n].name for n in sorted(wide.copies)]
    assert names == ["load_Q", "load_K", "load_V"]
    objects = objects_of(stage, Features.of(SM_90))
    assert habits(objects, SM_90)[1] == tuple(dict.fromkeys(wide.habits()))


def test_habits_say_the_order_against_the_loops_of_warps() -> None:
    """Loops outside of these have one iteration, so that an order against them alone says nothing."""
    stage = one_pass(for_matrices(attention_f16, SIZES), 16)
    (wide, _) = habits_of(stage)
    own = {o.statement: set(o.loops) for o in wide.objects.operations}
    warps = [x.statement for x in wide.objects.loops if x.axis == wide.rows and x.level == 1 and x.owner in own]
    ordered = {objects for choice, objects, value in wide.habits() if (choice, value) == ("order", "BEFORE|AFTER")}
    assert len(warps) > 20
    assert {(o, s) for o in own for s in warps if s not in own[o]} <= ordered


def test_sums_without_the_levels_of_matrices_have_other_habits() -> None:
    (wide, _) = habits_of(one_pass(plain(causal, {"n": 12, "m": 12, "d": 2}), 3))
    assert not wide.applies
    (wide, _) = habits_of(one_pass(plain(attention_f16, SIZES), 16))
    assert not wide.applies
