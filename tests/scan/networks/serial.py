"""Scans by the definition, on data where nothing commutes: shares no code with the package."""

import random
from collections.abc import Callable, Iterable
from typing import TypeVar

Matrix = tuple[int, int, int, int]
T = TypeVar("T")
PRIME = 10007


def times(x: Matrix, y: Matrix) -> Matrix:
    (a, b, c, d), (e, f, g, h) = x, y
    return ((a * e + b * g) % PRIME, (a * f + b * h) % PRIME, (c * e + d * g) % PRIME, (c * f + d * h) % PRIME)


def matrices(count: int, seed: int) -> list[Matrix]:
    draw = random.Random(seed)
    return [(draw.randrange(PRIME), draw.randrange(PRIME), draw.randrange(PRIME), draw.randrange(PRIME)) for _ in range(count)]


def left_zero_band(x: str, y: str) -> str:
    """Idempotent, associative, not commutative: letters in order of their first appearance."""
    return x + "".join(letter for letter in y if letter not in x)


def prefixes(data: list[T], op: Callable[[T, T], T]) -> list[T]:
    found = [data[0]]
    for value in data[1:]:
        found.append(op(found[-1], value))
    return found


def suffixes(data: list[T], op: Callable[[T, T], T]) -> list[T]:
    found = [data[-1]]
    for value in reversed(data[:-1]):
        found.append(op(value, found[-1]))
    return found[::-1]


def run_dots(data: list[T], steps: Iterable[Iterable[tuple[int, int]]], op: Callable[[T, T], T]) -> list[T]:
    """(destination, source) pairs; the operand on the left comes first."""
    cells = list(data)
    for step in steps:
        before = list(cells)
        for destination, source in step:
            one, other = before[destination], before[source]
            cells[destination] = op(other, one) if source < destination else op(one, other)
    return cells
