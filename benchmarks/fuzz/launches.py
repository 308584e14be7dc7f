"""Random launches: rewritten and original kernels must leave identical memory on the interpreter, and end alike."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.fuzz.kernels import Case, random_case
from numpy.typing import NDArray

from warploom.core import UserError
from warploom.ptx import Launch, exact, launch, normal, parse
from warploom.ptx.shuffle import Candidate, Decision, KernelFacts, ShuffleOptions, shuffle
from warploom.ptx.symbolic import LaunchLimits
from warploom.ptx.verify import WARNINGS, verify

LIMIT = 30_000_000
"""Instructions times threads of the original; the rewritten kernel gets six times as many."""


@dataclass(slots=True)
class Tally:
    """Counts of how the cases of a run ended."""

    endings: Counter[str] = field(default_factory=Counter[str])
    shuffles: int = 0
    reuses: int = 0
    conditions: int = 0
    """Covered loads with run-time tests."""


def random_options(case: Case) -> ShuffleOptions:
    """Options made from a seed: distances, rows, shared memory, limits as tight as the launch, vector loads, some candidates
    instead of all."""
    rng = random.Random(f"options {case.seed}")
    chance = rng.choice((1.0, 1.0, 1.0, 0.5))
    decisions = random.Random(f"decisions {case.seed}")

    def some(facts: KernelFacts, candidate: Candidate) -> Decision:
        return Decision(decisions.random() < chance, "by lot")

    limits = None
    if rng.random() < 0.2:
        x, y, z = case.block
        limits = LaunchLimits(case.block, case.block, x * y * z, case.grid)
    return ShuffleOptions(
        policy=some,
        max_delta=rng.choice((31, 31, 31, 31, 4, 1, 0)),
        max_rows=rng.choice((None, None, 0, 1, 2, 3, 7)),
        mode=rng.choice(("shuffle", "shuffle", "shuffle", "cache")),
        shared=rng.random() < 0.6,
        limits=limits,
        vectors=rng.random() < 0.4,
        assume_aligned=rng.random() < 0.3,
    )


def check(case: Case, tally: Tally) -> str:
    """Rewrites and runs one case; '' or what is wrong."""
    module = parse(case.text)
    if exact(module) != case.text:
        return "exact(parse(text)) differs from the text"
    if parse(normal(module)) != module:
        return "parse(normal(module)) differs from the module"
    alarms = [d for d in verify(module) if d.code not in WARNINGS]
    if alarms:
        return f"verify: {alarms[0].render()}"
    found = shuffle(module, random_options(case))
    report = found.reports[-1]
    applied = [j for j in report.judged if j.decision.applies]
    if found.text == case.text:
        tally.endings["unchanged"] += 1
        return ""
    tally.shuffles += sum(j.candidate.kind == "shuffle" for j in applied)
    tally.reuses += sum(j.candidate.kind == "reuse" for j in applied)
    tally.conditions += sum(bool(j.candidate.conditions) for j in applied)
    try:
        new = parse(found.text)
    except UserError as error:
        return f"the rewritten kernel does not parse: {error}"
    alarms = [d for d in verify(new) if d.code not in WARNINGS]
    if alarms:
        return f"verify, rewritten: {alarms[0].render()}"
    first = run(case, case.text, LIMIT)
    kinds = {f.kind for f in first.findings}
    if first.status == "limit":
        tally.endings["endless"] += 1
        return ""
    second = run(case, found.text, 6 * LIMIT)
    different = differing(first, second)
    if different and kinds & {"global_race", "shared_race"}:
        tally.endings["racy"] += 1
        return ""
    if not different:
        tally.endings["same, " + first.status] += 1
    return different


def run(case: Case, text: str, limit: int) -> Launch:
    """The case's launch of a kernel."""
    return launch(text, "k", grid=case.grid, block=case.block, args=case.arguments(), limit=limit)


def differing(first: Launch, second: Launch) -> str:
    """Differences of a rewritten kernel's run; after a fault only how it ended.

    Races are found from the last accesses alone: some show only where a load is gone.
    """
    if first.status != second.status:
        why = second.findings[-1] if second.findings else ""
        return f"{first.status} became {second.status}: {why}"
    if first.status == "finished":
        for index, array in first.arrays.items():
            places = np.flatnonzero(_bytes(array) != _bytes(second.arrays[index]))
            if places.size:
                return f"argument {index}: {places.size} bytes differ, first {places[:4].tolist()}"
    known = {"global_race", "shared_race", *(f.kind for f in first.findings)}
    return "".join(str(f) for f in second.findings if f.kind not in known)[:400]


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(array.tobytes(), np.uint8)


def check_seed(seed: int, tally: Tally) -> str:
    """`check` of a seed; an exception counts as a failure."""
    try:
        return check(random_case(seed), tally)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
