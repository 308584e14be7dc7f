"""The decorator of what the bound's entries call."""

from warploom.schedule.jit import compiled

__all__ = ["compiled"]
