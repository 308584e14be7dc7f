"""Places of gathers as sums of axes and of elements of index arrays; each reason refuses alone."""

from __future__ import annotations

import pytest

from warploom.core import UnsupportedError
from warploom.core.intervals import Interval
from warploom.schedule.backbone import evaluate_terms, gathered_by, parse_backbone

ROWS = """backbone rows
axis i 3: 3
axis j 4: 4
input W f32 [5, 4] strides [4, 1]
input t i32 [3] strides [1]
output Y f32 [3, 4] strides [4, 1]
t0[i] = load i32 t[i]
first[i] = max i32 t0[i], 0
last[i] = min i32 first[i]@thread, 4
row[i] = mul i32 last[i]@thread, 4
place[i, j] = add i32 row[i], at(j)
low[i, j] = max i32 place[i, j]@thread, 0
high[i, j] = min i32 low[i, j]@thread, 19
x[i, j] = gather f32 high[i, j]@thread in W
put[i, j] = store f32 x[i, j]@thread to Y[i, j]
"""

ROUNDED = """rounded[i] = cast f32 last[i]@thread
times[i] = mul f32 rounded[i]@thread, 4
row[i] = cast i32 times[i]@thread"""


def test_a_place_is_a_sum() -> None:
    stage = parse_backbone(ROWS)
    found = gathered_by(stage)
    assert found.ranges == {"t": Interval(0, 4)}
    names = {stage.instructions[n].name for n in found.computing}
    assert names == {"first", "last", "row", "place", "low", "high"}
    assert str(evaluate_terms(stage)["Y"].terms[6]) == "read.@.4(W[2], t[1])"


def test_without_gathers_nothing_is_known() -> None:
    text = ROWS[: ROWS.index("t0[i]")] + "x[i, j] = load f32 W[i, j]\nput[i, j] = store f32 x[i, j]@thread to Y[i, j]\n"
    assert not gathered_by(parse_backbone(text)).accesses


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("row[i] = mul i32 last[i]@thread, 4", "row[i] = mul i32 last[i]@thread, 5", "from 0 to 23 of 'a place'"),
        ("low[i, j]@thread, 19", "low[i, j]@thread, 18", "from 0 to 19 of 'a place'"),
        ("place[i, j]@thread, 0", "place[i, j]@thread, 1", "from 0 to 19 of 'a place'"),
        ("at(j)", "at(j + 1)", "from 1 to 20 of 'a place'"),
        ("first[i]@thread, 4", "first[i]@thread, -1", "a gather at no place inside"),
        ("add i32 row[i], at(j)", "sub i32 row[i], at(j)", "a place that place computes by sub"),
        ("mul i32 last[i]@thread, 4", "mul i32 last[i]@thread, last[i]@thread", "a place that row computes by mul"),
        ("input t i32", "output t i32", "places in 't', which is no input of whole numbers"),
        ("load i32 t[i]", "load i32 t[i - 1] else 7", "a gather at no place inside"),
        ("row[i], at(j)", "row[i], shift:i32", "a place that is computed from Parameter"),
        ("row[i] = mul i32 last[i]@thread, 4", ROUNDED, "a place of type f32"),
    ],
)
def test_other_places_are_not_followed(right: str, wrong: str, told: str) -> None:
    assert right in ROWS
    with pytest.raises(UnsupportedError, match=f"PROOF_GATHER.*{told}"):
        gathered_by(parse_backbone(ROWS.replace(right, wrong)))


def test_a_place_that_may_leave_its_type_is_not_followed() -> None:
    narrow = ROWS.replace("i32", "i8").replace("[5, 4] strides [4, 1]", "[60, 4] strides [4, 1]")
    narrow = narrow.replace("first[i]@thread, 4", "first[i]@thread, 59").replace("low[i, j]@thread, 19", "low[i, j]@thread, 127")
    with pytest.raises(UnsupportedError, match=r"PROOF_GATHER.*'row'"):
        gathered_by(parse_backbone(narrow))


def test_a_place_that_is_a_number_too_is_not_followed() -> None:
    text = ROWS.replace("output Y", "output Z i32 [3] strides [1]\noutput Y") + "put_row[i] = store i32 row[i]@thread to Z[i]\n"
    with pytest.raises(UnsupportedError, match=r"PROOF_GATHER.*a place that is a number in put_row, too"):
        gathered_by(parse_backbone(text))


def test_a_place_that_is_the_last_of_several_is_not_followed() -> None:
    text = ROWS.replace("high[i, j] = min i32 low[i, j]@thread, 19", "high[i] = min i32 low[i], 19")
    stage = parse_backbone(text.replace("gather f32 high[i, j]@thread in W", "gather f32 high[i] in W"))
    with pytest.raises(UnsupportedError, match=r"PROOF_GATHER.*the last of several"):
        gathered_by(stage)
