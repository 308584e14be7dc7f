"""Cheap values made again behind a sum, instead of kept until then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warploom.schedule.backbone.following import followers, source_of, waits_for_sum
from warploom.schedule.backbone.nodes import Backbone, Carry, Instruction, Operand, Operator, Previous, Result
from warploom.schedule.backbone.once import rebuilt, renumbered
from warploom.schedule.backbone.running import serial_axes

_CHEAP = frozenset(
    (Operator.LOAD, Operator.MOVE, Operator.ADD, Operator.SUB, Operator.MUL, Operator.FMA, Operator.NEG, Operator.ABS)
)
_MOST = 3
"""Instructions that are run again to make one value, at most."""


def made_again(stage: Backbone) -> Backbone:
    """The same kernel in which users of a value that a sum over its axes separates make it for themselves.

    Where the loops of a value's users cannot be one, as around the variance of a layer norm, it would be kept in memory from
    one to the other. Made again are loads, of arrays that the kernel does not store to, and sums and products of such loads and
    of values without the axes that are reduced; all other values are kept. Along an axis that is summed over and whose length is
    known at run time nothing can be kept, so every value is made again there. Stages with running values stay as they are.
    """
    if serial_axes(stage.instructions):
        return stage
    again = _Again(stage)
    again.split_all()
    if len(again.order) == len(stage.instructions):
        return stage
    place = {number: n for n, number in enumerate(again.order)}
    return stage.remade(rebuilt(stage, [again.instructions[number] for number in again.order], place))


def open_sums(stage: Backbone) -> frozenset[int]:
    """Axes that are summed over and whose lengths are known at run time."""
    found = {axis for i in stage.instructions if i.carry is not None for axis in i.carry.reduced}
    return frozenset(axis for axis in found if stage.axes[axis].run_time is not None)


def kept_along_open_sums(stage: Backbone) -> Instruction | None:
    """The first value that would have to be kept along an axis of `open_sums` though all that can be made again is: no kernel
    does that. None where there is none."""
    again = _Again(made_again(stage))
    kept = again.split_all()
    return again.instructions[kept[0]] if kept else None


class _Again:
    def __init__(self, stage: Backbone) -> None:
        self.instructions = list(stage.instructions)
        self.order = list(range(len(self.instructions)))
        self._own: Sequence[Instruction] = stage.instructions
        self._after = followers(stage.instructions)
        self._stored = {i.access.region for i in self._own if i.operator is Operator.STORE and i.access is not None}
        self._reduced = {axis for i in self._own if i.carry is not None for axis in i.carry.reduced}
        self._names = {i.name for i in self._own}
        self._open = open_sums(stage)
        self._rounds = self._earliest()

    def split_all(self) -> list[int]:
        """Splits all values. Those along open axes that would have to be split and cannot be, in their order."""
        kept = [number for number in reversed(range(len(self._own))) if not self._split(number)]
        return kept[::-1]

    def _split(self, number: int) -> bool:
        """Gives the users of a value that cannot be in the loop where it is made one of their own. False where nothing is kept
        along its axes, and some users are without a value of their own."""
        groups = self._apart(number)
        chain = self._chain(number) if groups else None
        if chain is None or (len(chain) > _MOST and not self._is_open(number)):
            return not (groups and self._is_open(number))
        for users in groups:
            copies = {n: len(self.instructions) + k for k, n in enumerate(chain)}
            first = self.order.index(users[0])
            self.order[first:first] = copies.values()
            self.instructions += [self._copy(n, copies) for n in chain]
            for user in users:
                self.instructions[user] = _turned(self.instructions[user], {number: copies[number]})
        return True

    def _apart(self, number: int) -> list[list[int]]:
        """Users of a value that cannot be in the loop where it is made, those together that can be in one loop."""
        users = [
            user
            for user, instruction in enumerate(self._own)
            if any(isinstance(o, Result) and o.instruction == number for o in instruction.operands)
        ]
        groups: dict[object, list[int]] = {}
        if self._is_open(number):
            first = min((self._rounds[user] for user in users), default=self._rounds[number])
            self._rounds[number] = first
            for user in users:
                groups.setdefault(self._rounds[user], []).append(user)
            return [groups[n] for n in groups if n != first]
        for user in users:
            if waits_for_sum(self._own, self._after, number, user):
                sums = frozenset(n for n in self._after[number] if self._own[n].carry is not None and user in self._after[n])
                groups.setdefault(sums, []).append(user)
        return [*groups.values()]

    def _earliest(self) -> list[int]:
        """For each instruction, how many loops over open axes must have ended before it runs: loops one after the other, of which
        each sums up. The values between two sums are in the loop of one of them."""
        found: list[int] = []
        for instruction in self._own:
            rounds = [0]
            for operand in instruction.operands:
                made = source_of(operand)
                if made is not None:
                    carry = self._own[made].carry
                    rounds.append(found[made] + (carry is not None and not self._open.isdisjoint(carry.reduced)))
            found.append(max(rounds))
        return found

    def _chain(self, number: int) -> list[int] | None:
        """The instructions that make a value of what is without reduced axes, in their order; None where some are not cheap."""
        instruction = self._own[number]
        is_stored = instruction.access is not None and instruction.access.region in self._stored
        can_be = instruction.operator in _CHEAP or (self._is_open(number) and instruction.operator is not Operator.GATHER)
        if not can_be or is_stored:
            return None
        found: list[int] = []
        for operand in instruction.operands:
            if isinstance(operand, Carry | Previous):
                return None
            if isinstance(operand, Result) and not self._reduced.isdisjoint(self._own[operand.instruction].kept_axes):
                chain = self._chain(operand.instruction)
                if chain is None:
                    return None
                found += [n for n in chain if n not in found]
        return [*found, number]

    def _is_open(self, number: int) -> bool:
        """Whether a value has an axis along which nothing can be kept."""
        return not self._open.isdisjoint(self._own[number].kept_axes)

    def _copy(self, number: int, copies: dict[int, int]) -> Instruction:
        instruction = self._own[number]
        count = 2
        while (name := f"{instruction.name}_{count}") in self._names:
            count += 1
        self._names.add(name)
        return _turned(replace(instruction, name=name), copies)


def _turned(instruction: Instruction, number: dict[int, int]) -> Instruction:
    """The instruction with the values of others as operands where `number` names them."""

    def turned(operand: Operand) -> Operand:
        is_other = isinstance(operand, Result) and operand.instruction in number
        return renumbered(operand, number) if is_other else operand

    return replace(instruction, operands=tuple(turned(o) for o in instruction.operands))
