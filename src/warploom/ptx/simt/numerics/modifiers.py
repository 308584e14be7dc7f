"""The modifiers of one instruction, taken apart.

Source: PTX ISA 9.0, section 4.3 (statements).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warploom.ptx.simt.numerics.scalars import SCALAR_TYPES, unsupported


class Modifiers:
    """The modifiers of one instruction, taken one by one; what is left over is not understood."""

    def __init__(self, opcode: str, names: Sequence[str], source_count: int) -> None:
        self.source_count = source_count
        self.text = ".".join((opcode, *names))
        self.types = tuple(name for name in names if name in SCALAR_TYPES or name == "pred")
        self._left = [name for name in names if name not in SCALAR_TYPES and name != "pred"]

    def has(self, name: str) -> bool:
        """Takes a flag."""
        if name in self._left:
            self._left.remove(name)
            return True
        return False

    def one_of(self, names: Iterable[str], default: str | None = None) -> str:
        """Takes the one modifier of a group; without a default it must be there."""
        for name in names:
            if self.has(name):
                return name
        if default is None:
            raise unsupported(self.text)
        return default

    def type(self, place: int = 0) -> str:
        """The type name at a place of the type list, which is not taken."""
        if place >= len(self.types):
            raise unsupported(self.text)
        return self.types[place]

    def finish(self) -> None:
        """Refuses what nobody took."""
        if self._left:
            raise unsupported(f"modifier .{self._left[0]} in {self.text}")
