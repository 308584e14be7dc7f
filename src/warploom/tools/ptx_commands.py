"""`warploom ptx`: the commands on PTX files."""

from __future__ import annotations

import click

from warploom.tools.entry import Commands
from warploom.tools.ptx_check import check_command, format_command
from warploom.tools.ptx_prove import prove
from warploom.tools.ptx_run import run_command
from warploom.tools.ptx_shuffle import shuffle_command
from warploom.tools.ptx_trace_command import trace_command


@click.group(cls=Commands)
def ptx() -> None:
    """Read, run, trace, prove and rewrite PTX files of any compiler."""


for _command in (check_command, format_command, run_command, trace_command, prove, shuffle_command):
    ptx.add_command(_command)
