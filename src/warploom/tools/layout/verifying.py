"""Work of `warploom verify-certificate`: the small checker, then the names, then the line that has the certificate.

`layout.recheck` confirms the numbers of a certificate, and shares nothing with the search. Whether these numbers are those of the
map, the accesses, the architecture and the layouts that are named, and whether the fields of a report line follow from them, is
asked here with the package's own readers. Fields that do not follow are named as `unchecked`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from warploom.core import Diagnostic, UserError, read_text, require_file
from warploom.layout import (
    TARGETS,
    Certificate,
    Map,
    accesses_of,
    emit,
    faults,
    map_of,
    map_of_text,
    misnamed,
    plain,
    prices,
    tile,
    tile_of,
)
from warploom.layout.distributed import BITS, WORD_BITS, distributed_of_text
from warploom.layout.exchange import FaultError, least_wavefronts_of, replayed
from warploom.machines import NVIDIA, OTHERS, SharedMemory, architecture, shared_memory
from warploom.tools.command.lines import IMPOSSIBLE, SCHEMA, SOLVED, Line, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.layout.answers import counts, domain_of
from warploom.tools.layout.exchanges import DOMAIN
from warploom.tools.layout.functions import is_function

_ENVELOPE = {"seconds", "wall_s", "peak_mb", "certificate", "arch"}
"""Fields that are no claims, or are asked before the others."""
_SOLVED: Line = {"v": SCHEMA, "status": "solved", "verdict": "proved", "counted": "model"}


def verified(path: Path, stopwatch: Stopwatch) -> Outcome:
    """The outcome for a certificate, or for a report line that holds one; UserError (CERTIFICATE) for any other file."""
    line, document = _read(path)
    wrong = faults(document)
    claims: Line = {}
    if not wrong and document["kind"] == "layout":
        wrong, claims = _layout(line, document)
    elif not wrong:
        wrong, claims = _exchange(line, document)
    if wrong:
        found = plain_line(str(path), "refused", stopwatch.read(), verdict="refuted", reason="; ".join(wrong))
        return Outcome(found, IMPOSSIBLE)
    unchecked = [name for name in line if name not in claims and name not in _ENVELOPE]
    said = {name: value for name, value in claims.items() if name in _SAID}
    fields: dict[str, Any] = {**said, "unchecked": unchecked} if line else said
    fields["domain"] = claims["domain"]
    details = [f"  {text}" for text in _statements(document)]
    if "code" in claims:
        details.append("  the code of the line is that of this claim, with these counts")
    if unchecked:
        details.append(f"  of the line, nothing is said about {', '.join(unchecked)}")
    found = plain_line(str(path), "solved", stopwatch.read(), verdict="proved", **fields)
    return Outcome(found, SOLVED, details=tuple(details))


_SAID = (
    "map", "wavefronts", "least", "extra_words", "optimal", "no_linear", "no_map", "least_room", "least_shuffles", "reached",
    "counted",
)  # fmt: skip
"""Claims that the answer repeats."""


def _read(path: Path) -> tuple[Line, Certificate]:
    """The line, empty if there is none, and the certificate."""
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
    return line, cast(Certificate, given)


def _statements(document: Certificate) -> Iterator[str]:
    """Sentences on what the small checker confirmed."""
    if document["kind"] == "exchange":
        count = document["least_shuffles"]
        yield f"no program of shuffles alone has fewer than {count}, as lane {document['lane']} {document['side']} so many words"
        if document["reached"]:
            yield f"{count} shuffles are enough for all words, as the moves show"
        return
    rows, columns, bits = (document["tile"][name] for name in ("rows", "columns", "bits"))
    yield f"{rows}x{columns} elements of {bits} bits have a place each, with {document['extra_words']} extra words"
    for entry in document["accesses"]:
        yield f"{entry['name']}: {entry['wavefronts']} wavefronts, at least {entry['least']} under any map"
    if document["optimal"]:
        yield "no map has fewer wavefronts"
    if "no_linear" in document:
        yield "no F2-linear map that keeps chunks is without conflict"
    if "no_map" in document:
        yield "no map that keeps chunks is without conflict, with any room"
    if document.get("least_room"):
        yield "rows that are closer together need more wavefronts"


def _layout(line: Line, document: Certificate) -> tuple[list[str], Line]:
    """Faults of a confirmed certificate of a map, and the fields that follow from it."""
    memories = [shared_memory(str(line["arch"]))] if "arch" in line else [NVIDIA, *dict.fromkeys(OTHERS.values())]
    tried = [(memory, misnamed(document, memory)) for memory in memories]
    memory = next((memory for memory, wrong in tried if not wrong), None)
    if memory is None:
        where = str(line["arch"]) if "arch" in line else "any architecture, such as that of sm_90"
        return [f"on {where}: {'; '.join(tried[0][1])}"], {}
    claims = _claims(line, document, memory)
    wrong, is_asked = _question(line, document, memory)
    claims |= {"case": line.get("case")} if is_asked else {}
    return wrong + _contradictions(line, claims), claims


def _claims(line: Line, document: Certificate, memory: SharedMemory) -> Line:
    given = tile_of(document, memory)
    found, accesses = map_of(document, given), accesses_of(document, given)
    claims: Line = {
        **_SOLVED,
        "domain": domain_of(given),
        "map": document["places"] if found.text is None else found.text,
        **counts(prices(given, accesses, found.table)),
        "before": {p.access: p.wavefronts for p in prices(given, accesses, plain(given, accesses))},
        "extra_words": document["extra_words"],
        "optimal": document["optimal"] or None,
        "objective": ["wavefronts"] if document["optimal"] else None,
        **{name: bool(document.get(name)) for name in ("no_linear", "no_map", "least_room")},
    }
    if "cute" in line:
        claims["cute"] = _same_map(line["cute"], given, found)
    if "code" in line and line.get("emit") in TARGETS:
        claims |= {"emit": line["emit"], "code": _same_code(line, given, found)}
    return cast(Line, json.loads(json.dumps(claims)))


def _same_map(text: object, given: Any, found: Map) -> object:
    """The text, if it is that of the map; else what it should have been."""
    try:
        return text if isinstance(text, str) and (map_of_text(text, given).table == found.table).all() else found.text
    except UserError:
        return found.text


def _same_code(line: Line, given: Any, found: Map) -> object:
    if line["emit"] in ("cute", "triton"):
        return _same_map(line["code"], given, found)
    kind = "table" if found.text is None else "given"
    return emit(Map(kind, found.expression, found.table, 0), given, cast(Any, line["emit"]))


def _contradictions(line: Line, claims: Line) -> list[str]:
    """Sentences on fields of a line that differ from what follows from its certificate."""
    wrong = [name for name in claims if name in line and _as_text(line[name]) != _as_text(claims[name])]
    return [f"the line says {name} {_short(line.get(name))}, its certificate {_short(claims.get(name))}" for name in wrong]


def _as_text(value: object) -> str:
    """JSON, in which 1, 1.0 and true are three things."""
    return json.dumps(value, sort_keys=True)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _question(line: Line, document: Certificate, memory: SharedMemory) -> tuple[list[str], bool]:
    """Where the line's case has another tile than the certificate, or another map by name; whether all of the case is known."""
    asked = re.fullmatch(r"(?:(.*) on )?(\d+x\d+:\w+)", str(line.get("case")), re.ASCII | re.DOTALL)
    if asked is None:
        return [], False
    size = document["tile"]
    try:
        given = tile(asked[2], memory)
    except UserError:
        return [f"the line says {asked[2]}, which is no tile"], True
    if [given.rows, given.columns, given.bits] != [size["rows"], size["columns"], size["bits"]]:
        return [f"the line says {asked[2]}, its certificate has another tile"], True
    if asked[1] is None:
        return [], True
    try:
        is_other = not is_function(asked[1]) and map_of_text(asked[1], given).table.tolist() != document["places"]
    except UserError:  # a function of Python by its name
        return [], False
    return [f"the line says {asked[1]}, its certificate has other places"] if is_other else [], not is_function(asked[1])


def _exchange(line: Line, document: Certificate) -> tuple[list[str], Line]:
    """Faults of a confirmed certificate of an exchange, and the fields that follow from it."""
    lanes, threads = document["lanes"], len(document["held"])
    if "arch" in line and architecture(str(line["arch"])).name != line["arch"]:
        return [f"there is no architecture {line['arch']}"], {}
    claims: Line = {
        **_SOLVED,
        "domain": DOMAIN,
        "least_shuffles": document["least_shuffles"],
        "reached": document["reached"],
        "lanes": lanes,
        "warps": threads // lanes,
        "equal": document["held"] == document["wanted"],
        **({"shuffles_reached": document["least_shuffles"]} if document["reached"] else {}),
    }
    bits = line.get("bits", WORD_BITS // document["words_hold"])
    wrong: list[str] = []
    if type(bits) is not int or bits not in BITS or max(1, WORD_BITS // bits) != document["words_hold"]:
        wrong.append(f"the line says bits {bits}, its certificate has words of {document['words_hold']} elements")
    else:
        claims |= {"bits": bits, "regs": len(document["held"][0]) // max(1, bits // WORD_BITS)}
        other, is_asked = _layouts(line, document, claims)
        wrong += other
        claims |= {"case": line.get("case")} if is_asked else {}
    if not wrong and str(line.get("code", "")).startswith("__device__") and line.get("via") in ("shuffle", "shared", "matrix"):
        try:
            claims |= _counted(str(line["code"]), document, line)
        except FaultError as error:
            wrong.append(f"the line's code does not do the exchange: {error}")
    return wrong + _contradictions(line, claims), claims


def _layouts(line: Line, document: Certificate, sizes: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Where what lanes hold and want is not what the names of the line's case say; whether both were read. A renamed side and
    functions are not."""
    wrong: list[str] = []
    names = str(line.get("case", "")).split(" to ")
    sides = list(zip(names, ("held", "wanted"), strict=True)) if len(names) == 2 else []
    asked = [(name, side) for name, side in sides if not is_function(name) and not (side == "wanted" and line.get("renaming"))]
    for name, side in asked:
        try:
            given = distributed_of_text(name, sizes["lanes"], sizes["regs"], sizes["bits"])
        except UserError:
            return wrong, False
        if given.parts().tolist() != document[side]:
            wrong.append(f"what lanes have in the certificate is not {name}")
    return wrong, len(asked) == 2


def _counted(code: str, document: Certificate, line: Line) -> Line:
    """Counts of the line's device function, which is run on symbols; FaultError where it does not do the exchange."""
    words = line.get("shared_words", 0)
    if type(words) is not int or not 0 <= words < 1 << 16:
        raise FaultError(f"shared_words is {words}")
    try:
        run = replayed(document, code, words)
        least = least_wavefronts_of(document)
    except (KeyError, ValueError, IndexError, UserError) as error:
        raise FaultError(str(error)) from error
    return {
        "code": code,
        "shuffles": run.statements["shuffle"],
        "selects": run.statements["select"],
        "permutes": run.statements["permute"],
        "wavefronts": run.store_wavefronts + run.load_wavefronts,
        "least_wavefronts": least,
    }
