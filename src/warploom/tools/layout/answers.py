"""Work of the commands on layouts: read the question, ask `warploom.layout`, have the certificate checked, report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError, read_text, require_file
from warploom.layout import (
    NAMES,
    Access,
    Answer,
    Certificate,
    Map,
    Price,
    Room,
    Target,
    Tile,
    access,
    access_of_function,
    certificate,
    check,
    emit,
    equal,
    faults,
    layout,
    map_of_array,
    map_of_function,
    map_of_text,
    tile,
)
from warploom.layout.exchange import faults as faults_of_exchange
from warploom.machines import NVIDIA, OTHERS, SharedMemory, architecture, shared_memory
from warploom.tools.command.files import write_text
from warploom.tools.command.lines import GAVE_UP, IMPOSSIBLE, SOLVED, Line, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.layout.functions import function_of, is_function
from warploom.tools.pages.layouts import layout_page

Taken: TypeAlias = str | Callable[..., Any]
Given: TypeAlias = str | Callable[..., Any] | NDArray[np.integer[Any]]
_DOMAIN = "every element of the tile; {} banks of 4 bytes"
_BUG = "the checker of certificates does not confirm the answer, a bug of Warploom"


def answered(
    tile_text: str,
    names: Sequence[Taken],
    room: Room,
    target: Target | None,
    arch: str,
    stopwatch: Stopwatch,
    html: Path | None = None,
    *,
    table: bool = False,
) -> Outcome:
    """The cheapest map, its counts and its certificate; `table`: any map at all where no class has one without conflict."""
    given = tile(tile_text, shared_memory(arch))
    accesses = read_accesses(names, given)
    found = layout(given, accesses, room, table=table)
    document = certificate(given, found.accesses, found.map, found.prices, found.no_linear, found.no_map)
    wrong = faults(document)
    if wrong:
        return _contradicted(tile_text, wrong, stopwatch)
    code = emit(found.map, given, target) if target else None
    is_least_room = document.get("least_room", False)
    fields: dict[str, Any] = {**_answer(found), "arch": _plain(given, arch), "certificate": document}
    fields |= {"emit": target, "code": code} if code is not None else {}
    fields |= {"least_room": True} if is_least_room else {}
    fields |= {"stopped": found.stopped} if found.stopped else {}
    line = plain_line(tile_text, "solved", stopwatch.read(), verdict="proved", domain=_domain(given), **fields)
    details = tuple(_told(found.map, found.prices, found.before, found.extra_words, is_optimal=found.optimal))
    if is_least_room:
        details += ("least room of padding: with rows closer together there are more wavefronts, all distances were tried",)
    if found.stopped:
        details += (f"{found.stopped} spent before all maps were tried",)
    elif found.no_map:
        each = 1 << found.no_map.chunk
        kept = f" that keeps {each} elements side by side" if each > 1 else ""
        count = len(found.no_map.lemmas)
        steps = "one lemma" if count == 1 else f"{count} lemmas"
        details += (f"no map{kept} is without conflict, with any room: proved in {steps}",)
    elif table and not found.optimal:
        details += ("any other map: none was found or ruled out within the limits of the SAT solver; --budget lets it try more",)
    elif found.no_linear:
        details += ("no F2-linear map is without conflict: all were tried",)
    return Outcome(line, SOLVED, details=details + ((code,) if code else ()), written=_page(html, line))


def checked(
    tile_text: str,
    map_given: Given,
    names: Sequence[Taken],
    other: Given | None,
    arch: str,
    stopwatch: Stopwatch,
    html: Path | None = None,
) -> Outcome:
    """Whether a map is right and as good as any, and whether it equals `other`."""
    given = tile(tile_text, shared_memory(arch))
    found = read_map(map_given, given)
    result = check(given, found, read_accesses(names, given))
    case = f"{_name(map_given)} on {tile_text}"
    better: dict[str, Any] = {} if result.better is None else {"better": _answer(result.better)}
    if result.fault:
        line = plain_line(case, "refused", stopwatch.read(), verdict="refuted", reason=result.fault, optimal=None, **better)
        hint = () if result.better is None else (f"a map that works: {result.better.map.text}",)
        return Outcome(line, IMPOSSIBLE, details=hint)
    if other is not None:
        difference = equal(given, found, read_map(other, given))
        if difference is not None:
            row, column, one, two = difference
            reason = f"the maps differ: element ({row}, {column}) gets the places {one} and {two}"
            line = plain_line(
                case, "refused", stopwatch.read(), verdict="refuted", reason=reason, equal=False, element=[row, column]
            )
            return Outcome(line, IMPOSSIBLE)
    document = certificate(given, result.accesses, found, result.prices) if names else None
    wrong = [] if document is None else faults(document)
    if wrong:
        return _contradicted(case, wrong, stopwatch)
    fields: dict[str, Any] = {
        "arch": _plain(given, arch),
        "map": _said(found),
        **_counts(result.prices),
        "extra_words": result.extra_words,
    }
    if names:
        fields |= {"optimal": result.optimal or None, "certificate": document, **better}
        fields |= {"objective": ["wavefronts"]} if result.optimal else {}
    if other is not None:
        fields["equal"] = True
    line = plain_line(case, "solved", stopwatch.read(), verdict="proved", domain=_domain(given), **fields)
    details = [*_told(found, result.prices, None, result.extra_words, is_optimal=result.optimal)] if names else []
    if other is not None:
        details.append("equal: every element gets the same place")
    if result.better is not None:
        details.append(f"better: {result.better.map.text}")
        details += _told(
            result.better.map, result.better.prices, result.prices, result.better.extra_words, is_optimal=result.better.optimal
        )
    return Outcome(line, SOLVED, details=tuple(details), written=_page(html, line))


def _domain(given: Tile) -> str:
    return _DOMAIN.format(given.memory.banks)


def _plain(given: Tile, arch: str) -> str:
    """The name of the architecture's row."""
    return architecture(arch).name if given.memory is NVIDIA else arch


def _page(html: Path | None, line: Line) -> tuple[Path, ...]:
    """Writes the page if there is to be one."""
    if html is None:
        return ()
    write_text(html, layout_page(line))
    return (html,)


def verified(path: Path, stopwatch: Stopwatch) -> Outcome:
    """The small checker's outcome for a certificate, or for a report line that holds one."""
    require_file(path, "a certificate")
    try:
        given: object = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(Diagnostic("CERTIFICATE", f"expected a certificate in JSON in {path}, got: {error}")) from error
    line: Line = {}
    if isinstance(given, dict) and "certificate" in given:
        line = cast(Line, given)
        given = line["certificate"]
    if not isinstance(given, dict) or not {"accesses", "held"} & {*cast(Certificate, given)}:
        raise UserError(Diagnostic("CERTIFICATE", f"expected a certificate or a line that has one in {path}, got none"))
    document = cast(Certificate, given)
    is_exchange = "held" in document
    wrong = faults_of_exchange(document) if is_exchange else faults(document)
    wrong = wrong or _contradictions(line, _claims_of_exchange(document) if is_exchange else _claims(document))
    wrong = wrong or ([] if is_exchange else _other_banks(line, document))
    if wrong:
        line = plain_line(str(path), "refused", stopwatch.read(), verdict="refuted", reason="; ".join(wrong))
        return Outcome(line, IMPOSSIBLE)
    claims: dict[str, Any] = {name: document.get(name) for name in ("least_shuffles", "reached")}
    if is_exchange:
        line = plain_line(str(path), "solved", stopwatch.read(), verdict="proved", domain="every lane and element", **claims)
        return Outcome(line, SOLVED)
    claims = {name: document.get(name) for name in ("map", "extra_words", "optimal")}
    claims["no_linear"] = bool(document.get("no_linear"))
    claims |= {name: True for name in ("no_map", "least_room") if document.get(name)}
    return Outcome(
        plain_line(
            str(path),
            "solved",
            stopwatch.read(),
            verdict="proved",
            domain=_DOMAIN.format(document.get("banks", NVIDIA.banks)),
            **claims,
        ),
        SOLVED,
    )


def _claims(document: Certificate) -> Line:
    """Fields that a report line has where its certificate is this one."""
    found: Line = {name: {a["name"]: a[name] for a in document["accesses"]} for name in ("wavefronts", "least")}
    return found | {
        "map": document["map"],
        "extra_words": document["extra_words"],
        "optimal": document["optimal"] or None,
        "no_linear": bool(document.get("no_linear")),
        "no_map": bool(document.get("no_map")),
        "least_room": bool(document.get("least_room")),
        "tile": [document["tile"][name] for name in ("rows", "columns", "bits")],
    }


def _other_banks(line: Line, document: Certificate) -> list[str]:
    """Whether the banks of a certificate are not those of the architecture that its line names, or of any."""
    if "arch" in line:
        arch = str(line["arch"])
        return [] if _is_of(shared_memory(arch), document) else [f"the certificate's banks are not those of {arch}"]
    known = (NVIDIA, *OTHERS.values())
    return [] if any(_is_of(memory, document) for memory in known) else ["the certificate's banks are those of no architecture"]


def _is_of(memory: SharedMemory, document: Certificate) -> bool:
    """Whether the banks, and the lanes that go together in each access, are those of this memory."""
    if document.get("banks", NVIDIA.banks) != memory.banks:
        return False
    if memory is NVIDIA:
        return all("groups" not in entry for entry in document["accesses"])
    for entry in document["accesses"]:
        known = memory.stores if re.search(":store(@any)?$", entry["name"]) else memory.reads
        groups = known.get(max(4, _lane_bits(entry, document["tile"]["bits"]) // 8), ())
        if entry.get("groups") != [[*group] for group in groups]:
            return False
    return True


def _lane_bits(entry: dict[str, Any], bits: int) -> int:
    if "elements" in entry:
        return bits * max(len(lane) for request in entry["elements"] for lane in request)
    width = re.search(r":(\d+)bit", entry["name"])
    return int(width[1]) if width is not None else 128 if "matrix" in entry["name"] else bits


def _claims_of_exchange(document: Certificate) -> Line:
    least = document["least_shuffles"]
    return {
        "least_shuffles": least,
        "lanes": document["lanes"],
        "warps": len(document["held"]) // document["lanes"],
    } | ({"shuffles_reached": least} if document.get("reached") else {})


def _contradictions(line: Line, claims: Line) -> list[str]:
    """Sentences on fields of a line that differ from its certificate."""
    asked = re.search(r"\d+x\d+:\w+$", str(line.get("case")), re.ASCII)
    said = line | ({"tile": _shape(asked[0])} if asked else {})
    return [
        f"the line says {name} {said[name]}, its certificate {claims[name]}"
        for name in claims
        if name in said and said[name] != claims[name]
    ]


def _shape(text: str) -> object:
    try:
        given = tile(text)
    except UserError:
        return text
    return [given.rows, given.columns, given.bits]


def read_accesses(names: Sequence[Taken], given: Tile) -> tuple[Access, ...]:
    """Each access once; UserError."""
    found: dict[str, Access] = {}
    for taken in dict.fromkeys(n.strip() if isinstance(n, str) else n for n in names):
        made = _access(taken, given)
        while made.name in found:  # functions of one name
            made = replace(made, name=f"{made.name}'")
        found[made.name] = made
    return tuple(found.values())


def _access(taken: Taken, given: Tile) -> Access:
    if not isinstance(taken, str):
        name = _name(taken)
        return access_of_function(f"function {name}" if name in NAMES else name, taken, given)
    return access_of_function(taken, function_of(taken), given) if is_function(taken) else access(taken, given)


def read_map(found: Given, given: Tile) -> Map:
    """An expression, CuTe's text, Triton's bases, `FILE.py:function`, a function or an array; UserError."""
    if isinstance(found, str):
        return map_of_function(function_of(found), given) if is_function(found) else map_of_text(found, given)
    if isinstance(found, np.ndarray):
        return map_of_array(cast("NDArray[np.integer[Any]]", found), given)
    return map_of_function(found, given)


def _name(given: Given | Taken) -> str:
    return given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)


def _contradicted(case: str, wrong: Sequence[str], stopwatch: Stopwatch) -> Outcome:
    line = plain_line(case, "error", stopwatch.read(), reason=f"{_BUG}: {'; '.join(wrong)}")
    return Outcome(line, GAVE_UP)


def _answer(found: Answer) -> Line:
    fields: Line = {"map": _said(found.map), "class": found.map.kind, **_counts(found.prices)}
    fields |= {"before": {p.access: p.wavefronts for p in found.before}, "extra_words": found.extra_words}
    fields |= {
        "index_instructions": found.map.instructions,
        "optimal": found.optimal or None,
        "no_linear": found.no_linear is not None,
        **({"no_map": True} if found.no_map is not None else {}),
    }
    if found.map.swizzle is not None:
        fields["cute"] = emit(found.map, found.tile, "cute")
    return fields | ({"objective": ["wavefronts"]} if found.optimal else {})


def _counts(prices: Sequence[Price]) -> Line:
    if not prices:
        return {}
    return {
        "wavefronts": {p.access: p.wavefronts for p in prices},
        "least": {p.access: p.least for p in prices},
        "ways": {p.access: p.ways for p in prices},
        "worst": {p.access: [list(place) for place in p.worst] for p in prices if p.worst},
        "counted": "model",
    }


def _said(found: Map) -> object:
    return found.table.tolist() if found.text is None else found.text


def _told(found: Map, prices: Sequence[Price], before: Sequence[Price] | None, room: int, *, is_optimal: bool) -> Iterator[str]:
    """The map and the table of wavefronts, for people."""
    if found.text is not None:
        kind = "" if found.kind == "given" else f"{found.kind}, {found.instructions} index instructions: "
        yield f"  {kind}{found.text}"
    elif found.kind == "table":
        yield "  table, 2 index instructions: a place for each element, which `--json` and `--emit` list"
    width = max(len(p.access) for p in prices)
    for i, price in enumerate(prices):
        old = "" if before is None else f" (was {before[i].wavefronts})"
        meeting = f"; {price.ways} ways, such as elements {price.worst[0]} and {price.worst[1]}" if price.worst else ""
        yield f"  {price.access:<{width}}  {price.wavefronts} wavefronts{old}, at least {price.least}{meeting}"
    yield f"  {room} extra words; " + ("optimal, proved by counting banks" if is_optimal else "not proved optimal")
