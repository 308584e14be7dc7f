"""Listeners of a symbolic run: pictures are drawn from the run that proves, not from one of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from warploom.ir import Accumulate, SetValue, Stmt, Store
from warploom.synth.proof.lanes import Ints, Mask
from warploom.terms import Term

Values: TypeAlias = list[Term | None]
"""One value per thread of the block; None for threads that are not active."""
Writing: TypeAlias = SetValue | Store | Accumulate


class Listener:
    """Told in order what the threads of one block do. This one takes no notice; a listener overrides what it wants to know."""

    def round_begins(self, variable: str, number: int) -> None:
        """A loop runs its body once more, with this value of its variable."""

    def round_ends(self) -> None: ...

    def statement(self, statement: Stmt, mask: Mask) -> None:
        """A statement begins. What is told up to the next one is of it, and of its index expressions."""

    def hole(self, name: str, values: Ints, mask: Mask) -> None:
        """A hole's completion was evaluated."""

    def reads_variable(self, name: str, mask: Mask) -> None: ...

    def reads(self, array: str, shape: tuple[int, ...], places: Sequence[int], mask: Mask) -> None:
        """An element is read. Places count row by row; they are negative outside the array."""

    def inside(self) -> None:
        """From here on, values that are read are the operand of a shuffle or of an accumulator's result, and so on inwards."""

    def shuffled(self, sources: Sequence[int], mask: Mask) -> None:
        """The operand ends: each thread gets the value of another one."""

    def reads_result(self, accumulator: str, shape: tuple[int, ...], places: Sequence[int], mask: Mask) -> None:
        """The operand ends: it made the result of an accumulator out of its state."""

    def accumulates(self, before: Term, added: Term, total: Term) -> None:
        """A thread's accumulator takes one contribution more."""

    def writes(self, statement: Writing, shape: tuple[int, ...], places: Sequence[int], values: Values, mask: Mask) -> None:
        """A statement ends with these values in their places; the place of a variable is 0."""


SILENT = Listener()
