"""The replay of many choices at once against the interpreter, which runs them one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.ir.dataflow.random_programs import every_member, holes_of, random_members, random_program, wrong_members

from warploom.ir.dataflow import gather_set, is_member, meets_goal, parse_program, replays
from warploom.ir.swizzle import IntArray


def test_agrees_with_the_interpreter_on_random_programs() -> None:
    rng = random.Random(1)
    met = missed = 0
    for _ in range(90):
        program = random_program(rng, 1 << 30)
        chosen = [random_members(rng, program) for _ in range(3)] + [wrong_members(rng, program) for _ in range(3)]
        expected = [meets_goal(program, members) for members in chosen]
        assert replays(program, chosen).tolist() == expected
        met, missed = met + sum(expected), missed + 6 - sum(expected)
    assert met > 60 and missed > 60


def test_more_choices_than_one_batch() -> None:
    text = "x: [4] = range(0, 4)\ny: [4] = ?grouped_perms{group=4}(x)\ngoal: [4] = [1, _, _, 0]"
    program = parse_program(text)
    ((name, choices),) = holes_of(program)
    gathers = [choices.gather(table.astype(np.int64)) for table in every_member(choices).tables] * 50
    expected = [bool(g[0] == 1 and g[3] == 0) for g in gathers]
    assert replays(program, [{name: gather} for gather in gathers]).tolist() == expected
    assert sum(expected) == 100
    assert replays(program, []).shape == (0,)


def test_values_of_folds_are_told_apart() -> None:
    text = """
    define f([6]) -> [2, 2] = {a = [0, 1, 2, 3], b = [1, 0, 3, 2], c = [0, 0, 2, 3], d = [0, (1, 0), 2, 3], e = [0, 1, -1, 3],
        f = [4, 0, 2, 3], g = [(1, 0), (1, 0), 2, 3], h = [(1, 0), 5, 2, 3]}
    x: [6] = [7, 8, fold(+){7, 8}, 9, fold(*){8}, fold(+){fold(*){7}}]
    y: [2, 2] = fold(+) ?f(x)
    goal: [2] = """
    for goal, expected in (
        ("[fold(+){8, 7}, fold(+){9, fold(+){7, 8}}]", "ab"),
        ("[fold(+){7, 7}, _]", "c"),
        ("[fold(+){7}, _]", "d"),
        ("[fold(+){7, fold(*){8}}, _]", "f"),
        ("[zero, _]", "g"),
        ("[fold(+){fold(+){fold(*){7}}}, _]", "h"),
        ("[fold(+){fold(*){7}}, _]", ""),
        ("[_, fold(+){fold(+){7, 8}, 9}]", "abcdfgh"),
        ("[_, _]", "abcdefgh"),
    ):
        program = parse_program(text + goal)
        ((name, choices),) = holes_of(program)
        listed = every_member(choices)
        texts = [choices.text(listed.expr(n)) for n in range(len(listed))]
        met = replays(program, [{name: choices.gather(table.astype(np.int64))} for table in listed.tables])
        assert sorted(t for t, m in zip(texts, met, strict=True) if m) == list(expected)


def test_wrong_gathers_are_refused() -> None:
    program = parse_program("x: [2] = [0, 1]\ny: [2] = ?grouped_perms{group=2}(x)\ngoal: [2] = [1, 0]")
    swapped: IntArray = np.array([1, 0])
    assert replays(program, [{"y": swapped, "x": swapped}, {"y": swapped[::-1]}]).tolist() == [True, False]
    for members in ([{}], [{"y": swapped}, {}]):
        with pytest.raises(KeyError, match="no gather for the hole y"):
            replays(program, members)
    with pytest.raises(ValueError, match="y: expected 2 sources in every gather"):
        replays(program, [{"y": np.array([1, 0, 0])}])
    for wrong in ([0, 2], [-3, 0]):
        with pytest.raises(ValueError, match=r"y: expected sources from -2 to 1, got"):
            replays(program, [{"y": np.array(wrong)}])


def test_members_of_random_sets() -> None:
    rng = random.Random(2)
    outside = 0
    for _ in range(60):
        program = random_program(rng, 5000)
        wrong = wrong_members(rng, program)
        for name, choices in holes_of(program):
            everything = {choices.gather(table.astype(np.int64)).tobytes() for table in every_member(choices).tables}
            assert is_member(choices, random_members(rng, program)[name])
            assert is_member(choices, wrong[name]) == (wrong[name].tobytes() in everything)
            outside += wrong[name].tobytes() not in everything
    assert outside > 20


def test_members_of_a_set_too_large_to_list() -> None:
    choices = gather_set("amd_bpermute", {}, ((64,),), (64,))
    assert is_member(choices, np.arange(64) // 3)
    assert not is_member(choices, np.r_[-1, np.arange(63)])
    with pytest.raises(ValueError, match="expected 64 sources"):
        is_member(choices, np.arange(32))


def test_members_with_one_effect_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = gather_set("amd_bpermute", {}, ((64,),), (64,))
    monkeypatch.setattr(type(choices.members), "matching", lambda self, allowed: None)
    with pytest.raises(ValueError, match="more members with one effect than can be listed"):
        is_member(choices, np.arange(64))
