"""The tasks' loops compute what their definitions say; the tasks end as they should."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from warploom.core import UserError
from warploom.scan import read_loop, user_function
from warploom.scan.tasks import (
    DEFINITIONS,
    TASK_NAMES,
    accepted,
    loops_module,
    refused,
    run_task,
    segmented,
    segmented_sum_operator,
)

UNSOLVED = {"families/seen_letters", "families/third_largest_distinct"}
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


@pytest.mark.parametrize("name", [
    "table1/mss-operator", "lift/atoi", "refuse/decay", "accept/affine_maps", "families/kadane", "families/first_negative",
    "families/rolling_hash", "families/fibonacci_forced", "families/common_and_any_bits",
    "families/smallest_or_none", "families/first_repeat", "families/differences", "families/lower_case",
    "families/roman", "families/extent", "unbounded/squared_state", "families/welford", "families/online_softmax",
    "families/crc8",
    "families/parity_count", "families/second_greatest", "families/crc_bytes", "families/online_cov", "families/count_max",
    "unbounded/fnv1a",
])  # fmt: skip
def test_tasks_end_as_they_should(name: str) -> None:
    assert run_task(name).is_expected


@pytest.mark.slow
@pytest.mark.parametrize("name", TASK_NAMES)
def test_all_tasks(name: str) -> None:
    assert run_task(name).is_expected == (name not in UNSOLVED)


def triples(function: Callable[..., Any], count: int) -> Iterator[bool]:
    """Whether the operator is associative on random triples of its domain. Python itself computes, floats are fractions."""
    choose = random.Random(function.__name__)
    hint = next(iter(get_type_hints(function).values()))
    kinds = get_args(hint) or (hint,)

    def element() -> Any:
        whole = [choose.choice([choose.randrange(-4, 5), choose.randrange(3)]) for _ in kinds]
        values = [n > 0 if k is bool else Fraction(n, choose.choice([1, 2, 3])) if k is float else n
                  for n, k in zip(whole, kinds, strict=True)]  # fmt: skip
        return tuple(values) if get_args(hint) else values[0]

    for _ in range(count):
        a, b, c = element(), element(), element()
        with suppress(AssertionError, ZeroDivisionError, OverflowError, TypeError):
            yield function(function(a, b), c) == function(a, function(b, c))


NOT_BY_NUMBERS = {"softmax"}
"""Loops with rounded exponentials."""
RARE = {"permutations", "first_three_letters", "run_lengths"}
"""Few triples of numbers are some."""


def functions(module: ModuleType) -> list[Callable[..., Any]]:
    return [f for name, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__ and name[0] != "_"]


@pytest.mark.parametrize("function", functions(accepted), ids=lambda f: f.__name__)
def test_accepted_operators_are_associative(function: Callable[..., Any]) -> None:
    found = list(triples(function, 1000)) if function.__name__ not in NOT_BY_NUMBERS else [True] * 30
    assert all(found) and (len(found) > 20 or function.__name__ in RARE), len(found)


def test_segmented_operators_start_anew_at_heads() -> None:
    """An associative one that never does is not it."""
    flags = [(False, False), (False, True), (True, False), (True, True)]
    assert not segmented._is_proved({f: (1, int(any(f))) for f in flags})
    assert not segmented._is_proved({f: (3, int(any(f))) for f in flags})
    assert segmented._is_proved({(f, g): (2 if g else 3, int(f or g)) for f, g in flags})


def test_operators_to_refuse_compute_what_their_names_say() -> None:
    assert refused.cross_product((1, 2, 3), (4, 5, 6)) == (-3, 6, -3)
    assert refused.cross_product((2, 0, 7), (0, 3, 5)) == (-21, -10, 6)
    truths = [(a, b) for a in (False, True) for b in (False, True)]
    assert [refused.implication(*t) for t in truths] == [True, True, False, True]
    assert [refused.not_both(*t) for t in truths] == [True, True, True, False]
    assert [refused.run_length_naive((1, 2), b) for b in ((1, 3), (2, 3))] == [(1, 5), (2, 3)]
