"""`warploom bench layout`: maps of tiles beside row-major order, padded rows and CuTe's named atoms, counted in the same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import click

from warploom.layout import access, tile
from warploom.tools.bench.case import Case
from warploom.tools.bench.layout_cases import SEEDS, case_of
from warploom.tools.bench.layout_peers import Counts, of_maps
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.lines import Line
from warploom.tools.command.options import CASE_OPTION, JOURNAL_OPTION, JSON_OPTION

LIMIT_S = 60.0
_ANY = ("rows@any", "columns@any", "blocks:4x8")
_EXACT = ("optimal", "equal", "total", "cute", "no_map", "least_room")


@dataclass(frozen=True, slots=True)
class Row:
    """One question: the command's arguments, what the answer must reach, CPU seconds."""

    name: str
    arguments: tuple[str, ...]
    bar: Mapping[str, object]
    """`optimal`, `equal`, `total` (wavefronts of all accesses), `cute`, `no_map` and `least_room` exact; `answered` at least;
    else at most."""
    seconds: float
    tile: str = ""
    accesses: tuple[str, ...] = field(default=())

    def peers(self) -> dict[str, Counts]:
        """Counts of known maps of the tile, by the map's name."""
        if not self.tile:
            return {}
        given = tile(self.tile)
        return of_maps(given, [access(name, given) for name in self.accesses])


def rows() -> tuple[Row, ...]:
    six = ("rows", "columns", "blocks:4x8", "blocks:8x4", "blocks:16x2", "blocks:2x16")
    matrices = ("ldmatrix", "ldmatrix.trans", "stmatrix", "rows:128bit", "blocks:8x4:128bit")
    found = [_layout("six-patterns", "32x32:f32", six, {"optimal": True, "index_instructions": 3}, 0.05)]
    for count, seconds in ((8, 0.1), (12, 1.0), (16, 30.0)):
        found.append(Row(f"random/{count}", case_of(f"random/{count}"), {"answered": SEEDS}, seconds))
    found += [
        _layout("ldmatrix/64x64", "64x64:f16", matrices, {"optimal": True}, 1.0),
        _layout("ldmatrix/m-major", "8x128:f16", ("ldmatrix.trans", "rows:128bit"), {"optimal": True}, 1.0),
        _check("swizzle-3-3-4", "Swizzle<3,3,4> o (8,128):(128,1)", "8x128:f16", ("ldmatrix.trans",)),
        _layout("odd/48x33", "48x33:f32", _ANY, {"optimal": True, "total": 717, "extra_words": 0}, 1.0),
        _layout("odd/40x28", "40x28:f32", _ANY, {"optimal": True, "total": 332, "extra_words": 0}, 1.0),
        _layout("odd/33x20", "33x20:f32", _ANY, {"optimal": True, "total": 100, "extra_words": 0}, 1.0),
    ]
    spread = ("rows@any", "columns@any")
    asked = ("layout", "--json", "--room", "any", "44x26:f32", *_options(spread))
    padded: dict[str, object] = {"optimal": True, "extra_words": 43, "least_room": True}
    found.append(Row("least-room/44x26", asked, padded, 1.0, "44x26:f32", spread))
    chunks = ("rows:128bit", "blocks:8x1:128bit", "blocks:2x4:128bit@any", "blocks:4x2:128bit@any")
    found.append(Row("any-map/16x64", ("layout", "--json", "--table", "16x64:f16", *_options(chunks)), {"no_map": True}, 1.0))
    loads = ("rows:128bit:store", "rows:128bit", "blocks:16x4:128bit")
    lds = ("layout", "--json", "--arch", "gfx942", "64x64:f16", *_options(loads))
    found.append(Row("lds/64x64", lds, {"optimal": True, "total": 192}, 1.0))
    for rows, columns in ((129, 5), (300, 7)):
        writer = ("check-layout", "--json", _WRITER, "--tile", f"{rows}x{columns}:e8m0", "--equal", "scale:128x4")
        # The writer's function takes the number of columns; `groups` of four stand one after the other.
        named = tuple(text.replace("GROUPS", str(-(-columns // 4))) for text in writer)
        found.append(Row(f"scale-factors/{rows}x{columns}", named, {"equal": True}, 1.0))
    stores = ("exchange", "--json", "--from", "scale:128x4", "--to", "scale:128x4")
    found.append(Row("scale-factors/16-byte-stores", stores, {"instructions": 0, "equal": True}, 1.0))
    return tuple(found)


_WRITER = "r // 128 * GROUPS * 512 + c // 4 * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4"
"""cuBLAS's text of 128x4 blocks. Source: cuBLAS documentation, 1D block scaling factors layout."""


def _options(accesses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for name in accesses for text in ("--access", name))


def _layout(name: str, on: str, accesses: tuple[str, ...], bar: Mapping[str, object], seconds: float) -> Row:
    return Row(name, ("layout", "--json", on, *_options(accesses)), bar, seconds, on, accesses)


def _check(name: str, given: str, on: str, accesses: tuple[str, ...]) -> Row:
    arguments = ("check-layout", "--json", given, "--tile", on, *_options(accesses))
    return Row(name, arguments, {"optimal": True}, 1.0, on, accesses)


def judged(line: Line) -> Line:
    """`as_expected`: proved, and the row's bar is met; `missed` names what is not. Certificates are left to the command."""
    row = next((row for row in rows() if row.name == line["case"]), None)
    kept = {name: value for name, value in line.items() if name not in ("certificate", "code", "worst", "before", "pareto")}
    if row is None or line["status"] != "solved":
        return kept | {"as_expected": False}
    counts = _counted(cast("dict[str, Any]", line))
    missed = [name for name, wanted in row.bar.items() if not _holds(counts.get(name), wanted, name)]
    in_time = counts["most_seconds"] <= row.seconds
    kept |= {"total": counts["total"]} if counts["total"] is not None else {}
    return kept | {"missed": missed, "in_time": in_time, "as_expected": line["verdict"] == "proved" and not missed}


def _holds(found: object, wanted: object, name: str) -> bool:
    if name in _EXACT:
        return found == wanted
    one, two = cast(int, found), cast(int, wanted)
    return one >= two if name == "answered" else one <= two


def _counted(line: dict[str, Any]) -> dict[str, Any]:
    """The line with the figures that bars are set on."""
    taken = line.get("wavefronts")
    return (
        {"most_seconds": line["seconds"]}
        | line
        | {
            "total": sum(taken.values()) if isinstance(taken, dict) else None,  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType]
            "answered": line.get("found", 0) + line.get("no_linear", 0),
            "instructions": sum(line.get(name, 0) for name in ("shuffles", "selects", "permutes")),
        }
    )


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    peers = cast("Mapping[str, Counts]", line.get("peers", {}))
    told = [f"{name}: {', '.join(f'{n} {unit}' for unit, n in counts.items())}" for name, counts in peers.items()]
    shown = {name: str(line[name]) for name in ("class", "total", "extra_words", "found", "no_linear") if name in line}
    late = "" if line.get("in_time", True) else " (late)"
    return shown | {"seconds": f"{line.get('most_seconds', line['seconds'])}{late}", "peers": "; ".join(told) or "-"}


@click.command("layout")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
def bench_layout(pattern: str | None, as_json: bool, journal: Path | None) -> None:
    """Find maps of tiles in shared memory, beside what row-major order, padding and CuTe's atoms take.

    `as_expected` says that the bars are met; `missed` names those that are not. `peers` are counted in the same run.
    """
    chosen = [row for row in rows() if fnmatchcase(row.name, pattern or "*")]
    cases = [
        Case(row.name, row.arguments, LIMIT_S, {"bar": {**row.bar, "seconds": row.seconds}, "peers": row.peers()})
        for row in chosen
    ]
    run_chosen(cases, pattern, as_json, columns, judged, journal, [row.name for row in rows()])
