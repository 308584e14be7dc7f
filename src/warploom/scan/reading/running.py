"""The user's own function, run: for replays and tests, which share no code with what they check."""

from __future__ import annotations

from collections.abc import Callable

from warploom.scan.reading.source import Module


def user_function(module: Module, name: str) -> Callable[..., object]:
    """The function that was read, as the loaded file has it; raises UserError if the file cannot be run."""
    return module.function(name).value
