"""The user's own function, run: for replays and tests, which share no code with what they check."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from warploom.scan.operators.exact import Listed
from warploom.scan.reading.source import Module


def user_function(module: Module, name: str) -> Callable[..., object]:
    """The function that was read, as the loaded file has it; raises UserError if the file cannot be run."""
    found = module.function(name, may_yield=True).value
    return Listed(found) if found.__code__.co_flags & inspect.CO_GENERATOR else found
