"""atom and red (PTX ISA 9.7.13.12 to 9.7.13.14): threads act one after another, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from warploom.ptx.routine import TYPE_BITS
from warploom.ptx.simt import numerics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.code import Group, Positions, RunningBlocks, Step
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.races import note_write
from warploom.ptx.simt.spaces import check_writable, resolve
from warploom.ptx.simt.threads import Value
from warploom.ptx.syntax import Address, Name, operand_text

Update: TypeAlias = "Callable[[Value, Value, Value], Value]"
"""Old contents, first and second operand -> new contents."""

_IGNORED = frozenset(
    ("relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz", "L2::cache_hint", "sc", "weak")
)
_OPERATIONS = frozenset(("add", "min", "max", "inc", "dec", "cas", "exch", "and", "or", "xor"))
_ROUNDS = 64
"""Threads on one word up to which they go in rounds."""


@dataclass(frozen=True, slots=True)
class Atomic:
    """The operation of one atomic on a word."""

    operation: str
    type_name: str
    update: Update
    accumulate: np.ufunc | None
    """The same as a NumPy operator on the type, where there is one that folds in order."""


def _increment(old: Value, limit: Value, _: Value) -> Value:
    return np.where(old >= limit, np.zeros((), old.dtype), old + np.ones((), old.dtype))


def _decrement(old: Value, limit: Value, _: Value) -> Value:
    return np.where((old == 0) | (old > limit), limit, old - np.ones((), old.dtype))


def _compare_and_swap(old: Value, expected: Value, new: Value) -> Value:
    return np.where(old == expected, new, old)


def atomic(operation: str, type_name: str) -> Atomic | None:
    """None for a combination that PTX does not have."""
    row = numerics.scalar_type(type_name)
    signed = row.is_signed
    match operation:
        case "exch" | "cas" | "and" | "or" | "xor" if row.is_float:
            return None
        case "exch":
            return Atomic(operation, type_name, lambda old, b, c: b, None)
        case "cas":
            return Atomic(operation, type_name, _compare_and_swap, None)
        case "inc" | "dec" if type_name == "u32":
            return Atomic(operation, type_name, _increment if operation == "inc" else _decrement, None)
        case "and":
            return Atomic(operation, type_name, lambda old, b, c: old & b, np.bitwise_and)
        case "or":
            return Atomic(operation, type_name, lambda old, b, c: old | b, np.bitwise_or)
        case "xor":
            return Atomic(operation, type_name, lambda old, b, c: old ^ b, np.bitwise_xor)
        case "add" if row.is_float:
            return Atomic(operation, type_name, lambda old, b, c: numerics.float_add(type_name, old, b), None)
        case "add":
            return Atomic(operation, type_name, lambda old, b, c: old + b, np.add)
        case "min" | "max" if row.is_float:
            pick = numerics.float_min if operation == "min" else numerics.float_max
            return Atomic(operation, type_name, lambda old, b, c: pick(type_name, old, b), None)
        case "min":
            return Atomic(
                operation, type_name, lambda old, b, c: numerics.integer_min(type_name, old, b), None if signed else np.minimum
            )
        case "max":
            return Atomic(
                operation, type_name, lambda old, b, c: numerics.integer_max(type_name, old, b), None if signed else np.maximum
            )
        case _:
            return None


def apply(kind: Atomic, words: Value, index: Positions, b: Value, c: Value, *, wants_old: bool) -> Value:
    """Performs the updates of all positions in their order; the contents before each (zero when nobody wants them)."""
    count = len(index)
    if kind.accumulate is not None and not wants_old:
        kind.accumulate.at(words, index, b)
        return np.zeros((), words.dtype)
    order = np.argsort(index, kind="stable")
    where = index[order]
    first, second = _in_order(b, order), _in_order(c, order)
    starts = np.flatnonzero(np.concatenate(([True], where[1:] != where[:-1])))
    lengths = np.diff(np.append(starts, count))
    longest = int(lengths.max())
    old = np.empty(count, words.dtype)
    if longest == 1:
        old[...] = words[where]
        words[where] = kind.update(old, first, second)
    elif kind.accumulate is not None and (longest > _ROUNDS or len(starts) < longest):
        _fold(kind.accumulate, words, where, first, starts, lengths, old)
    else:
        _rounds(kind, words, where, first, second, starts, lengths, old)
    result = np.empty(count, words.dtype)
    result[order] = old
    return result


def _in_order(value: Value, order: Positions) -> Value:
    return value if value.ndim == 0 else value[order]


def _fold(
    operator: np.ufunc, words: Value, where: Positions, first: Value, starts: Positions, lengths: Positions, old: Value
) -> None:
    values = np.broadcast_to(first, len(where))
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        chain = np.empty(length + 1, words.dtype)
        chain[0] = words[where[start]]
        chain[1:] = values[start : start + length]
        total = operator.accumulate(chain)
        old[start : start + length] = total[:-1]
        words[where[start]] = total[-1]


def _rounds(
    kind: Atomic, words: Value, where: Positions, first: Value, second: Value, starts: Positions, lengths: Positions, old: Value
) -> None:
    """Round r updates each word by the r-th thread that wants it."""
    live = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[live], lengths[live]
    for turn in range(int(lengths[0])):
        going = int(np.searchsorted(-lengths, -turn, side="left"))
        at = starts[:going] + turn
        places = where[at]
        current = words[places]
        old[at] = current
        words[places] = kind.update(current, _in_order(first, at), _in_order(second, at))


def decode(site: Site) -> Step:
    """atom with a destination, red without."""
    instruction = site.instruction
    is_reduction = instruction.opcode == "red"
    space, operation, type_name, elements = "", "", "", 1
    for modifier in instruction.modifiers:
        plain = modifier.partition("::")[0]
        if plain in ("global", "shared"):
            space = plain
        elif modifier in _OPERATIONS:
            operation = modifier
        elif modifier in ("v2", "v4", "v8"):
            elements = int(modifier[1:])
        elif modifier in TYPE_BITS:
            type_name = modifier
        elif modifier not in _IGNORED:
            raise site.unsupported(f"modifier .{modifier} in {instruction.name}")
    kind = atomic(operation, type_name) if TYPE_BITS.get(type_name, 0) in (16, 32, 64) else None
    if kind is None:
        raise site.unsupported(instruction.name)
    operands = list(instruction.operands)
    targets = [] if is_reduction else [site.register(part, type_name) for part in site.elements(operands[0])]
    wants_old = not is_reduction and operands[0] != Name("_")
    address, *values = operands[0 if is_reduction else 1 :]
    if not isinstance(address, Address):
        raise site.wrong("an address in brackets", operand_text(address))
    width = TYPE_BITS[type_name] // 8
    access = access_of(site, address, "atom", width, elements, space, is_strong=True)
    first = [site.sized(part, type_name) for part in site.elements(values[0])]
    if operation == "cas" and len(values) < 2:
        raise site.wrong("a value to compare with and a new one", "one")
    second = site.sized(values[1], type_name) if operation == "cas" else first[0]
    if any(len(parts) != elements for parts in (first, targets) if parts):
        raise site.wrong(f"{elements} elements", " and ".join(str(len(parts)) for parts in (targets, first) if parts))

    is_fence = not {"release", "acq_rel", "sc"}.isdisjoint(instruction.modifiers)

    def act(group: Group, running: RunningBlocks) -> None:
        registers = group.registers
        running.polls += wants_old
        pieces = resolve(access, group, running)
        check_writable(access, pieces, group, running)
        if running.launch.counter is not None:
            running.launch.counter.access(access, pieces, group, running)
        if running.is_watching:
            if is_fence:
                running.clock.release(group.threads, scope=access.scope)
            note_write(access, pieces, None, group, running)
        olds: list[Value] = []
        for element, slot in enumerate(first):
            b, c = value_of(registers, slot), value_of(registers, second)
            whole: Value | None = None
            for chosen, region, index in pieces:
                words = region.views.by_width[width]
                size = group.size if chosen is None else len(chosen)
                places = np.broadcast_to(index, size) + element
                if chosen is None:
                    whole = apply(kind, words, places, b, c, wants_old=wants_old)
                else:
                    if whole is None:
                        whole = np.zeros(group.size, words.dtype)
                    whole[chosen] = apply(kind, words, places, _in_order(b, chosen), _in_order(c, chosen), wants_old=wants_old)
            assert whole is not None
            olds.append(whole)
        if wants_old:
            for target, value in zip(targets, olds, strict=True):
                registers[target] = value

    return act


DECODERS: dict[str, Callable[[Site], Step]] = {"atom": decode, "red": decode}
