"""Two stages are seen to be one only where they compute the same: each planted mistake is refused, and evaluation agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from warploom.core import f64, i32
from warploom.core.linear import Linear
from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import (
    Axis,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operator,
    Program,
    Role,
    RunTimeSize,
    evaluate_program,
    parse_backbone,
    random_inputs,
    unlike,
    widened,
)
from warploom.schedule.frontend import PartedFunction, parted_sum

SIZES = {"m": 4, "n": 6, "k": 8}
PARTED = [name for name, kernel in TENSOR_KERNELS.items() if parted_sum(kernel.function.tree) is not None]


def both(name: str = "matmul", parts: int = 2, **sizes: int) -> tuple[Backbone, Program]:
    kernel = tensor_kernel(name)
    at = {size: (SIZES | sizes).get(size, 4) for size in kernel.function.sizes}
    return kernel.program(at).stages[0], PartedFunction(kernel.function, parts).program(at)


def changed(stage: Backbone, name: str, **fields: object) -> Backbone:
    assert any(i.name == name for i in stage.instructions)
    instructions = tuple(replace(i, **fields) if i.name == name else i for i in stage.instructions)  # pyright: ignore
    return replace(stage, instructions=instructions)


def named(stage: Backbone, name: str) -> Instruction:
    return next(i for i in stage.instructions if i.name == name)


@pytest.mark.parametrize("name", PARTED)
def test_the_parts_are_the_sum(name: str) -> None:
    for parts in (2, 4):
        whole, program = both(name, parts, b=2)
        first, second = program.stages
        assert unlike(whole, first, second) is None
        assert unlike(whole, widened(first), widened(second)) is None
        assert unlike(widened(whole), widened(first), second) is None


@pytest.mark.parametrize("name", ["matmul", "matmul_tt", "matmul_i8", "matmul_batched", "syrk", "matmul_f64"])
def test_evaluation_agrees(name: str) -> None:
    whole, program = both(name, 4, b=2)
    kernel = tensor_kernel(name)
    arrays = random_inputs(program.arguments, 3)
    scalars = {p.name: 1.5 for p in kernel.function.parameters}
    (output,) = kernel.function.outputs
    made = evaluate_program(program, arrays, scalars)[output]
    expected = evaluate_program(replace(program, stages=(whole,)), arrays, scalars)[output]
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


def moved(stage: Backbone, name: str, axis: int, by: Linear[int]) -> Backbone:
    """The stage with an index of an access changed by a sum."""
    access = named(stage, name).access
    assert access is not None
    indices = tuple(index.plus(by) if n == axis else index for n, index in enumerate(access.indices))
    return changed(stage, name, access=replace(access, indices=indices))


def longer(stage: Backbone, axis: str, size: int) -> Backbone:
    return replace(stage, axes=tuple(replace(a, size=size) if a.name == axis else a for a in stage.axes))


def swapped(stage: Backbone, name: str) -> Backbone:
    access = named(stage, name).access
    assert access is not None
    one, other, *rest = access.indices
    return changed(stage, name, access=replace(access, indices=(other, one, *rest)))


def as_factor(stage: Backbone) -> Backbone:
    a, b, carry = named(stage, "mad").operands
    return changed(stage, "mad", operands=(a, carry, b))


def roles(stage: Backbone, name: str) -> Backbone:
    return replace(stage, regions=tuple(replace(r, name=name) if r.role is Role.OUTPUT else r for r in stage.regions))


def strides(stage: Backbone, name: str, *wanted: int) -> Backbone:
    return replace(stage, regions=tuple(replace(r, strides=wanted) if r.name == name else r for r in stage.regions))


def dtypes(stage: Backbone, name: str) -> Backbone:
    return replace(stage, regions=tuple(replace(r, dtype=f64) if r.name == name else r for r in stage.regions))


Change = Callable[[Backbone], Backbone]
FIRST: dict[str, tuple[Change, str]] = {
    "another part of A": (lambda s: moved(s, "load_A", 1, Linear((), 1)), "is not seen to be what"),
    "A across": (lambda s: strides(s, "A", 8, 1, 2), "is not seen to be what"),
    "B a row on": (lambda s: moved(s, "load_B", 1, Linear((), 1)), "is not seen to be what"),
    "a sum of fewer": (lambda s: longer(s, "k", 3), "is not seen to be what"),
    "a sum of more": (lambda s: longer(s, "k", 5), "is not seen to be what"),
    "a sum from 1 on": (lambda s: changed(s, "init", operands=(Constant(1.0),)), "is no sum from 0 on"),
    "a product of sums": (as_factor, "is no sum from 0 on"),
    "the sum squared": (lambda s: changed(s, "mad", operator=Operator.MUL), "is no sum from 0 on"),
    "one place for all": (lambda s: strides(s, "C_parts", 0, 6, 1), "are not seen to differ"),
    "rows that overlap": (lambda s: strides(s, "C_parts", 24, 5, 1), "are not seen to differ"),
    "parts side by side": (lambda s: strides(s, "C_parts", 6, 12, 1), "is not seen to be stored wherever"),
    "one column less": (lambda s: longer(s, "n", 5), "is not seen to be stored wherever"),
    "sums in one order": (lambda s: replace(s, can_reorder=False), "may not be taken in another order"),
    "another array": (lambda s: roles(s, "P"), "is not seen to be what"),
    "the output itself": (lambda s: roles(s, "C"), "is read before it is written"),
    "an input": (lambda s: roles(s, "A"), "is read before it is written"),
    "elements of another type": (lambda s: dtypes(s, "A"), "is not seen to be what"),
    "two stores": (
        lambda s: replace(s, instructions=(*s.instructions, named(s, "store_C_parts"))),
        "has 2 stores",
    ),
    "a size of the launch": (
        lambda s: replace(s, axes=tuple(replace(a, run_time=RunTimeSize("m")) if a.name == "m" else a for a in s.axes)),
        "known at run time",
    ),
    "an edge": (
        lambda s: changed(s, "load_A", access=replace(named(s, "load_A").access, fill=0.0)),  # pyright: ignore
        "is not seen to be what",
    ),
}  # fmt: skip
SECOND: dict[str, tuple[Change, str]] = {
    "one part less": (lambda s: longer(s, "part", 1), "is not seen to be stored wherever"),
    "one part more": (lambda s: longer(s, "part", 3), "is not seen to be stored wherever"),
    "the part after": (lambda s: moved(s, "load_C_parts", 0, Linear((), 1)), "is not seen to be stored wherever"),
    "rows for columns": (lambda s: swapped(s, "store_C"), "is not seen to be stored wherever"),
    "an element on": (lambda s: moved(s, "store_C", 1, Linear((), 1)), "is not seen to be stored wherever"),
    "a sum from 1 on": (lambda s: changed(s, "init", operands=(Constant(1.0),)), "is no sum from 0 on"),
    "the greatest part": (lambda s: changed(s, "sum", operator=Operator.MAX), "is no sum from 0 on"),
    "the sum of another type": (lambda s: changed(s, "sum", dtype=i32), "is not seen to be what"),
    "parts of another type": (lambda s: dtypes(s, "C_parts"), "is not read as it is stored"),
    "parts within an edge": (
        lambda s: changed(s, "load_C_parts", access=replace(named(s, "load_C_parts").access, fill=0.0)),  # pyright: ignore
        "is not read as it is stored",
    ),
    "another output": (lambda s: roles(s, "D"), "stores to D"),
    "the carried value": (
        lambda s: changed(s, "store_C", operands=(Carry(0, ()),)),
        "is no sum",
    ),
    "the last part": (
        lambda s: changed(s, "store_C", operands=(replace(named(s, "store_C").operands[0], instruction=0),)),  # pyright: ignore
        "takes the last of several values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", FIRST)
def test_mistakes_in_the_parts_are_refused(mistake: str) -> None:
    whole, program = both()
    first, second = program.stages
    change, why = FIRST[mistake]
    found = unlike(whole, change(first), second)
    assert found is not None
    assert why in found


@pytest.mark.parametrize("mistake", SECOND)
def test_mistakes_in_the_merging_stage_are_refused(mistake: str) -> None:
    whole, program = both()
    first, second = program.stages
    change, why = SECOND[mistake]
    found = unlike(whole, first, change(second))
    assert found is not None
    assert why in found


def test_what_is_done_with_the_sum_counts() -> None:
    whole, program = both("linear_relu_f16", 2)
    first, second = program.stages
    assert unlike(whole, first, second) is None
    low = changed(second, "max", operands=(named(second, "max").operands[0], Constant(1)))
    assert "is not seen to be what" in str(unlike(whole, first, low))
    assert "is not seen to be what" in str(unlike(whole, first, moved(second, "load_bias", 0, Linear((), 1))))
    least = changed(second, "max", operator=Operator.MIN)
    assert "is not seen to be what" in str(unlike(whole, first, least))


def test_gathers_and_other_orders_of_the_index_are_refused() -> None:
    whole, program = both()
    first, second = program.stages
    gathered = changed(first, "load_B", operator=Operator.GATHER, access=None)
    assert "is no operation on values" in str(unlike(whole, gathered, second))
    more = replace(whole, axes=(*whole.axes[:-1], Axis("k", 16)))
    assert "is not seen to be what" in str(unlike(more, first, second))


@pytest.mark.parametrize(("taken", "told"), [("total[i, j]", "takes running values"), ("last[i, j]", "is no sum")])
def test_running_values_are_refused(taken: str, told: str) -> None:
    stage = parse_backbone(f"""backbone running
axis i 3: 3
axis j 5: 5
input X f32 [3, 5] strides [5, 1]
output Y f32 [3, 5] strides [5, 1]
load_X[i, j] = load f32 X[i, j]
start[i] = move f32 0.0
total[i, j] = add f32 carry(start; j), load_X[i, j]
last[i, j] = move f32 before(total[i, j])
store_Y[i, j] = store f32 {taken} to Y[i, j]
""")
    found = unlike(stage, stage, stage)
    assert found is not None and told in found
