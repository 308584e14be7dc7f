"""What was found beside the plain loop: no search may end with something slower and not say so."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.core import UserError
from warploom.schedule.backbone import Program
from warploom.schedule.cpu import Call, CompiledNest, Together, compile_nest, plain_nest, retime, sound_flags
from warploom.schedule.nest import Nest
from warploom.schedule.search import program_arrays
from warploom.tools.command.lines import Line
from warploom.tools.explore.data import Data

_FAR = 2.0
"""Times the time that was found from which on a rough time of the plain loop is enough."""
_ENOUGH_MS = 2.0
_ROUNDS = 5


def with_floor(line: Line, program: Program, nests: Sequence[Nest], data: Data, threads: int, limit_s: float) -> Line:
    """The line with `plain_ms` and `time_over_plain`, and a note where the plain loop is the faster; as it was where nothing
    compiles plain loops of this program, or the user interrupts."""
    time_ms = line["time_ms"]
    assert isinstance(time_ms, float)
    try:
        plain_ms, ratio = _compared(program, nests, data, threads, time_ms, limit_s)
    except (UserError, KeyboardInterrupt, MemoryError):
        return line
    line |= {"plain_ms": round(plain_ms, 6), "time_over_plain": round(ratio, 4)}
    if ratio > 1:
        note = f"{ratio:.3g} times slower than the plain loop of the C compiler ({plain_ms:.4g} ms): search longer (--budget)"
        line["note"] = "; ".join(filter(None, (str(line.get("note", "")), note)))
    return line


def _compared(
    program: Program, nests: Sequence[Nest], data: Data, threads: int, time_ms: float, limit_s: float
) -> tuple[float, float]:
    """Time of the plain loops, and what was found over it: side by side, unless the plain loops surely are slower."""
    arrays = program_arrays(program, data.inputs)

    def step(kernel: CompiledNest) -> Call:
        return kernel.call([arrays[b.name] for b in kernel.buffers], data.scalars)

    plain = [step(compile_nest(plain_nest(stage), flags=sound_flags(stage))) for stage in program.stages]
    rough_ms = sum(call.rough_ms(max(_ENOUGH_MS, time_ms)) for call in plain) / threads
    rounds = min(_ROUNDS, int(limit_s * 1e3 / (3 * (rough_ms + time_ms))))
    if rough_ms > _FAR * time_ms or rounds < 1:
        return rough_ms, time_ms / rough_ms
    found = [step(compile_nest(nest)) for nest in nests]
    ours, theirs = retime([Together(tuple(found)), Together(tuple(plain))], threads, rounds=rounds)
    return theirs.median_ms, ours.median_ms / theirs.median_ms
