"""Sketches with open parameters: the search finds what trying every setting finds, and its bound never lies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ir import run
from warploom.kernels import line, random_arrays, reference
from warploom.kernels.tunables import is_tunable, tunable_sketch
from warploom.machines import architecture
from warploom.schedule.sketches import SketchModel, TunableSketch, tunable
from warploom.solve import declared_order, search

SIZES = {"n": 1 << 16}


def family() -> TunableSketch:
    @tunable(sizes=SIZES, outputs=[1, 2, 4], warps=[1, 4])
    def conv(outputs: int, warps: int):
        return line.conv1d(3, outputs, warps)

    return conv


def model(of: TunableSketch) -> SketchModel:
    return SketchModel(of, of.sizes, architecture("sm_80"), measures=False)


def test_the_search_finds_the_best_of_all_settings() -> None:
    tried = model(family())
    parameters = tried.family.parameters
    all_settings = [dict(zip(parameters, values, strict=True)) for values in itertools.product(*parameters.values())]
    answers = [answer for setting in all_settings if (answer := tried.answer(setting)) is not None]
    assert len(answers) == 6
    best = min(cost for cost, _ in answers)
    outcome = search(model(family()), strategy=declared_order)
    assert outcome.complete
    assert outcome.answers[0][0] == best
    assert outcome.answers[0][1].report.verdict == "proved"


def test_bounds_are_below_what_is_behind_them() -> None:
    tried = model(family())
    for setting in ({}, {"outputs": 2}, {"outputs": 4, "warps": 4}):
        open_names = [name for name in tried.family.parameters if name not in setting]
        for values in itertools.product(*(tried.family.parameters[name] for name in open_names)):
            answer = tried.answer({**setting, **dict(zip(open_names, values, strict=True))})
            assert answer is not None
            assert tried.bound(setting) <= answer[0]


def test_the_kernel_found_computes_the_convolution() -> None:
    outcome = search(model(family()), strategy=declared_order)
    tuned = outcome.answers[0][1]
    assert tuned.report.kernel is not None
    sizes = {"n": 300}
    arrays = random_arrays(tuned.report.kernel, sizes)
    result = run(tuned.report.kernel, arrays, sizes)
    for name, expected in reference.conv1d(**arrays).items():
        np.testing.assert_allclose(result.arrays[name], expected, rtol=1e-4, atol=1e-5)


def test_settings_that_do_not_go_together_are_left_out() -> None:
    @tunable(sizes=SIZES, warps=[1, 64])
    def conv(warps: int):
        return line.conv1d(3, 1, warps)

    tried = model(conv)
    outcome = search(tried, strategy=declared_order)
    assert outcome.answers[0][1].setting == {"warps": 1}
    assert [setting for setting, _ in tried.refused] == [{"warps": 64}]


def test_a_sketch_without_parameters_is_completed() -> None:
    outcome = search(model(TunableSketch.of(line.conv1d(3, 1, 1))), strategy=declared_order)
    assert outcome.answers[0][1].setting == {}


@pytest.mark.parametrize(
    ("values", "expected"),
    [({}, "got none for outputs"), ({"outputs": [1], "lanes": [2]}, "got lanes"), ({"outputs": []}, "got an empty list")],
)
def test_values_must_fit_the_arguments(values: dict[str, list[int]], expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        tunable(**values)(lambda outputs: line.conv1d(3, outputs, 1))


def test_library_families() -> None:
    assert is_tunable("conv2d-3")
    assert not is_tunable("conv2d")
    assert set(tunable_sketch("conv2d-3").parameters) == {"outputs", "warp_shape", "warps"}
    with pytest.raises(UserError, match="conv2d-3"):
        tunable_sketch("conv2d-99")
