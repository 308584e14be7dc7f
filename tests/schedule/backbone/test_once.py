"""Equal loads as one: each reason against it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.schedule.choices.matrices import gated

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import (
    Access,
    Backbone,
    Instruction,
    Operator,
    evaluate,
    matrix_tiles,
    random_inputs,
    read_once,
    verify,
    widened,
)


def softmax() -> Backbone:
    (stage,) = tensor_kernel("softmax").program({"rows": 3, "columns": 5}).stages
    return stage


def loads(stage: Backbone) -> list[Instruction]:
    return [i for i in stage.instructions if i.operator is Operator.LOAD]


def changed(old: Instruction, new: Instruction) -> Backbone:
    stage = softmax()
    return replace(stage, instructions=tuple(new if i == old else i for i in stage.instructions))


def test_a_row_is_read_once_and_gives_the_same() -> None:
    stage = softmax()
    once = read_once(stage, 20)
    assert (len(loads(stage)), len(loads(once))) == (2, 1)
    verify(once)
    arrays = random_inputs(stage.regions, 1)
    np.testing.assert_array_equal(evaluate(once, arrays)["Y"], evaluate(stage, arrays)["Y"])
    assert read_once(once) is once


def test_rows_too_long_to_keep_are_read_again() -> None:
    stage = softmax()
    assert read_once(stage, 19) is stage


def test_other_elements_and_other_axes_stay_apart() -> None:
    second = loads(softmax())[1]
    assert second.access is not None
    moved = tuple(index.shifted(1) for index in second.access.indices)
    for other in (
        replace(second, access=Access(second.access.region, moved, 0.0)),
        replace(second, access=Access(second.access.region, second.access.indices, 0.0)),
        replace(second, axes=second.axes[:1]),
    ):
        stage = changed(second, other)
        assert read_once(stage) is stage


def test_two_products_read_their_common_factor_apart() -> None:
    (stage,) = gated.program({"m": 16, "n": 16, "k": 16}, matrix_tiles(("f16",))).stages
    assert read_once(stage) is stage
    assert len(loads(widened(stage, ("f16",)))) == 4


def test_what_the_kernel_stores_to_is_read_again() -> None:
    store = softmax().instructions[-1]
    stage = changed(store, replace(store, access=loads(softmax())[0].access))
    assert read_once(stage) is stage
