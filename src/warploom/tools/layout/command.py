"""`warploom layout`, `check-layout`, `verify-certificate`: the options of the commands; `answers` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from warploom.layout import TARGETS, Room, Target
from warploom.tools.command.guard import report
from warploom.tools.command.limited import limited
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.layout.answers import answered, checked, verified

_ACCESS_HELP = (
    "What a warp takes at once: rows, columns, blocks:HxW, diagonals, stride:S, ldmatrix, ldmatrix.trans, stmatrix, each with "
    ":64bit or :128bit for the width of a lane and @any for any origin; or FILE.py:function. Repeat it for each access."
)


def _room(ctx: click.Context, param: click.Parameter, value: str) -> Room:
    if value == "any":
        return "any"
    if not value.isdecimal() or len(value) > 9:
        raise click.BadParameter(f"expected a number of words or any, got {value!r}", ctx, param)
    return int(value)


_ARCH = click.option(
    "--arch", metavar="sm_NN", default="sm_90", show_default=True,
    help="Architecture; all that are known have 32 banks of 4 bytes.",
)  # fmt: skip


@click.command("layout")
@click.argument("tile", metavar="ROWSxCOLUMNS:TYPE")
@click.option("--access", "accesses", metavar="ACCESS", multiple=True, required=True, help=_ACCESS_HELP)
@click.option("--room", default="0", show_default=True, metavar="WORDS|any", callback=_room, help="Words that may stay unused.")
@_ARCH
@click.option("--emit", "target", type=click.Choice(TARGETS), help="Print the map in this language, too.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def layout_command(
    tile: str, accesses: tuple[str, ...], room: Room, arch: str, target: str | None, as_json: bool, debug: bool
) -> None:
    """Find the cheapest map of a tile in shared memory for all accesses at once, with a certificate.

    The map is an expression in r and c; places count elements.
    """
    report(
        tile,
        lambda stopwatch, _: answered(tile, accesses, room, cast("Target | None", target), arch, stopwatch),
        as_json=as_json,
        debug=debug,
    )


@click.command("check-layout")
@click.argument("map_text", metavar="MAP")
@click.option("--tile", required=True, metavar="ROWSxCOLUMNS:TYPE", help="The tile, such as 64x64:f16.")
@click.option("--access", "accesses", metavar="ACCESS", multiple=True, help=_ACCESS_HELP)
@click.option("--equal", "other", metavar="MAP", help="Prove that this map is the same one, or show an element where it differs.")
@_ARCH
@JSON_OPTION
@DEBUG_OPTION
@limited
def check_layout_command(
    map_text: str, tile: str, accesses: tuple[str, ...], other: str | None, arch: str, as_json: bool, debug: bool
) -> None:
    """Say whether a map of a tile in shared memory is right and as good as any, or give a better one.

    MAP is an expression in r and c (of the place, or of the column in row r), CuTe's Shape:Stride with Swizzle<B,M,S>, Triton's
    bases {"offset": [[row, column], ...]}, or FILE.py:function.
    """
    if not accesses and other is None:
        raise click.UsageError("expected --access or --equal, got neither")
    report(map_text, lambda stopwatch, _: checked(tile, map_text, accesses, other, arch, stopwatch), as_json=as_json, debug=debug)


@click.command("verify-certificate")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@JSON_OPTION
@DEBUG_OPTION
@limited
def verify_command(path: Path, as_json: bool, debug: bool) -> None:
    """Check a certificate of `layout`, or a report line that holds one, by a checker that shares nothing with the search."""
    report(str(path), lambda stopwatch, _: verified(path, stopwatch), as_json=as_json, debug=debug)
