"""`--budget` and `--memory`: what every command that may run long takes."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import click

from warploom.core.limits import Limits
from warploom.tools.command.duration import duration

_SIZES = {"": 1 << 20, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
SHARE = 0.8
"""Share of the available memory that a command may take unless it is told."""
BUDGET_HELP = "Limit on CPU time, proof included, such as 60s or 2m; the command then ends with the best it has found."
MEMORY_HELP = "Limit on memory, such as 4G or 500M; default: 80 % of the free memory. Beyond it the answer is unknown."


def memory_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """`4G`, `500M`, or megabytes, in bytes."""
    if value is None:
        return available_bytes()
    match = re.fullmatch(r"(\d{1,12})\s*([kmg]?)i?b?", value.strip().lower())
    if match is None or not int(match[1]):
        raise click.BadParameter(f"expected a size such as 4G or 500M, got {value!r}", ctx, param)
    return int(match[1]) * _SIZES[match[2]]


def available_bytes() -> int | None:
    """The default limit; None where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as table:
            free = next((int(line.split()[1]) * 1024 for line in table if line.startswith("MemAvailable:")), None)
    except OSError:
        return None
    return None if free is None else int(SHARE * free)


_MEMORY = click.option("--memory", metavar="SIZE", callback=memory_size, help=MEMORY_HELP)


def limited_memory(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--memory` alone, for a command whose budget is of another kind."""

    @_MEMORY
    @functools.wraps(command)
    def under_limit(*args: Any, memory: int | None, **given: Any) -> Any:
        with Limits(None, memory):
            return command(*args, **given)

    return under_limit


def limited(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--budget` and `--memory` to a command's function, and has them in force while it runs.

    A function with a parameter `budget` gets the CPU seconds, too: its search ends in good order, and what is found is proved in
    the time that is left.
    """
    takes_budget = "budget" in inspect.signature(command).parameters

    @click.option("--budget", metavar="TIME", callback=duration, help=BUDGET_HELP)
    @_MEMORY
    @functools.wraps(command)
    def under_limits(*args: Any, budget: float | None, memory: int | None, **given: Any) -> Any:
        if takes_budget:
            given["budget"] = budget
        with Limits(budget, memory):
            return command(*args, **given)

    return under_limits
