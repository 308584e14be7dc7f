"""Register instructions as sets of gathers over [registers, lanes] arrays.

A machine is a list of operations: where each lane of the result comes from in one or two operands. `register_set` applies them to
every choice of operands and result that the options permit:

    in=[u, v, ..]   pairs of operands; else all pairs of registers below in_lim (default: all)
    out=[d, ..]     results; `fresh`: the rows that the output adds; `inplace`: results among the operands; else all rows

All other registers are copied; a row that the argument does not have is undefined until it is written.

Source: Swizzleflow, section 6 (HVX), and the options of the authors' tool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from warploom.ir.dataflow.gather_set import UNDEFINED, GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.forms import Free, Listed, Portion, assemble
from warploom.ir.swizzle import IntArray

REGISTER_OPTIONS = ("in_lim", "in", "out", "fresh", "inplace")


@dataclass(frozen=True, eq=False, slots=True)
class LaneOp:
    """One instruction with all its immediates."""

    name: str
    operands: int
    """1 or 2."""
    lanes: IntArray
    """[variants, results * lanes]: i = lane i of the first operand, lanes + i of the second one, or `ZERO`."""
    immediates: tuple[str, ...]
    """[variants] as printed, with the comma."""
    cost: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class FreeOp:
    """One instruction whose groups of lanes choose freely."""

    name: str
    operands: int
    at: IntArray
    """[groups, width] places in the results."""
    lanes: IntArray
    """[groups, options, width], as in `LaneOp`."""
    immediate: Callable[[tuple[int, ...]], str]
    """Gives the immediate for the options of all groups."""
    is_symmetric: bool = False
    """Exchanging the operands gives the same set; equal operands do nothing."""


LaneOps: TypeAlias = Sequence["LaneOp | FreeOp"]


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers of a call: operand pairs and results to choose from."""

    lanes: int
    pairs: tuple[tuple[int, int], ...]
    results: tuple[int, ...]
    is_in_place: bool

    def operands(self, count: int, result: int) -> list[tuple[int, ...]]:
        """Choices of `count` operands for a result."""
        pairs = [pair for pair in self.pairs if not self.is_in_place or result in pair]
        return list(pairs) if count == 2 else [(u,) for u in sorted({u for pair in pairs for u in pair})]


def registers(call: Call, *, in_place: bool = False) -> Registers:
    """Registers for the call's options and shapes; `in_place` as if the flag were set."""
    shape = call.argument()
    if len(shape) != 2 or len(call.out) != 2 or shape[1] != call.out[1]:
        raise call.mismatch("two matrices [registers, lanes] with as many lanes")
    limit = call.integer("in_lim", shape[0])
    if not 1 <= limit <= shape[0]:
        raise call.bad_option(f"expected in_lim among 1..{shape[0]}, got {limit}")
    named = call.integers("in", ())
    if len(named) % 2:
        raise call.bad_option(f"expected in=[register, register, ...], got {len(named)} numbers")
    pairs = list(zip(named[::2], named[1::2], strict=True)) or [(u, v) for u in range(limit) for v in range(limit)]
    results = call.integers("out", ()) or tuple(range(call.out[0]))
    for key, chosen, count in (("in", named, shape[0]), ("out", results, call.out[0])):
        for register in chosen:
            if not 0 <= register < count:
                raise call.bad_option(f"expected registers below {count} in {key}, got {register}")
    if call.flag("fresh"):
        if call.out[0] <= shape[0]:
            raise call.mismatch("more registers out than in")
        results = tuple(d for d in results if d >= shape[0])
    return Registers(shape[1], tuple(dict.fromkeys(pairs)), tuple(dict.fromkeys(results)), in_place or call.flag("inplace"))


def register_set(call: Call, machine: Sequence[tuple[LaneOps, Registers, int]]) -> GatherSet:
    """The identity and all operations (operations, registers, results of one operation: 1, or 2 from an even one on)."""
    lanes = call.out[1]
    present = prod(call.argument())
    base: IntArray = np.arange(prod(call.out))
    base[present:] = UNDEFINED
    nothing = np.zeros(0, np.int64)
    forms: list[Portion] = [Listed(nothing, np.zeros((1, 0), np.int64), np.zeros(1, np.int64), lambda _: "identity")]
    for ops, chosen, width in machine:
        for result in chosen.results:
            if width == 1 or (result % 2 == 0 and result + 1 in chosen.results):
                at = result * lanes + np.arange(width * lanes)
                forms += _forms(ops, chosen, result, "" if width == 1 else f", r{result + 1}", at)
    return assemble(call.arguments, call.out, base, forms)


def _forms(ops: LaneOps, chosen: Registers, result: int, more: str, at: IntArray) -> list[Portion]:
    """Everything that may write the elements `at`."""
    listed: list[IntArray] = []
    costs: list[IntArray] = []
    origins: list[tuple[LaneOp, tuple[int, ...]]] = []
    starts = [0]
    forms: list[Portion] = []
    target = f"r{result}{more}"
    for op in ops:
        operands = chosen.operands(op.operands, result)
        if isinstance(op, FreeOp):
            for regs in _unordered(operands) if op.is_symmetric else operands:
                sources = _sources(op.lanes, regs, chosen.lanes)
                forms.append(Free(at[op.at], sources, _free_text(op, regs, target)))
            continue
        for regs in operands:
            listed.append(_sources(op.lanes, regs, chosen.lanes))
            costs.append(np.full(len(op.lanes), op.cost, np.int64))
            origins.append((op, regs))
            starts.append(starts[-1] + len(op.lanes))
    if listed:

        def text(row: int) -> str:
            position = int(np.searchsorted(starts, row, side="right")) - 1
            op, regs = origins[position]
            return _text(op.name, regs, target, op.immediates[row - starts[position]])

        forms.append(Listed(at, np.concatenate(listed), np.concatenate(costs), text))
    return forms


def _unordered(pairs: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Pairs of different registers, one of the two orders of each."""
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for pair in pairs:
        if len(set(pair)) == 2:
            found.setdefault(frozenset(pair), pair)
    return list(found.values())


def _sources(lanes: IntArray, regs: tuple[int, ...], count: int) -> IntArray:
    """Elements of the argument for lanes of operands."""
    operand, lane = np.divmod(lanes, count)
    return np.where(lanes < 0, lanes, np.array(regs)[operand * (lanes >= 0)] * count + lane)


def _free_text(op: FreeOp, regs: tuple[int, ...], target: str) -> Callable[[tuple[int, ...]], str]:
    return lambda options: _text(op.name, regs, target, op.immediate(options))


def _text(name: str, regs: tuple[int, ...], target: str, immediate: str) -> str:
    return f"{name}({', '.join(f'r{u}' for u in regs)} -> {target}{immediate})"
