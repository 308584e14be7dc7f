"""PTX: syntax, SIMT interpreter, symbolic emulator, shuffle synthesis."""

from warploom.ptx.routine import Program, Routine, lower
from warploom.ptx.simt import SUPPORTED, Counts, Finding, Launch, is_supported, launch
from warploom.ptx.syntax import Module, exact, normal, parse

__all__ = [
    "SUPPORTED", "Counts", "Finding", "Launch", "Module", "Program", "Routine", "exact", "is_supported", "launch", "lower",
    "normal", "parse",
]  # fmt: skip
