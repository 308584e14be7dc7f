"""Work of `warploom exchange`: read the layouts of registers, ask for the exchange, have the certificate checked, report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.layout import faults
from warploom.layout.distributed import (
    WORD_BITS,
    Distributed,
    differing,
    distributed_of_array,
    distributed_of_function,
    distributed_of_text,
    needs_no_sizes,
    sizes_of_text,
)
from warploom.layout.exchange import (
    Candidate,
    Exchange,
    LoadMatrix,
    StoreMatrix,
    Target,
    Transpose,
    Via,
    certificate,
    emit,
    exchange,
    places_in_shared,
)
from warploom.machines import architecture
from warploom.tools.command.files import write_text
from warploom.tools.command.lines import GAVE_UP, SOLVED, Line, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.layout.functions import function_of, is_function
from warploom.tools.pages.layouts import layout_page

Given: TypeAlias = str | Callable[..., Any] | NDArray[np.integer[Any]]
DOMAIN = "all values; every element, lane and slot"
_BUG = "the checker of certificates does not confirm the answer, a bug of Warploom"


def exchanged(
    source: Given,
    destination: Given,
    *,
    lanes: int | None,
    regs: int | None,
    bits: int | None,
    free: Sequence[str],
    via: Via,
    target: Target | None,
    arch: str,
    out: Path | None,
    stopwatch: Stopwatch,
    html: Path | None = None,
) -> Outcome:
    """The device function, its counts and its certificate."""
    on = architecture(arch).name
    src, dst = read_pair(source, destination, lanes, regs, bits)
    found = exchange(src, dst, tuple(dict.fromkeys(free)), via, arch)
    document = certificate(found)
    case = f"{_name(source)} to {_name(destination)}"
    wrong = faults(document) if document is not None else []
    if wrong:
        line = plain_line(case, "error", stopwatch.read(), reason=f"{_BUG}: {'; '.join(wrong)}")
        return Outcome(line, GAVE_UP)
    code = emit(found, target or "cuda")
    fields: dict[str, Any] = {**_fields(found), "arch": on, "code": code, "certificate": document}
    places = places_in_shared(found.chosen, src)
    if places is not None:
        fields["places"] = places.tolist()
    if out is not None:
        write_text(out, code)
    line = plain_line(case, "solved", stopwatch.read(), verdict="proved", domain=DOMAIN, **fields)
    if html is not None:
        write_text(html, layout_page(line))
    written = tuple(path for path in (out, html) if path is not None)
    return Outcome(line, SOLVED, written=written, details=(*told(line), *(() if out else (code,))))


def _fields(found: Exchange) -> Line:
    chosen, src = found.chosen, found.src
    fields: Line = {
        "via": chosen.via, "program": chosen.program.name, **_counts(chosen), "shared_words": chosen.program.shared_words,
        "least_shuffles": None if found.least is None else found.least.shuffles,
        "shuffles_reached": None if found.least is None else _reached(found),
        "least_wavefronts": found.least_wavefronts,
        "pareto": [{"via": c.via, "program": c.program.name, **_counts(c)} for c in found.pareto],
        "why": found.why, "counted": "model",
        "renaming": {r.axis: list(r.to) for r in found.renamings} or None,
        "warps": src.warps, "lanes": src.lanes, "regs": src.elements.shape[2], "bits": src.bits,
    }  # fmt: skip
    if found.renamings:
        fields["other_side"] = {r.axis: _other_side(r.axis, r.index, r.run, src.bits) for r in found.renamings}
        fields["renaming_index"] = {r.axis: r.index for r in found.renamings}
    difference = differing(found.src, found.dst) if found.src.elements.shape == found.dst.elements.shape else {}
    fields["equal"] = difference is None
    if difference is not None:
        fields["differs"] = difference
    return fields


def _reached(found: Exchange) -> int:
    """Fewest shuffles of what was found, programs and the colouring."""
    programs = (c.shuffles for c in found.pareto if c.via == "shuffle")
    return min(len({colour for _, colour in found.moves}), *programs)


def _other_side(axis: str, index: str | None, run: int, bits: int) -> str:
    width = f"{run} elements ({run * bits} bits) stay side by side" if run > 1 else "single elements"
    named = "" if index is None else f", which is {index},"
    return f"loads element renaming[{axis}][i]{named} where it loaded element i of {axis}; {width}"


def _counts(found: Candidate) -> Line:
    return {
        "shuffles": found.shuffles, "selects": found.selects, "permutes": found.permutes, "logic": found.program.logic,
        "transposes": found.program.count(Transpose),
        "matrix_accesses": found.program.count(StoreMatrix) + found.program.count(LoadMatrix),
        "wavefronts": found.wavefronts, "registers": found.program.registers,
        "cycles": found.cycles, "cycle_parts": dict(found.parts), **({"sectors": found.sectors} if found.via == "load" else {}),
    }  # fmt: skip


def told(line: Mapping[str, Any]) -> Iterator[str]:
    """The counts, for people."""
    least = "" if line["least_shuffles"] is None else f"; shuffles alone: at least {line['least_shuffles']}"
    least += f"; shared memory: at least {line['least_wavefronts']} wavefronts" if line["least_wavefronts"] else ""
    yield f"  {line['via']} ({line['program']}): {_sum(line)}{least}"
    for axis, to in cast("dict[str, list[int]]", line["renaming"] or {}).items():
        yield f"  {axis} renamed: where the destination had i, it has {to}; the other side {line['other_side'][axis]}"
    for other in line["pareto"]:
        yield f"    {other['via']} ({other['program']}): {_sum(other)}; {other['cycles']:g} cycles ({_parts(other)})"
    yield f"  chosen: {line['why']}"


def _parts(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in counts["cycle_parts"].items())


def _sum(counts: Mapping[str, Any]) -> str:
    names = (
        "shuffles",
        "selects",
        "permutes",
        *(name for name in ("logic", "transposes", "matrix_accesses") if counts[name]),
        "wavefronts",
        "registers",
        *(["sectors"] if "sectors" in counts else []),
    )
    return ", ".join(f"{counts[name]} {name}" for name in names)


def read_pair(
    source: Given, destination: Given, lanes: int | None, regs: int | None, bits: int | None
) -> tuple[Distributed, Distributed]:
    """Both layouts; names that say sizes say those of the other one, too; UserError."""
    named = [
        distributed_of_text(given, 1, 1, 32) if isinstance(given, str) and needs_no_sizes(given) else None
        for given in (source, destination)
    ]
    width = bits if bits is not None else next((found.bits for found in named if found is not None), 32)
    pair = [
        distributed_of_array(cast("NDArray[np.integer[Any]]", given), width) if isinstance(given, np.ndarray) else found
        for found, given in zip(named, (source, destination), strict=True)
    ]
    known = pair[0] or pair[1]
    if known is not None:
        for option, given, has in (
            ("--lanes", lanes, known.lanes),
            ("--regs", regs, known.elements.shape[2]),
            ("--bits", bits, known.bits),
        ):
            if given is not None and given != has:
                raise UserError(Diagnostic("REGISTERS", f"expected {option} {has}, which {known.name} has, got {given}"))
        sizes = known.lanes, known.elements.shape[2], known.bits
    else:
        said = next(
            (found for given in (source, destination) if isinstance(given, str) and (found := sizes_of_text(given))), None
        )
        per_register = max(1, WORD_BITS // width)
        if regs is None and said is not None and said[1] % per_register == 0:
            lanes, regs = said[0] if lanes is None else lanes, said[1] // per_register
        if regs is None:
            raise UserError(Diagnostic("REGISTERS", "expected --regs, the registers of a lane, got none", fix="Write --regs 4."))
        sizes = 32 if lanes is None else lanes, regs, width
    warps = 1 if known is None else known.warps
    one, two = (
        _read(given, *sizes, warps) if found is None and not isinstance(given, np.ndarray) else cast(Distributed, found)
        for found, given in zip(pair, (source, destination), strict=True)
    )
    return one, two


def _read(given: str | Callable[..., Any], lanes: int, regs: int, bits: int, warps: int) -> Distributed:
    if isinstance(given, str):
        if is_function(given):
            return distributed_of_function(given, function_of(given), lanes, regs, bits, warps)
        return distributed_of_text(given, lanes, regs, bits)
    return distributed_of_function(_name(given), given, lanes, regs, bits, warps)


def _name(given: Given) -> str:
    return given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
