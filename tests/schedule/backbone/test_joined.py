"""Stages are seen to be one only where they compute the same: each planted mistake is refused, and evaluation agrees."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from warploom.core import f32, f64, i32
from warploom.core.linear import Linear
from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import (
    Axis,
    Backbone,
    Carry,
    Constant,
    Instruction,
    Operator,
    Position,
    Program,
    Role,
    RunTimeSize,
    evaluate_program,
    parse_backbone,
    random_inputs,
    unlike,
    widened,
)
from warploom.schedule.frontend import (
    PartedFunction,
    TensorFunction,
    argmax,
    exp,
    out,
    parted_sums,
    prod,
    sqrt,
    temp,
    tensor,
    where,
)

SIZES = {"m": 4, "n": 6, "k": 8}
PRODUCTS = [n for n, kernel in TENSOR_KERNELS.items() if any(f.is_product for f in parted_sums(kernel.function.tree))]


def both(name: str = "matmul", parts: int = 2, **sizes: int) -> tuple[Backbone, Program]:
    kernel = tensor_kernel(name)
    at = {size: (SIZES | sizes).get(size, 4) for size in kernel.function.sizes}
    return kernel.program(at).stages[0], PartedFunction(kernel.function, parts, "k").program(at)


def changed(stage: Backbone, name: str, **fields: object) -> Backbone:
    assert any(i.name == name for i in stage.instructions)
    instructions = tuple(replace(i, **fields) if i.name == name else i for i in stage.instructions)  # pyright: ignore
    return replace(stage, instructions=instructions)


def named(stage: Backbone, name: str) -> Instruction:
    return next(i for i in stage.instructions if i.name == name)


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_parts_are_the_sum(name: str) -> None:
    for parts in (2, 4):
        whole, program = both(name, parts, b=2)
        first, second = program.stages
        assert unlike([whole], [first, second]) is None
        assert unlike([whole], [widened(first), widened(second)]) is None
        assert unlike([widened(whole)], [widened(first), second]) is None


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
    "A across": (lambda s: strides(s, "A", 1, 4), "is not seen to be what"),
    "B a row on": (lambda s: moved(s, "load_B", 1, Linear((), 1)), "is not seen to be what"),
    "a sum of fewer": (lambda s: longer(s, "k", 3), "is not seen to be what"),
    "a sum of more": (lambda s: longer(s, "k", 5), "is not seen to be what"),
    "a sum from 1 on": (lambda s: changed(s, "init", operands=(Constant(1.0),)), "is no sum, product, maximum"),
    "a product of sums": (as_factor, "is no sum, product, maximum"),
    "the sum squared": (lambda s: changed(s, "mad", operator=Operator.MUL), "is no sum, product, maximum"),
    "one place for all": (lambda s: strides(s, "C_parts", 0, 6, 1), "are not seen to differ"),
    "rows that overlap": (lambda s: strides(s, "C_parts", 24, 5, 1), "are not seen to differ"),
    "parts side by side": (lambda s: strides(s, "C_parts", 6, 12, 1), "is not seen to be stored wherever"),
    "one column less": (lambda s: longer(s, "n", 5), "is not seen to be stored wherever"),
    "sums in one order": (lambda s: replace(s, can_reorder=False), "may not be taken in another order"),
    "another array": (lambda s: roles(s, "P"), "is not seen to be what"),
    "the output itself": (lambda s: roles(s, "C"), "C is stored to twice"),
    "an input": (lambda s: roles(s, "A"), "is read before it is written"),
    "elements of another type": (lambda s: dtypes(s, "A"), "is not seen to be what"),
    "two stores": (
        lambda s: replace(s, instructions=(*s.instructions, named(s, "store_C_parts"))),
        "C_parts is stored to twice",
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
    "a sum from 1 on": (lambda s: changed(s, "init", operands=(Constant(1.0),)), "is no sum, product, maximum"),
    "the greatest part": (lambda s: changed(s, "sum", operator=Operator.MAX), "is no sum, product, maximum"),
    "the sum of another type": (lambda s: changed(s, "sum", dtype=i32), "is not seen to be what"),
    "parts of another type": (lambda s: dtypes(s, "C_parts"), "is not read as it is stored"),
    "parts within an edge": (
        lambda s: changed(s, "load_C_parts", access=replace(named(s, "load_C_parts").access, fill=0.0)),  # pyright: ignore
        "is not read as it is stored",
    ),
    "another output": (lambda s: roles(s, "D"), "nothing of the same type is stored to C"),
    "the carried value": (
        lambda s: changed(s, "store_C", operands=(Carry(0, ()),)),
        "is no value of one operator",
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
    found = unlike([whole], [change(first), second])
    assert found is not None
    assert why in found


@pytest.mark.parametrize("mistake", SECOND)
def test_mistakes_in_the_merging_stage_are_refused(mistake: str) -> None:
    whole, program = both()
    first, second = program.stages
    change, why = SECOND[mistake]
    found = unlike([whole], [first, change(second)])
    assert found is not None
    assert why in found


def test_what_is_done_with_the_sum_counts() -> None:
    whole, program = both("linear_relu_f16", 2)
    first, second = program.stages
    assert unlike([whole], [first, second]) is None
    low = changed(second, "max", operands=(named(second, "max").operands[0], Constant(1)))
    assert "is not seen to be what" in str(unlike([whole], [first, low]))
    assert "is not seen to be what" in str(unlike([whole], [first, moved(second, "load_bias", 0, Linear((), 1))]))
    least = changed(second, "max", operator=Operator.MIN)
    assert "is not seen to be what" in str(unlike([whole], [first, least]))


def test_gathers_and_other_orders_of_the_index_are_refused() -> None:
    whole, program = both()
    first, second = program.stages
    gathered = changed(first, "load_B", operator=Operator.GATHER, access=None)
    assert "is no operation on values" in str(unlike([whole], [gathered, second]))
    more = replace(whole, axes=(*whole.axes[:-1], Axis("k", 16)))
    assert "is not seen to be what" in str(unlike([more], [first, second]))


@pytest.mark.parametrize(
    ("taken", "told"), [("total[i, j]", "takes running values"), ("last[i, j]", "is no value of one operator")]
)
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
    found = unlike([stage], [stage])
    assert found is not None and told in found


@tensor
def dot(x: f32["k"], y: f32["k"], total: out[f32[1]]):
    total[one] += x[i] * y[i]


@tensor
def greatest(x: f32["k"], total: out[f32[1]]):
    total[one] = max(x[i], over=i)


@tensor
def least(x: i32["k"], total: out[i32[1]]):
    total[one] = min(x[i], over=i)


@tensor
def of_all(x: i32["k"], total: out[i32[1]]):
    total[one] = prod(x[i], over=i)


@tensor
def columns(x: f32["k", "m"], total: out[f32["m"]]):
    total[c] = sum(x[i, c], over=i)


@tensor
def of_two(x: f32["k", "m"], total: out[f32[1]]):
    total[one] = sum(x[i, j], over=(i, j))


@tensor
def weights(X: f32["b", "k + 2"], dY: f32["b", "k"], G: out[f32[3]]):
    G[r] = sum(X[b, i + r] * dY[b, i], over=(b, i))


@tensor
def variance(x: f32["k"], y: out[f32[1]]):
    y[one] = sum((x[i] - sum(x[j], over=j) / k) ** 2, over=i) / k


@tensor
def mean_and_norm(x: f32["k"], m: out[f32[1]], v: out[f32[1]]):
    s = sum(x[i], over=i) / k
    m[one], v[one] = s, sqrt(sum(x[i] ** 2, over=i)) - s


@tensor
def last_positive(x: i32["k"], y: out[i32[1]]):
    y[one] = max(where(x[i] > 0, i, -1), over=i)


@tensor
def place(x: f32["k"], y: out[i32[1]]):
    y[one] = argmax(x[i], over=i)


@tensor
def two_stages(x: f32["k"], t: temp[f32[1]], y: out[f32["k"]]):
    t[one] = max(x[i], over=i)
    y[i] = exp(x[i] - t[0])


OTHERS = (
    dot, greatest, least, of_all, columns, of_two, weights, variance, mean_and_norm, last_positive, place, two_stages,
    *(tensor_kernel(name).function for name in ("softmax", "layer_norm", "rms_norm")),
)  # fmt: skip


def in_parts(function: TensorFunction, parts: int = 3, rest: int = 2, length: int = 4) -> tuple[Program, Program]:
    """The function, and the same in parts, over the size `k` or `columns`."""
    (name,) = {found.size for found in parted_sums(function.tree)} & {"k", "columns"}
    sizes = dict.fromkeys(function.sizes, 2) | {name: parts * length + rest}
    return function.program(sizes), PartedFunction(function, parts, name, rest).program(sizes)


@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.name)
@pytest.mark.parametrize("rest", [0, 1, 2])
def test_other_reductions_in_parts(function: TensorFunction, rest: int) -> None:
    whole, made = in_parts(function, rest=rest)
    assert unlike(whole.stages, made.stages) is None
    arrays = random_inputs(whole.arguments, 3)
    scalars = {p.name: 1.5 for p in function.parameters}
    expected, found = evaluate_program(whole, arrays, scalars), evaluate_program(made, arrays, scalars)
    for output in function.outputs:
        np.testing.assert_allclose(found[output], expected[output], rtol=1e-4, atol=1e-4)


def cut(function: TensorFunction, first: Change, second: Change, rest: int = 2) -> str:
    whole, made = in_parts(function, rest=rest)
    return str(unlike(whole.stages, [first(made.stages[0]), second(made.stages[-1])]))


def kept(stage: Backbone) -> Backbone:
    return stage


BEHIND: dict[str, Change] = {
    "one element earlier": lambda s: moved(s, "load_x", 0, Linear((), -1)),
    "one element fewer": lambda s: longer(s, "behind", 1),
    "one element more": lambda s: longer(s, "behind", 3),
    "multiplied": lambda s: changed(s, "add", operator=Operator.MUL),
    "parts alone": lambda s: changed(s, "add", operands=(named(s, "add").operands[0],) * 2),
    "elements alone": lambda s: changed(s, "add", operands=(named(s, "add").operands[1],) * 2),
    "one factor of another element": lambda s: moved(s, "load_y", 0, Linear((), -1)),
    "from 1 on": lambda s: changed(s, "init_2", operands=(Constant(1.0),)),
}


@pytest.mark.parametrize("mistake", BEHIND)
def test_mistakes_behind_the_last_part_are_refused(mistake: str) -> None:
    assert cut(dot, kept, kept) == "None"
    assert "is no" in cut(dot, kept, BEHIND[mistake])


def test_rows_that_are_left_in_part_are_refused() -> None:
    assert cut(of_two, kept, kept) == "None"
    assert "is not seen to be what" in cut(of_two, kept, lambda s: longer(s, "j", 1))
    assert "is not seen to be what" in cut(of_two, lambda s: longer(s, "j", 1), kept)
    assert "is not seen to be what" in cut(of_two, lambda s: longer(s, "j", 3), kept)


def test_operators_are_not_mixed() -> None:
    for function, other, start in ((greatest, Operator.ADD, 0.0), (least, Operator.MAX, -(2**31)), (of_all, Operator.ADD, 0.0)):
        name = next(i.name for i in in_parts(function)[1].stages[0].instructions if i.carry is not None)

        def mixed(stage: Backbone, name: str = name, other: Operator = other, start: float = start) -> Backbone:
            return changed(changed(stage, name, operator=other), "init", operands=(Constant(start),))

        assert cut(function, kept, kept, 0) == "None"
        assert "is not seen to be what" in cut(function, kept, mixed, 0)
        assert "is not seen to be what" in cut(function, mixed, kept, 0)
    wrong = Constant(0.0)
    assert "is no sum, product" in cut(greatest, lambda s: changed(s, "init", operands=(wrong,)), kept)
    assert "is no sum, product" in cut(of_all, lambda s: changed(s, "init", operands=(wrong,)), kept)
    assert "is no sum, product" in cut(greatest, lambda s: changed(s, "max", operator=Operator.SUB), kept)


def test_stages_out_of_order_are_refused() -> None:
    whole, made = in_parts(two_stages)
    first, second, third = made.stages
    assert unlike(whole.stages, [first, second, third]) is None
    assert "is read before it is written" in str(unlike(whole.stages, [second, first, third]))
    assert "nothing of the same type is stored to y" in str(unlike(whole.stages, [first, second]))
    assert "is not seen to be what" in str(unlike(whole.stages, [first, second, moved(third, "load_x", 0, Linear((), -1))]))


def test_stages_that_store_to_an_input_are_refused() -> None:
    whole, made = in_parts(mean_and_norm, rest=0)
    (stage,) = whole.stages
    unused = replace(stage, regions=(*stage.regions, replace(stage.regions[0], name="z")))
    further = parse_backbone("""backbone further
axis i 4: 4
output z f32 [12] strides [1]
zero[i] = move f32 0.0
store_z[i] = store f32 zero[i] to z[i]
""")
    assert unlike([unused], made.stages) is None
    assert unlike([stage], [*made.stages, further]) is None
    assert "z is stored to, which is an input" in str(unlike([unused], [*made.stages, further]))


def test_places_as_numbers_count() -> None:
    whole, made = in_parts(last_positive)
    first, second = made.stages

    def off(stage: Backbone) -> Backbone:
        select = named(stage, "select")
        (at,) = (n for n, o in enumerate(select.operands) if isinstance(o, Position))
        index = select.operands[at].index.shifted(1)  # pyright: ignore
        return changed(stage, "select", operands=(*select.operands[:at], Position(index), *select.operands[at + 1 :]))

    assert unlike(whole.stages, [first, second]) is None
    assert "is not seen to be what" in str(unlike(whole.stages, [off(first), second]))
    assert "is not seen to be what" in str(unlike(whole.stages, [first, off(second)]))
