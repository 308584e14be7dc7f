"""Judgement of what `lint` says of a kernel with a planted mistake, beside its twin without."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ptx import launch
from warploom.tools.bench.lint.equivalent import EQUIVALENT
from warploom.tools.bench.lint.languages import Built, Language
from warploom.tools.bench.lint.lines import stands_right
from warploom.tools.bench.lint.planting import Bug, Kernel, planted
from warploom.tools.lint.findings import Found, mistakes
from warploom.tools.ptx.arguments import extents

_MOST_INSTRUCTIONS = 3_000_000

Judgement: TypeAlias = Literal["found", "elsewhere", "other-result", "equivalent", "missed"]
"""`found`: on its line. `elsewhere`: on a line that the mistake does not concern. `other-result`: every access is as it may be,
and the arrays are not those of the twin, which is what `same` looks for. `equivalent`: judged by hand."""


@dataclass(frozen=True, slots=True)
class Ran:
    """All launches of a kernel."""

    found: tuple[Found, ...]
    arrays: tuple[NDArray[Any], ...]
    is_finished: bool

    def is_as(self, other: Ran) -> bool:
        """The same arrays, all bits."""
        return all(a.tobytes() == b.tobytes() for a, b in zip(self.arrays, other.arrays, strict=False))


@dataclass(frozen=True, slots=True)
class Judged:
    bug: Bug
    judgement: Judgement
    rules: tuple[str, ...]
    is_exact: bool
    """A finding stands on the very line."""


def bugs_of(language: Language, kernel: Kernel) -> tuple[Bug, ...]:
    return tuple(planted(kernel, language.rules))


def judged(language: Language, kernel: Kernel, bugs: Sequence[Bug]) -> Iterator[Judged]:
    """One judgement for each mistake that its compiler takes.

    UserError (NOT_CLEAN) where the twin has a finding, CUDA_ERROR where one in CUDA does not compile."""
    built = language.build(language, kernel, [kernel.text, *(bug.text for bug in bugs)])
    first = next(built)
    assert first is not None, "a compiler refuses a kernel without a mistake"
    twin = ran(first)
    if twin.found or not twin.is_finished:
        told = "; ".join(f"{one.rule.name} at line {one.place.line}" for one in twin.found) or "it does not end"
        raise UserError(Diagnostic("NOT_CLEAN", f"expected no finding in {kernel.name} without a mistake, got {told}"))
    for bug, one in zip(bugs, built, strict=True):
        if one is not None:
            yield judgement(bug, ran(one), twin)


def ran(built: Built) -> Ran:
    found: list[Found] = []
    arrays: list[NDArray[Any]] = []
    is_finished = True
    for one, values, shared_bytes in built.launches:
        result = launch(
            built.source.program, built.name, grid=extents(one.grid, "grid"), block=extents(one.block, "block"), args=values,
            dynamic_shared_bytes=shared_bytes, limit=_MOST_INSTRUCTIONS,
        )  # fmt: skip
        found += mistakes(result.findings, built.source, built.name, values)
        arrays += result.arrays.values()
        is_finished &= result.status == "finished"
    return Ran(tuple(found), tuple(arrays), is_finished)


def judgement(bug: Bug, found: Ran, twin: Ran) -> Judged:
    errors = [one for one in found.found if one.level == "error"]
    lines = [{p.line for p in one.places} | {p.line for _, ps in one.others for p in ps} for one in errors]
    if errors:
        told: Judgement = "found" if stands_right(bug, lines[0]) else "elsewhere"
    elif bug.key in EQUIVALENT:
        told = "equivalent"
    elif found.is_finished and found.is_as(twin):
        told = "missed"
    else:
        told = "other-result" if found.is_finished else "missed"
    return Judged(bug, told, tuple(dict.fromkeys(one.rule.name for one in errors)), any(bug.line in ls for ls in lines))


def share(judged: Sequence[Judged]) -> float:
    """Share of the real mistakes that `lint` finds on their line, or `same` by their results; NaN where there are none."""
    real = [one for one in judged if one.judgement != "equivalent"]
    right = [one for one in real if one.judgement in ("found", "other-result")]
    return len(right) / len(real) if real else math.nan
