"""Propagation over the flat tables of an instance."""

from warploom.schedule.space.engine.packed import (
    MEMBER,
    NEVER,
    PENDING,
    POSSIBLE,
    SATURATED,
    SETS,
    Bytes,
    Ints,
    Masks,
    Tables,
)
from warploom.schedule.space.engine.propagation import narrow_and_propagate, propagate_all
from warploom.schedule.space.engine.work import work_lists

__all__ = [
    "MEMBER", "NEVER", "PENDING", "POSSIBLE", "SATURATED", "SETS", "Bytes", "Ints", "Masks", "Tables", "narrow_and_propagate",
    "propagate_all", "work_lists",
]  # fmt: skip
