"""The space of a kernel's implementations, and the loop nest of a decided candidate.

Takes a backbone and a target. Gives a `KernelSpace`: choices and constraints in the language of `solve.space`; and for a
decided candidate its nest (`lower`). Open `kernel.py` first, then `lower.py`.
"""

from warploom.schedule.choices.decided import Decided, DimPair, LoweringError, Table, Temporary
from warploom.schedule.choices.features import Features
from warploom.schedule.choices.kernel import DEFAULT_ORDER, Alternative, Decision, KernelSpace, default_order, kernel_space
from warploom.schedule.choices.lower import lower
from warploom.schedule.choices.lower_candidate import lower_candidate
from warploom.schedule.choices.objects import Objects, objects_of

__all__ = [
    "DEFAULT_ORDER", "Alternative", "Decided", "Decision", "DimPair", "Features", "KernelSpace", "LoweringError", "Objects",
    "Table", "Temporary", "default_order", "kernel_space", "lower", "lower_candidate", "objects_of",
]  # fmt: skip
