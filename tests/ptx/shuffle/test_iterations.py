"""Blocks that lie on every path to the next iteration, against leaving out each block in turn."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from warploom.ptx.shuffle import iterations


def _reached(successors: dict[int, list[int]], header: int, starts: list[int], avoided: int | None) -> set[int]:
    found = {start for start in starts if start != avoided}
    stack = [start for start in found if start != header]
    while stack:
        for block in successors[stack.pop()]:
            if block in successors and block != avoided and block not in found:
                found.add(block)
                if block != header:
                    stack.append(block)
    return found


def test_rejoining_blocks() -> None:
    choose = random.Random(5)
    answers = set[bool]()
    for _ in range(2000):
        count = choose.randint(2, 9)
        successors = {block: choose.choices(range(count + 1), k=choose.randint(0, 2)) for block in range(count)}
        starts = [*{choose.randrange(count) for _ in range(2)}]
        graph: Any = SimpleNamespace(blocks=[SimpleNamespace(successors=tuple(successors[block])) for block in range(count)])
        loop: Any = SimpleNamespace(header=0, blocks=frozenset(range(count)))
        reached = _reached(successors, 0, starts, None)
        expected = any(0 not in _reached(successors, 0, starts, block) for block in reached if block != 0)
        assert iterations._must_pass(graph, loop, starts) == expected, (successors, starts)
        for meeting in (None, *range(count + 1)):  # which block is tried first never matters
            graph.post_dominator = [meeting]
            assert iterations._rejoins(graph, loop, 0, starts) == expected, (successors, starts, meeting)
        answers.add(expected)
    assert answers == {True, False}
