"""Launches that judge what is said of every launch: random ones of the domain of a proof, and those in which threads may meet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warploom.core import UnsupportedError, UserError
from warploom.ptx import Program, Routine, launch
from warploom.ptx.launches import Launch
from warploom.ptx.simt import Argument

_MOST_INSTRUCTIONS = 2_000_000
_ARRAY_WORDS = 1 << 16
_SHARED_BYTES = 49_152
_FLOATS = {"f32": np.float32, "f64": np.float64}
_MOST_BLOCKS = 3
Extents = tuple[int, int, int]


def races_met(
    program: Program, routine: Routine, single: frozenset[str], launches: int, random: np.random.Generator,
    block: Extents | None = None,
) -> tuple[int, int]:  # fmt: skip
    """Random launches, with extent 1 where `single` says so, and that block if one is given. How many ran, how many raced."""
    required = routine.directive("reqntid")
    ran = wrong = 0
    for _ in range(launches):
        shape = block or (int(random.integers(1, 80)), int(random.integers(1, 5)), 1)
        if required:
            shape = (*required, 1, 1)[:3]
        blocks = [1 if f"nctaid.{axis}" in single else int(random.integers(1, _MOST_BLOCKS + 1)) for axis in "xyz"]
        threads = [1 if f"ntid.{axis}" in single else size for axis, size in zip("xyz", shape, strict=True)]
        values = arguments_of(routine, random)
        met = None if values is None else has_race(program, routine, _extents(blocks), _extents(threads), values)
        if met is None:
            return ran, wrong
        ran, wrong = ran + 1, wrong + met
    return ran, wrong


def _extents(numbers: list[int]) -> Extents:
    return numbers[0], numbers[1], numbers[2]


def is_shown(program: Program, routine: Routine, found: Launch) -> bool:
    """Whether the launch has a race when it runs."""
    random = np.random.default_rng(0)
    for _ in range(2):
        values = arguments_of(routine, random, dict(found.parameters))
        if values is not None and has_race(program, routine, found.grid, found.block, values):
            return True
    return False


def arguments_of(routine: Routine, random: np.random.Generator, known: Mapping[str, int] | None = None) -> list[Argument] | None:
    """Numbers that are known, else random ones; arrays of zeros or of small numbers. None: a parameter is a struct."""
    values: list[Argument] = []
    for parameter in routine.parameters:
        if parameter.dimensions or parameter.vector > 1 or parameter.size_bytes not in (1, 2, 4, 8):
            return None
        if parameter.type in _FLOATS:
            values.append(_FLOATS[parameter.type](random.random()))
        elif known is not None and parameter.name in known:
            values.append(np.dtype(f"u{parameter.size_bytes}").type(known[parameter.name] % (1 << 8 * parameter.size_bytes)))
        elif parameter.size_bytes < 8:
            values.append(np.dtype(f"i{parameter.size_bytes}").type(random.integers(0, 100)))
        elif random.random() < 1 / 2:
            values.append(np.zeros(_ARRAY_WORDS, np.int32))
        else:
            values.append(random.integers(0, 16, _ARRAY_WORDS).astype(np.int32))
    return values


def has_race(program: Program, routine: Routine, grid: Extents, block: Extents, values: list[Argument]) -> bool | None:
    """None: it cannot be launched."""
    dynamic = any(v.space == "shared" and not v.size_bytes for v in program.variables.values())
    try:
        found = launch(
            program, routine.name, grid=grid, block=block, args=values,
            dynamic_shared_bytes=_SHARED_BYTES if dynamic else 0, limit=_MOST_INSTRUCTIONS,
        )  # fmt: skip
    except (UserError, UnsupportedError):
        return None
    return any("race" in one.kind or one.kind == "early_copy_read" for one in found.findings)
