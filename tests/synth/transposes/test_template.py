"""The template of equations 5 to 7: the same functions as the holes of sketches, exhausted where it has no answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.synth.transposes.judge import is_transposed

from warploom.ir.swizzle import XformGrammar, XformSet
from warploom.synth.transposes import KINDS, Kind, solve_transpose
from warploom.synth.transposes.template import Template


def tables(size: int, parameters: int) -> set[bytes]:
    points = np.array(list(itertools.product(range(size), range(parameters))), np.int64)
    functions = XformSet(points, XformGrammar(size, grouped=True)).matching(np.ones((len(points), size), np.bool_))
    assert functions is not None
    return {row.astype(np.uint8).tobytes() for row in functions.tables}


@pytest.mark.parametrize(("size", "parameters"), [(1, 3), (2, 4), (4, 3), (6, 4), (8, 4), (9, 2)])
def test_members_are_those_of_the_hole(size: int, parameters: int) -> None:
    template, wanted = Template(size, parameters), tables(size, parameters)
    for row in wanted:
        table = np.frombuffer(row, np.uint8).astype(np.int64).reshape(size, parameters)
        assert template.find(table) is not None or not permutes(table)
    rng = np.random.default_rng(0)
    for _ in range(200):
        table = np.stack([rng.permutation(size) for _ in range(parameters)], axis=1)
        assert (template.find(table) is not None) == (table.astype(np.uint8).tobytes() in wanted)


def permutes(table: np.ndarray) -> bool:
    return bool((np.sort(table, axis=0) == np.arange(len(table))[:, None]).all())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "solved"), [(2, True), (3, True), (4, True), (6, False), (8, True), (10, False), (12, False)])
def test_thirty_two_lanes(kind: Kind, m: int, solved: bool) -> None:
    report = solve_transpose(kind, m, 32, "template")
    assert report.status == ("solved" if solved else "unsat")
    if solved:
        assert is_transposed(kind, m, 32, report.composition)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 4), (4, 2), (4, 6), (6, 4), (3, 6)])
@pytest.mark.parametrize("kind", ["crc", "rcr"])
def test_exhausted_means_none(kind: Kind, m: int, n: int) -> None:
    """Brute force over all first and second steps: the element that each lane then holds must be its own."""
    outer, inner = (n, m) if kind == "rcr" else (m, n)
    start = np.arange(m * n).reshape(m, n).T if kind == "rcr" else np.arange(m * n).reshape(m, n)
    home = start_of_end(kind, m, n)
    along, across = tables(outer, inner), tables(inner, outer)
    thirds = {row for row in along if permutes(np.frombuffer(row, np.uint8).reshape(outer, inner))}
    found = False
    for row in along:
        held = start[np.frombuffer(row, np.uint8).reshape(outer, inner), np.arange(inner)]
        targets = np.array([[home[e][1] for e in line] for line in held])
        if any(len(set(line)) < inner for line in targets.tolist()) or len(set(held.reshape(-1).tolist())) < m * n:
            continue
        second, third = np.zeros((inner, outer), np.uint8), np.zeros((outer, inner), np.uint8)
        for middle, lane in np.ndindex(outer, inner):
            x, y = home[int(held[middle, lane])]
            second[y, middle], third[x, y] = lane, middle
        found = found or (second.tobytes() in across and third.tobytes() in thirds)
    assert (solve_transpose(kind, m, n, "template").status == "solved") == found


def start_of_end(kind: str, m: int, n: int) -> dict[int, tuple[int, int]]:
    """(outer, inner) place at the end by element."""
    places = {e: (e % m, e // m) for e in range(m * n)}
    return {e: (lane, register) for e, (register, lane) in places.items()} if kind == "rcr" else places
