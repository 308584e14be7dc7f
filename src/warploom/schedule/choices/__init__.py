"""The space of a kernel's implementations: its choices and constraints, and the loop nest of a decided candidate."""

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
