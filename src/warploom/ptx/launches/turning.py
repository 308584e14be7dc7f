"""Registers of loops that go through a few numbers in turn: the stages of a pipeline, which a `selp` sets back to the first.

The register begins with a number, and each round computes the next from nothing but that. The numbers then repeat sooner or
later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.ptx.symbolic import Emulation, Term, evaluate

_MOST_NUMBERS = 16
_LARGEST_STEP = 200
"""Weight of the term that makes the next number."""


class _OtherLeafError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Turn:
    """Numbers of a register by round."""

    counter: Term
    first: tuple[int, ...]
    """In the first rounds."""
    again: tuple[int, ...]
    """Over and over after these."""


def turning(emulation: Emulation) -> Mapping[Term, Turn]:
    """By value at the beginning of a round."""
    found: dict[Term, Turn] = {}
    for header, loop in emulation.graph.loops.items():
        entering = [p for p in emulation.graph.predecessors[header] if p not in loop.latches and p in emulation.blocks]
        if len(loop.latches) != 1 or loop.latches[0] not in emulation.blocks or len(entering) != 1:
            continue
        for register, value in emulation.blocks[header].entry.items():
            if value.op == "loop" and value.data == (header, register) and value.width > 1:
                begin, after = (_left(emulation, block, register) for block in (entering[0], loop.latches[0]))
                if begin is not None and after is not None and begin.value is not None:
                    numbers = _numbers(value, begin.value, after)
                    if numbers is not None:
                        found[value] = Turn(emulation.table.counter(header), *numbers)
    return found


def _left(emulation: Emulation, block: int, register: str) -> Term | None:
    """The register's value at the end of a block."""
    last = emulation.graph.blocks[block].end - 1
    return (emulation.registers_before(last) | emulation.blocks[block].results.get(last, {})).get(register)


def _numbers(value: Term, begin: int, after: Term) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    def leaf(term: Term, _: tuple[int, ...]) -> int:
        if term is not value:
            raise _OtherLeafError
        return numbers[-1]

    numbers = [begin]
    while after.weight <= _LARGEST_STEP and len(numbers) <= _MOST_NUMBERS:
        try:
            following = evaluate(after, leaf)
        except _OtherLeafError:
            return None
        if following in numbers:
            start = numbers.index(following)
            return tuple(numbers[:start]), tuple(numbers[start:])
        numbers.append(following)
    return None
