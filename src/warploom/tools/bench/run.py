"""Parts that all benchmarks share: their options, running the cases one by one, the journal, one line per case, the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn, cast

from warploom.core import Diagnostic, UserError
from warploom.solve import Journal, Json, problem_key
from warploom.tools.bench.case import ALL_SPENT, Case, InterruptedBenchmarkError
from warploom.tools.bench.together import Together
from warploom.tools.command.kept_lines import replayed
from warploom.tools.command.lines import EXIT_BY_STATUS, IMPOSSIBLE, INTERRUPTED, SOLVED, Line, combined_exit, plain_line
from warploom.tools.command.messages import rendered
from warploom.tools.command.outcome import failed
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch


def run_chosen(
    cases: Sequence[Case],
    pattern: str | None,
    as_json: bool,
    columns: Callable[[Line], dict[str, str]],
    judged: Callable[[Line], Line],
    journal: Path | None,
    names: Sequence[str],
    jobs: int = 1,
) -> NoReturn:
    """Runs the cases and exits; a pattern that no case matches is bad input. `names`: all that there are. `jobs`: how many run at
    the same time."""
    output = Output(as_json)
    if not cases:
        message = f"expected a pattern that some case matches, got {pattern!r}"
        some = get_close_matches(pattern or "", names, 3, 0.5) or names[:: max(1, len(names) // 4)][:4]
        error = UserError(Diagnostic("NO_CASE", message, fix=f"Cases are called {', '.join(some)}, ..."))
        sys.exit(output.outcome(failed(pattern or "", error, Stopwatch())))
    sys.exit(run_bench(cases, output, columns, judged, journal, is_told=jobs > 1, jobs=jobs))


def run_bench(
    cases: Sequence[Case | Line],
    output: Output,
    columns: Callable[[Line], dict[str, str]],
    judged: Callable[[Line], Line],
    journal_path: Path | None,
    seen: list[Line] | None = None,
    *,
    is_told: bool = False,
    jobs: int = 1,
) -> int:
    """Exit code; every case gets its line, also those that an interruption left undone. None is run without the journal.

    A line among the cases says why there is nothing to run; it is shown in its place. Cases with the same arguments are run
    once. What the journal holds is checked again (`kept_lines`). `seen` gets all lines that are shown. `is_told`: stderr says
    which of several cases begins. Up to `jobs` cases run at the same time; lines come in the order of the cases. Where the
    command's budget ends, the case that runs is stopped and no other begins; the journal has neither: the next run goes on there.
    """
    seen = [] if seen is None else seen

    def show(line: Line) -> None:
        output.row(line, columns(line))
        seen.append(line)

    try:
        journal = Journal(journal_path) if journal_path is not None else None
    except UserError as error:
        return output.outcome(failed(str(journal_path), error, Stopwatch()))
    for message in rendered(journal.damage) if journal is not None else ():
        output.say(message)
    all_kept = [
        _kept(journal, case, judged, columns) if journal is not None and isinstance(case, Case) else None for case in cases
    ]
    together = Together(
        [case for case, kept in zip(cases, all_kept, strict=True) if isinstance(case, Case) and kept is None], jobs
    )
    codes: list[int] = []
    late = 0
    ran: dict[tuple[str, ...], Line] = {}
    for place, case in enumerate(cases):
        if not isinstance(case, Case):
            show(case)
            continue
        kept = all_kept[place]
        is_new = kept is None and case.arguments not in ran
        try:
            with output.progress(f"{place + 1} of {len(cases)}: {case.name}", is_told=is_told and is_new and len(cases) > 1):
                line = kept if kept is not None else _line(case, ran, together)
        except (InterruptedBenchmarkError, KeyboardInterrupt) as stopped:
            together.stop()
            is_running = isinstance(stopped, InterruptedBenchmarkError)
            if is_running:
                show(judged(stopped.line))
            for undone in cases[place + is_running :]:
                if isinstance(undone, Case) and (begun := together.left(undone)) is not None:
                    line = judged(begun | {"case": undone.name, **undone.labels})
                    if journal is not None and line["status"] == "solved":
                        journal.add(_key(undone), cast(Json, line))
                    show(line)
                elif isinstance(undone, Case):
                    line = plain_line(undone.name, "unknown", Stopwatch().read(), reason="interrupted before it began")
                    show({**line, **undone.labels})
                else:
                    show(undone)
            together.close()
            return INTERRUPTED
        if kept is None:
            ran[case.arguments] = line
            line = judged(line)
        if journal is not None and kept is None and line["status"] != "error" and line.get("reason") != ALL_SPENT:
            try:
                journal.add(_key(case), cast(Json, line))
            except UserError as error:  # a full disk costs the journal, not the benchmark
                output.say("\n".join(rendered(error.diagnostics)))
        show(line)
        # A case that is solved but misses its bar is short of what was asked: the code of "impossible".
        codes.append(SOLVED if line.get("as_expected") else EXIT_BY_STATUS[str(line["status"])] or IMPOSSIBLE)
        late += line.get("in_time") is False
    together.close()
    not_run = len(cases) - len(codes)
    remarks = (f", {late} late" if late else "") + (f"; {not_run} cannot be run here" if not_run else "")
    output.say(f"{codes.count(SOLVED)} of {len(codes)} cases ended as they should{remarks}")
    return combined_exit(codes)


def _kept(journal: Journal, case: Case, judged: Callable[[Line], Line], columns: Callable[[Line], dict[str, str]]) -> Line | None:
    """None also for an entry that is no line of the case."""
    found = journal.find(_key(case))
    if not isinstance(found, Mapping) or found.get("case") != case.name:
        return None
    try:
        line = replayed(found)
        if line is None:
            return None
        if "verdict" not in cast("Mapping[str, object]", line.get("recorded", {})):
            line = judged(line)
        columns(line)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None
    return line


def _line(case: Case, ran: Mapping[tuple[str, ...], Line], together: Together) -> Line:
    return _again(ran[case.arguments], case) if case.arguments in ran else together.line(case)


def _again(line: Line, case: Case) -> Line:
    """The line of a case with the same arguments, under this one's name."""
    return line | {"case": case.name, **case.labels}


def _key(case: Case) -> str:
    return problem_key(("bench", case.name, case.arguments, case.limit_s))
