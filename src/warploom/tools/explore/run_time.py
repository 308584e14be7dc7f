"""Sizes known at run time: how they are asked for, the values at which a kernel is tested, and what a report says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from warploom.core import Diagnostic, UserError
from warploom.core.launch import MAX_GRID
from warploom.schedule.backbone import MOST_AT_RUN_TIME, Program, RunTimeSize, at_sizes
from warploom.schedule.nest import Kind, Loop, Nest, at_run_time, loops
from warploom.tools.command.lines import Line
from warploom.tools.explore.place import LARGEST

SEARCHED_AT = 1024
"""Value for which a kernel is searched, where neither the user nor the library names one."""
_FORM = re.compile(r"\?(?::([0-9]+))?(?:@([0-9]+))?")
_DIGITS = 15
_TRIED = ((1, 1), (1, -1), (0, 0), (0, 1), (1, 0), (2, 1))
"""Tiles, and how many of the least values more."""


@dataclass(frozen=True, slots=True)
class AskedSizes:
    values: dict[str, int]
    """Sizes with their values; those known at run time only where a value to search with is named."""
    run_time: dict[str, int]
    """Sizes known at run time: what their values are multiples of."""


def asked_sizes(given: Iterable[tuple[str, str]]) -> AskedSizes:
    """Reads `1024`, `?`, `?:64` (any multiple of 64), `?@4096` (any size, searched for 4096), `?:64@4096`. UserError (SIZES)."""
    values: dict[str, int] = {}
    run_time: dict[str, int] = {}
    texts: dict[str, str] = {}
    for name, text in given:
        if texts.setdefault(name, text) != text:
            raise UserError(Diagnostic("SIZES", f"expected one size {name}, got {texts[name]} and {text}"))
        if not text.startswith("?"):
            values[name] = _number(name, text, LARGEST)
            continue
        form = _FORM.fullmatch(text)
        if form is None:
            message = f"expected ?, ?:64 or ?:64@4096 for {name}, got {text!r}"
            fix = "?:64 is any multiple of 64, @4096 the size to search for."
            raise UserError(Diagnostic("SIZES", message, fix=fix))
        run_time[name] = _number(name, form[1] or "1", MOST_AT_RUN_TIME)
        if form[2] is not None:
            values[name] = _number(name, form[2], MOST_AT_RUN_TIME)
            if values[name] % run_time[name]:
                message = f"expected a multiple of {run_time[name]} to search for, got {name} = {values[name]}"
                raise UserError(Diagnostic("SIZES", message, fix="Name a size of the class."))
    return AskedSizes(values, run_time)


def _number(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS or not 1 <= int(text) <= most:
        raise UserError(Diagnostic("SIZES", f"expected a whole number from 1 to {most} for {name}, got {text!r}"))
    return int(text)


def searched_at(sizes: Mapping[str, int], run_time: Mapping[str, int]) -> dict[str, int]:
    """The sizes with a value for each that is known at run time: of its class, the next from the usual one on."""
    found = dict(sizes)
    for name, multiple in run_time.items():
        found[name] = -(-found.get(name, SEARCHED_AT) // multiple) * multiple
    return found


def tried(nests: Sequence[Nest]) -> Iterator[dict[str, int]]:
    """Values to test at: a tile and the least, a tile less the least, then none, the least, one tile, two tiles and the least; of
    several sizes all the same, and then each as the next one was before, so that no two sizes agree everywhere. Where axes are
    longer or shorter than their size, so for each such length; no length is below 0."""
    tiles: dict[str, dict[int, int]] = {}
    steps: dict[str, int] = {}
    least: dict[str, int] = {}
    for loop in (loop for nest in nests for loop in loops(nest.body)):
        if loop.trips is not None:
            length = loop.trips.size
            own = tiles.setdefault(length.name, {})
            own[length.more] = max(loop.trips.per * length.per, own.get(length.more, 1))
            steps[length.name] = length.multiple
    for length in (length for nest in nests for length in _lengths(nest)):
        least[length.name] = max(-length.more, least.get(length.name, 0))
    seen: list[dict[str, int]] = []
    for place, apart, first in product(range(max(map(len, tiles.values()), default=1)), (0, 1), range(len(_TRIED))):
        values: dict[str, int] = {}
        for n, (name, own) in enumerate(tiles.items()):
            more, tile = sorted(own.items(), reverse=True)[place % len(own)]
            step, (times, beside) = steps[name], _TRIED[(first + apart * n) % len(_TRIED)]
            values[name] = max(-(-least[name] // step), -(-(times * tile - more) // step) + beside) * step
        if values not in seen:
            seen.append(values)
            yield values


def _lengths(nest: Nest) -> Iterator[RunTimeSize]:
    yield from (loop.trips.size for loop in loops(nest.body) if loop.trips is not None)
    yield from (length for buffer in nest.buffers for length in buffer.open_sizes)


def at_values(program: Program, nests: Sequence[Nest], values: Mapping[str, int]) -> tuple[Program, list[Nest]]:
    return at_sizes(program, values), [at_run_time(nest, values) for nest in nests]


def greatest(nest: Nest, *, has_grid: bool) -> dict[str, int]:
    """The greatest value of each size at which the kernel can be launched, and no index leaves its word."""
    found = {size.name: MOST_AT_RUN_TIME // size.multiple * size.multiple for size, _ in nest.run_time}
    for loop in loops(nest.body) if has_grid else ():
        if loop.trips is not None and _is_outer_block(loop):
            size = loop.trips.size
            most = (MAX_GRID[1] * loop.trips.per - size.more) // size.multiple * size.multiple
            found[size.name] = min(found[size.name], most)
    return found


def _is_outer_block(loop: Loop) -> bool:
    return loop.kind is Kind.BLOCK and loop.hardware in (1, 2)


def run_time_fields(
    run_time: Mapping[str, int],
    nests: Sequence[Nest] = (),
    values: Sequence[Mapping[str, int]] = (),
    *,
    has_grid: bool = False,
) -> Line:
    """The field `run_time`: the class of each size, and the values of it that were tested; of several sizes also
    `tested_together`: which of them at once."""
    most: dict[str, int] = {}
    for nest in nests:
        for name, value in greatest(nest, has_grid=has_grid).items():
            most[name] = min(value, most.get(name, value))
    found: dict[str, Line] = {}
    for name, multiple in run_time.items():
        tested = list(dict.fromkeys(v[name] for v in values))
        told: Line = {"multiple_of": multiple}
        if name in most:
            told["up_to"] = most[name]
        if tested:
            told["tested"] = tested
        found[name] = told
    together: Line = {"tested_together": [dict(v) for v in values]} if len(run_time) > 1 and values else {}
    return {"run_time": found} | together
