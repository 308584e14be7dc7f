"""`warploom scan census`, `fewest`, `modules`, `layout`: which networks there are, what recurs in them, where their cells lie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast, get_args

import click

from warploom.core import Diagnostic, UserError
from warploom.scan.layouts import FAMILIES, TABLE_ELEMENTS, Conflicts, Family, Lanes, best_layout, trace
from warploom.scan.networks import (
    Composition,
    Limits,
    Module,
    Network,
    census,
    fewest,
    flaw,
    grown,
    mine,
    named_network,
    network_text,
    networks,
)
from warploom.tools.command.guard import report
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.network import DRAWN, OR_PICTURE, read_picture

MOST_COLUMNS = 15
"""Columns of a census."""
MOST_MINED = 5000
"""Networks that modules are looked for in."""
MOST_DOTS = 20_000
KEEPS = "networks in place whose steps read current values"
_BANKS = click.IntRange(1, 1024)


@click.command("census")
@click.argument("columns", type=click.IntRange(1, MOST_COLUMNS))
@click.argument("depth", type=click.IntRange(1, 105))
@click.option(
    "--fan-out", type=click.IntRange(min=1), metavar="N", help="Only networks whose steps read each cell at most N times."
)
@click.option(
    "--banks", type=_BANKS, metavar="N", help="Only networks without conflicts in N banks of memory (active lanes packed)."
)
@JSON_OPTION
@DEBUG_OPTION
@limited
def census_command(columns: int, depth: int, fan_out: int | None, banks: int | None, as_json: bool, debug: bool) -> None:
    """Count all scan networks of a number of cells and steps, and the operations of the smallest."""

    def work(stopwatch: Stopwatch, _: object) -> Outcome:
        found = census(columns, depth, Limits(fan_out, banks))
        fields: Line = {"columns": columns, "depth": depth, "networks": found.networks, "fewest": found.fewest}
        fields |= {"fan_out": fan_out, "banks": banks}
        line = plain_line(
            _case(columns, depth), "solved", stopwatch.read(), verdict="proved", domain=KEEPS, **cast("Any", fields)
        )
        smallest = "" if found.fewest is None else f", the smallest of {found.fewest} operations"
        return Outcome(line, 0, details=(f"  {found.networks:,} networks{smallest}",))

    report(_case(columns, depth), work, as_json=as_json, debug=debug)


@click.command("fewest")
@click.argument("columns", type=click.IntRange(2, 32))
@click.argument("depth", type=click.IntRange(1, 31))
@JSON_OPTION
@DEBUG_OPTION
@limited
def fewest_command(columns: int, depth: int, as_json: bool, debug: bool) -> None:
    """Find the scan network with the fewest operations for its steps, and prove that there is no smaller.

    It has COLUMNS cells and at most DEPTH steps.
    """

    def work(stopwatch: Stopwatch, _: object) -> Outcome:
        found = fewest(columns, depth)
        case = _case(columns, depth)
        if found is None and columns > 2**depth:
            reason = f"{columns} cells need at least {(columns - 1).bit_length()} steps: a step at most doubles what a cell holds"
            return Outcome(plain_line(case, "unsat", stopwatch.read(), reason=reason), EXIT_BY_STATUS["unsat"])
        if found is None:
            return Outcome(plain_line(case, "unknown", stopwatch.read(), reason="the solver gave up"), EXIT_BY_STATUS["unknown"])
        wrong = flaw(found.network)
        if wrong is not None:
            line = plain_line(case, "error", stopwatch.read(), reason=f"a bug of Warploom: the network is no scan: {wrong}")
            return Outcome(line, EXIT_BY_STATUS["unknown"])
        is_proved = found.status == "proved"
        fields: dict[str, Any] = {"size": found.network.size, "depth": found.network.depth, "lower_bound": found.lower_bound}
        fields |= {"columns": columns, "picture": network_text(found.network).splitlines()}
        proof: dict[str, Any] = {"verdict": "proved", "domain": KEEPS} if is_proved else {}
        line = plain_line(case, "solved", stopwatch.read(), **proof, **fields)
        said = "no network of so many steps has fewer" if is_proved else f"no network has fewer than {found.lower_bound}"
        head = f"  {found.network.size} operations in {found.network.depth} steps; {said}"
        return Outcome(line, 0, details=(head, "", network_text(found.network).rstrip("\n")))

    report(_case(columns, depth), work, as_json=as_json, debug=debug)


@click.command("modules")
@click.argument("pictures", nargs=-1, metavar="[PICTURE]...", type=click.Path(path_type=Path))
@click.option("--name", "names", multiple=True, help="Take a textbook network, such as brent-kung; repeat it for several.")
@click.option("--n", type=click.IntRange(2, 256), default=DRAWN, show_default=True, help="Number of columns of named networks.")
@click.option("--all", "every", type=(int, int), metavar="COLUMNS DEPTH", help="Take all networks of so many cells and steps.")
@click.option("--least", type=click.IntRange(min=1), default=2, show_default=True, help="Fewest operations of a module.")
@click.option("--show", type=click.IntRange(min=0), default=5, show_default=True, help="Print so many modules.")
@click.option(
    "--grow", type=click.IntRange(2, 4096), metavar="N", help="Compose a network for N cells of each module that is a scan."
)
@JSON_OPTION
@DEBUG_OPTION
@limited
def modules_command(
    pictures: tuple[Path, ...],
    names: tuple[str, ...],
    n: int,
    every: tuple[int, int] | None,
    least: int,
    show: int,
    grow: int | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Find the modules that recur in networks: runs of steps on evenly spaced cells that read only each other."""
    if not pictures and not names and every is None:
        raise click.UsageError("expected pictures, --name or --all")
    case = " ".join([*map(str, pictures), *names, *([_case(*every)] if every else [])])

    def work(stopwatch: Stopwatch, _: object) -> Outcome:
        taken = [*(read_picture(p) for p in pictures), *(named_network(name, OR_PICTURE)(n) for name in names)]
        listed = list(chain(taken, _all_networks(*every) if every else ()))
        for net in listed:
            _check_mined(net)
        found = mine(listed, least_dots=least)
        fields: dict[str, Any] = {"networks": len(listed), "modules": len(found)}
        fields["shown"] = [_module_fields(m, grow) for m in found[:show]]
        line = plain_line(case, "solved", stopwatch.read(), **fields)
        return Outcome(line, 0, details=tuple(_module_texts(line)))

    report(case, work, as_json=as_json, debug=debug)


@click.command("layout")
@click.argument("picture", required=False, metavar="[PICTURE]", type=click.Path(path_type=Path))
@click.option("--name", help="Take a textbook network instead of a picture, such as brent-kung.")
@click.option("--n", type=click.IntRange(2, 4096), default=DRAWN, show_default=True, help="Number of columns of a named network.")
@click.option("--banks", type=_BANKS, default=32, show_default=True, help="Number of memory banks and of lanes per warp.")
@click.option(
    "--cost", type=click.Choice(["weights", "conflicts"]), default="weights", show_default=True,
    help="What is to be least: accesses, conflicts, index operations and barriers weighed, or conflicts alone.",
)  # fmt: skip
@click.option("--in-place", is_flag=True, help="One lane per element and a guard; default: active lanes are packed.")
@click.option("--family", "families", type=click.Choice(FAMILIES), multiple=True, help="Only maps of this family; repeat it.")
@click.option("--slots", type=click.IntRange(min=1), metavar="N", help="At most so many elements of memory.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def scan_layout_command(
    picture: Path | None,
    name: str | None,
    n: int,
    banks: int,
    cost: str,
    in_place: bool,
    families: tuple[str, ...],
    slots: int | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Find the places of a network's cells in banked memory that cost least: padding, swizzles, tables."""
    if (picture is None) == (name is None):
        raise click.UsageError("expected a picture or --name, and not both")
    case = f"{name or picture} in {banks} banks"

    def work(stopwatch: Stopwatch, _: object) -> Outcome:
        net = named_network(name, OR_PICTURE)(n) if name is not None else read_picture(cast(Path, picture))
        # tables of larger networks are not searched for
        searched = families or tuple(f for f in FAMILIES if f != "table" or net.columns <= TABLE_ELEMENTS)
        lanes: Lanes = "in place" if in_place else "packed"
        try:
            found = best_layout(
                net,
                banks,
                cost=Conflicts(banks) if cost == "conflicts" else None,
                lanes=lanes,
                families=cast("Sequence[Family]", searched),
                slots=slots,
            )
        except ValueError as error:
            raise UserError(Diagnostic("SLOTS", f"expected room for the cells, got: {error}", fix="Allow more slots.")) from None
        before = trace(net, banks, lanes).conflicts(banks)
        kept = {
            family: {"map": str(p.remap), "cost": p.cost, "conflicts": p.conflicts, "operations": p.operations, "slots": p.slots}
            for family, p in found.by_family.items()
        }
        fields: dict[str, Any] = {
            "n": net.columns,
            "banks": banks,
            "map": str(found.best.remap),
            "conflicts": found.best.conflicts,
        }
        fields |= {"before": before, "cost": found.best.cost, "families": kept, "tried": found.tried, "minimum": found.is_minimum}
        proof: dict[str, Any] = (
            {
                "verdict": "proved",
                "domain": f"maps of the families {', '.join(searched)}",
                "objective": [cost, "conflicts", "slots"],
            }
            if found.is_minimum
            else {}
        )
        line = plain_line(case, "solved", stopwatch.read(), **proof, **fields)
        details = [f"  {found.best.remap}: {found.best.conflicts} conflicts ({before} as is), {found.tried} maps tried"]
        details += [f"    {family}: {p['map']}, {p['conflicts']} conflicts, {p['slots']} slots" for family, p in kept.items()]
        return Outcome(line, 0, details=tuple(details))

    report(case, work, as_json=as_json, debug=debug)


def _case(columns: int, depth: int) -> str:
    return f"{columns} columns, {depth} steps"


def _all_networks(columns: int, depth: int) -> list[Network]:
    if not (1 <= columns <= MOST_COLUMNS and depth >= 1):
        message = f"expected 1 to {MOST_COLUMNS} columns and a step or more, got {columns} and {depth}"
        raise UserError(Diagnostic("OUT_OF_RANGE", message, fix="Take fewer."))
    count = census(columns, depth).networks
    if count > MOST_MINED:
        message = f"expected at most {MOST_MINED} networks to look in, got {count}"
        raise UserError(Diagnostic("TOO_MANY_NETWORKS", message, fix="Take fewer steps or columns."))
    return list(networks(columns, depth))


def _check_mined(net: Network) -> None:
    if net.is_backward:
        raise UserError(Diagnostic("BACKWARD", "expected forward networks, got a backward one", fix="Draw it mirrored."))
    if net.size > MOST_DOTS:
        message = f"expected at most {MOST_DOTS} operations of a network, got {net.size}"
        raise UserError(Diagnostic("TOO_LARGE", message, fix="Draw fewer columns."))


def _module_fields(module: Module, grow: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "columns": module.network.columns, "depth": module.network.depth, "size": module.network.size, "places": module.places,
        "networks": module.networks, "saved": module.saved, "is_scan": module.is_scan,
        "picture": network_text(module.network).splitlines(),
    }  # fmt: skip
    if grow is not None and module.is_scan:
        made = {rule: grown(module.network, grow, rule) for rule in cast("Sequence[Composition]", get_args(Composition))}
        found["grown"] = {rule: {"n": grow, "size": net.size, "depth": net.depth} for rule, net in made.items()}
    return found


def _module_texts(line: Line) -> list[str]:
    said = [f"  {line['modules']} modules recur in {line['networks']} networks"]
    for module in cast("list[dict[str, Any]]", line["shown"]):
        what = "a scan" if module["is_scan"] else "no scan"
        said.append("")
        said.append(
            f"  {module['size']} operations, {module['places']} places in {module['networks']} networks, "
            f"saves {module['saved']}; {what}"
        )
        said += [f"    {row}" if row else "" for row in module["picture"]]
        for rule, made in module.get("grown", {}).items():
            said.append(f"    {rule} for {made['n']} cells: {made['size']} operations in {made['depth']} steps")
    return said
