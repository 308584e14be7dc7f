"""Propagation over the flat tables of an instance.

Takes the tables, the domains of all choices, and a restriction of some of them. Gives the domains narrowed to a fixed point, or
a refutation. All of it is compiled by `solve.jit`. Open `packed.py` first (the tables), then `propagation.py`.
"""

from warploom.solve.space.engine.packed import (
    LISTED,
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
from warploom.solve.space.engine.propagation import narrow_and_propagate, propagate_all
from warploom.solve.space.engine.records import (
    ACTIVATED,
    OBJECT_BITS,
    UNLISTED,
    WAKE,
    Records,
    list_activated,
    list_instance,
    list_tuples,
)
from warploom.solve.space.engine.widths import count_levels
from warploom.solve.space.engine.work import LOG_NEXT, RECORD, work_lists, work_with_records

__all__ = [
    "ACTIVATED", "LISTED", "LOG_NEXT", "MEMBER", "NEVER", "OBJECT_BITS", "PENDING", "POSSIBLE", "RECORD", "SATURATED",
    "SETS", "UNLISTED", "WAKE", "Bytes", "Ints", "Masks", "Records", "Tables", "count_levels", "list_activated",
    "list_instance", "list_tuples", "narrow_and_propagate", "propagate_all", "work_lists", "work_with_records",
]  # fmt: skip
