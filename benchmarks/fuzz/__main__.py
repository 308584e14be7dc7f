"""Runs the fuzzers and writes what they found as JSON lines.

    python -m benchmarks.fuzz --launches 10000 --stencils 2000 --differential 10000 --deep 20000 --mutations 1000000
    python -m benchmarks.fuzz --fronts 500000 --journal fuzz.jsonl    every front end; stopped, it goes on where it was
    python -m benchmarks.fuzz --only launches:1234        one case again, with its text

launches      kernels of `benchmarks.fuzz.kernels`, rewritten against original
cuda          random CUDA through NVRTC (extra `cuda`), rewritten against original
stencils      kernels of `tests.ptx.fuzz.shuffle`, rewritten against original
differential  programs of `tests.ptx.fuzz.programs`: interpreter, scalar oracle, symbolic emulator
deep          mutated kernels through parser, verifier, emulator, rewriting and interpreter
equivalences  integer kernels and changed ones: whether they are proved equal, against running both
readers       specs, sketches and tensor functions as read against CPython running them
assembler     changed single instructions, `ptx check` against ptxas (extra `cuda`)
mutations     mutated texts through parser, printers, verifier and liveness
loop-meaning  Python functions of `tests.scan.fuzz`: what the reader of scan loops takes them to mean, against CPython
loop-forms    the same in the forms that people write first: break, return, while, slices, None, records, characters, yield
loop-proofs   the same functions, simpler ones: what is proved of them, against CPython
fronts        N changed inputs, shared out to the kinds of `benchmarks.fuzz.fronts`, each a command in a process with limits;
              a kind by itself: --sketches, --loops, --operators, --emits, --pictures, --dataflow, --ptx-commands, --tensors,
              --settings, --replays, --journals, --caches, --layouts, --maps, --certificates, --templates, --papers, --choices
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from benchmarks.fuzz import assembler, equivalences, fronts, isolated, launches, mutations, readers
from benchmarks.fuzz.cuda import CompilerCrashError, cuda_case
from benchmarks.fuzz.kernels import random_case
from tests.ptx.fuzz import differential, syntax
from tests.ptx.fuzz import shuffle as stencils
from tests.ptx.fuzz.programs import random_program
from tests.ptx.fuzz.scalar import NotServedError
from tests.scan.fuzz import meaning, operators
from tests.scan.fuzz.forms import random_form
from tests.scan.fuzz.functions import random_module, simple_module

from warploom.solve import Journal, Json, problem_key

HANG_S = 60
"""Seconds after which a case counts as hanging."""
CHUNK = 250
FRONT_CHUNK = 250
SEED_STRIDE = 100_000_000
"""Between the cases of two seeds."""


@dataclass(slots=True)
class Outcome:
    """The outcome of some cases of one kind."""

    kind: str
    endings: Counter[str] = field(default_factory=Counter[str])
    numbers: Counter[str] = field(default_factory=Counter[str])
    """Sums of counts: shuffles, reuses, conditions."""
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    cpu_s: float = 0.0
    slowest_s: float = 0.0
    slowest: int = 0


def _launch(case: int, outcome: Outcome) -> str:
    tally = launches.Tally()
    message = launches.check(random_case(case), tally)
    outcome.endings.update(tally.endings)
    outcome.numbers.update(shuffles=tally.shuffles, reuses=tally.reuses, conditions=tally.conditions)
    return message


def _cuda(case: int, outcome: Outcome) -> str:
    tally = launches.Tally()
    try:
        message = launches.check(cuda_case(case), tally)
    except CompilerCrashError:
        outcome.endings["compiler crashed"] += 1
        return ""
    outcome.endings.update(tally.endings)
    outcome.numbers.update(shuffles=tally.shuffles, reuses=tally.reuses, conditions=tally.conditions)
    return message


def _stencil(case: int, outcome: Outcome) -> str:
    tally = stencils.Tally()
    message = stencils.check(case, tally)
    outcome.endings[
        "racy" if tally.racy else "unusable" if tally.unusable else "rewritten" if tally.rewritten else "unchanged"
    ] += 1
    outcome.numbers.update(shuffles=tally.shuffles, reuses=tally.reuses)
    return message


def _differential(case: int, outcome: Outcome) -> str:
    try:
        message = differential.check(random_program(case))
    except NotServedError:
        outcome.endings["not served"] += 1
        return ""
    outcome.endings["differ" if message else "agree"] += 1
    return message


def _deep(case: int, outcome: Outcome) -> str:
    outcome.endings[mutations.check(mutations.given(case))] += 1
    return ""


def _mutation(case: int, outcome: Outcome) -> str:
    outcome.endings[syntax.check(syntax.given(case // SEED_STRIDE, case % SEED_STRIDE))] += 1
    return ""


def _loop(case: int, outcome: Outcome) -> str:
    return meaning.check(case, meaning.Tally(outcome.endings))


def _form(case: int, outcome: Outcome) -> str:
    return meaning.check_form(case, meaning.Tally(outcome.endings))


def _operator(case: int, outcome: Outcome) -> str:
    return operators.check(case, meaning.Tally(outcome.endings))


def _reader(case: int, outcome: Outcome) -> str:
    ending, message = readers.check(case)
    outcome.endings[ending] += 1
    return message


def _equivalence(case: int, outcome: Outcome) -> str:
    ending, message = equivalences.check(case)
    outcome.endings[ending] += 1
    return message


CHECKS: dict[str, Callable[[int, Outcome], str]] = {
    "launches": _launch, "cuda": _cuda, "stencils": _stencil, "differential": _differential, "deep": _deep,
    "mutations": _mutation, "loop-meaning": _loop, "loop-forms": _form, "loop-proofs": _operator, "readers": _reader,
    "equivalences": _equivalence, "assembler": lambda case, outcome: assembler.check(case, outcome.endings),
}  # fmt: skip
TEXTS: dict[str, Callable[[int], str]] = {
    "launches": lambda case: random_case(case).text,
    "cuda": lambda case: cuda_case(case).text,
    "stencils": lambda case: stencils.random_launch(case).text,
    "differential": lambda case: random_program(case).text,
    "deep": mutations.given,
    "assembler": lambda case: "\n".join(assembler.given(case)),
    "readers": readers.given,
    "equivalences": lambda case: "// the changed kernel:\n".join(equivalences.given(case)),
    "mutations": lambda case: syntax.given(case // SEED_STRIDE, case % SEED_STRIDE),
    "loop-meaning": random_module,
    "loop-forms": random_form,
    "loop-proofs": simple_module,
}


SHARES: dict[str, float] = {
    "journals": 0.12, "maps": 0.12, "certificates": 0.1, "layouts": 0.07, "ptx-commands": 0.195, "papers": 0.06,
    "templates": 0.06, "pictures": 0.12, "replays": 0.06, "dataflow": 0.02, "choices": 0.01, "sketches": 0.015,
    "operators": 0.015, "loops": 0.005, "emits": 0.005, "caches": 0.01, "tensors": 0.01, "settings": 0.005,
}  # fmt: skip
"""Shares of --fronts, in the order in which they run: the cheaper a case, the more of them and the earlier."""


def _front(kind: str, first: int, count: int) -> Outcome:
    """Cases of a front end, in processes of their own."""
    outcome = Outcome(kind)
    began = _cpu_s()
    for case, ending in isolated.endings(kind, first, count):
        outcome.endings[ending.word] += 1
        if ending.failure:
            outcome.failures.append((case, ending.failure[:600]))
        if ending.cpu_s > outcome.slowest_s:
            outcome.slowest_s, outcome.slowest = ending.cpu_s, case
    outcome.cpu_s = _cpu_s() - began
    return outcome


def _cpu_s() -> float:
    """CPU seconds of this process and its children that have ended."""
    return sum(os.times()[:4])


KINDS = (*CHECKS, *fronts.FRONTS)


class HangError(Exception):
    """A case ran longer than HANG_S."""


def _alarm(number: int, frame: object) -> None:
    raise HangError(f"more than {HANG_S} s")


def run(kind: str, first: int, count: int) -> Outcome:
    """`count` cases from case `first` on."""
    if kind in fronts.FRONTS:
        return _front(kind, first, count)
    outcome = Outcome(kind)
    signal.signal(signal.SIGALRM, _alarm)
    began = time.process_time()
    for case in range(first, first + count):
        started = time.process_time()
        signal.alarm(HANG_S)
        try:
            message = CHECKS[kind](case, outcome)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__} at {Path(last.filename).name}:{last.name}: {error}"
        finally:
            signal.alarm(0)
        if message:
            outcome.failures.append((case, message[:600]))
        spent = time.process_time() - started
        if spent > outcome.slowest_s:
            outcome.slowest_s, outcome.slowest = spent, case
    outcome.cpu_s = time.process_time() - began
    return outcome


def _joined(total: Outcome, part: Outcome) -> None:
    total.endings.update(part.endings)
    total.numbers.update(part.numbers)
    total.failures += part.failures
    total.cpu_s += part.cpu_s
    if part.slowest_s > total.slowest_s:
        total.slowest_s, total.slowest = part.slowest_s, part.slowest


def _chunks(kind: str, first: int, count: int) -> Iterator[tuple[str, int, int]]:
    size = FRONT_CHUNK if kind in fronts.FRONTS else CHUNK * (20 if kind == "mutations" else 1)
    for start in range(first, first + count, size):
        yield kind, start, min(size, first + count - start)


def _header(seed: int) -> dict[str, object]:
    revision = os.popen("git rev-parse --short HEAD 2>/dev/null").read().strip()
    return {
        "record": "run", "seed": seed, "revision": revision, "python": platform.python_version(), "numpy": version("numpy"),
        "machine": platform.machine(), "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="N")
    parser.add_argument("--fronts", type=int, default=0, metavar="N", help="inputs of all front ends together")
    parser.add_argument("--journal", type=Path, help="keep finished pieces here; do not run them again")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="JSON lines: the run, one per failure, one summary per kind")
    parser.add_argument("--only", metavar="KIND:CASE", help="one case: its text and what is wrong")
    given = parser.parse_args()
    if given.only:
        return _one(given.only)
    records: list[dict[str, object]] = [_header(given.seed)]
    journal = None if given.journal is None else Journal(given.journal)
    failed = False
    for kind in (*CHECKS, *SHARES):
        count: int = getattr(given, kind.replace("-", "_")) or int(given.fronts * SHARES.get(kind, 0))
        if count:
            total = _all(kind, given.seed * SEED_STRIDE, count, given.jobs, journal)
            failed = failed or bool(total.failures)
            records += _records(total, count)
    if given.out:
        given.out.write_text("".join(json.dumps(r) + "\n" for r in records))
    return 1 if failed else 0


def _all(kind: str, first: int, count: int, jobs: int, journal: Journal | None) -> Outcome:
    total, done, shown = Outcome(kind), 0, time.monotonic()
    chunks = list(_chunks(kind, first, count))
    kept = {chunk: value for chunk in chunks if journal is not None and (value := journal.find(_key(chunk))) is not None}
    new = [chunk for chunk in chunks if chunk not in kept]
    if new and kind in fronts.FRONTS:
        isolated.warm(kind)
    with ProcessPoolExecutor(jobs) as pool:
        ran = iter(pool.map(run, *zip(*new, strict=True))) if new else iter(())
        for chunk in chunks:
            size = chunk[2]
            if chunk in kept:
                part = _outcome(kind, kept[chunk])
            else:
                part = next(ran)
                if journal is not None:
                    journal.add(_key(chunk), _json(part))
            _joined(total, part)
            done += size
            for case, message in part.failures[:5]:
                print(f"FAILED {kind}:{case}: {message[:300]}", flush=True)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"{kind}: {done} of {count}, {len(total.failures)} failed, {total.cpu_s:.0f} CPU s", flush=True)
    endings = ", ".join(f"{n} {word}" for word, n in sorted(total.endings.items()))
    numbers = ", ".join(f"{n} {word}" for word, n in sorted(total.numbers.items()))
    print(f"{kind}: {count} cases: {endings}; {numbers + '; ' if numbers else ''}{len(total.failures)} failed; "
          f"{total.cpu_s:.0f} CPU s; slowest {total.slowest_s:.2f} s ({kind}:{total.slowest})", flush=True)  # fmt: skip
    return total


def _key(chunk: tuple[str, int, int]) -> str:
    return problem_key(["fuzz", *chunk])


def _json(part: Outcome) -> Json:
    return {
        "endings": dict(part.endings), "numbers": dict(part.numbers), "failures": [list(f) for f in part.failures],
        "cpu_s": part.cpu_s, "slowest_s": part.slowest_s, "slowest": part.slowest,
    }  # fmt: skip


def _outcome(kind: str, kept: Json) -> Outcome:
    """The journal's lines of a piece."""
    fields = cast("dict[str, Any]", kept)
    failures = [(int(case), str(message)) for case, message in fields["failures"]]
    numbers = fields["cpu_s"], fields["slowest_s"], fields["slowest"]
    return Outcome(kind, Counter(fields["endings"]), Counter(fields["numbers"]), failures, *numbers)


def _records(total: Outcome, count: int) -> list[dict[str, object]]:
    again = "python -m benchmarks.fuzz --only"
    failures: list[dict[str, object]] = [
        {"record": "failure", "kind": total.kind, "case": case, "message": message, "reproduce": f"{again} {total.kind}:{case}",
         "text": _text(total.kind, case) if n < 20 else ""}
        for n, (case, message) in enumerate(total.failures)
    ]  # fmt: skip
    summary: dict[str, object] = {
        "record": "summary", "kind": total.kind, "cases": count, "failed": len(total.failures), "endings": dict(total.endings),
        **total.numbers, "cpu_s": round(total.cpu_s, 1), "slowest_s": round(total.slowest_s, 2), "slowest": total.slowest,
    }  # fmt: skip
    return [*failures, summary]


def _text(kind: str, case: int) -> str:
    try:
        return fronts.given(kind, case).shown() if kind in fronts.FRONTS else TEXTS[kind](case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _one(name: str) -> int:
    kind, _, case = name.partition(":")
    if kind not in KINDS or not case.isdigit():
        print(f"expected one of {', '.join(KINDS)}, a colon and a number, got {name}", file=sys.stderr)
        return 2
    print(_text(kind, int(case)))
    if kind in fronts.FRONTS:
        ending = next(isolated.endings(kind, int(case), 1))[1]
        print(f"// {ending.word}: {ending.failure or 'nothing wrong'}")
        return 1 if ending.failure else 0
    message = CHECKS[kind](int(case), Outcome(kind))
    print(f"// {message or 'nothing wrong'}")
    return 1 if message else 0


if __name__ == "__main__":
    sys.exit(main())
