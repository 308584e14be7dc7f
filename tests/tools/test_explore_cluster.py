"""`warploom explore --cluster` on two worker processes on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.schedule.cpu import find_compiler
from warploom.tools.cli import cli

distributed: Any = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    where = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as started:
        yield str(started.scheduler_address)


@pytest.mark.parametrize("machine", ["sm_90", "cpu"])
def test_candidates_come_from_the_workers(machine: str, address: str) -> None:
    if machine == "cpu" and find_compiler() is None:
        pytest.skip("no C compiler")
    asked = ["explore", "axpy", "--size", "n=64", "--target", machine, "--threads", "1", "--nodes", "100", "--json"]
    result = CliRunner().invoke(cli, [*asked, "--cluster", address])
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0 and line["status"] == "solved" and line["verdict"] in ("proved", "tested", "unchecked")
    assert line["time_is"] == ("measured" if machine == "cpu" else "modelled")
