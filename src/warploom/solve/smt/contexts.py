"""Contexts of z3 that may be given up at any moment."""

from __future__ import annotations

from typing import Any


def new_context(z3: Any) -> Any:
    """A context whose finaliser stays silent, too, where a limit or an interruption ends the making half-way."""
    context = z3.Context.__new__(z3.Context)
    context.owner = False  # z3's finaliser asks for it; made whole, the context owns itself
    context.__init__()
    return context
