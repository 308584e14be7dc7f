"""Counts of others for the same movement, made anew: trove, CUB and CuTe's atoms from their rules, Triton from its PTX.

Triton, where it is installed, compiles for sm_90 without a device; its PTX runs in the interpreter, which counts.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any, TypeAlias, cast

import click
import numpy as np

from warploom.core import UserError
from warploom.layout import Access, Map, Tile, map_of_text, prices
from warploom.machines import wavefronts
from warploom.ptx import launch
from warploom.tools.bench.case import Case, run_case
from warploom.tools.command.guard import report
from warploom.tools.command.lines import GAVE_UP, SOLVED, Line, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch

Counts: TypeAlias = dict[str, int]
_LANES, _WORD_BYTES = 32, 4
_LIMIT_S = 60.0
_SHARED_UNIT = 128
TYPES = {"tf32": (8, 32), "f16": (16, 16), "e4m3": (32, 8)}
"""For each operand type of Triton: k of the tile of 16 rows, and bits."""
_ATOMS = ("SW128", "SW64", "SW32", "INTER")
"""CuTe's named atoms of shared memory."""


def trove(registers: int) -> Counts:
    """Rotate, exchange, rotate. Source: its SASS, of which the notes of docs/layouts.md give the rule."""
    selects = registers * ((registers - 1).bit_length() + gcd(registers, _LANES).bit_length() - 1)
    return {"shuffles": registers, "selects": selects}


def cub(registers: int) -> Counts:
    """WarpExchange::StripedToBlocked: item i of lane l is stored at 32 i + l, and item i is loaded from R l + i, without padding;
    ptxas joins loads that lie side by side."""
    lane = np.arange(_LANES)
    stores = np.stack([32 * item + lane for item in range(registers)])
    wide = next(width for width in (4, 2, 1) if registers % width == 0)
    loads = np.stack([registers * lane + item for item in range(0, registers, wide)])
    return {"wavefronts": _wavefronts(stores, 1) + _wavefronts(loads, wide)}


def _wavefronts(words: np.ndarray[tuple[int, int], np.dtype[np.int64]], wide: int) -> int:
    return wavefronts(words * _WORD_BYTES, np.ones_like(words, dtype=np.bool_), _WORD_BYTES * wide)


def of_maps(tile: Tile, accesses: Sequence[Access]) -> dict[str, Counts]:
    """Wavefronts of all accesses under row-major order, rows that are one access apart, and CuTe's atoms that tile it."""
    wide = max(access.per_lane for access in accesses)
    texts = {"row-major": f"r * {tile.columns} + c", "padded": f"r * {tile.columns + wide} + c"}
    texts |= {f"cute {name}": name for name in _ATOMS if _fits(name, tile)}
    found: dict[str, Counts] = {}
    for name, text in texts.items():
        total = _total(map_of_text(text, tile), tile, accesses)
        found[name] = {"wavefronts": total} | ({"extra_words": tile.rows * wide * tile.bits // 32} if name == "padded" else {})
    return found


def _total(given: Map, tile: Tile, accesses: Sequence[Access]) -> int:
    return sum(price.wavefronts for price in prices(tile, accesses, given.table))


def _fits(name: str, tile: Tile) -> bool:
    try:
        map_of_text(name, tile)
    except UserError:
        return False
    return True


def triton(wanted: Sequence[str]) -> dict[str, Counts]:
    """By name of a case what Triton takes, from a process of its own; nothing where it is not installed."""
    known = [name for name in wanted if _question(name) is not None]
    if not known:
        return {}
    line = run_case(Case("triton", ("bench-triton", *known), _LIMIT_S))
    return cast("dict[str, Counts]", line["counts"]) if line["status"] == "solved" else {}


def _question(name: str) -> tuple[int, int, int] | None:
    """Rows, columns and bits of what Triton is asked."""
    kind, _, which = name.partition("/")
    if kind in ("striped-blocked", "bytes") and which.isdecimal() and int(which).bit_count() == 1:
        return 1, 32 * int(which), 32 if kind == "striped-blocked" else 8
    if kind == "operand" and which in TYPES:
        return 16, *TYPES[which]
    return None


def count_triton(name: str) -> Counts:
    """Shuffles, selects and wavefronts of the exchange of that name; the copy is checked. ImportError without Triton."""
    question = _question(name)
    assert question is not None
    rows, columns, bits = question
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiler = importlib.import_module("triton.compiler")
        target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, _LANES)
        kernel = importlib.import_module("warploom.tools.bench.triton_copy")
        layouts = kernel.striped_to_blocked(columns // _LANES) if rows == 1 else kernel.accumulator_to_operand(bits)
        made: Any = compiler.compile(kernel.source(rows, columns, bits, layouts), target=target, options={"num_warps": 1})
    text, shared = str(made.asm["ptx"]), -(-int(made.metadata.shared) // _SHARED_UNIT) * _SHARED_UNIT
    given = np.arange(rows * columns).astype(f"int{bits}")
    scratch = 2  # pointers behind the kernel's own parameters
    ran = launch(
        text, grid=1, block=_LANES, args=[given, np.zeros_like(given), *[0] * scratch], counts=True, dynamic_shared_bytes=shared
    )
    if ran.findings or ran.counts is None or (np.asarray(ran.arrays[1]) != given).any():
        raise AssertionError(f"Triton's kernel for {name} does not copy in the interpreter")
    return {
        "shuffles": len(re.findall(r"\bshfl\.", text)),
        "selects": len(re.findall(r"\bselp\.", text)),
        "wavefronts": ran.counts.shared_wavefronts,
    }


@click.command("bench-triton", hidden=True)
@click.argument("names", nargs=-1)
def bench_triton(names: tuple[str, ...]) -> None:
    """Triton's figures for these cases, taken in this process, as one JSON line."""

    def counted(stopwatch: Stopwatch, _: object) -> Outcome:
        try:
            counts: Mapping[str, Counts] = {name: count_triton(name) for name in names}
        except ImportError as error:
            return Outcome(plain_line("triton", "error", stopwatch.read(), reason=f"not installed: {error}"), GAVE_UP)
        line: Line = plain_line("triton", "solved", stopwatch.read(), verdict="tested", cases=len(names), counts=counts)
        return Outcome(line, SOLVED)

    report("triton", counted, as_json=True, debug=False)
