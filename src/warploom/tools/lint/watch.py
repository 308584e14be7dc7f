"""`warploom lint --watch`: the command once more whenever its file has changed, until Ctrl-C.

Each run is a process of its own, so that modules are read anew, and limits are those of one run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TypeAlias

import click

_PAUSE_S = 0.3
"""Between two looks at the file."""
State: TypeAlias = tuple[int, int] | None
"""Time of the last change in ns and bytes; None: there is no such file."""


class Keeping(click.Command):
    """A command that keeps the words it was called with."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[__name__] = tuple(args)
        return super().parse_args(ctx, args)


def words() -> tuple[str, ...]:
    """The words of the running command, without `--watch`."""
    kept: Sequence[str] = click.get_current_context().meta[__name__]
    return tuple(word for word in kept if word != "--watch")


def state(file: str) -> State:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def watch(file: str, command: Sequence[str]) -> int:
    """Runs `warploom COMMAND`, again after each change of the file; the exit code of the last whole run, when Ctrl-C ends it."""
    code = 0
    try:
        while True:
            seen = state(file)
            code = run(command)
            click.echo(f"{file}: waiting for a change; Ctrl-C ends", err=True)
            while state(file) == seen:
                time.sleep(_PAUSE_S)
    except KeyboardInterrupt:
        return code


def run(command: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-P", "-m", "warploom", *command], check=False).returncode
