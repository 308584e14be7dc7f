"""Transposes: every answer replayed by other code, optima by brute force, the template exhausted, the table's forms."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from tests.synth.transposes.judge import is_transposed, moved
from tests.synth.transposes.test_recover import all_primitives

from warploom.core import UserError
from warploom.ir.swizzle import Cm2Linear, Composition, check_domains, parse_composition
from warploom.ir.swizzle.grown import candidates
from warploom.synth.transposes import KINDS, Kind, replay, solve_transpose, table_cost
from warploom.synth.transposes.table import table_steps

SIZES = sorted({(random.Random(seed).randint(1, 24), random.Random(-seed - 1).randint(1, 24)) for seed in range(14)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "n"), [*SIZES, (1, 1), (1, 9), (9, 1), (16, 16), (12, 12), (6, 24), (24, 6), (12, 18)])
def test_answers(kind: Kind, m: int, n: int) -> None:
    report = solve_transpose(kind, m, n)
    assert report.status == "solved"
    assert len(report.composition) == (2 if kind == "sum" else 3)
    assert is_transposed(kind, m, n, report.composition)
    steps = [parse_composition(text) for text in report.composition]
    assert all(check_domains(step, m, n) == "" for step in steps)
    assert report.cost == sum(step.cost(m, n) for step in steps)


def every_step(size: int, parameters: int) -> dict[bytes, int]:
    """Least cost of each table that a word has."""
    words = candidates(size, parameters)
    index, parameter = np.divmod(np.arange(size * parameters), parameters)
    tables = words.image(np.arange(len(words)), index, parameter).astype(np.uint8)
    found: dict[bytes, int] = {}
    for table, cost in zip(tables, words.costs, strict=True):
        found.setdefault(table.tobytes(), int(cost))
    return found


@pytest.mark.parametrize("kind", ["crc", "rcr"])
@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (2, 4)])
def test_optimum_by_brute_force(kind: Kind, m: int, n: int) -> None:
    report = solve_transpose(kind, m, n)
    outer, inner = (n, m) if kind == "rcr" else (m, n)
    along, across = every_step(outer, inner), every_step(inner, outer)
    least: int | None = None
    for first, cost in along.items():
        before = np.frombuffer(first, np.uint8).reshape(outer, inner).astype(int)
        for third, more in along.items():
            after = np.frombuffer(third, np.uint8).reshape(outer, inner).astype(int)
            second = between(kind, m, n, before, after)
            if second is not None and second in across:
                total = cost + more + across[second]
                least = total if least is None else min(least, total)
    assert report.cost is not None
    if report.optimal:
        assert least is not None and report.cost <= least


def between(kind: str, m: int, n: int, first: np.ndarray, third: np.ndarray) -> bytes | None:
    """The second step's table that joins the other two, if one does."""
    outer, inner = first.shape
    element = np.arange(m * n).reshape(m, n)
    start = element.T if kind == "rcr" else element
    end = np.arange(m * n).reshape(n, m) if kind == "rcr" else np.arange(m * n).reshape(n, m).T  # [outer, inner]
    held = start[first, np.arange(inner)]
    second = np.full((inner, outer), -1)
    for x, y in itertools.product(range(outer), range(inner)):
        middle = third[x, y]
        (places,) = np.nonzero(held[middle] == end[x, y])
        if len(places) != 1 or second[y, middle] not in (-1, places[0]):
            return None
        second[y, middle] = places[0]
    return None if (second < 0).any() else second.astype(np.uint8).tobytes()


def test_words_cost_what_their_compositions_cost() -> None:
    rng = random.Random(1)
    for size, parameters in ((12, 8), (7, 16), (16, 9), (9, 39), (6, 36)):
        words = candidates(size, parameters)
        i, j = np.meshgrid(np.arange(size), np.arange(parameters), indexing="ij")
        for number in rng.sample(range(len(words)), 150):
            step = words.composition(number, "i")
            assert check_domains(step, size, parameters) == ""
            assert step.cost(size, parameters) == words.costs[number], str(step)
            assert (step.apply(i, j).reshape(-1) == words.image(np.array([number]), i.reshape(-1), j.reshape(-1))[0]).all()


@pytest.mark.parametrize(("size", "parameters"), [(6, 4), (4, 6), (12, 5), (8, 8), (9, 12), (5, 16)])
def test_words_are_all_compositions_up_to_their_cost(size: int, parameters: int) -> None:
    """Compositions of up to two primitives, on either index: each has a word of the same table that costs no more."""
    rng = random.Random(size)
    words = candidates(size, parameters)
    own, other = all_primitives(size, parameters), all_primitives(parameters, size)
    switch = Cm2Linear(parameters, size)
    steps = [Composition("i", (p,)) for p in own] + [Composition("j", (switch,))]
    steps += [Composition("i", (rng.choice(own), rng.choice(own))) for _ in range(3000)]
    steps += [Composition("j", (p, switch)) for p in own] + [Composition("j", (switch, p)) for p in other]
    i, j = np.meshgrid(np.arange(size), np.arange(parameters), indexing="ij")
    within = 0
    for step in steps:
        if step.cost(size, parameters) <= words.limit:
            within += 1
            found = words.find(step.apply(i, j))
            assert found is not None and words.costs[found] <= step.cost(size, parameters), str(step)
    assert within > len(steps) // 50


def test_cheapest_first_and_found_again() -> None:
    words = candidates(12, 18)
    assert (np.diff(words.costs) >= 0).all()
    i, j = np.meshgrid(np.arange(12), np.arange(18), indexing="ij")
    for number in range(0, len(words), 997):
        found = words.find(words.composition(number, "i").apply(i, j))
        assert found is not None and words.costs[found] <= words.costs[number]


@pytest.mark.parametrize(
    ("m", "n", "cheaper"),
    [(31, 32, True), (5, 32, True), (1, 7, False), (32, 16, None), (18, 12, False), (6, 9, False), (4, 32, None), (8, 8, None)],
)
def test_table(m: int, n: int, cheaper: bool | None) -> None:
    cost, table = solve_transpose("crc", m, n).cost, table_cost(m, n)
    assert cost is not None
    assert (None if table is None else cost < table) == cheaper


def test_the_table_with_its_constants_is_a_transpose_and_never_cheaper() -> None:
    for m, n in ((4, 6), (6, 4), (6, 9), (9, 6), (12, 9), (12, 8), (8, 12), (5, 7), (1, 6)):
        steps = table_steps(m, n)
        assert steps is not None and is_transposed("crc", m, n, [str(step) for step in steps])
        cost, theirs = solve_transpose("crc", m, n).cost, table_cost(m, n)
        assert cost is not None and theirs is not None and cost <= theirs


def test_a_negative_period_takes_the_quotient_away() -> None:
    text = "rot(6)(k=j, cr=1, dr=-3)(i)"
    step = parse_composition(text)
    i, j = np.meshgrid(np.arange(6), np.arange(9), indexing="ij")
    assert str(step) == text
    assert (step.apply(i, j) == (i + j - j // 3) % 6).all()
    steps = ("(fan(6)(cf=2) o rot(6)(k=j, cr=5))(i)", "(cm2linear(6, 9)(k=j) o rot(6)(k=j, dr={}))(i)", "rot(6)(k=j, dr=3)(i)")
    assert replay("crc", 6, 9, [step.format(-3) for step in steps]) == ""
    assert replay("crc", 6, 9, [step.format(3) for step in steps]) != ""
    for wrong in ("rot(6)(k=j, cr=-1)(i)", "xor(8)(k=j, dr=-2)(i)", "fan(6)(cf=-1)(i)"):
        with pytest.raises(UserError):
            parse_composition(wrong)


def test_third_step_of_the_table_fails_at_common_divisors() -> None:
    """Rows 1 and 3 of Table 3, with every constant: the third step `i` leaves the second no permutation."""
    for m, n in ((4, 4), (3, 6), (2, 4)):
        for row in range(m):
            assert len({(lane * m + row) % n for lane in range(n)}) < n


@pytest.mark.parametrize(("m", "n"), [(5, 8), (8, 5), (12, 7), (31, 32), (6, 35)])
def test_table_where_sizes_are_coprime(m: int, n: int) -> None:
    inverse = pow(n, -1, m)
    first = f"(rot({m})(k=j, cr={-inverse % m}) o fan({m})(cf={inverse}))(i)" if inverse > 1 else f"rot({m})(k=j, cr={m - 1})(i)"
    second = f"(rot({n})(k=i, cr=1) o fan({n})(cf={m % n}))(j)" if m % n > 1 else f"rot({n})(k=i, cr=1)(j)"
    assert is_transposed("crc", m, n, (first, second, "i"))
    assert table_cost(m, n) == parse_composition(first).cost(m, n) + parse_composition(second).cost(m, n)


def test_replay_finds_faults() -> None:
    good = solve_transpose("crc", 6, 4).composition
    assert replay("crc", 6, 4, good) == ""
    assert "holds element" in replay("crc", 6, 4, (*good[:2], "i"))
    assert "sums elements" in replay("sum", 6, 4, ("i", "j"))
    assert "step 1" in replay("crc", 6, 4, ("cm2linear(6, 99)(k=j)(i)", *good[1:]))
    assert "step 2" in replay("crc", 6, 4, (good[0], "turn(4)(j)", good[2]))
    assert not is_transposed("crc", 6, 4, ("i", "j", "i"))
    assert moved("crc", 6, 4, ("i", "j", "i")).tolist() == np.arange(24).reshape(6, 4).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_without_its_third_step_at_common_divisors(kind: Kind) -> None:
    # With the identity as third step, lane j needs (j * m + i) mod n to differ for all j.
    for m, n in ((6, 4), (8, 8), (4, 12)):
        steps = solve_transpose(kind, m, n).composition
        assert kind == "sum" or steps[2] not in ("i", "j") or steps[0] not in ("i", "j")
