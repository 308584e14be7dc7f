"""`warploom bench exchange`: exchanges of registers beside what trove, CUB and Triton take, counted in the same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import click

from warploom.tools.bench.case import Case
from warploom.tools.bench.layout_cases import case_of
from warploom.tools.bench.layout_peers import Counts, cub, triton, trove
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.lines import Line
from warploom.tools.command.options import CASE_OPTION, JOURNAL_OPTION, JSON_OPTION

LIMIT_S = 180.0
_SECONDS = "most_seconds"
"""CPU seconds of the longest question of a case; a bar that makes it late, not wrong."""
_REGISTERS = range(2, 33)
_FEWER = {17: 16, 25: 24, 29: 28, 31: 30, 32: 31}
"""Least shuffles where they are not as many as the registers."""
_CUB_TRANSPOSE = {"shuffles": 80, "selects": 240}
"""CUB's transpose of 32 x 32 registers, in its SASS for sm_90 (CCCL 13.0.85)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One exchange: the command's arguments, what it must reach (`Line` field to most), what the peers take."""

    name: str
    arguments: tuple[str, ...]
    bar: Mapping[str, object]
    """`via`, `least_shuffles` and `shared` (wavefronts of the program through shared memory) exactly; the others at most."""
    peers: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])


def rows() -> tuple[Row, ...]:
    found: list[Row] = []
    for regs in _REGISTERS:
        bar: dict[str, object] = {"least_shuffles": _FEWER.get(regs, regs), "shared": 2 * regs}
        if regs in (2, 3, 5, 7) or regs >= 16:
            bar["via"] = "shuffle" if regs < 16 else "shared"
        peers = {"trove": trove(regs), "cub": cub(regs)}
        found.append(Row(f"striped-blocked/{regs}", (*_between("striped", "blocked"), "--regs", str(regs)), bar, peers))
    square = (*_between("striped", "blocked"), "--regs", "32", "--via", "shuffle")
    found.append(
        Row(
            "square/shuffles",
            square,
            {"pareto": [[31, 320], [46, 304], [60, 288], [72, 272], [80, 240]]},
            {"trove": trove(32), "cub": _CUB_TRANSPOSE},
        )
    )
    found.append(Row("square/sass", case_of("square/sass"), {"sass": 480, "fewest_shuffles": 545}, {"trove": {"sass": 545}}))
    found += [Row(f"least/{which}", case_of(f"least/{which}"), {_SECONDS: 0.1}) for which in ("named", "random")]
    found.append(Row("tma", case_of("tma"), {"without": []}))
    for items, most in ((32, 24), (16, 12), (8, 6), (4, 3)):
        arguments = (*_between("striped", "blocked"), "--regs", str(items // 4), "--bits", "8")
        found.append(Row(f"bytes/{items}", arguments, {"crossbar": most}))
    fixed: dict[str, tuple[int, int | None]] = {"tf32": (8, 4), "f16": (16, 0), "e4m3": (32, 4), "e2m1": (64, None)}
    for kind, (deep, most_shuffles) in fixed.items():
        arguments = _between(*(f"mma:m16n8k{deep}:{operand}:{kind}" for operand in "CA"))
        ends: dict[str, object] = {"shuffles": most_shuffles} if most_shuffles is not None else {"least_shuffles": 3}
        if kind == "e4m3":
            ends["instructions"] = 18
        found.append(Row(f"operand/{kind}", arguments, ends))
        found.append(Row(f"operand/{kind}/k-free", (*arguments, "--free", "k"), {"shuffles": 0, "selects": 0}))
    return tuple(found)


def _between(source: str, destination: str) -> tuple[str, ...]:
    return ("exchange", "--json", "--from", source, "--to", destination)


def judged(line: Line) -> Line:
    """`as_expected`: proved, and the row's bar is met. Code and certificate are left to `warploom exchange`."""
    row = next((row for row in rows() if row.name == line["case"]), None)
    kept = {name: value for name, value in line.items() if name not in ("code", "certificate")}
    if row is None or line["status"] != "solved":
        return kept | {"as_expected": False}
    if "shuffles" not in line:  # of many questions, or of machine code
        short = [name for name, wanted in row.bar.items() if not _holds(line[name], wanted, name)]
        missed = [name for name in short if name != _SECONDS]
        kept |= {"in_time": _SECONDS not in short} if _SECONDS in row.bar else {}
        return kept | {"missed": missed, "as_expected": line["verdict"] == "proved" and not missed}
    counts = counted(cast("dict[str, Any]", line))
    missed = [name for name, wanted in row.bar.items() if not _holds(counts[name], wanted, name)]
    return kept | {"crossbar": counts["crossbar"], "missed": missed, "as_expected": line["verdict"] == "proved" and not missed}


def _holds(found: object, wanted: object, name: str) -> bool:
    if name in ("via", "least_shuffles", "shared", "pareto", "without"):
        return found == wanted
    return cast(int, found) <= cast(int, wanted)


def counted(line: dict[str, Any]) -> dict[str, Any]:
    """The line with the counts that bars are set on."""
    shared = [entry["wavefronts"] for entry in line["pareto"] if entry["via"] == "shared"]
    return line | {
        "crossbar": line["shuffles"] + line["wavefronts"],
        "instructions": line["shuffles"] + line["selects"] + line["permutes"],
        "shared": min(shared, default=None),
        "pareto": [[entry["shuffles"], entry["selects"]] for entry in line["pareto"] if entry["via"] == "shuffle"],
    }


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    peers = cast("Mapping[str, Mapping[str, int]]", line.get("peers", {}))
    told = [f"{name}: {', '.join(f'{n} {unit}' for unit, n in counts.items())}" for name, counts in peers.items()]
    many = ("sass", "fewest_shuffles", "pairs", _SECONDS, "without")
    one = ("via", "shuffles", "selects", "permutes", "wavefronts", "least_shuffles")
    names = [name for name in many if name in line] or one
    return {name: str(line.get(name, "-")) for name in names} | {"peers": "; ".join(told) or "-"}


def _peers(row: Row, of_triton: Mapping[str, Counts]) -> dict[str, Mapping[str, int]]:
    found = of_triton.get(row.name.removesuffix("/k-free"))
    return {**row.peers, **({"triton": found} if found is not None else {})}


@click.command("exchange")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
def bench_exchange(pattern: str | None, as_json: bool, journal: Path | None) -> None:
    """Write exchanges of registers, beside what trove, CUB and Triton take for them.

    `as_expected` says that the bars are met: least shuffles, wavefronts, instructions; `missed` names those that are not.
    `peers` are counted in the same run, Triton's where it is installed.
    """
    chosen = [row for row in rows() if fnmatchcase(row.name, pattern or "*")]
    counted_now = triton([row.name.removesuffix("/k-free") for row in chosen])
    cases = [Case(row.name, row.arguments, LIMIT_S, {"bar": dict(row.bar), "peers": _peers(row, counted_now)}) for row in chosen]
    run_chosen(cases, pattern, as_json, columns, judged, journal, [row.name for row in rows()])
