"""PTX: syntax, SIMT interpreter, symbolic emulator, shuffle synthesis."""

from warploom.ptx.routine import Program, Routine, lower
from warploom.ptx.simt import Counts, Finding, Launch, launch
from warploom.ptx.syntax import Module, exact, normal, parse

__all__ = ["Counts", "Finding", "Launch", "Module", "Program", "Routine", "exact", "launch", "lower", "normal", "parse"]
