"""Each refusal of a window has a backbone for which it alone refuses: without it, the answer would be a wrong one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from warploom.schedule.backbone import (
    NoWindowError,
    Repetition,
    Use,
    count_stored,
    evaluate_window,
    joined_repetition,
    moved,
    parse_backbone,
    points_of,
    uses_of,
)
from warploom.schedule.backbone.window import _axis_shifts
from warploom.terms import GREATEST, iterate_post

SUM = """\
backbone sum
axis k 4: 4
input X f32 [4] strides [1]
output Y f32 [1] strides [1]
load_X[k] = load f32 X[k]
init[] = move f32 0.0
total[k] = add f32 load_X[k], carry(init; k)
store_Y[] = store f32 total[] to Y[0]
"""
COPY = """\
backbone copy
axis i 4: 4
input X f32 [4] strides [1]
output Y f32 [4] strides [1]
load_X[i] = load f32 X[i]
store_Y[i] = store f32 load_X[i] to Y[i]
"""
FILL = """\
backbone fill
axis i 3: 3
axis j 2: 2
output Y f32 [3, 2] strides [2, 1]
one[i, j] = move f32 1.0
store_Y[i, j] = store f32 one[i, j] to Y[i, j]
"""
DIAGONAL = """\
backbone diagonal
axis i 3: 3
output Y f32 [3, 3] strides [3, 1]
one[i] = move f32 1.0
store_Y[i] = store f32 one[i] to Y[i, i]
"""
ONE_STEP_A_POINT = Repetition(0, (0,), 1, 4)


def changed(text: str, changes: Mapping[str, str]) -> str:
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def test_the_sum_is_followed_step_by_step() -> None:
    window = evaluate_window(parse_backbone(SUM), [range(4)], ONE_STEP_A_POINT)
    assert [len(window.stored["Y"]), len(window.sums)] == [1, 1]


def test_the_greatest_is_followed_step_by_step() -> None:
    window = evaluate_window(parse_backbone(changed(SUM, {"add f32": "max f32"})), [range(4)], ONE_STEP_A_POINT)
    ((symbol, offered),) = window.sums.items()
    assert (offered.op, offered.args[0].op) == (GREATEST, "atom")
    assert symbol in iterate_post(window.stored["Y"][0])


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        pytest.param(SUM, {"add f32": "min f32"}, "expected a sum or maximum over k in total", id="a minimum is no sum"),
        pytest.param(
            SUM.replace("f32", "i32"),
            {"add i32": "max i32"},
            "expected a sum or maximum over k in total",
            id="a maximum of integers",
        ),
        pytest.param(
            SUM,
            {"add f32 load_X[k], carry(init; k)": "fma f32 carry(init; k), load_X[k], 1.0"},
            "expected a sum or maximum over k in total",
            id="a product of all points is no sum",
        ),
        pytest.param(
            SUM,
            {"X[k]\n": "X[k - 1] else 0.0\n"},
            "expected all points of k to be inside X",
            id="the first step is outside of the array and the others are not",
        ),
        pytest.param(
            SUM,
            {"X[k]\n": "X[k + 1] else 0.0\n"},
            "expected all points of k to be inside X",
            id="the last step is outside of the array and the others are not",
        ),
        pytest.param(COPY, {}, "expected no store at each point of i", id="steps that store are not summed"),
        pytest.param(
            SUM,
            {"total[] to": "load_X[] to"},
            "expected store_Y to use its own point of k",
            id="the last point is stored and not a sum",
        ),
        pytest.param(
            SUM,
            {"add f32 load_X[k]": "add f32 load_X[]"},
            "expected total to use its own point of k",
            id="each step adds the last point",
        ),
    ],
)
def test_what_is_no_sum_of_steps_is_refused(text: str, changes: dict[str, str], message: str) -> None:
    with pytest.raises(NoWindowError, match=message):
        evaluate_window(parse_backbone(changed(text, changes)), [range(4)], ONE_STEP_A_POINT)


ROWS = """\
backbone rows
axis i 3: 3
axis k 4: 4
input X f32 [4, 2] strides [2, 1]
output Y f32 [3] strides [1]
load_X[i, k] = load f32 X[k, i - 1] else 0.0
init[i] = move f32 0.0
total[i, k] = add f32 load_X[i, k], carry(init; k)
store_Y[i] = store f32 total[i] to Y[i]
"""


def test_padding_along_another_index_is_followed() -> None:
    """A sum is of elements beyond the array alone, or of none. Where its length is not known, nobody knows where it ends."""
    stage, points = parse_backbone(ROWS), [range(3), range(4)]
    window = evaluate_window(stage, points, Repetition(1, (0,), 1, 4))
    terms = list(window.stored["Y"].values())
    assert [len(terms), len(window.sums)] == [3, 3]
    assert [any(t.op == "atom" and t.data[0] == "X" for t in iterate_post(added)) for added in window.sums.values()] == [
        False, True, True,
    ]  # fmt: skip
    with pytest.raises(NoWindowError, match="expected all points of k to be inside X"):
        evaluate_window(stage, points, Repetition(1, (0,), 1, 4, is_open=True))


@pytest.mark.parametrize(
    ("changes", "first", "count", "message"),
    [
        pytest.param(
            {"load_X[i] to Y[i]\n": "load_X[i] to Y[i]\nload_Y[i] = load f32 Y[i]\nstore_2[i] = store f32 load_Y[i] to Y[i]\n"},
            0,
            4,
            "expected Y to be written or read, got both",
            id="an output that is read after it is written",
        ),
        pytest.param(
            {"load_X[i] to": "load_X[] to"},
            0,
            1,
            "expected store_Y to use its own point of i",
            id="each part needs the last point of all parts",
        ),
    ],
)
def test_parts_that_need_values_of_others_are_refused(changes: dict[str, str], first: int, count: int, message: str) -> None:
    with pytest.raises(NoWindowError, match=message):
        evaluate_window(parse_backbone(changed(COPY, changes)), [range(first, first + count)])


def test_a_part_past_the_end_of_an_input_is_refused() -> None:
    longer = parse_backbone(changed(COPY, {"output Y f32 [4]": "output Y f32 [5]"}))
    with pytest.raises(IndexError, match="a load from 'X' leaves its shape"):
        evaluate_window(longer, [range(3, 5)])


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        pytest.param(
            FILL,
            {"to Y[i, j]\n": "to Y[i, j]\nstore_2[i, j] = store f32 one[i, j] to Y[i, j]\n"},
            "expected one instruction that stores to Y, got 2",
            id="two stores to the same places",
        ),
        pytest.param(FILL, {"output Y": "output Z", "to Y": "to Z"}, "stores to Y, got 0", id="no store"),
        pytest.param(DIAGONAL, {}, "expected each place of Y to be stored once", id="a diagonal is not the square"),
        pytest.param(
            FILL, {"to Y[i, j]": "to Y[i + 1, j] else 0.0"}, "expected all stores to Y to be inside", id="last row outside"
        ),
        pytest.param(
            FILL, {"to Y[i, j]": "to Y[i - 1, j] else 0.0"}, "expected all stores to Y to be inside", id="first row outside"
        ),
        pytest.param(
            FILL,
            {"to Y[i, j]": "to Y[i + j, j] else 0.0"},
            "expected stores whose indices are single axes",
            id="a skewed row that leaves the array",
        ),
        pytest.param(
            FILL,
            {"strides [2, 1]": "strides [1, 1]"},
            "expected an array Y whose places have one index each",
            id="rows that overlap",
        ),
    ],
)
def test_places_that_are_not_counted_are_refused(text: str, changes: dict[str, str], message: str) -> None:
    with pytest.raises(NoWindowError, match=message):
        count_stored(parse_backbone(changed(text, changes)), "Y")


def test_the_part_of_a_mirrored_store_is_refused() -> None:
    """Y's first two places are stored at the points 3 and 2, Z's first at point 0."""
    mirrored = {
        "to Y[i]": "to Y[-i + 3]",
        "output Y f32 [4] strides [1]\n": "output Y f32 [4] strides [1]\noutput Z f32 [4] strides [1]\n",
        "store_Y": "store_Z[i] = store f32 load_X[i] to Z[i]\nstore_Y",
    }
    with pytest.raises(NoWindowError, match="expected stores whose indices grow with their axes"):
        points_of(parse_backbone(changed(COPY, mirrored)), {"Y": np.array([0, 1]), "Z": np.array([0])})


TWICE = """\
backbone twice
axis i 2: 2
axis k 4: 4
input X f32 [2, 4] strides [4, 1]
output Y f32 [1] strides [1]
load_X[i, k] = load f32 X[i, k]
start[i] = move f32 0.0
row[i, k] = add f32 load_X[i, k], carry(start; k)
zero[] = move f32 0.0
total[i] = add f32 row[i], carry(zero; i)
store_Y[] = store f32 total[] to Y[0]
"""


def test_sums_in_a_sum_begin_at_each_step() -> None:
    window = evaluate_window(parse_backbone(TWICE), [range(2), range(4)], Repetition(0, (0,), 1, 2))
    (added,) = window.sums.values()
    assert sorted(t.data[1] for t in iterate_post(added) if t.op == "atom") == [(k, 4) for k in range(4)]


@pytest.mark.parametrize(
    ("changes", "by", "told"),
    [
        ({"to Y[i]": "to Y[2*i]", "output Y f32 [4]": "output Y f32 [8]"}, 3, "whole steps of axis i"),
        ({"output Y f32 [4] strides [1]": "output Y f32 [4] strides [2]"}, 3, "move along its axes"),
    ],
)
def test_blocks_that_move_between_points_are_refused(changes: Mapping[str, str], by: int, told: str) -> None:
    backbone = parse_backbone(changed(COPY, changes))
    assert _axis_shifts(backbone, {"Y": 2}) == [1]
    with pytest.raises(NoWindowError, match=told):
        _axis_shifts(backbone, {"Y": by})


@pytest.mark.parametrize(
    "other",
    [
        Repetition(0, (6,), 2, 3),
        Repetition(0, (5,), 2, 3),
        Repetition(0, (8,), 2, 4),
        Repetition(0, (8,), 1, 3),
        Repetition(1, (8,), 2, 3),
    ],
)
def test_loops_are_joined_where_they_leave_out_as_many_steps_of_other_points(other: Repetition) -> None:
    one = Repetition(0, (0,), 2, 3)
    if other.firsts == (6,):
        assert joined_repetition([one, other]) == Repetition(0, (0, 6), 2, 3)
    else:
        with pytest.raises(NoWindowError, match="as many steps each"):
            joined_repetition([other, one])


def test_an_index_as_a_number_is_another_one_elsewhere() -> None:
    numbered = parse_backbone(changed(FILL, {"move f32 1.0": "move f32 at(2*i + j)"}))
    with pytest.raises(NoWindowError, match="no index as a number, got one"):
        evaluate_window(numbered, [range(1, 2), range(2)])
    with pytest.raises(NoWindowError, match="no index as a number, got one"):
        moved(numbered, [range(1), range(2)], {"Y": (2, 0, 0)}, (3, 1, 1))


def test_loops_over_a_size_that_grows_are_not_joined() -> None:
    one, other = Repetition(0, (0,), 2, 3, is_open=True), Repetition(0, (8,), 2, 3)
    for found in ([one, other], [other, one]):
        with pytest.raises(NoWindowError, match="as many steps each"):
            joined_repetition(found)
    assert joined_repetition([one]) == one


def test_elements_have_the_name_of_the_way_in_which_the_mathematics_moves() -> None:
    """Along the blocks Y moves by 2; along the length, X behind the steps by 2 a step."""
    copy = parse_backbone(COPY)
    (access,) = (i.access for i in copy.instructions if i.name == "load_X")
    moves = {"X": (0, 0), "X@1": (2, 0), "Y": (2, 0)}
    found = uses_of(copy, moves, (2, 1))
    assert list(found.values()) == [Use("X@1", "X@1")] and access in found
    moved(copy, [range(2)], moves, (2, 1), uses=found)
    for wrong in ({"X": (0, 0), "Y": (2, 0)}, {"X": (1, 0), "X@1": (3, 0), "Y": (2, 0)}):
        with pytest.raises(NoWindowError, match="elements from block to block, the kernel's by"):
            uses_of(copy, wrong, (2, 1))
    with pytest.raises(NoWindowError, match="expected accesses to X, got none"):
        moved(copy, [range(2)], {"Y": (2, 0)}, (2, 1), uses=uses_of(copy, {"Y": (2, 0)}, (2, 1)))
    with pytest.raises(NoWindowError, match="load_X moves by 2 elements"):
        moved(copy, [range(2)], {**moves, "X@1": (3, 0)}, (2, 1), uses=found)
    summed, steps = parse_backbone(SUM), Repetition(0, (0,), 2, 1, is_open=True)
    moves = {"X": (0, 0), "X@1": (0, 2), "Y": (0, 0)}
    assert list(uses_of(summed, moves, (1, 5), steps, 1).values()) == [Use("X", "X@1", 2)]
    with pytest.raises(NoWindowError, match="elements from block to block"):
        uses_of(summed, {"X": (0, 0), "Y": (0, 0)}, (1, 5), steps, 1)
