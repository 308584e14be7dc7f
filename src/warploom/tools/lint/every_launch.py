"""`warploom lint --every-launch`: no launch of a kernel has a data race, or one is replayed; bounds of arrays of known length."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from warploom.core import Diagnostic, UserError
from warploom.core.limits import why
from warploom.ptx import Routine
from warploom.ptx.launches import (
    INDICES,
    INSIDE,
    Assumed,
    Launch,
    Meeting,
    NotDecided,
    RaceFree,
    assumptions,
    bounds,
    costs,
    offered,
    overflows,
    races,
)  # fmt: skip
from warploom.tools.command.lines import EXIT_BY_STATUS, plain_line
from warploom.tools.command.outcome import Outcome, gave_up
from warploom.tools.command.usage import Stopwatch
from warploom.tools.lint.launched import Linted, LintOptions, lint
from warploom.tools.lint.names import demangled, plain_name
from warploom.tools.lint.python_kernels import is_python_kernel
from warploom.tools.lint.rules import RULES
from warploom.tools.lint.sources import Source, kernel_named

RACE = frozenset({"data-race", "early-copy-read"})
WRONG = frozenset(rule.name for rule in RULES if rule.level == "error")
PROVES = ("data-race", "divergent-barrier")
"""Rules that cannot speak in a launch of the domain of a proof; out-of-bounds is one more where all lengths are known."""
_SCALARS = {"f32": "f32:1", "f64": "f64:1", "f16": "f16:1"}
_FILLS = ("zeros:u8:4194304", "random:f32:1048576")
"""Contents of the arrays: zeros, so that indices that are read lie inside; and numbers that differ."""


def lint_every_launch(path: str, options: LintOptions, assumed: Sequence[str], stopwatch: Stopwatch) -> Linted:
    """UserError for a file that is no kernel in CUDA or PTX, and for assumptions that are none of it."""
    if is_python_kernel(path):
        message = "expected a file in CUDA or PTX with --every-launch, got a kernel of a Python module"
        fix = "Write its PTX to a file and name that: `.asm['ptx']` of what Triton compiled, Numba's `cuda.compile_ptx(...)`."
        raise UserError(Diagnostic("EVERY_LAUNCH", message, fix=fix))
    if options.launch is not None:
        message = "expected --launch or --every-launch, got both"
        fix = 'Say what all launches have in common: --assume "blockDim.x == 256".'
        raise UserError(Diagnostic("EVERY_LAUNCH", message, fix=fix))
    source = Source(path, options.compilation, kernel=options.kernel)
    name = kernel_named(source, options.kernel)
    case = f"{path}:{demangled(name)}"
    said = [one for text in assumed for one in assumptions(text)]
    try:
        return _priced(_judged(path, options, case, source, name, said, stopwatch), source, name, said)
    except KeyboardInterrupt as error:
        return Linted(case, (), (), gave_up(case, why(error), stopwatch))


def _judged(
    path: str, options: LintOptions, case: str, source: Source, name: str, said: Sequence[Assumed], stopwatch: Stopwatch
) -> Linted:
    routine = source.program.routines[name]
    match races(source.program, name, said):
        case RaceFree() as free:
            return _bounded(path, replace(options, kernel=name), case, source, free, said, stopwatch)
        case NotDecided() as open_:
            where = "" if open_.instruction is None else f" at {_at(source, routine, open_.instruction)}"
            return _unknown(case, f"{open_.reason}{where}", stopwatch)
        case Meeting() as meeting:
            offer = offered(source.program, name, said)
            return _told(path, replace(options, kernel=name), case, source, meeting, offer, stopwatch)


def _priced(linted: Linted, source: Source, name: str, said: Sequence[Assumed]) -> Linted:
    """Adds the requests of whole warps at each access, where the block is known."""
    found = costs(source.program, name, said)
    if isinstance(found, NotDecided):
        return linted
    routine = source.program.routines[name]
    rows: list[dict[str, Any]] = []
    details: list[str] = []
    for cost in found.known:
        place = source.places(routine.span(cost.instruction).line)[0]
        unit = "wavefronts" if cost.is_shared else "sectors"
        row = {
            "file": place.file,
            "line": place.line,
            "unit": unit,
            "least": cost.least,
            "most": cost.most,
            "needed": cost.needed,
        }
        if row not in rows:
            rows.append(row)
            if cost.least >= 2 * cost.needed:
                told = f"{cost.least}" if cost.least == cost.most else f"{cost.least} to {cost.most}"
                details.append(f"{place.file}:{place.line}: a whole warp asks for {told} {unit}, {cost.needed} would do")
    outcome = linted.outcome
    line = outcome.line | {"accesses": rows, "accesses_open": len(found.open)}
    return replace(linted, outcome=replace(outcome, line=line, details=(*outcome.details, *dict.fromkeys(details))))


def _bounded(
    path: str, options: LintOptions, case: str, source: Source, free: RaceFree, said: Sequence[Assumed], stopwatch: Stopwatch
) -> Linted:
    """A kernel that is free of races: whether its accesses lie in their arrays, too, as far as lengths are known."""
    assert options.kernel is not None
    routine = source.program.routines[options.kernel]
    is_asked = any(one.sized(source.program, routine) for one in said)
    found = bounds(source.program, options.kernel, said)
    domain, proves, messages = list(free.domain), [*PROVES, *(["early-copy-read"] if free.has_copies else [])], list[str]()
    fields: dict[str, Any] = {}
    if isinstance(found, NotDecided):
        if is_asked:
            where = "" if found.instruction is None else f" at {_at(source, routine, found.instruction)}"
            return _unknown(case, f"{found.reason}{where}", stopwatch)
    elif found.outside:
        tried = (
            _replayed(path, options, source, launch, fill, stopwatch, WRONG)
            for one in found.outside for fill in _FILLS for launch in one.launches
        )  # fmt: skip
        linted = next((one for one in tried if one is not None), None)
        if linted is not None:
            return linted
        if is_asked:
            places = ", ".join(f"{plain_name(one.array)} at {_at(source, routine, one.instruction)}" for one in found.outside)
            reason = f"an access may lie outside of {places}, but no launch was found that shows it"
            return _unknown(case, reason, stopwatch)
    elif not found.unknown:
        domain[domain.index(INSIDE)] = _ROUNDS
        proves.append("out-of-bounds")
    elif len(found.needed) == len(found.unknown):
        fields["in_bounds_if"] = " && ".join(found.needed)
        messages.append(f"{case}: no access out of bounds in launches with {fields['in_bounds_if']} (--assume)")
    said_of_indices = _indices(case, source, options.kernel, said)
    fields |= said_of_indices.fields
    messages += said_of_indices.messages
    if said_of_indices.is_proved:
        proves.append("index-overflow")
        domain = [one for one in domain if one != INDICES]
        if _ROUNDS not in domain:
            domain.append(_ROUNDS)
    fields |= {"domain": "; ".join(domain), "proves": proves, "questions": free.pairs, "findings": 0}
    line = plain_line(case, "solved", stopwatch.read(), verdict="proved", **fields)
    return Linted(case, (), (), Outcome(line, EXIT_BY_STATUS["solved"], messages=tuple(messages)))


@dataclass(frozen=True, slots=True)
class _Indices:
    """Facts about signed 32-bit indices."""

    fields: dict[str, Any]
    messages: tuple[str, ...]
    is_proved: bool
    """None wraps in any launch as assumed."""


def _indices(case: str, source: Source, kernel: str, said: Sequence[Assumed]) -> _Indices:
    found = overflows(source.program, kernel, said)
    if isinstance(found, NotDecided):
        return _Indices({}, (), is_proved=False)
    if not found.found:
        return _Indices({}, (), is_proved=True)
    routine = source.program.routines[kernel]
    rows: list[dict[str, Any]] = []
    messages: list[str] = []
    for one in found.found:
        place = source.places(routine.span(one.instruction).line)[0]
        row: dict[str, Any] = {"file": place.file, "line": place.line, "needed": one.needed}
        text = f"{place.file}:{place.line}: a signed 32-bit index may wrap (WL016)"
        if one.needed is not None:
            text += f", but not in launches with {one.needed} (--assume)"
        elif one.shown is not None:
            launch = ", ".join(f"{name} = {value}" for name, value in one.shown.sizes)
            text += f": with {launch} the last thread's is {one.shown.value:,}"
            row |= {"launch": dict(one.shown.sizes), "index": one.shown.value}
        if row not in rows:
            rows.append(row)
            messages.append(text)
    fields: dict[str, Any] = {"indices": rows}
    needed = [one.needed for one in found.found if one.needed is not None]
    if len(needed) == len(found.found):
        parts = dict.fromkeys(part for text in needed for part in text.split(" && "))
        fields["indices_fit_if"] = " && ".join(parts)
    return _Indices(fields, tuple(messages), is_proved=False)


_ROUNDS = "loops run fewer than 2^31 rounds, and what they count does not wrap as a signed number"


def _told(
    path: str, options: LintOptions, case: str, source: Source, meeting: Meeting, offer: str | None, stopwatch: Stopwatch
) -> Linted:
    """A launch that shows the race, or that none was found."""
    assert options.kernel is not None
    routine = source.program.routines[options.kernel]
    tried = (_replayed(path, options, source, launch, fill, stopwatch) for fill in _FILLS for launch in meeting.launches)
    linted = next((one for one in tried if one is not None), None)
    if linted is None:
        places = " and ".join(dict.fromkeys(_at(source, routine, n) for n in (meeting.first, meeting.second)))
        reason = f"two threads may meet at {places}, but no launch was found that shows it; {_hint(meeting.launches, offer)}"
        linted = _unknown(case, reason, stopwatch)
    if offer is None:
        return linted
    outcome = linted.outcome
    said = (*outcome.messages, f"{case}: no data race in launches with {offer} (--assume)")
    return replace(linted, outcome=replace(outcome, line=outcome.line | {"race_free_if": offer}, messages=said))


def _hint(launches: Sequence[Launch], offer: str | None) -> str:
    used = [axis for n, axis in enumerate("xyz") if any(found.block[n] > 1 for found in launches)]
    block = offer or " && ".join(f"blockDim.{axis} == ..." for axis in used or ["x"])
    return f'say what launches have in common, such as --assume "{block}"'


def _unknown(case: str, reason: str, stopwatch: Stopwatch) -> Linted:
    line = plain_line(case, "unknown", stopwatch.read(), reason=reason)
    return Linted(case, (), (), Outcome(line, EXIT_BY_STATUS["unknown"]))


def _at(source: Source, routine: Routine, instruction: int) -> str:
    place = source.places(routine.span(instruction).line)[0]
    return f"{place.file}:{place.line}"


def _replayed(
    path: str, options: LintOptions, source: Source, found: Launch, fill: str, stopwatch: Stopwatch,
    shown: frozenset[str] = RACE,
) -> Linted | None:  # fmt: skip
    """Findings of the launch when it runs; None: nothing by these rules."""
    assert options.kernel is not None
    routine = source.program.routines[options.kernel]
    texts = list(_arguments(routine, found, fill))
    if len(texts) < len(routine.parameters):
        return None
    shape = ",".join(map(str, found.grid)), ",".join(map(str, found.block))
    lengths = dict(found.lengths)
    dynamic = [v.name for v in source.program.variables.values() if v.space == "shared" and not v.size_bytes]
    shared_bytes = max((lengths.get(name, _SHARED_BYTES) for name in dynamic), default=0)
    launched = replace(options, launch=shape, arguments=tuple(texts), shared_bytes=shared_bytes, limit=_LIMIT, has_notes=False)
    linted = lint(path, launched, stopwatch, source)
    if not any(f.rule.name in shown for f in (*linted.found, *linted.silenced)):
        return None
    command = ["warploom", "lint", path, "--kernel", plain_name(options.kernel), "--launch", *shape]
    command += [part for text in texts for part in ("--arg", text)]
    command += ["--shared", str(shared_bytes)] if shared_bytes else []
    outcome = linted.outcome
    said = (*outcome.messages, f"replay: {shlex.join(command)}")
    return replace(linted, outcome=replace(outcome, line=outcome.line | {"replay": shlex.join(command)}, messages=said))


_SHARED_BYTES = 49_152
"""Dynamic shared memory of a replayed launch."""
_LIMIT = 20_000_000
"""Instructions of a replayed launch, summed over threads."""


def _arguments(routine: Routine, found: Launch, fill: str) -> Iterator[str]:
    """One for each parameter; fewer where one is a struct."""
    numbers, lengths = dict(found.parameters), dict(found.lengths)
    for parameter in routine.parameters:
        bits = parameter.size_bytes * 8
        if parameter.dimensions or parameter.vector > 1:
            return
        if parameter.name in numbers:
            yield f"{'i' if bits > 8 else 'u'}{bits}:{numbers[parameter.name]}"
        elif parameter.type in _SCALARS:
            yield _SCALARS[parameter.type]
        elif parameter.name in lengths:
            kind, _, rest = fill.partition(":")
            yield f"{kind}:u8:{lengths[parameter.name]}" if lengths[parameter.name] else f"zeros:{rest.partition(':')[0]}:1"
        elif bits == 64:
            yield fill
        else:
            yield f"i{bits}:1"
