"""`warploom ptx trace FILE`: what the kernels of a file read and write, as formulas."""

from __future__ import annotations

import sys

import click

from warploom.core import UserError
from warploom.tools.console import Output
from warploom.tools.lines import BAD_INPUT, SOLVED, encode, plain_line
from warploom.tools.ptx_check import read_good_ptx
from warploom.tools.ptx_trace import trace_text
from warploom.tools.synth_command import failed
from warploom.tools.usage import Stopwatch


@click.command("trace")
@click.argument("file", metavar="FILE")
@click.option("--extensions", is_flag=True, help="Show sign and zero extensions.")
@click.option("--assume", type=click.Choice(["nsw"]), help="nsw: signed index arithmetic does not wrap.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line with the field `trace` on stdout.")
def trace_command(file: str, extensions: bool, assume: str | None, as_json: bool) -> None:
    """Run every kernel symbolically and print its memory trace, in the style of PTXASW's Listing 5."""
    stopwatch = Stopwatch()
    try:
        text = trace_text(read_good_ptx(file).module, extensions=extensions, assume_nsw=assume == "nsw")
    except UserError as error:
        Output(as_json).outcome(failed(file, error, stopwatch))
        sys.exit(BAD_INPUT)
    if as_json:
        click.echo(encode(plain_line(file, "solved", stopwatch.read(), trace=text.splitlines())))
    else:
        click.echo(text, nl=False)
    sys.exit(SOLVED)
