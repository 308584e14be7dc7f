"""Names that a block declares: what is written -> what is unique in the routine (PTX ISA 4.4: braces open a scope)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegisterRange:
    """`.reg .b32 %r<10>`: %r0 to %r9, made registers of the routine when they are used."""

    count: int
    type: str
    vector: int


class Scope:
    """Names visible in a block."""

    def __init__(self, outer: Scope | None) -> None:
        self.outer = outer
        self.names: dict[str, str] = {}
        """Unique names by the names as written."""
        self.ranges: dict[str, RegisterRange] = {}
        """Register ranges by prefix."""

    def range_of(self, name: str) -> RegisterRange | None:
        """The parameterised declaration of this very scope that has the name."""
        prefix = name.rstrip("0123456789")
        found = self.ranges.get(prefix)
        if found is None or len(prefix) == len(name):
            return None
        digits = name[len(prefix) :]
        is_canonical = len(digits) < 8 and (digits == "0" or digits[0] != "0")
        return found if is_canonical and int(digits) < found.count else None

    def is_declared_outside(self, name: str) -> bool:
        """Whether a scope around this one declares the name."""
        scope = self.outer
        while scope is not None:
            if name in scope.names or scope.range_of(name) is not None:
                return True
            scope = scope.outer
        return False
