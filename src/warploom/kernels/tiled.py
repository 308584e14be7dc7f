"""Completes examples; a kernel around a tile gets the tile's completions, since its holes carry the same names.

Searching the whole of a field multiplication would repeat the tile's 24 holes over every block of coefficients; instead the
tile is searched and the filled kernel is judged as any answer is: proof, independent check, lift to every size.
Source: Swizzle Inventor, section 7.2 (the finite-field multiplication calls the synthesised 64 x 64 product).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from warploom.core import Diagnostic, UserError
from warploom.core.limits import peak_mb
from warploom.ir import fill
from warploom.kernels.example import Example
from warploom.sketch import Sketch
from warploom.synth import Report, complete, judge, kernel_algebra


def complete_example(example: Example, *, seed: int = 0, progress: Callable[[str], None] | None = None, **options: Any) -> Report:
    """The report of `synth.complete` for the example's sketch, over its tile if it has one; same keyword options."""
    if example.tile is None:
        report = complete(example.sketch, seed=seed, progress=progress, **options)
    else:
        check_holes(example.sketch, example.tile)
        tile = complete(example.tile, seed=seed, progress=progress, **options)
        report = fill_from_tile(example.sketch, tile, seed=seed, progress=progress)
    return replace(report, case=example.name)


def fill_from_tile(sketch: Sketch, tile: Report, *, seed: int = 0, progress: Callable[[str], None] | None = None) -> Report:
    """`sketch` filled with what its completed tile found, judged as a kernel of its own; times are of both together.

    `optimal_in` is None: nothing shows that a tile that is optimal alone is so inside the kernel.
    """
    outcome = replace(tile, case=sketch.name, optimal_in=None, lift="", kernel=None, accesses=())
    spec = sketch.spec
    if tile.status != "solved" or spec is None:
        return outcome
    if progress is not None:
        progress(f"proving {sketch.name} filled by {tile.case}")
    started, wall_started = time.process_time(), time.perf_counter()
    best = tile.completions[0]
    kernel = fill(sketch.kernel, best.holes)
    judged = judge(sketch, kernel, spec, sketch.complete_at, kernel_algebra(sketch), seed)
    seconds = time.process_time() - started
    return replace(
        outcome,
        status=judged.status,
        verdict=judged.verdict,
        domain=judged.domain,
        cases=judged.cases,
        reason="" if judged.status == "solved" else judged.reason,
        completions=(replace(best, executed=judged.proof.executed), *tile.completions[1:]),
        kernel=kernel,
        lift=judged.lift,
        seconds=tile.seconds + seconds,
        wall_s=tile.wall_s + time.perf_counter() - wall_started,
        peak_mb=peak_mb(),
        statistics=tile.statistics | {"judge filled": seconds},
        diagnostics=judged.diagnostics,
        proved_at=judged.proved_at,
        untouched=judged.proof.untouched,
    )


def check_holes(sketch: Sketch, tile: Sketch) -> None:
    """UserError (TILE_HOLES) unless both have the same holes."""
    different = ", ".join(sorted({h.name for h in set(sketch.kernel.holes) ^ set(tile.kernel.holes)}))
    if different:
        message = f"expected '{sketch.name}' and its tile '{tile.name}' to have the same holes, got others: {different}"
        fix = "Give the holes the same names, arguments and grammars."
        raise UserError(Diagnostic("TILE_HOLES", message, sketch.kernel.span, fix))
