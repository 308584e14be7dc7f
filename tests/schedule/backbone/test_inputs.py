"""Data sets on which faults show: extremes reach every place, whole numbers are exact, and each element has a bound."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from warploom.core import DType, bf16, f16, f32, f64, i8, i32, u8
from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import (
    Backbone,
    Content,
    Operator,
    Program,
    Region,
    Role,
    can_bound,
    evaluate_bounded,
    evaluate_program,
    exact_whole,
    inputs_of,
    marks_of,
    only_chooses,
    parse_backbone,
    random_inputs,
    stores_all,
    turns_of,
)
from warploom.schedule.backbone.inputs import LARGEST_WHOLE, largest_of, places_first, plant


@pytest.mark.parametrize("shape", [(1,), (2,), (37,), (5, 7), (7, 5), (1, 9), (9, 1), (3, 2, 4), (40, 3)])
def test_every_place_of_every_axis_is_the_extreme_of_its_row_in_some_set(shape: tuple[int, ...]) -> None:
    wanted = {(axis, place) for axis, n in enumerate(shape) for place in range(n)}
    for number in range(turns_of(shape)):
        array = np.zeros(shape)
        plant(array, number, (1, -1), (2, -2))
        axis = len(shape) - 1 - number % len(shape)
        rows = np.moveaxis(array, axis, -1).reshape(-1, shape[axis])
        assert (np.count_nonzero(rows > 0, axis=1) == 1).all() and np.count_nonzero(array == 2) == 1
        assert shape[axis] == 1 or ((np.count_nonzero(rows < 0, axis=1) == 1).all() and np.count_nonzero(array == -2) == 1)
        wanted -= {(axis, int(place)) for place in np.argmax(rows, axis=1)}
    assert not wanted


def test_corners_come_first() -> None:
    seen = set()
    for number in range(4):
        array = np.zeros((6, 8))
        plant(array, number, (1, -1), (2, -2))
        seen |= {(i, j) for i, j in itertools.product((0, -1), (0, -1)) if array[i, j] > 0}
    assert len(seen) == 4
    assert places_first(100)[:5] == [0, 99, 50, 1, 98] and sorted(places_first(37)) == list(range(37))


def test_arrays_without_elements_or_axes_stay() -> None:
    for shape in ((), (0,), (3, 0)):
        array = np.zeros(shape)
        plant(array, 0, (1, -1), (2, -2))
        assert not array.any() and turns_of((3, 0)) == 0


REGIONS = [
    Region("X", f32, (6, 5), (5, 1), Role.INPUT),
    Region("n", i8, (60,), (1,), Role.INPUT),
    Region("u", u8, (60,), (1,), Role.INPUT),
    Region("h", bf16, (60,), (1,), Role.INPUT),
    Region("at", i32, (60,), (1,), Role.INPUT),
    Region("Y", f32, (4,), (1,), Role.OUTPUT),
]


def test_data_sets_follow_from_kind_number_and_seed() -> None:
    made = {(c, n, s): inputs_of(c, n, REGIONS, s) for c in Content for n in range(3) for s in range(2)}
    assert all(list(found) == ["X", "n", "u", "h", "at"] for found in made.values())
    again = inputs_of(Content.FAR, 1, REGIONS, 1)
    assert all(np.array_equal(a, again[n], equal_nan=True) for n, a in made[Content.FAR, 1, 1].items())
    texts = {found["X"].tobytes() for found in made.values()}
    assert len(texts) == len(made)
    assert all(np.array_equal(a, made[Content.RANDOM, 0, 1][n]) for n, a in random_inputs(REGIONS, 1).items())


def test_whole_numbers_are_whole_and_integers_reach_the_ends_of_their_type() -> None:
    one, other = (inputs_of(Content.WHOLE, n, REGIONS, 0, whole=6) for n in range(2))
    for found in (one, other):
        assert (found["X"] == np.rint(found["X"])).all() and found["X"].all() and np.abs(found["X"]).max() == 8
        assert np.abs(found["h"]).max() == 8
    assert (other["n"].min(), other["n"].max(), other["u"].min(), other["u"].max()) == (-128, 127, 0, 255)
    small = Region("e", DType("e5m2", "float", 8), (60,), (1,), Role.INPUT)
    assert np.abs(inputs_of(Content.WHOLE, 0, [small], 0, whole=100)["e"]).max() == largest_of(small.dtype, 100) == 8


def test_places_reach_the_first_the_last_and_beyond() -> None:
    for number in range(4):
        at = inputs_of(Content.WHOLE, number, REGIONS, 0, {"at": 9})["at"]
        assert (at.min(), at.max()) == ((-1, 9) if number % 2 else (0, 8))
    assert set(inputs_of(Content.RANDOM, 0, REGIONS, 0, {"at": 9})["at"]) >= {0, 8}


def test_special_numbers_and_marks() -> None:
    found = inputs_of(Content.SPECIAL, 0, REGIONS, 0)["X"]
    assert np.isnan(found).any() and np.isinf(found).any()
    many, few = (inputs_of(Content.WHOLE, n, REGIONS, 0, whole=100, marks=(17.0, 0.5))["X"] for n in (1, 2))
    assert np.count_nonzero(many == 17.0) > 6 and not np.isin(many, (16.0, 18.0)).any()
    assert 0 < np.count_nonzero(np.isin(few, (16.0, 17.0, 18.0))) < 12
    many, few = (inputs_of(Content.WHOLE, n, REGIONS, 0, marks=(0, 127)) for n in (1, 2))
    assert np.count_nonzero(np.isin(many["n"], (0, 127))) > 20 and np.count_nonzero(many["u"] == 0) > 10
    assert np.isin(few["n"], (126, 127)).any() and not np.isin(few["n"], (-128,)).any()
    halves = Region("h", f16, (60,), (1,), Role.INPUT)
    assert np.isfinite(inputs_of(Content.RANDOM, 1, [halves], 0, marks=(1e30, 3.0))["h"]).all()


SUM = """\
backbone sum
axis i 3: 3
axis j 8: 8
input X f32 [3, 8] strides [8, 1]
output Y f32 [3] strides [1]
load[i, j] = load f32 X[i, j]
init[i] = move f32 0.0
sum[i, j] = add f32 carry(init; j), load[i, j]
store[i] = store f32 sum[i] to Y[i]
"""


def program_of(text: str) -> Program:
    stage = parse_backbone(text)
    return Program(stage.name, (stage,), stage.regions)


def of_length(length: int) -> Program:
    return program_of(
        SUM.replace("axis j 8: 8", f"axis j {length}: {length}").replace(
            "[3, 8] strides [8,", f"[3, {length}] strides [{length},"
        )
    )


@pytest.mark.parametrize(("length", "whole"), [(8, 100), (1 << 17, 100), (1 << 19, 30), (1 << 24, None)])
def test_sums_are_exact_while_all_of_their_digits_are_held(length: int, whole: int | None) -> None:
    assert exact_whole(of_length(length), {}) == whole
    if whole is not None:
        assert length * (whole + 2) <= 1 << 24
        larger = [w for w in LARGEST_WHOLE if w > whole]
        assert all(length * (w + 2) > 1 << 24 for w in larger)


def test_what_is_rounded_is_not_exact() -> None:
    text = SUM.replace("store f32 sum[i] to", "store f32 third[i] to").replace(
        "store[i]", "third[i] = mul f32 sum[i], {}\nstore[i]"
    )
    assert exact_whole(program_of(text.replace("{}", "0.25")), {}) == 100
    assert exact_whole(program_of(text.replace("{}", "0.3")), {}) is None
    assert exact_whole(program_of(text.replace("mul f32 sum[i], {}", "exp f32 sum[i]")), {}) is None
    assert exact_whole(program_of(text.replace("mul f32 sum[i], {}", "sqrt f32 sum[i]")), {}) is None


@pytest.mark.parametrize(("narrow", "whole"), [("f16", 6), ("bf16", 100)])
def test_one_rounding_is_exact_within_its_type(narrow: str, whole: int) -> None:
    text = SUM.replace("output Y f32", f"output Y {narrow}").replace(
        "store[i] = store f32 sum[i]",
        f"more[i] = mul f32 sum[i], 256.0\ncast[i] = cast {narrow} more[i]\nstore[i] = store {narrow} cast[i]",
    )
    assert exact_whole(program_of(text), {}) == whole


@pytest.mark.parametrize("name", list(TENSOR_KERNELS))
def test_results_that_are_called_exact_are_the_same_in_any_order(name: str) -> None:
    """Beside rational numbers in the reference of double precision: the reversed arrays give the reversed sums."""
    kernel = tensor_kernel(name)
    program = kernel.program({n: min(5 + 2 * k, size) for k, (n, size) in enumerate(kernel.sizes.items())})
    scalars = {p.name: 2.0 + n for n, p in enumerate(program.parameters)}
    whole = exact_whole(program, scalars)
    if whole is None:
        return
    inputs = inputs_of(Content.WHOLE, 0, program.arguments, 0, whole=whole)
    single = evaluate_program(program, inputs, scalars)
    wide = evaluate_program(
        _wide(program), {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}, scalars
    )
    bounded = evaluate_bounded(program, inputs, scalars, is_exact=True)
    for out, values in single.items():
        assert np.array_equal(values, wide[out].astype(values.dtype)), out
        assert np.array_equal(values, bounded[out].values.reshape(values.shape)), out


def _wide(program: Program) -> Program:
    def wider(dtype: DType) -> DType:
        return f64 if dtype is f32 else dtype

    def stage_of(stage: Backbone) -> Backbone:
        regions = tuple(replace(r, dtype=wider(r.dtype)) for r in stage.regions)
        instructions = tuple(replace(i, dtype=wider(i.dtype)) for i in stage.instructions)
        return replace(stage, regions=regions, instructions=instructions, made_of=())

    return replace(program, stages=tuple(stage_of(s) for s in program.plain.stages))


@pytest.mark.parametrize("name", list(TENSOR_KERNELS))
@pytest.mark.parametrize("content", [Content.RANDOM, Content.WHOLE, Content.FAR, Content.WIDE])
def test_the_reference_lies_within_the_bounds(name: str, content: Content) -> None:
    """The evaluation in the kernel's own type, from the first index to the last, and the kernel's NumPy."""
    kernel = tensor_kernel(name)
    program = kernel.program({n: min(5 + 2 * k, size) for k, (n, size) in enumerate(kernel.sizes.items())})
    scalars = {p.name: dict(kernel.parameters).get(p.name, 1.5) for p in program.parameters}
    inputs = inputs_of(content, 1, program.arguments, 0, whole=3)
    with np.errstate(all="ignore"):
        got = evaluate_program(program, inputs, scalars)
    for out, bounded in evaluate_bounded(program, inputs, scalars).items():
        allowed = bounded.allowed.reshape(-1)
        known = np.isfinite(allowed)
        apart = np.abs(got[out].reshape(-1)[known].astype(np.float64) - bounded.values.reshape(-1)[known])
        assert (apart <= allowed[known]).all(), out
        if content is Content.RANDOM:
            assert known.all() and (allowed <= 1e-3 * np.abs(bounded.values).max()).all(), out


def test_a_sum_s_bound_is_less_than_any_of_its_elements() -> None:
    program = of_length(64)
    inputs = inputs_of(Content.WHOLE, 0, program.arguments, 0)
    found = evaluate_bounded(program, inputs)["Y"]
    exact = [float(sum(map(Fraction, row.tolist()))) for row in inputs["X"]]
    assert (np.abs(found.values - exact) <= found.allowed).all()
    assert found.allowed.max() < np.abs(inputs["X"]).min()


NARROW = """\
backbone narrow
axis i 4: 4
input X f32 [4] strides [1]
output Y bf16 [4] strides [1]
load[i] = load f32 X[i]
cast[i] = cast bf16 load[i]
store[i] = store bf16 cast[i] to Y[i]
"""


def test_rounding_to_a_narrow_type_is_told_from_cutting_off() -> None:
    program = program_of(NARROW)
    found = evaluate_bounded(program, {"X": np.array([257.5, -257.5, 3.0, 1.0078125 - 2**-12], np.float32)})["Y"]
    assert found.values.tolist() == [258, -258, 3, 1.0078125] and not found.allowed.any()


def test_nothing_is_known_beyond_a_type_and_of_what_is_not_stored() -> None:
    text = NARROW.replace("bf16", "f32").replace("cast f32 load[i]", "exp f32 load[i]").replace("axis i 4: 4", "axis i 3: 3")
    found = evaluate_bounded(program_of(text), {"X": np.array([0.0, 100.0, -200.0, 0.0], np.float32)})["Y"]
    assert found.allowed[0] < 1e-5 and np.isinf(found.allowed[[1, 3]]).all() and 0 < found.allowed[2] < 1e-36
    assert [stores_all(program_of(t), name) for t, name in ((text, "Y"), (NARROW, "Y"), (NARROW, "X"))] == [False, True, False]


@pytest.mark.parametrize(("operator", "neutral"), [("max", "-inf"), ("min", "inf")])
def test_an_extreme_of_no_elements_is_what_it_begins_with(operator: str, neutral: str) -> None:
    text = f"""\
backbone extremes
axis i 2: 2
axis k 0: 0
input X f32 [2, 0] strides [1, 1]
output Y f32 [2] strides [1]
load[i, k] = load f32 X[i, k]
begin[i] = move f32 {neutral}
best[i, k] = {operator} f32 carry(begin; k), load[i, k]
store[i] = store f32 best[i] to Y[i]
"""
    found = evaluate_bounded(program_of(text), {"X": np.zeros((2, 0), np.float32)})["Y"]
    assert found.values.tolist() == [float(neutral)] * 2


def test_choices_on_uncertain_numbers_allow_both_sides() -> None:
    text = """\
backbone choice
axis i 2: 2
input X f32 [2] strides [1]
output Y f32 [2] strides [1]
load[i] = load f32 X[i]
third[i] = div f32 load[i], 3.0
less[i] = less f32 third[i], 1.0
pick[i] = select f32 less[i], 5.0, 7.0
store[i] = store f32 pick[i] to Y[i]
"""
    program = program_of(text)
    found = evaluate_bounded(program, {"X": np.array([3.0, 2.0], np.float32)})["Y"]
    assert found.values.tolist() == [6, 5] and found.allowed.tolist() == [1, 0]
    assert marks_of(program.stages, {}) == (1.0,)


def test_integers_wrap_and_wide_ones_are_left() -> None:
    text = SUM.replace("f32", "i32").replace("move i32 0.0", "move i32 0")
    program = program_of(text)
    inputs: Mapping[str, np.ndarray] = {"X": np.full((3, 8), 2**30, np.int32)}
    assert evaluate_bounded(program, inputs)["Y"].values.tolist() == evaluate_program(program, inputs)["Y"].tolist() == [0, 0, 0]
    assert can_bound(program) and not can_bound(program_of(text.replace("i32", "i64")))


def test_functions_that_only_choose() -> None:
    choosing = SUM.replace("add f32", "max f32").replace("move f32 0.0", "move f32 -inf")
    assert only_chooses(program_of(choosing)) and not only_chooses(program_of(SUM))
    assert Operator.MAX in {i.operator for i in program_of(choosing).stages[0].instructions} and f16.bits == 16
