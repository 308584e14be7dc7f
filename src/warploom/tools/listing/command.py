"""`warploom list`: the cases of the library, as the file `cases.jsonl` beside this one has them.

Building every sketch to count its holes takes seconds. `make golden` writes the file anew; a test compares it with the library.
"""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import fill

import click

from warploom.tools.command.lines import plain_line
from warploom.tools.command.options import JSON_OPTION
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.listing.columns import listing

CASES = Path(__file__).with_name("cases.jsonl")
"""One case a line: `case`, `kind`, and what `list --json` tells of it."""


@click.command("list")
@JSON_OPTION
def list_examples(as_json: bool) -> None:
    """List the library's cases: the names that `synth`, `solve` and `bench` take."""
    output, usage = Output(as_json), Stopwatch().read()
    by_kind: dict[str, list[str]] = {}
    for text in CASES.read_text(encoding="utf-8").splitlines():
        fields = json.loads(text)
        case = str(fields.pop("case"))
        if as_json or fields["kind"] == "sketch":
            shown = f"{case:<24} {fields.get('holes', 0):>2} holes  {fields.get('notes', '')}"
            output.listed(plain_line(case, "solved", usage, **fields), shown)
        by_kind.setdefault(fields["kind"], []).append(case)
    if as_json:
        return
    click.echo("\nKernels, for `explore`:")
    click.echo(fill(", ".join(by_kind["kernel"]), 118, initial_indent="  ", subsequent_indent="  "))
    click.echo("\nDataflow programs, for `solve`:")
    for line in listing(by_kind["dataflow"]):
        click.echo(line)
