"""Work of the commands on layouts: read the question, ask `warploom.layout`, have the certificate checked, report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.layout import (
    Access,
    Answer,
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
    has_name,
    layout,
    map_of_array,
    map_of_function,
    map_of_text,
    tile,
)
from warploom.machines import NVIDIA, architecture, shared_memory
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
    line = plain_line(tile_text, "solved", stopwatch.read(), verdict="proved", domain=domain_of(given), **fields)
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
        **counts(result.prices),
        "extra_words": result.extra_words,
    }
    if names:
        fields |= {"optimal": result.optimal or None, "certificate": document, **better}
        fields |= {"objective": ["wavefronts"]} if result.optimal else {}
    if other is not None:
        fields["equal"] = True
    line = plain_line(case, "solved", stopwatch.read(), verdict="proved", domain=domain_of(given), **fields)
    details = [*_told(found, result.prices, None, result.extra_words, is_optimal=result.optimal)] if names else []
    if other is not None:
        details.append("equal: every element gets the same place")
    if result.better is not None:
        details.append(f"better: {result.better.map.text}")
        details += _told(
            result.better.map, result.better.prices, result.prices, result.better.extra_words, is_optimal=result.better.optimal
        )
    return Outcome(line, SOLVED, details=tuple(details), written=_page(html, line))


def domain_of(given: Tile) -> str:
    """The domain of claims about a tile."""
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
        return access_of_function(f"function {name}" if has_name(name) else name, taken, given)
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
    fields: Line = {"map": _said(found.map), "class": found.map.kind, **counts(found.prices)}
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


def counts(prices: Sequence[Price]) -> Line:
    """Fields by access; none without accesses."""
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
