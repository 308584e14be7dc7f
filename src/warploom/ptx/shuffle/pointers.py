"""The pointer parameter behind an address, for `--assume noalias`."""

from __future__ import annotations

from warploom.ptx.instructions import space
from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.shuffle.plan import UNTOUCHED
from warploom.ptx.symbolic import Term, linear
from warploom.ptx.syntax import Instruction

_POINTER_BITS = 64
_PLAIN = frozenset({"global", "weak", "wb", "cg", "cs", "wt", "v2", "v4", "v8", *TYPE_BITS})


def is_plain_store(instruction: Instruction) -> bool:
    """A weak store to global memory that says so."""
    return instruction.opcode == "st" and _PLAIN.issuperset(instruction.modifiers) and space(instruction) == "global"


def left_alone(routine: Routine, store: int, written: Term | None, read: Term) -> str:
    """The note that `noalias` gives of a plain store at the address `written` and a read at `read`; '' where it says nothing."""
    if not is_plain_store(routine.instructions[store]) or written is None:
        return ""
    own, other = pointer_of(read), pointer_of(written)
    if own is None or other is None or own == other:
        return ""
    return f"the store in line {routine.span(store).line} through {other} {UNTOUCHED} {own} alone"


def pointer_of(address: Term) -> str | None:
    """The name of the parameter that the address is so many bytes from; None where that is not one parameter alone.

    Two parameters in one sum may be a pointer and a count of bytes, or two pointers: which, the text does not say.
    """
    found = [
        str(atom.data[0]) for atom, factor in linear(address)[1]
        if atom.op == "parameter" and atom.width == _POINTER_BITS and factor == 1
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None
