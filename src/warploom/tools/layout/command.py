"""`warploom layout`, `check-layout`, `exchange`, `verify-certificate`: the options of the commands; `answers` and `exchanges` do
the work."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from warploom.layout import TARGETS, Room, Target
from warploom.layout.exchange import TARGETS as EXCHANGE_TARGETS
from warploom.layout.exchange import VIAS, Via
from warploom.layout.exchange import Target as ExchangeTarget
from warploom.machines import OTHERS
from warploom.tools.command.files import OUTPUT_FILE
from warploom.tools.command.guard import report
from warploom.tools.command.limited import limited
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.layout.answers import answered, checked
from warploom.tools.layout.exchanges import exchanged
from warploom.tools.layout.verifying import verified

_ACCESS_HELP = (
    "What a warp takes at once: rows, columns, blocks:HxW, diagonals, stride:S, ldmatrix, ldmatrix.trans, stmatrix, each with "
    ":64bit or :128bit for the width of a lane, :store (on gfx942 loads go otherwise) and @any for any origin; or "
    "FILE.py:function. Repeat it for each access."
)


def _room(ctx: click.Context, param: click.Parameter, value: str) -> Room:
    if value == "any":
        return "any"
    if not value.isdecimal() or len(value) > 9:
        raise click.BadParameter(f"expected a number of words or any, got {value!r}", ctx, param)
    return int(value)


_ARCH = click.option(
    "--arch", metavar="NAME", default="sm_90", show_default=True,
    help=f"Architecture, whose banks and lanes count: sm_NN, {', '.join(OTHERS)}.",
)  # fmt: skip


_HTML = click.option("--html", type=OUTPUT_FILE, help="Write a page with the table of wavefronts and a picture of banks.")


@click.command("layout")
@click.argument("tile", metavar="ROWSxCOLUMNS:TYPE")
@click.option("--access", "accesses", metavar="ACCESS", multiple=True, required=True, help=_ACCESS_HELP)
@click.option("--room", default="0", show_default=True, metavar="WORDS|any", callback=_room, help="Words that may stay unused.")
@click.option(
    "--table",
    is_flag=True,
    help="Where no class has a map without conflict: any map, by a table, or the proof that there is none (needs python-sat).",
)
@_ARCH
@click.option("--emit", "target", type=click.Choice(TARGETS), help="Print the map in this language, too.")
@_HTML
@JSON_OPTION
@DEBUG_OPTION
@limited
def layout_command(
    tile: str,
    accesses: tuple[str, ...],
    room: Room,
    table: bool,
    arch: str,
    target: str | None,
    html: Path | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Find the cheapest map of a tile in shared memory for all accesses at once, with a certificate.

    The map is an expression in r and c; places count elements.
    """
    report(
        tile,
        lambda stopwatch, _: answered(tile, accesses, room, cast("Target | None", target), arch, stopwatch, html, table=table),
        as_json=as_json,
        debug=debug,
    )


@click.command("check-layout")
@click.argument("map_text", metavar="MAP")
@click.option("--tile", required=True, metavar="ROWSxCOLUMNS:TYPE", help="The tile, such as 64x64:f16.")
@click.option("--access", "accesses", metavar="ACCESS", multiple=True, help=_ACCESS_HELP)
@click.option("--equal", "other", metavar="MAP", help="Prove that this map is the same one, or show an element where it differs.")
@_ARCH
@_HTML
@JSON_OPTION
@DEBUG_OPTION
@limited
def check_layout_command(
    map_text: str,
    tile: str,
    accesses: tuple[str, ...],
    other: str | None,
    arch: str,
    html: Path | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Say whether a map of a tile in shared memory is right and as good as any, or give a better one.

    MAP is an expression in r and c (of the place, or of the column in row r), CuTe's Shape:Stride with Swizzle<B,M,S>, Triton's
    bases {"offset": [[row, column], ...]}, SW128, SW64, SW32 or INTER (canonical modes of wgmma, K-major; SW128:mn and so on
    MN-major), tma:SWIZZLE_128B (_64B, _32B, _NONE), scale:128x4 (scale factors of block-scaled products), or FILE.py:function.
    """
    if not accesses and other is None:
        raise click.UsageError("expected --access or --equal, got neither")
    report(
        map_text,
        lambda stopwatch, _: checked(tile, map_text, accesses, other, arch, stopwatch, html),
        as_json=as_json,
        debug=debug,
    )


_REGISTERS_HELP = (
    "striped, blocked, row, aos:STRIDE, soa:STRIDE, mma:m16n8k32:C:e4m3 (A, B, C, D), wgmma:m64n64:D:f32, tcgen05:m128n64:D:f32, "
    "ldmatrix[.trans][:x4], stmatrix.trans.b8[:x4], scale:128x4, CuTe's (lanes,items):(..), Triton's {'register': .., "
    "'lane': ..}, or FILE.py:function of (lane, item) or (warp, lane, register, slot)."
)


@click.command("exchange")
@click.option("--from", "source", required=True, metavar="LAYOUT", help=f"What lanes hold: {_REGISTERS_HELP}")
@click.option("--to", "destination", required=True, metavar="LAYOUT", help="What they are to hold.")
@click.option("--lanes", type=click.IntRange(1, 32), help="Lanes that take part; default: 32, or those of a matrix fragment.")
@click.option(
    "--regs", type=click.IntRange(1, 256), help="Registers of a lane: one element each, or as many as fit into 32 bits."
)
@click.option("--bits", type=click.Choice(["4", "8", "16", "32", "64", "128"]), help="Bits of an element; default: 32.")
@click.option(
    "--via", type=click.Choice(VIAS), default="auto", show_default=True, help="How; auto: the fewest cycles of the model."
)
@click.option("--free", multiple=True, metavar="AXIS", help="An axis that may be renamed, such as the k of a product. Repeat it.")
@click.option("--arch", metavar="sm_NN", default="sm_90", show_default=True, help="Architecture whose rates decide.")
@click.option("--emit", "target", type=click.Choice(EXCHANGE_TARGETS), help="Language of the code; default: cuda.")
@click.option("-o", "--out", type=OUTPUT_FILE, help="Write the code to this file.")
@_HTML
@JSON_OPTION
@DEBUG_OPTION
@limited
def exchange_command(
    source: str,
    destination: str,
    lanes: int | None,
    regs: int | None,
    bits: str | None,
    via: str,
    free: tuple[str, ...],
    arch: str,
    target: str | None,
    out: Path | None,
    html: Path | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Write the device function that brings registers from one layout to another, proved, with the least that is possible.

    Shuffles, selects and byte permutations, or shared memory without padding, whatever takes fewer cycles.
    """
    report(
        f"{source} to {destination}",
        lambda stopwatch, _: exchanged(
            source, destination, lanes=lanes, regs=regs, bits=None if bits is None else int(bits), free=free, via=cast(Via, via),
            target=cast("ExchangeTarget | None", target), arch=arch, out=out, html=html, stopwatch=stopwatch,
        ),
        as_json=as_json,
        debug=debug,
    )  # fmt: skip


@click.command("verify-certificate")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@JSON_OPTION
@DEBUG_OPTION
@limited
def verify_command(path: Path, as_json: bool, debug: bool) -> None:
    """Check a certificate of `layout` or `exchange` by a checker apart from the search, and the report line that has it."""
    report(str(path), lambda stopwatch, _: verified(path, stopwatch), as_json=as_json, debug=debug)
