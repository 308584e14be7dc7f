"""Registers of loops that go through a few numbers in turn: the stages of a pipeline, which a `selp` sets back to the first.

The register begins with a number, and each round computes the next from nothing but that and other such registers. The numbers
then repeat sooner or later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.ptx.symbolic import Emulation, Term, evaluate, subterms

_MOST_NUMBERS = 16
_MOST_TOGETHER = 64
"""Numbers before registers that depend on each other repeat: stages, and the phases that turn when they begin anew."""
_LARGEST_STEP = 200
"""Weight of the term that makes the next number."""


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
        steps: dict[Term, tuple[int, Term]] = {}
        for register, value in emulation.blocks[header].entry.items():
            if value.op == "loop" and value.data == (header, register) and value.width > 1:
                begin, after = (_left(emulation, block, register) for block in (entering[0], loop.latches[0]))
                if begin is not None and after is not None and begin.value is not None and after.weight <= _LARGEST_STEP:
                    steps[value] = begin.value, after
        for value in steps:
            numbers = _numbers(value, steps)
            if numbers is not None:
                found[value] = Turn(emulation.table.counter(header), *numbers)
    return found


def _left(emulation: Emulation, block: int, register: str) -> Term | None:
    """The register's value at the end of a block."""
    last = emulation.graph.blocks[block].end - 1
    return (emulation.registers_before(last) | emulation.blocks[block].results.get(last, {})).get(register)


def _numbers(value: Term, steps: Mapping[Term, tuple[int, Term]]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """`steps`: of each register its first number, and the term that makes the next."""
    together = _together(value, steps)
    if together is None:
        return None
    state = {part: steps[part][0] for part in together}
    states: list[dict[Term, int]] = []
    while state not in states:
        states.append(state)
        if len(states) > _MOST_TOGETHER:
            return None
        state = {part: evaluate(steps[part][1], lambda leaf, _, now=state: now[leaf]) for part in together}
    start = states.index(state)
    numbers = [state[value] for state in states]
    first, again = numbers[:start], numbers[start:]
    length = next(n for n in range(1, len(again) + 1) if len(again) % n == 0 and again == again[:n] * (len(again) // n))
    return (tuple(first), tuple(again[:length])) if len(first) + length <= _MOST_NUMBERS else None


def _together(value: Term, steps: Mapping[Term, tuple[int, Term]]) -> tuple[Term, ...] | None:
    """The register and those that its next numbers depend on; None: on something else."""
    found = [value]
    for part in found:
        if part not in steps:
            return None
        found += [leaf for leaf in subterms(steps[part][1]) if is_leaf(leaf) and leaf not in found]
    return tuple(found)


def is_leaf(term: Term) -> bool:
    """Whether `evaluate` asks for its value."""
    if term.op in ("udiv", "sdiv"):
        return not term.args[1].value
    return term.op in ("load", "function", "other") or (not term.args and term.op != "const")
