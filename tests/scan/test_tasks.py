"""The tasks' loops compute what their definitions say; the tasks end as they should."""

from __future__ import annotations

import random

import pytest

from warploom.core import UserError
from warploom.scan import read_loop, user_function
from warploom.scan.tasks import DEFINITIONS, TASK_NAMES, loops_module, run_task, segmented, segmented_sum_operator

UNSOLVED = {"lift/position_of_longest_ones"}
"""Within what the search knows today."""


@pytest.mark.parametrize("name", DEFINITIONS)
def test_loops_meet_their_definitions(name: str) -> None:
    module = loops_module()
    function, loop = user_function(module, name), read_loop(module, name)
    choose = random.Random(name)
    for _ in range(150):
        length = choose.randrange(8)
        columns = [
            [choose.choice([False, True] if f.sort.base == "bool" else [0, 1, 2, 3, -1, -2, 0, 1, 1, 2]) for _ in range(length)]
            for f in loop.fields
        ]
        arguments = [*columns, *(2 for _ in loop.constants)]
        assert function(*arguments) == DEFINITIONS[name][1](*arguments), arguments


def test_there_are_as_many_as_the_literature_has() -> None:
    assert len(DEFINITIONS) == 38
    assert sum(n.startswith("refuse/") for n in TASK_NAMES) >= 20
    assert sum(n.startswith("accept/") for n in TASK_NAMES) >= 20


def test_segmented_template_has_one_completion() -> None:
    result = segmented_sum_operator()
    assert (result.candidates, len(result.solutions), result.is_proved) == (4096, 1, True)
    assert result.solutions[0] == "(0, 0): (x + y, 0); (0, 1): (y, 1); (1, 0): (x + y, 1); (1, 1): (y, 1)"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UserError, match=r"expected a task's name, got 'lift/nothing'"):
        run_task("lift/nothing")


@pytest.mark.parametrize("name", ["table1/mss-operator", "lift/atoi", "refuse/decay", "accept/affine_maps"])
def test_tasks_end_as_they_should(name: str) -> None:
    assert run_task(name).is_expected


@pytest.mark.slow
@pytest.mark.parametrize("name", TASK_NAMES)
def test_all_tasks(name: str) -> None:
    assert run_task(name).is_expected == (name not in UNSOLVED)


def test_segmented_operators_start_anew_at_heads() -> None:
    """An associative one that never does is not it."""
    flags = [(False, False), (False, True), (True, False), (True, True)]
    assert not segmented._is_proved({f: (1, int(any(f))) for f in flags})
    assert not segmented._is_proved({f: (3, int(any(f))) for f in flags})
    assert segmented._is_proved({(f, g): (2 if g else 3, int(f or g)) for f, g in flags})
