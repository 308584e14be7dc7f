"""`warploom scan network`: from a drawn scan network to a SIMD loop for every size; and the benchmark's rows on networks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import click

from warploom.core import Diagnostic, Status, UserError, read_text_file
from warploom.scan.layouts import Conflicts, best_layout, trace
from warploom.scan.networks import (
    LARGEST,
    NAMED,
    Network,
    NotGeneralised,
    Program,
    adjacency_of,
    flaw,
    generalise,
    named_network,
    network_text,
    parse_network,
)
from warploom.scan.variants import (
    Variant,
    exclusive,
    mirrored,
    segmented,
    segmented_operator,
    validity,
    variant_source,
)
from warploom.tools.command.files import OUTPUT_FILE, write_text
from warploom.tools.command.guard import report
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, SOLVED, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.network_picture import network_picture

OR_PICTURE = "Use one of these names, or a file with a picture."
DRAWN = 16
"""Columns of the picture of a named network."""
LARGEST_N = 1 << 16
LARGEST_PICTURE = 512
"""Columns of an SVG picture."""
OPERATORS = {"strict": "associative operators", "overlapping": "idempotent associative operators"}


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    n: int | None = None
    """Columns to count operations for; default: as drawn."""
    banks: int = 32
    svg: Path | None = None
    is_backward: bool = False
    is_segmented: bool = False
    is_exclusive: bool = False


@click.command("network")
@click.argument("picture", required=False, metavar="[PICTURE]", type=click.Path(path_type=Path))
@click.option("--name", help="Take a textbook network instead of a picture, such as brent-kung, harris-1-1 or bk3.")
@click.option("--n", type=click.IntRange(1, LARGEST_N), help="Number of columns for the counts; default: as drawn.")
@click.option(
    "--banks", type=click.IntRange(1, 1024), default=32, show_default=True, help="Number of memory banks and of lanes per warp."
)
@click.option("--backward", is_flag=True, help="Print the scan that starts at the last element.")
@click.option("--segmented", "is_segmented", is_flag=True, help="Print the segmented scan.")
@click.option("--exclusive", "is_exclusive", is_flag=True, help="Print the exclusive scan.")
@click.option("--svg", type=OUTPUT_FILE, help="Draw the network to this file and mark bank conflicts.")
@click.option("--show", is_flag=True, help="Only print the picture of the network with n columns.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def network_command(
    picture: Path | None,
    name: str | None,
    n: int | None,
    banks: int,
    backward: bool,
    is_segmented: bool,
    is_exclusive: bool,
    svg: Path | None,
    show: bool,
    as_json: bool,
    debug: bool,
) -> None:
    """Turn a drawn scan network into a SIMD loop for every size, and prove it.

    PICTURE is a text file; --name NAME --show prints an example.
    """
    if (picture is None) == (name is None):
        raise click.UsageError("expected a picture or --name, and not both")
    case = name if name is not None else str(picture)
    options = NetworkOptions(n, banks, svg, backward, is_segmented, is_exclusive)

    def drawn() -> Network:
        if name is None:
            return read_picture(cast(Path, picture))
        return named_network(name, OR_PICTURE)(n if show and n else DRAWN)

    def work(stopwatch: Stopwatch, _: Progress) -> Outcome:
        if show:
            return Outcome(plain_line(case, "solved", stopwatch.read(), picture=network_text(drawn()).splitlines()), SOLVED)
        return network_outcome(case, drawn(), options, stopwatch)

    if show and not as_json:
        click.echo(network_text(drawn()), nl=False)
        sys.exit(SOLVED)
    report(case, work, _text, as_json=as_json, debug=debug)


def read_picture(path: Path) -> Network:
    """The network drawn in a file; UserError for one that is not there, not text, or no picture."""
    return parse_network(read_text_file(path, "a picture of a network"), str(path))


def network_outcome(case: str, drawn: Network, options: NetworkOptions, stopwatch: Stopwatch) -> Outcome:
    """The line of one drawing: the program and its verdict, and what its network for n columns costs."""
    adjacency = adjacency_of(drawn)
    if adjacency is None:
        line = plain_line(
            case,
            "refused",
            stopwatch.read(),
            verdict="refuted",
            reason=f"no scan: {flaw(drawn, 'overlapping')}",
            columns=drawn.columns,
        )
        return Outcome(line, EXIT_BY_STATUS["refused"])
    found = generalise(drawn)
    if isinstance(found, NotGeneralised):
        status: Status = "unsat" if found.tried == 0 else "unknown"
        line = plain_line(
            case, status, stopwatch.read(), reason=found.reason, drawn=drawn.columns, operators=OPERATORS[adjacency]
        )
        variant = _variant(Variant(drawn), options)
        line |= {**_counts(drawn, options.banks), "variant": str(variant), "program": variant_source(variant)}
        return Outcome(line, EXIT_BY_STATUS[status], written=_drawn(drawn, case, options))
    variant = _variant(Variant(found.program), options)
    if not isinstance(variant.program, Program):
        raise AssertionError("a program became a network")
    judged = validity(variant, found.largest, found.adjacency)
    shown = variant.program.network(options.n or drawn.columns)
    fields: Line = {"domain": f"{judged.operators}, every n"} if judged.verdict == "proved" else {"cases": judged.largest}
    fields |= {"drawn": drawn.columns, "operators": judged.operators, "largest": judged.largest, "variant": str(variant)}
    fields |= _counts(shown, options.banks)
    fields |= {"radices": list(variant.program.radices), "candidates": found.space, "tried": found.tried}
    fields |= {"invariants": list(judged.invariants), "program": variant_source(variant)}
    if judged.reason:
        fields["unproved"] = judged.reason
    line = plain_line(case, "solved", stopwatch.read(), verdict=judged.verdict) | fields
    return Outcome(line, EXIT_BY_STATUS["solved"], written=_drawn(shown, case, options))


def _variant(variant: Variant, options: NetworkOptions) -> Variant:
    if options.is_backward and not variant.is_backward:
        variant = mirrored(variant)
    if options.is_segmented:
        variant = segmented(variant)
    return exclusive(variant) if options.is_exclusive else variant


def _counts(net: Network, banks: int) -> Line:
    return {
        "n": net.columns, "size": net.size, "depth": net.depth, "fan_out": net.fan_out, "tracks": net.tracks,
        "deficiency": net.deficiency, "banks": banks, "conflicts": trace(net, banks).conflicts(banks),
    }  # fmt: skip


def _drawn(net: Network, case: str, options: NetworkOptions) -> tuple[Path, ...]:
    if options.svg is None:
        return ()
    if net.columns > LARGEST_PICTURE:
        message = f"expected at most {LARGEST_PICTURE} columns for a picture, got {net.columns}"
        raise UserError(Diagnostic("PICTURE_TOO_LARGE", message, fix="Draw a smaller n."))
    write_text(options.svg, network_picture(net, f"{case}, {net.columns} columns", options.banks))
    return (options.svg,)


def _text(line: Line) -> list[str]:
    """Text for people below the head."""
    if "size" not in line:
        return []
    texts = [
        f"  n = {line['n']}: size {line['size']}, depth {line['depth']}, fan-out {line['fan_out']}, tracks {line['tracks']}; "
        f"{line['conflicts']} conflicts in {line['banks']} banks (packed lanes)"
    ]
    if line["verdict"] == "tested":
        texts.append(f"  {line['operators']}, every n up to {line['largest']}; no proof: {line['unproved']}")
    if "invariants" not in line:
        texts.append(f"  for {line['operators']}, n = {line['n']} alone:")
    invariants = cast("list[str]", line.get("invariants", []))
    texts += (f"  loop {n}: cell i holds {text} inputs" for n, text in enumerate(invariants, 1))
    return [*texts, "", str(line["program"])]


def run_network_case(name: str) -> Line:
    """`network/NAME`: picture at 16 columns, read back; program; run to n = 1024; proof."""
    stopwatch = Stopwatch()
    drawn = parse_network(network_text(named_network(name)(DRAWN)))
    return network_outcome(f"network/{name}", drawn, NetworkOptions(n=LARGEST), stopwatch).line


def network_cases() -> tuple[str, ...]:
    return tuple(NAMED)


TABLE1: Mapping[str, tuple[int, ...]] = {
    "example-to-scan": (16, 64), "bank-conflict-minimum": (8, 64), "bk3": (8, 64), "forward-to-backward": (8, 64),
    "backward-to-segmented": (8, 64), "forward-to-segmented": (8, 64),
}  # fmt: skip
"""Rows of the paper's table that are about networks -> sizes at which they are solved; `segmented-operator` is another."""


def table1_cases() -> tuple[str, ...]:
    return ("segmented-operator", *(f"{row}-{n}" for row, sizes in TABLE1.items() for n in sizes))


def run_table1_case(name: str) -> Line:
    """`table1/NAME`, NAME a row and its size such as `bk3-64`."""
    stopwatch = Stopwatch()
    case = f"table1/{name}"
    if name == "segmented-operator":
        operator = segmented_operator("heads")
        fields: Line = {
            "domain": "associative operators, every list",
            "operator": str(operator),
            "candidates": 4096,
            "solutions": 1,
        }
        return plain_line(case, "solved", stopwatch.read(), verdict="proved") | fields
    row, _, size = name.rpartition("-")
    n = int(size)
    match row:
        case "example-to-scan":
            return network_outcome(case, _picture("brent-kung", n), NetworkOptions(n), stopwatch).line
        case "bk3":
            return network_outcome(case, _picture("bk3", n), NetworkOptions(n), stopwatch).line
        case "bank-conflict-minimum":
            return _bank_conflicts(case, n, stopwatch)
        case "forward-to-backward":
            return _variant_row(case, n, mirrored, stopwatch)
        case "backward-to-segmented":
            return _variant_row(case, n, lambda v: segmented(mirrored(v)), stopwatch)
        case "forward-to-segmented":
            return _variant_row(case, n, segmented, stopwatch)
        case _:
            known = ", ".join(table1_cases())
            raise UserError(Diagnostic("UNKNOWN_CASE", f"expected one of {known}, got {name}", fix="Use one of these."))


def _picture(name: str, columns: int) -> Network:
    return parse_network(network_text(NAMED[name](columns)))


def _bank_conflicts(case: str, n: int, stopwatch: Stopwatch) -> Line:
    """The remapping of Brent-Kung with the fewest conflicts; a fourth as many banks as elements, at least 4."""
    banks = max(4, n // 4)
    layout = best_layout(NAMED["brent-kung"](n), banks, cost=Conflicts(banks))
    status = "solved" if layout.is_minimum else "unknown"
    reason = "" if layout.is_minimum else "the search for a table was not exhausted"
    families = {family: {"map": str(found.remap), "conflicts": found.conflicts} for family, found in layout.by_family.items()}
    fields: Line = {"domain": f"injections of {n} elements"} if layout.is_minimum else {}
    verdict = "proved" if layout.is_minimum else "unchecked"
    fields |= {"n": n, "banks": banks, "map": str(layout.best.remap), "conflicts": layout.best.conflicts, "families": families}
    return plain_line(case, status, stopwatch.read(), verdict=verdict, reason=reason, tried=layout.tried) | fields


def _variant_row(case: str, n: int, change: Callable[[Variant], Variant], stopwatch: Stopwatch) -> Line:
    """The scan of the paper's row, Brent-Kung, from its picture at n columns, changed."""
    found = generalise(_picture("brent-kung", n))
    if isinstance(found, NotGeneralised):
        return plain_line(case, "unknown", stopwatch.read(), reason=found.reason)
    variant = change(Variant(found.program))
    judged = validity(variant, found.largest, found.adjacency)
    fields: Line = {"domain": f"{judged.operators}, every n"} if judged.verdict == "proved" else {"cases": judged.largest}
    fields |= {"n": n, "largest": judged.largest, "variant": str(variant), "program": variant_source(variant)}
    status = "solved" if judged.verdict in ("proved", "tested") else "error"
    reason = judged.reason if status == "error" else ""
    return plain_line(case, status, stopwatch.read(), verdict=judged.verdict, reason=reason) | fields
