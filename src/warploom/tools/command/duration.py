"""Times on the command line."""

from __future__ import annotations

import re

import click

LONGEST_S = 1e8
"""Three years; clocks of the system end beyond."""
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def duration(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """`60s`, `1.5m`, `500ms`, or plain seconds."""
    if value is None:
        return None
    if (found := seconds_of(value)) is None:
        raise click.BadParameter(f"expected a time such as 60s, 500ms or 2m, got {value!r}", ctx, param)
    return found


def seconds_of(text: str) -> float | None:
    """None for what is no time, or one beyond `LONGEST_S`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip(), re.ASCII)
    if match is None or match[2] not in _UNITS or float(match[1]) * _UNITS[match[2]] > LONGEST_S:
        return None
    return float(match[1]) * _UNITS[match[2]]
