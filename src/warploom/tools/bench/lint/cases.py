"""The cases of `bench lint`, each in one process, as one report line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import click
import numpy as np

from warploom.core import UserError
from warploom.ptx import Surface, TensorMap, Texture
from warploom.ptx.launches import Assumed, Bounds, Meeting, NotDecided, RaceFree, assumptions, bounds, races
from warploom.tools.bench.lint.equivalent import JUDGED
from warploom.tools.bench.lint.judging import Judged, bugs_of, judged, judgement, ran, share
from warploom.tools.bench.lint.languages import LANGUAGES, Built, Language
from warploom.tools.bench.lint.launching import is_shown, races_met
from warploom.tools.command.guard import report
from warploom.tools.command.lines import GAVE_UP, SOLVED, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.ptx.arguments import extents

NAMES = (
    *(f"seeded/{name}" for name, language in LANGUAGES.items() if language.rules),
    *(f"corpus/{name}" for name in LANGUAGES),
    *(f"every-launch/{name}" for name, language in LANGUAGES.items() if language.is_followed), "every-launch/seeded",
)  # fmt: skip
_RANDOM_LAUNCHES, _SEED = 20, 1
"""Random launches of each kernel that is proved, and the seed of their choice."""
_SHOWN = 5
"""Mistakes that are named where they are not found."""


def measure(name: str, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    kind, _, which = name.partition("/")
    try:
        match kind, which:
            case "seeded", _:
                fields = _seeded(LANGUAGES[which], progress)
            case "corpus", _:
                fields = _corpus(LANGUAGES[which], progress)
            case _, "seeded":
                fields = _seeded_of_every_launch(progress)
            case _:
                fields = of_every_launch(LANGUAGES[which], progress)
    except UserError as error:
        found = error.diagnostics[0]
        status = "unknown" if found.code == "TOOL_MISSING" else "error"
        return Outcome(plain_line(name, status, stopwatch.read(), reason=found.message), GAVE_UP)
    return Outcome(plain_line(name, "solved", stopwatch.read(), verdict="tested", **fields), SOLVED)


def _seeded(language: Language, progress: Progress) -> dict[str, Any]:
    found: list[Judged] = []
    for kernel in language.kernels():
        progress(kernel.name)
        found += judged(language, kernel, bugs_of(language, kernel))
    counts = Counter(one.judgement for one in found)
    missed = [one.bug.key for one in found if one.judgement in ("missed", "elsewhere")]
    return {
        "cases": len(found), "kernels": len(language.kernels()), "bugs": len(found) - counts["equivalent"],
        "equivalent": counts["equivalent"],
        "found": counts["found"], "other_result": counts["other-result"], "elsewhere": counts["elsewhere"],
        "missed": counts["missed"], "share": round(share(found), 4), "on_the_very_line": sum(one.is_exact for one in found),
        "rules": dict(sorted(Counter(one.bug.rule for one in found).items())), "not_found": missed[:_SHOWN],
    }  # fmt: skip


def _corpus(language: Language, progress: Progress) -> dict[str, Any]:
    """Kernels as they are; findings that `JUDGED` does not have are false."""
    false: list[str] = []
    judged_findings = 0
    for kernel, built in language.built():
        progress(kernel.name)
        done = ran(built)
        for one in done.found:
            if (kernel.name, one.rule.name) in JUDGED:
                judged_findings += 1
            else:
                false.append(f"{kernel.name}: {one.rule.name} at line {one.place.line}")
        if not done.is_finished and not done.found:
            false.append(f"{kernel.name}: does not end")
    count = len(language.kernels())
    return {
        "cases": count, "kernels": count, "judged": judged_findings, "false": false[:_SHOWN], "false_errors": len(false),
    }  # fmt: skip


def _as_launched(built: Built, *, with_lengths: bool) -> Sequence[Assumed]:
    """The first launch of a kernel as an assumption about launches."""
    one, values, _ = built.launches[0]
    said = [
        f"{what}.{axis} == {size}"
        for what, text in (("gridDim", one.grid), ("blockDim", one.block))
        for axis, size in zip("xyz", extents(text, what), strict=False)
    ]
    for n, value in enumerate(values):
        if isinstance(value, np.ndarray):
            said += [f"bytes(arg{n}) == {value.nbytes}"] if with_lengths else []
        elif not isinstance(value, bytes | Texture | Surface | TensorMap) and np.asarray(value).dtype.kind in "iu":
            said.append(f"arg{n} == {int(value)}")
    return assumptions(" && ".join(said))


def of_every_launch(
    language: Language, progress: Progress, launches_each: int = _RANDOM_LAUNCHES, seed: int = _SEED
) -> dict[str, Any]:
    """Kernels as they are, for all launches with their block. A race that is shown is one of another launch than theirs; none may
    be met by random launches of those that are proved, `launches_each` of each."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    random = np.random.default_rng(seed)
    for kernel, built in language.built():
        progress(kernel.name)
        program, routine = built.source.program, built.source.program.routines[built.name]
        x, y, z, *_ = *extents(kernel.launches[0].block, "block"), 1, 1
        block = x, y, z
        assumed = assumptions(" && ".join(f"blockDim.{axis} == {size}" for axis, size in zip("xyz", block, strict=True)))
        match races(program, built.name, assumed):
            case RaceFree(single=single):
                counts["proved"] += 1
                found = bounds(program, built.name, assumed)
                counts["bounds"] += isinstance(found, Bounds) and not found.outside and len(found.needed) == len(found.unknown)
                ran, wrong = races_met(program, routine, single, launches_each, random, block)
                counts["ran"] += ran
                counts["wrong"] += wrong > 0
            case NotDecided(reason=reason):
                counts["open"] += 1
                reasons[reason] += 1
            case Meeting(launches=launches) if any(is_shown(program, routine, one) for one in launches):
                counts["refuted"] += 1
            case Meeting():
                counts["open"] += 1
                reasons["two threads may meet"] += 1
    decided = counts["proved"] + counts["refuted"]
    count = decided + counts["open"]
    return {
        "cases": count, "kernels": count, "proved": counts["proved"], "proved_bounds": counts["bounds"], "open": counts["open"],
        "reasons": dict(reasons.most_common()), "refuted": counts["refuted"], "decided": round(decided / count, 4),
        "launches": counts["ran"], "wrongly_proved": counts["wrong"],
    }  # fmt: skip


def _seeded_of_every_launch(progress: Progress) -> dict[str, Any]:
    """Kernels that race or leave their arrays in their launch: none may be proved for launches like it."""
    language = LANGUAGES["cuda"]
    asked, wrong = 0, list[str]()
    for kernel in language.kernels():
        progress(kernel.name)
        bugs = bugs_of(language, kernel)
        built = language.build(language, kernel, [kernel.text, *(bug.text for bug in bugs)])
        twin = ran(_present(next(built)))
        for bug, one in zip(bugs, built, strict=True):
            made = _present(one)
            rules = judgement(bug, ran(Built(made.source, made.name, made.launches[:1])), twin).rules
            if {"data-race", "early-copy-read", "out-of-bounds"} & {*rules}:
                asked += 1
                if _is_proved(made, rules):
                    wrong.append(bug.key)
    return {"cases": asked, "bugs": asked, "wrongly_proved": len(wrong), "wrong": wrong[:_SHOWN]}


def _is_proved(built: Built, rules: Sequence[str]) -> bool:
    """Whether launches like the first one are said to have no such mistake: of races where all accesses stay in their arrays."""
    found = bounds(built.source.program, built.name, _as_launched(built, with_lengths=True))
    is_inside = isinstance(found, Bounds) and not found.outside and not found.unknown
    if "out-of-bounds" in rules:
        return is_inside
    return is_inside and isinstance(races(built.source.program, built.name, _as_launched(built, with_lengths=False)), RaceFree)


def _present(built: Built | None) -> Built:
    assert built is not None
    return built


def is_as_expected(line: Line) -> bool:
    """`seeded`: at least 97 % found; `corpus`: no false error; `every-launch`: nothing wrong proved, 60 % decided."""
    shares = [(line.get("share", 1.0), LEAST_SHARE), (line.get("decided", 1.0), LEAST_DECIDED)]
    wrong = [line.get(name, 0) for name in ("false_errors", "wrongly_proved")]
    are_enough = all(isinstance(share, float) and share >= least for share, least in shares)
    return line["status"] == "solved" and are_enough and wrong == [0, 0]


LEAST_SHARE, LEAST_DECIDED = 0.97, 0.6


def case_of(name: str) -> tuple[str, ...]:
    return "bench-lint", name


@click.command("bench-lint", hidden=True)
@click.argument("name", type=click.Choice(NAMES))
@DEBUG_OPTION
def bench_lint_case(name: str, debug: bool) -> None:
    """One case of `bench lint`, in this process, as one JSON line."""
    report(name, partial(measure, name), as_json=True, debug=debug)
