"""A kernel of a Python module, compiled for its arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warploom.ptx.simt import Argument
from warploom.tools.lint.sources import Source


@dataclass(frozen=True, slots=True)
class Launchable:
    source: Source
    name: str
    values: list[Argument]
    """The given values, in the form that the compiled kernel takes, and memory for parameters that its compiler has added."""
    shared_bytes: int
    positions: tuple[int, ...] = ()
    """For each value, the number of the user's argument that it is part of; empty: the values are the arguments."""

    def named(self, message: str) -> str:
        """The message with the user's numbers of arguments."""
        if not self.positions:
            return message
        return re.sub(r"\bargument (\d+)", lambda match: f"argument {self.positions[int(match[1])]}", message)
