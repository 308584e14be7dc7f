"""Compositions as sets of functions, and as index expressions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ir import Hole, HoleArg, IndexExpr, tabulate
from warploom.ir.swizzle import IntArray, function_set, parse_composition, row_hashes
from warploom.ir.swizzle.grown import candidates, expression
from warploom.synth.transposes import random_composition, tabulated


def points(size: int, parameters: int) -> IntArray:
    return np.stack(np.divmod(np.arange(size * parameters), parameters), axis=1)


def only(table: IntArray, size: int) -> np.ndarray:
    allowed = np.zeros((table.size, size), np.bool_)
    allowed[np.arange(table.size), table.reshape(-1)] = True
    return allowed


WRITTEN = [
    "(fan(12)(cf=3) o unit(12, 4, fan(3)(cf=2)) o unit(12, 4, rot(3)(k=j, dr=-4)) o xor(12)(k=j))(i)",
    "(unit(12, 2, rot(6)(k=j, cr=5, c=1)) o unit(12, 2, fan(6)(cf=4)) o unit(12, 2, xor(6)(k=j)))(i)",
    "(group(4, xor(4)(k=j, dr=2)) o group(4, fan(4)(cf=3)) o group(4, rot(4)(k=j, cr=1)))(i)",
    "(rot(12)(c=5) o cm2linear(8, 12)(k=i) o xor(8)(c=3) o rot(8)(k=i, cr=3))(j)",
    "(group(6, unit(6, 3, xor(2)(c=1))) o rot(12)(c=7) o rot(12)(k=j, cr=2))(i)",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_written_compositions_become_expressions_of_the_same_values(text: str) -> None:
    composition = parse_composition(text)
    check(expression(composition, 12, 8), tabulated(composition, 12, 8))


def test_random_compositions_become_expressions_of_the_same_values() -> None:
    rng = random.Random(1)
    for n, parameters in ((6, 5), (8, 8), (12, 4), (15, 3)):
        for _ in range(25):
            composition = random_composition(rng, n, parameters, 3)
            check(expression(composition, n, parameters), tabulated(composition, n, parameters))


def check(expr: IndexExpr, table: IntArray) -> None:
    place = points(*table.shape)
    values = tabulate(expr, {HoleArg(0): place[:, 0], HoleArg(1): place[:, 1]})
    assert (np.broadcast_to(values, len(place)) == table.reshape(-1)).all()


def test_a_set_has_the_words_that_its_space_allows() -> None:
    place = points(6, 8)
    one, two = (function_set(Hole("h", "compose", ("i", "k"), n=6), place, space) for space in (1, 2))
    word = tabulated(parse_composition("(rot(6)(k=j, cr=1) o fan(6)(cf=5))(i)"), 6, 8)
    letter = tabulated(parse_composition("xor(6)(k=j)(i)"), 6, 8)
    assert [len(s.matching(only(letter, 6))) for s in (one, two)] == [1, 1]
    assert [len(s.matching(only(word, 6))) for s in (one, two)] == [0, 1]
    everything = two.matching(np.ones((48, 6), np.bool_))
    assert len(np.unique(everything.tables, axis=0)) == len(everything) > len(one.matching(np.ones((48, 6), np.bool_)))
    assert (np.diff(everything.costs) >= 0).all()
    for number in range(0, len(everything), len(everything) // 40):
        check(everything.expr(number), everything.tables[number].reshape(6, 8).astype(np.int64))


def test_a_longer_one_is_known_where_every_value_is() -> None:
    deep = parse_composition("(fan(6)(cf=3) o unit(6, 2, rot(3)(k=j, dr=-2)) o xor(6)(k=j))(i)")
    table = tabulated(deep, 6, 32)
    short, long = (function_set(Hole("h", "compose", ("i", "k"), n=6, grammar=g), points(6, 32), 3) for g in ("full", "long"))
    assert len(short.matching(only(table, 6))) == 0
    found = long.matching(only(table, 6))
    assert len(found) == 1
    check(found.expr(0), table)
    open_at_one = only(table, 6)
    open_at_one[5] = True
    assert long.matching(open_at_one) is None
    open_at_one[7] = False
    assert len(long.matching(open_at_one)) == 0
    broken = table.copy()
    broken[[0, 1], 3] = broken[[1, 0], 3]
    assert len(long.matching(only(broken, 6))) == 0


def test_some_of_the_points_are_looked_up_among_the_short_ones() -> None:
    place = points(6, 32)[::7]
    long = function_set(Hole("h", "compose", ("i", "k"), n=6, grammar="long"), place, 3)
    values = place[:, 0] ^ (place[:, 1] // 16)
    found = long.matching(only(values, 6))
    assert len(found) == 1 and (found.tables[0] == values).all()


@pytest.mark.parametrize("k", [-1, 128])
def test_a_parameter_out_of_range_is_refused(k: int) -> None:
    with pytest.raises(UserError, match=f"expected a parameter from 0 to 127, got {k}"):
        function_set(Hole("h", "compose", ("i", "k"), n=4), np.array([[0, 0], [1, k]]), 2)


def test_lengths_count_the_switch() -> None:
    known = candidates(3, 8)
    number = known.find(tabulated(parse_composition("cm2linear(8, 3)(k=i)(j)"), 3, 8))
    assert number is not None and known.lengths[number] == 1 and known.lengths.max() == 2


def test_tables_that_differ_by_equal_steps_of_opposite_sign_have_different_hashes() -> None:
    turned = np.random.default_rng(0).integers(0, 2, (1000, 128))
    tables = np.zeros((1000, 128, 4), np.int16)
    tables[:, :, 1], tables[:, :, 3] = 4 + 8 * turned, 12 - 8 * turned
    assert len(np.unique(row_hashes(tables.reshape(1000, 512)))) == 1000
