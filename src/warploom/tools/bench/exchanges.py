"""`warploom bench exchange`: exchanges of registers beside what trove, CUB and Triton take.

The peers' figures were counted in their SASS for sm_90 (nvcc 13.0.88, CCCL 13.0.85, Triton 3.9.0); they are data here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import gcd
from pathlib import Path
from typing import Any, cast

import click

from warploom.tools.bench.case import Case
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.lines import Line
from warploom.tools.command.options import CASE_OPTION, JOURNAL_OPTION, JSON_OPTION

LIMIT_S = 60.0
_LANES = 32
_REGISTERS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 20, 24, 25, 29, 31, 32)
_FEWER = {17: 16, 25: 24, 29: 28, 31: 30, 32: 31}
"""Least shuffles where they are not as many as the registers."""
_CUB_LOADS = {8: 16, 16: 64, 24: 48, 32: 256}
"""Wavefronts of the loads of CUB's WarpExchange where they are not as many as the registers."""


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
        selects = regs * ((regs - 1).bit_length() + gcd(regs, _LANES).bit_length() - 1)
        peers = {
            "trove": {"shuffles": regs, "selects": selects},
            "cub": {"wavefronts": regs + _CUB_LOADS.get(regs, regs)},
        }
        found.append(Row(f"striped-blocked/{regs}", (*_between("striped", "blocked"), "--regs", str(regs)), bar, peers))
    square = (*_between("striped", "blocked"), "--regs", "32", "--via", "shuffle")
    found.append(
        Row(
            "square/shuffles",
            square,
            {"pareto": [[31, 320], [46, 304], [60, 288], [72, 272], [80, 240]]},
            {"trove": {"shuffles": 32, "selects": 320}, "cub": {"shuffles": 80, "selects": 240}},
        )
    )
    for items, most, triton in ((32, 24, 40), (16, 12, 20), (8, 6, 10), (4, 3, 5)):
        arguments = (*_between("striped", "blocked"), "--regs", str(items // 4), "--bits", "8")
        found.append(Row(f"bytes/{items}", arguments, {"crossbar": most}, {"triton": {"crossbar": triton}}))
    # Triton's figures for tf32 are a quarter of those of a 16 x 32 tile.
    fixed: dict[str, tuple[int, int | None, dict[str, int]]] = {
        "tf32": (8, 4, {"shuffles": 4, "selects": 8}), "f16": (16, 0, {"shuffles": 0}),
        "e4m3": (32, 4, {"shuffles": 4, "selects": 6, "permutes": 8}), "e2m1": (64, None, {}),
    }  # fmt: skip
    for kind, (deep, most_shuffles, triton_counts) in fixed.items():
        arguments = _between(*(f"mma:m16n8k{deep}:{operand}:{kind}" for operand in "CA"))
        peers = {"triton": triton_counts} if triton_counts else {}
        ends: dict[str, object] = {"shuffles": most_shuffles} if most_shuffles is not None else {"least_shuffles": 3}
        if kind == "e4m3":
            ends["instructions"] = 18
        found.append(Row(f"operand/{kind}", arguments, ends, peers))
        found.append(Row(f"operand/{kind}/k-free", (*arguments, "--free", "k"), {"shuffles": 0, "selects": 0}, peers))
    return tuple(found)


def _between(source: str, destination: str) -> tuple[str, ...]:
    return ("exchange", "--json", "--from", source, "--to", destination)


def judged(line: Line) -> Line:
    """`as_expected`: proved, and the row's bar is met. Code and certificate are left to `warploom exchange`."""
    row = next((row for row in rows() if row.name == line["case"]), None)
    kept = {name: value for name, value in line.items() if name not in ("code", "certificate")}
    if row is None or line["status"] != "solved":
        return kept | {"as_expected": False}
    counts = counted(cast("dict[str, Any]", line))
    missed = [name for name, wanted in row.bar.items() if not _holds(counts[name], wanted, name)]
    return kept | {"crossbar": counts["crossbar"], "missed": missed, "as_expected": line["verdict"] == "proved" and not missed}


def _holds(found: object, wanted: object, name: str) -> bool:
    if name in ("via", "least_shuffles", "shared", "pareto"):
        return found == wanted
    return cast(int, found) <= cast(int, wanted)


def counted(line: dict[str, Any]) -> dict[str, Any]:
    """What bars speak of."""
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
    names = ("via", "shuffles", "selects", "permutes", "wavefronts", "least_shuffles")
    return {name: str(line.get(name, "-")) for name in names} | {"peers": "; ".join(told) or "-"}


@click.command("exchange")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
def bench_exchange(pattern: str | None, as_json: bool, journal: Path | None) -> None:
    """Write exchanges of registers, beside what trove, CUB and Triton take for them.

    `as_expected` says that the bars are met: least shuffles, wavefronts, instructions; `missed` names those that are not.
    """
    chosen = [row for row in rows() if fnmatchcase(row.name, pattern or "*")]
    cases = [Case(row.name, row.arguments, LIMIT_S, {"bar": dict(row.bar), "peers": dict(row.peers)}) for row in chosen]
    run_chosen(cases, pattern, as_json, columns, judged, journal, [row.name for row in rows()])
