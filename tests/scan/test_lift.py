"""Operators out of loops: proved, and the printed functions agree with the definitions for every way to cut a list."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.core import UserError
from warploom.scan import Lifting, Value, lift, parse_module, read_loop, read_module, user_function
from warploom.scan.operators import expression as ex
from warploom.scan.operators import transition
from warploom.scan.operators.forms import FormError, Plain
from warploom.scan.operators.printing import evaluated
from warploom.scan.operators.tables import Table
from warploom.scan.tasks import DEFINITIONS, loops_module

QUICK = [
    "total", "maximum", "third_min", "max_prefix_sum", "max_suffix_sum", "max_segment_sum", "is_sorted", "atoi", "drop_while",
    "balanced_parentheses", "zero_after_one", "count_blocks_of_ones", "line_of_sight", "max_length_of_ones", "average",
    "count_1_0star_2", "longest_increasing_run", "hamming", "poly",
]  # fmt: skip


def found(name: str) -> Lifting:
    module = loops_module()
    return lift(read_loop(module, name), user_function(module, name))


def lifted(text: str, name: str = "f") -> Lifting:
    module = parse_module(text)
    return lift(read_loop(module, name), user_function(module, name))


@pytest.mark.parametrize("name", QUICK)
def test_tasks_are_proved_and_meet_their_definitions(name: str) -> None:
    result = found(name)
    assert (result.status, result.verdict, result.reason) == ("solved", "proved", "")
    operator = result.operator
    assert operator is not None
    choose = random.Random(name)
    for _ in range(60):
        elements = [
            tuple(choose.choice([False, True] if f.sort.base == "bool" else [0, 1, 2, 3]) for f in operator.loop.fields)
            for _ in range(choose.randrange(8))
        ]
        constants = [choose.choice([2, 3]) for _ in operator.loop.constants]
        columns = [list(c) for c in zip(*elements, strict=True)] or [[] for _ in operator.loop.fields]
        wanted = DEFINITIONS[name][1](*columns, *constants)
        assert operator.run(elements, lambda n: choose.randrange(1, n), constants) == wanted, elements


def bracketings(parts: Sequence[object]) -> Iterator[object]:
    """All ways to combine them in order, as nested pairs."""
    if len(parts) == 1:
        yield parts[0]
    for cut in range(1, len(parts)):
        yield from itertools.product(bracketings(parts[:cut]), bracketings(parts[cut:]))


def test_every_bracketing_of_every_short_list() -> None:
    result = found("max_segment_sum")
    operator = result.operator
    assert operator is not None
    lift_one = evaluated(operator.lift_source(), "lift")
    combine = evaluated(operator.operator_source(), "operator")
    project = evaluated(operator.projection_source(), "projection")

    def value(tree: object) -> object:
        return lift_one(tree) if isinstance(tree, int) else combine(*map(value, tree))  # type: ignore[operator, arg-type]

    for length in range(1, 5):
        for xs in itertools.product((-2, -1, 0, 1, 2), repeat=length):
            wanted = max(sum(xs[i:j]) for i in range(length + 1) for j in range(i, length + 1))
            assert all(project(value(tree)) == wanted for tree in bracketings(xs))  # type: ignore[operator]


def test_scans_give_every_prefix() -> None:
    result = lifted("""
def f(items: list[tuple[int, bool]]):
    acc = 0
    out = []
    for v, head in items:
        acc = v if head else acc + v
        out.append(acc)
    return out
""")
    assert result.verdict == "proved"
    assert result.operator is not None
    assert len(result.operator.fields) == 2
    assert result.operator.loop.is_scan


def test_reals_and_several_results() -> None:
    result = lifted("""
def f(xs: list[float]):
    level = 0.0
    most = 0.0
    for x in xs:
        level = 0.75 * level + 0.25 * x
        most = max(most, x)
    return level, most
""")
    assert (result.verdict, result.domain) == ("proved", "reals")
    assert result.operator is not None
    assert len(result.operator.fields) == 3


def test_a_loop_over_text() -> None:
    result = lifted("""
def f(text: str):
    depth = 0
    ok = True
    for c in text:
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        ok = ok and depth >= 0
    return ok and depth == 0
""")
    assert result.verdict == "proved"
    assert result.operator is not None
    text: list[tuple[Value, ...]] = [(c,) for c in "(())()"]
    assert result.operator.run(text, lambda n: n // 2) is True
    assert result.operator.run(text[1:], lambda n: n - 1) is False
    assert result.operator.run([], lambda n: n) is True


def test_what_no_finite_number_of_values_determines_is_unknown() -> None:
    result = lifted("""
def f(xs):
    a = 1
    for x in xs:
        a = a * a + x
    return a
""")
    assert (result.status, result.verdict, result.operator) == ("unknown", "unchecked", None)
    assert result.reason.startswith("no family of functions closed under composition")


def test_the_same_answer_twice() -> None:
    first, second = found("max_suffix_sum").operator, found("max_suffix_sum").operator
    assert first is not None
    assert second is not None
    assert first.source() == second.source()


def test_what_the_user_gives_is_kept() -> None:
    module = parse_module("""
def f(xs):
    total = 0
    most = 0
    for x in xs:
        total += x
        most = max(most, x)
    return most
""")
    plain = lift(read_loop(module, "f")).operator
    kept = lift(read_loop(module, "f", keep=["total"]), user_function(module, "f"), styles=["affine"])
    assert plain is not None
    assert kept.operator is not None
    assert kept.verdict == "proved"
    assert (len(plain.fields), len(kept.operator.fields)) == (1, 2)
    assert "total" in kept.operator.names
    with pytest.raises(UserError, match=r"expected a variable of the loop to keep, got 'other'"):
        read_loop(module, "f", keep=["other"])


REAL_LIFE = Path(__file__).parents[2] / "examples" / "scan" / "real_life.py"


@pytest.mark.parametrize("name", read_module(REAL_LIFE).functions)
def test_loops_from_real_life(name: str) -> None:
    module = read_module(REAL_LIFE)
    result = lift(read_loop(module, name), user_function(module, name))
    assert (result.status, result.verdict) == ("solved", "proved")
    assert result.cases >= 60


def test_thresholds_with_nothing_between_them_are_no_error() -> None:
    leaf, flag = Plain(ex.TRUE), ex.variable("b", ex.BOOL)
    assert Table(((flag, ()),), {(0,): leaf, (1,): None}).tree() == leaf
    assert Table(((flag, ()),), {(0,): None, (1,): leaf}).tree() == leaf
    with pytest.raises(FormError, match="no region that is not empty"):
        Table(((flag, ()),), {(0,): None, (1,): None}).tree()


def test_a_loop_whose_result_never_changes() -> None:
    found = lifted(
        "from typing import Literal\ndef f(xs: list[Literal[-1, 0, 1]]):\n    a = 3\n"
        "    for x in xs: a += x ** 3 - x\n    return a"
    )
    assert found.verdict == "proved"
    assert found.operator is not None
    assert found.operator.run([(1,), (-1,)], lambda n: 1) == 3


def test_a_state_of_few_values_compared_with_an_element_is_no_error() -> None:
    text = "from typing import Literal\ndef f(xs: list[Literal[-1, 0, 2]]):\n    a = 0\n"
    text += "    for y in xs: a = a >= y <= 1\n    return a"
    found = lifted(text)
    assert found.verdict == "proved"
    assert found.operator is not None
    assert found.operator.run([(0,), (2,), (-1,)], lambda n: 1) == 1


def test_why_no_family_was_found_is_said() -> None:
    result = lifted("def f(xs):\n    s = 0\n    for x in xs: s = s // 2 + x\n    return s\n")
    assert (result.status, result.verdict) == ("unknown", "unchecked")
    assert result.reason == "no family of functions closed under composition: floordiv of a value that is carried along"
    unmasked = "def f(xs):\n    crc = 0\n    for x in xs:\n        crc ^= x\n"
    unmasked += "        crc = (crc >> 1) ^ 9 if crc & 1 else crc >> 1\n    return crc\n"
    assert "if it is a register, keep its bits, such as by & 0xFFFFFFFF" in lifted(unmasked).reason
    assert lifted(unmasked.replace("^= x", "^= x & 0xFF")).verdict == "proved"


def test_remainders_start_from_numbers() -> None:
    loop = read_loop(parse_module("def f(xs):\n    s = 0\n    for x in xs: s = s + x\n    return s\n"), "f")
    endless = replace(loop, states=(replace(loop.states[0], initial=ex.INFINITY),))
    with pytest.raises(UserError, match="expected a finite number, got the remainder of an infinity"):
        transition._with_remainder(endless, loop.states[0].variable, 3)
