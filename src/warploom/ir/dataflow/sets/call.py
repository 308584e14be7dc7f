"""A call of a set of gathers: its name, options and shapes, read with errors that say what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from warploom.core import Diagnostic, UserError
from warploom.ir.dataflow.gather_set import Shape

Option: TypeAlias = "int | tuple[int, ...] | bool"
"""A number, a list of numbers, or True for a flag."""


def shape_text(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    options: Mapping[str, Option]
    arguments: tuple[Shape, ...]
    out: Shape
    """Shape before any fold."""

    def bad_option(self, message: str, fix: str = "") -> UserError:
        return UserError(Diagnostic("BAD_OPTION", f"{self.name}: {message}", fix=fix))

    def mismatch(self, expected: str) -> UserError:
        shapes = ", ".join(map(shape_text, self.arguments))
        return UserError(
            Diagnostic("SHAPE_MISMATCH", f"{self.name}: expected {expected}, got ({shapes}) -> {shape_text(self.out)}")
        )

    def only(self, *known: str) -> None:
        """Refuse options that are not in `known`."""
        for key in self.options:
            if key not in known:
                offered = f"one of {', '.join(known)}" if known else "no option"
                raise self.bad_option(f"expected {offered}, got {key!r}", fix=f"Remove {key}.")

    def argument(self) -> Shape:
        """The shape of the only argument."""
        if len(self.arguments) != 1:
            raise self.mismatch("one argument")
        return self.arguments[0]

    def flag(self, key: str) -> bool:
        value = self.options.get(key, False)
        if not isinstance(value, bool):
            raise self.bad_option(f"expected {key} without a value, got {key}={value}", fix=f"Write {{{key}}}.")
        return value

    def integer(self, key: str, default: int | None = None) -> int:
        """The option's number; required without a default."""
        if key not in self.options:
            if default is None:
                raise self.bad_option(f"expected the option {key}, got none", fix=f"Write {{{key}=NUMBER}}.")
            return default
        value = self.options[key]
        if isinstance(value, bool | tuple):
            raise self.bad_option(f"expected a number for {key}, got {_option_text(value)}")
        return value

    def integers(self, key: str, default: tuple[int, ...] | None) -> tuple[int, ...]:
        """The option's list; required without a default. A single number is a list of one."""
        if key not in self.options:
            if default is None:
                raise self.bad_option(f"expected the option {key}, got none", fix=f"Write {{{key}=[NUMBER, ...]}}.")
            return default
        value = self.options[key]
        if isinstance(value, bool):
            raise self.bad_option(f"expected a list of numbers for {key}, got a flag")
        return value if isinstance(value, tuple) else (value,)

    def axis(self, key: str, default: int | None = None) -> int:
        """The option's axis of the output."""
        return self.checked_axis(key, self.integer(key, default))

    def checked_axis(self, key: str, axis: int) -> int:
        if not 0 <= axis < len(self.out):
            raise self.bad_option(f"expected {key} among the axes 0..{len(self.out) - 1} of {shape_text(self.out)}, got {axis}")
        return axis

    def restrictions(self) -> tuple[tuple[int, int], ...]:
        """`restrict=[axis, position, ...]` as pairs."""
        flat = self.integers("restrict", ())
        if len(flat) % 2:
            raise self.bad_option(f"expected restrict=[axis, position, ...], got {len(flat)} numbers")
        pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
        for axis, position in pairs:
            length = self.out[self.checked_axis("restrict", axis)]
            if not 0 <= position < length:
                raise self.bad_option(f"expected a position below {length} on axis {axis} in restrict, got {position}")
        return pairs


def _option_text(value: bool | tuple[int, ...]) -> str:
    return "a flag" if isinstance(value, bool) else shape_text(value)
