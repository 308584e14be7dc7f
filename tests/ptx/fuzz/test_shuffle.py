"""A few launches of the shuffle fuzzer, and that it can fail."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

from tests.ptx.fuzz import shuffle as fuzz

from warploom.ptx.shuffle.plan import BlockShape

COUNT = 30


def test_identical_memory() -> None:
    tally = fuzz.run(COUNT, 20_000)
    assert not tally.failures
    assert tally.rewritten > COUNT // 3
    assert tally.shuffles > COUNT // 2


def test_finds_a_fault_and_keeps_it(tmp_path: Path) -> None:
    with mock.patch("warploom.ptx.shuffle.rewrite.BlockShape", lambda whole_rows: BlockShape(True)):
        tally = fuzz.run(20, 20_000, keep=tmp_path)
    assert tally.failures
    number = tally.failures[0][0]
    assert (tmp_path / f"{number}.ptx").read_text() != (tmp_path / f"{number}.rewritten.ptx").read_text()
