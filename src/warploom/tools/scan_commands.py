"""`warploom scan`: operators, networks and kernels out of serial loops."""

from __future__ import annotations

import click

from warploom.tools.entry import Commands
from warploom.tools.scan_emit import emit_command
from warploom.tools.scan_lift import check_command, lift_command
from warploom.tools.scan_network import network_command
from warploom.tools.scan_tune import tune_command


@click.group(cls=Commands)
def scan() -> None:
    """Find the parallel scan in a serial loop: its operator, networks for it, kernels."""


for _command in (lift_command, check_command, network_command, tune_command, emit_command):
    scan.add_command(_command)
