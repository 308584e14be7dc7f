"""Time that sums of products of words take on a CPU that has tile registers: in them, or by vectors.

A guess, for choosing what to measure first: of the nest's statements, not of edges that tiles do not divide.
"""

from __future__ import annotations

import math

from warploom.machines import TILE_CYCLES, TILE_LOAD_CYCLES, TILE_ROWS, TILE_WORDS
from warploom.schedule.nest import Compute, Kind, Nest, TileProducts, counts, loops, tiles_of, words_of_sum
from warploom.schedule.targets import Target


def products_ns(nest: Nest, target: Target) -> float:
    """Nanoseconds of all sums of products of words; 0 for targets without tile registers."""
    if not target.tiles:
        return 0.0
    parts = {id(part.sum): part for part in tiles_of(nest) if part.instruction.flag in target.tiles}
    rates = target.rates
    vectors_per_cycle = rates.rate("alu").core / rates.clock_ghz
    cycles = 0.0
    for count in counts(nest):
        statement = count.statement
        if not isinstance(statement, Compute) or words_of_sum(nest, statement) is None:
            continue
        part = parts.get(id(statement))
        cycles += count.instructions / vectors_per_cycle if part is None else _in_tiles(part, count.instructions)
    blocks = math.prod(x.size for x in loops(nest.body) if x.kind is Kind.BLOCK)
    return cycles / rates.clock_ghz / max(1, min(rates.cores, blocks))


def _in_tiles(part: TileProducts, vectors: float) -> float:
    """Cycles of so many vectors of products: of products or of loads, whichever take longer, and totals into tiles and back."""
    products = vectors / (TILE_ROWS * TILE_WORDS)
    loads = (len(part.rows.starts) + len(part.columns.starts)) / part.totals
    steps = math.prod(x.size for x in part.steps) / TILE_WORDS
    return products * (max(TILE_CYCLES, loads * TILE_LOAD_CYCLES) + 2 * TILE_LOAD_CYCLES / steps)
