"""Finds a dataflow program by its name: `sf/l3/trove-crc-7`, ..."""

from __future__ import annotations

from difflib import get_close_matches

from warploom.core import Diagnostic, UserError
from warploom.kernels.dataflow import PROGRAMS

PROGRAM_NAMES: tuple[str, ...] = tuple(PROGRAMS)


def find_program(name: str) -> str:
    """The text of the program called `name`; UserError `UNKNOWN_PROGRAM` with near matches if there is none."""
    if name in PROGRAMS:
        return PROGRAMS[name]()
    near = get_close_matches(name, PROGRAM_NAMES, n=3, cutoff=0.5)
    fix = f"Did you mean {' or '.join(near)}?" if near else "List the names with `warploom list`."
    raise UserError(
        Diagnostic("UNKNOWN_PROGRAM", f"expected a .swflow file or the name of a dataflow case, got {name!r}", fix=fix)
    )
