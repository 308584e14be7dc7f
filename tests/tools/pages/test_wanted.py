"""Sentences say which lane needs what, and who has it."""

from __future__ import annotations

import re

import pytest
from tests.tools.small import COMPLETIONS, KERNEL, SIZES

from warploom.tools.pages.movement import Movement, RegisterCell, Step, Value, Write
from warploom.tools.pages.trace import trace
from warploom.tools.pages.wanted import sentence_of, wanted_in

MOVEMENT = trace(KERNEL, COMPLETIONS, SIZES)


def test_each_hole_has_a_sentence_of_the_lane_that_shows_most() -> None:
    wanted = wanted_in(MOVEMENT)
    assert {hole.name: sentence_of(hole.name, MOVEMENT, wanted) for hole in KERNEL.holes} == {
        "row": "k = 1: lane 0 sends x[4], its inp[1]: lane 3 needs it",
        "from": "k = 1: lane 3 needs x[4]: only lane 0 has it, in inp[1]",
        "weight": "k = 0: lane 3 takes w[0] for its contribution",
    }
    assert sentence_of("another", MOVEMENT, wanted) == ""


def test_what_is_said_to_be_in_one_lane_is_there_and_nowhere_else() -> None:
    held: dict[tuple[int, str], str] = {}
    seen = 0
    wanted = wanted_in(MOVEMENT)
    for number, step in enumerate(MOVEMENT.steps):
        sentence = wanted[number].sentence if number in wanted else ""
        if found := re.fullmatch(r"lane (\d+) needs (\S+): only lane (\d+) has it, in (\S+)", sentence):
            lane, value, owner, row = int(found[1]), found[2], int(found[3]), found[4]
            assert {where for where, text in held.items() if text == value and where[1] != "sent"} == {(owner, row)}
            got = wanted[number].values[lane]
            assert got is not None and got.text == value and held[owner, "sent"] == value
            seen += 1
        for write in step.writes:
            if isinstance(write.cell, RegisterCell):
                held[write.cell.lane, write.cell.row] = write.value.text
    assert seen >= 2


def test_a_choice_shows_what_the_receivers_want() -> None:
    wanted = wanted_in(MOVEMENT)
    (choice,) = (n for n, s in enumerate(MOVEMENT.steps) if s.kind == "choose" and s.loops == (("k", 1),))
    assert [value.text for value in wanted[choice].values if value is not None] == ["x[1]", "x[2]", "x[3]", "x[4]"]


def _cell(lane: int, row: str) -> RegisterCell:
    return RegisterCell(lane, row)


def _x(place: int) -> Value:
    return Value(f"x[{place}]", (f"x[{place}]",))


@pytest.mark.parametrize(
    ("holders", "sentence"),
    [
        ([(1, "a")], "lane 0 needs x[7]: only lane 1 has it, in a"),
        ([(0, "a")], "lane 0 needs x[7], which it has itself, in a"),
        ([(1, "a"), (3, "a")], "lane 0 needs x[7]: lanes 1 and 3 have it, in a"),
        ([(1, "a"), (2, "b")], "lane 0 needs x[7]: lanes 1 and 2 have it"),
        ([(lane, "a") for lane in range(1, 6)], "lane 0 needs x[7]: lanes 1, 2, 3 and 2 more have it, in a"),
    ],
)
def test_who_has_it(holders: list[tuple[int, str]], sentence: str) -> None:
    from warploom.tools.pages.movement import HoleValues

    loads = Step("load", (), tuple(Write(_cell(*place), _x(7), (), place[0]) for place in holders))
    sent = Step("choose", (), (Write(_cell(1, "sent"), _x(7), (_cell(1, "a"),), 1),))
    shuffle = Step("shuffle", (), (Write(_cell(0, "got"), _x(7), (_cell(1, "sent"),), 0),), (HoleValues("from", (1,)),))
    movement = Movement(6, ("a", "sent", "got"), (loads, sent, shuffle), 0)
    assert wanted_in(movement)[2].sentence == sentence
