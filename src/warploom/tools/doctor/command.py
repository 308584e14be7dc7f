"""`warploom doctor`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from warploom.core import Status
from warploom.tools.command.lines import EXIT_BY_STATUS, combined_exit, plain_line
from warploom.tools.command.options import JSON_OPTION
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.doctor.apart import Probes
from warploom.tools.doctor.found import Found
from warploom.tools.doctor.parts import PARTS, Part

_NEXT = "\nNow: warploom new sketch my_kernel"


@click.command("doctor")
@click.argument("names", metavar="[PART]...", nargs=-1, type=click.Choice(list(PARTS)))
@JSON_OPTION
def doctor_command(names: tuple[str, ...], as_json: bool) -> None:
    """Say what of this installation works, what for, and the command that mends what does not.

    Parts: python, packages, cuda, gpu, c-compiler, cache, kernels, cluster, sat. A part that is missing counts as a
    failure (exit code 1) if nothing works without it, or if you name it: `warploom doctor cuda gpu` fails where there is no GPU.
    """
    output, wanted = Output(as_json), list(dict.fromkeys(names)) or list(PARTS)
    codes: list[int] = []
    with Probes([name for name in wanted if PARTS[name].is_apart]) as probes:
        for name in wanted:
            part, watch = PARTS[name], Stopwatch()
            found = probes.answer(name) if part.is_apart else part.probe()
            status = _status(found, is_wanted=part.is_needed or name in names)
            line = plain_line(
                name, status, watch.read(), reason="" if status == "solved" else found.text,
                works=found.works, found=found.text, enables=part.enables, fix=found.fix,
            )  # fmt: skip
            output.listed(line, _row(name, part, found))
            codes.append(EXIT_BY_STATUS[status])
    if not as_json and not any(codes):
        click.echo(_NEXT)
    sys.exit(combined_exit(codes))


@click.command("doctor-probe", hidden=True)
@click.argument("name", type=click.Choice(list(PARTS)))
def probe_command(name: str) -> None:
    """Look at one part, and print what is found."""
    click.echo(json.dumps(asdict(PARTS[name].probe())))


def _status(found: Found, *, is_wanted: bool) -> Status:
    """The answer is which parts work; that one is missing is a failure only where it is wanted."""
    if found.works is None:
        return "unknown"
    return "solved" if found.works or not is_wanted else "refused"


def _row(name: str, part: Part, found: Found) -> str:
    word = {True: "works", False: "missing", None: "no answer"}[found.works]
    rows = [f"{name:<12}{word:<11}{found.text}"]
    if not found.works:
        rows.append(f"{'':<23}needed for {part.enables}")
        if found.fix:
            rows.append(f"{'':<23}fix: {found.fix}")
    return "\n".join(rows)
