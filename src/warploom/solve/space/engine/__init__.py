"""Propagation over the flat tables of an instance."""

from warploom.solve.space.engine.packed import (
    LISTED,
    MEMBER,
    NEVER,
    PENDING,
    POSSIBLE,
    SATURATED,
    SETS,
    WAKE_ROW,
    Bytes,
    Ints,
    Masks,
    Tables,
)
from warploom.solve.space.engine.propagation import narrow_and_propagate, propagate_all
from warploom.solve.space.engine.records import ACTIVATED, Records, list_activated, list_tuples
from warploom.solve.space.engine.work import LOG_NEXT, RECORD, work_lists, work_with_records

__all__ = [
    "ACTIVATED", "LISTED", "LOG_NEXT", "MEMBER", "NEVER", "PENDING", "POSSIBLE", "RECORD", "SATURATED", "SETS", "WAKE_ROW",
    "Bytes", "Ints", "Masks", "Records", "Tables", "list_activated", "list_tuples", "narrow_and_propagate", "propagate_all",
    "work_lists", "work_with_records",
]  # fmt: skip
