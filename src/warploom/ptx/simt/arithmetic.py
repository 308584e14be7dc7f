"""Instructions that only compute: the numerics package knows them, here they get their operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from warploom.ptx.simt.code import Group, RunningBlocks, Step
from warploom.ptx.simt.numerics import Operation, bind, quiet
from warploom.ptx.simt.operands import CARRY, DTYPES, Site, dtype_of
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Integer, Operand, Pair, operand_text


def decode(site: Site) -> Step:
    """One step that evaluates the instruction."""
    instruction = site.instruction
    operation = bind(instruction.opcode, instruction.modifiers, len(instruction.operands) - 1)
    destinations = _destinations(site, operation.results)
    operands = list(instruction.operands[1:])
    sources: list[int] = []
    for type_name in operation.sources:
        if type_name == "carry":
            sources.append(site.code.slots[CARRY])
            continue
        if not operands:
            raise site.wrong(f"{len(operation.sources)} source operands", f"{len(instruction.operands) - 1}")
        operand = operands.pop(0)
        if type_name == "immediate":
            if not isinstance(operand, Integer):
                raise site.wrong("an integer constant", operand_text(operand))
            sources.append(-operand.value - 1)
        else:
            sources.append(site.sized(operand, type_name))
    if operands:
        raise site.wrong(f"{len(operation.sources)} source operands", f"{len(instruction.operands) - 1}")
    evaluate = operation.evaluate
    _probe(operation, instruction.operands)
    if "carry" in operation.results:
        destinations[operation.results.index("carry")] = site.code.slots[CARRY]
    if "immediate" in operation.sources:
        return _with_immediate(evaluate, destinations, sources, operation.sources.index("immediate"))
    match operation.results:
        case (result,):
            return _single(evaluate, destinations[0], sources, site, result)
        case _:
            return _several(evaluate, destinations, sources)


def _probe(operation: Operation, operands: tuple[Operand, ...]) -> None:
    """Evaluates once on zeros: UnsupportedError for a combination that only shows then."""
    immediates = [operand.value for operand in operands if isinstance(operand, Integer)]
    zeros: list[Value | int] = []
    for type_name in operation.sources:
        if type_name == "immediate":
            zeros.append(immediates[-1])
        else:
            zeros.append(np.zeros(1, np.bool_ if type_name == "carry" else dtype_of(type_name)))
    with quiet():
        operation.evaluate(*zeros)


def _destinations(site: Site, results: tuple[str, ...]) -> list[int]:
    first = site.instruction.operands[0]
    parts = (first.first, first.second) if isinstance(first, Pair) else (first,)
    types = [name for name in results if name != "carry"]
    if len(parts) > len(types):
        raise site.wrong(f"{len(types)} destinations", str(len(parts)))
    # A single result may go to a wider register.
    slots = [site.register(part, name if len(types) > 1 else "") for part, name in zip(parts, types, strict=False)]
    while len(slots) < len(results):
        slots.append(site.extra("_", DTYPES[32]))
    return slots


def _single(evaluate: Callable[..., Any], target: int, sources: list[int], site: Site, type_name: str) -> Step:
    wanted = site.dtype(target)
    given = dtype_of(type_name)
    if given is not None and given != wanted and target != site.code.slots.get("_"):
        if wanted.itemsize < given.itemsize:
            raise site.wrong(f"a destination of {8 * given.itemsize} bits", f"one of {8 * wanted.itemsize}")
        return _extended(evaluate, target, sources, wanted, type_name.startswith("s"))
    match sources:
        case [a]:

            def one(group: Group, running: RunningBlocks) -> None:
                registers = group.registers
                registers[target] = evaluate(registers[a])

            return one
        case [a, b]:

            def two(group: Group, running: RunningBlocks) -> None:
                registers = group.registers
                registers[target] = evaluate(registers[a], registers[b])

            return two
        case [a, b, c]:

            def three(group: Group, running: RunningBlocks) -> None:
                registers = group.registers
                registers[target] = evaluate(registers[a], registers[b], registers[c])

            return three
        case _:

            def many(group: Group, running: RunningBlocks) -> None:
                registers = group.registers
                registers[target] = evaluate(*[registers[slot] for slot in sources])

            return many


def _extended(
    evaluate: Callable[..., Any], target: int, sources: list[int], wanted: np.dtype[np.generic], is_signed: bool
) -> Step:
    """The result in a wider register: sign- or zero-extended (PTX ISA 9.4.1)."""

    def extend(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        narrow = evaluate(*[registers[slot] for slot in sources])
        registers[target] = widened(narrow, wanted, is_signed)

    return extend


def widened(narrow: Value, wanted: np.dtype[np.generic], is_signed: bool) -> Value:
    """Raw bits sign- or zero-extended to the dtype's width."""
    if is_signed:
        return narrow.view(f"i{narrow.dtype.itemsize}").astype(f"i{wanted.itemsize}").view(wanted)
    return narrow.astype(wanted)


def _several(evaluate: Callable[..., Any], targets: list[int], sources: list[int]) -> Step:
    def several(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        values = evaluate(*[registers[slot] for slot in sources])
        for slot, value in zip(targets, values, strict=False):
            registers[slot] = value

    return several


def _with_immediate(evaluate: Callable[..., Any], targets: list[int], sources: list[int], position: int) -> Step:
    before, immediate, after = sources[:position], -sources[position] - 1, sources[position + 1 :]

    def table(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        value = evaluate(*[registers[slot] for slot in before], immediate, *[registers[slot] for slot in after])
        if isinstance(value, tuple):
            for slot, part in zip(targets, cast("tuple[Value, ...]", value), strict=True):
                registers[slot] = part
        else:
            registers[targets[0]] = value

    return table
