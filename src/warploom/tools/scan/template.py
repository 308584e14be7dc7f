"""`warploom scan template`: constants and choices of a template, so that it equals a specification."""

from __future__ import annotations

import click

from warploom import scan
from warploom.tools.command.guard import report
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.lift import split_target


@click.command("template")
@click.argument("target", metavar="FILE.py:FUNCTION")
@click.option("--spec", metavar="NAME", help="The specification. Default: FUNCTION is `assert specification == template`.")
@click.option("--unique", is_flag=True, help="Look for a second completion too.")
@JSON_OPTION
@DEBUG_OPTION
@limited
def template_command(target: str, spec: str | None, unique: bool, as_json: bool, debug: bool) -> None:
    """Fill the constants `??` and the choices of a template so that it equals a specification for all inputs."""
    report(target, lambda stopwatch, _: completed(target, spec, stopwatch, unique=unique), _text, as_json=as_json, debug=debug)


def completed(target: str, spec: str | None, stopwatch: Stopwatch, *, unique: bool = False) -> Outcome:
    """The line of one template; without `spec` the function is an assertion."""
    path, name = split_target(target)
    module = scan.read_module(path)
    if spec is None:
        found = scan.complete_assertion(module, name, unique=unique)
    else:
        found = scan.complete_template(module, spec, name, unique=unique)
    fields: Line = {"counterexamples": found.counterexamples}
    if found.verdict == "proved":
        fields["domain"] = found.domain
    if found.status == "solved":
        fields |= {"holes": found.holes, "completed": found.source, "count": found.solutions, "is_only": found.is_only}
    line = plain_line(target, found.status, stopwatch.read(), verdict=found.verdict, reason=found.reason, **fields)
    return Outcome(line, EXIT_BY_STATUS[found.status])


def _text(line: Line) -> list[str]:
    """Text for people below the head line."""
    if "completed" not in line:
        return []
    said = ["  no other completion"] if line["is_only"] else ["  another completion exists"] if line["count"] == 2 else []
    return [*said, *(f"    {row}" if row else "" for row in str(line["completed"]).splitlines())]
