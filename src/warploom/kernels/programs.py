"""Finds a dataflow program by its name: `sf/l3/trove-crc-7`, `sf/l3/1d-conv-33`, `wall/rcr-31`, ..."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from math import ceil

from warploom.core import Diagnostic, UserError
from warploom.kernels.dataflow import (
    LEVELS,
    PROGRAMS,
    conv1d,
    hvx_gaussian,
    mult64,
    stencil1d,
    stencil2d,
    trove,
    trove_sum,
)
from warploom.kernels.filters import amd_filter, avx2_filter

HVX_LANES = range(8, 129)


@dataclass(frozen=True, slots=True)
class ProgramFamily:
    """All programs of one name pattern."""

    pattern: str
    """Matches the whole name; its last group is a number."""
    form: str
    """The pattern for people."""
    numbers: range
    """Values that the last group may have."""
    build: Callable[[tuple[str, ...], int], str]
    """Makes the program from the other groups and the number."""


def transposition(order: str, registers: int, lanes: int = 32) -> str:
    """Element r * lanes + t of register r, lane t goes to register i of lane j with j * registers + i the element's number.

    Columns are the registers of a lane, rows the lanes; a hole is one swizzle of Swizzle Inventor's equations 5 to 7. `sum` adds
    the registers of each lane instead of the last shuffle. Source: Swizzle Inventor, section 7.3.
    """
    shape = f"[{lanes}, {registers}]"
    lines = [f"x: [{lanes * registers}] = range(0, {lanes * registers})", f"loaded: {shape} = load_rep(x)"]
    source = "loaded"
    for step, letter in enumerate("cr" if order == "sum" else order):
        fold = "fold " if (order, step) == ("sum", 1) else ""
        # axis 1 are the registers: what the language calls a row
        lines.append(f"s{step + 1}: {shape} = {fold}?{'row' if letter == 'c' else 'col'}{{space=3}}({source})")
        source = f"s{step + 1}"
    lines.append(f"goal: [{lanes}] trove_sum{{n={registers}}}" if order == "sum" else f"goal: {shape} trove")
    return "\n".join(lines) + "\n"


def wide_stencil2d(width: int, side: int = 4) -> str:
    """A window of any width: conditions may compare with every multiple of the lanes that a copy can be away."""
    copies = max(2, ceil((side + width - 1) / side))
    constants = [0, 1, -1, side, -side, *(sign * side * k for k in range(2, copies - 1) for sign in (1, -1))]
    return stencil2d(width, LEVELS["l3"], side, ", ".join(map(str, constants)))


FAMILIES: tuple[ProgramFamily, ...] = (
    ProgramFamily(
        r"sf/(l[123])/trove-(crc|rcr)-(\d+)",
        "sf/l1|l2|l3/trove-crc|rcr-M",
        range(1, 65),
        lambda words, m: trove(m, words[1], LEVELS[words[0]]),
    ),
    ProgramFamily(
        r"sf/(l[123])/trove-cr_sum-(\d+)",
        "sf/l1|l2|l3/trove-cr_sum-M",
        range(1, 65),
        lambda words, m: trove_sum(m, LEVELS[words[0]]),
    ),
    ProgramFamily(
        r"sf/(l[123])/1d-stencil-(\d+)",
        "sf/l1|l2|l3/1d-stencil-K",
        range(2, 34),
        lambda words, k: stencil1d(k, LEVELS[words[0]]),
    ),
    ProgramFamily(
        r"sf/(l[123])/1d-conv-(\d+)",
        "sf/l1|l2|l3/1d-conv-K",
        range(2, 34),
        lambda words, k: conv1d(k, LEVELS[words[0]]),
    ),
    ProgramFamily(r"wall/(crc|rcr|sum)-(\d+)", "wall/crc|rcr|sum-M", range(1, 65), lambda words, m: transposition(words[0], m)),
    ProgramFamily(r"wall/conv1d-(\d+)", "wall/conv1d-K", range(2, 34), lambda _, k: conv1d(k, LEVELS["l3"])),
    ProgramFamily(r"wall/stencil2d-(\d+)", "wall/stencil2d-K", range(2, 18), lambda _, k: wide_stencil2d(k)),
    ProgramFamily(r"wall/hvx-gaussian-(\d+)", "wall/hvx-gaussian-LANES", HVX_LANES, lambda _, n: hvx_gaussian(False, n)),
    ProgramFamily(
        r"wall/hvx-gaussian-blocks-(\d+)", "wall/hvx-gaussian-blocks-LANES", HVX_LANES, lambda _, n: hvx_gaussian(True, n)
    ),
    ProgramFamily(
        r"wall/mult64-shared-w(\d+)", "wall/mult64-shared-wW", range(8, 9), lambda _, n: mult64(LEVELS["l1"], True, n // 2)
    ),
)

_FILTERS: Mapping[str, Callable[[], str]] = {"wall/avx2-filter": avx2_filter, "wall/amd-filter": amd_filter}

PROGRAM_NAMES: tuple[str, ...] = (
    *PROGRAMS,
    *(f"wall/{order}-{m}" for order in ("crc", "rcr", "sum") for m in (11, 13, 15, 31, 33, 63)),
    *(f"wall/conv1d-{k}" for k in (15, 17, 33)),
    *(f"wall/stencil2d-{k}" for k in (11, 13, 15)),
    *("wall/hvx-gaussian-128", "wall/hvx-gaussian-blocks-128", "wall/mult64-shared-w8"),
    *_FILTERS,
)
"""The authors' cases, and those past the sizes where they stopped; `find_program` builds others of the same patterns."""


def find_program(name: str) -> str:
    """The text of the program called `name`; UserError `UNKNOWN_PROGRAM` with near matches if no pattern or range holds it."""
    build = _builder(name)
    if build is not None:
        return build()
    near = get_close_matches(name, PROGRAM_NAMES, n=3, cutoff=0.5)
    forms = ", ".join(f"{f.form} ({f.numbers.start} to {f.numbers[-1]})" for f in FAMILIES)
    fix = f"Did you mean {' or '.join(near)}?" if near else f"List the names with `warploom list`, or use a form: {forms}."
    raise UserError(
        Diagnostic("UNKNOWN_PROGRAM", f"expected a .swflow file or the name of a dataflow case, got {name!r}", fix=fix)
    )


def is_program(name: str) -> bool:
    """Whether `find_program` finds it."""
    return _builder(name) is not None


def _builder(name: str) -> Callable[[], str] | None:
    if name in PROGRAMS or name in _FILTERS:
        return PROGRAMS.get(name) or _FILTERS[name]
    for family in FAMILIES:
        match = re.fullmatch(family.pattern, name)
        if match is not None and int(match.groups()[-1]) in family.numbers:
            return partial(family.build, match.groups()[:-1], int(match.groups()[-1]))
    return None
