"""Pages of the documentation: every block of code runs, and prints what stands there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.walkthrough import Walk, elided

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SLOW = {"first-sketch", "bank-conflict", "kernel-in-ci", "fast-kernel", "pages", "dataflow", "scan-networks", "scan-kernels"} | {
    "language",
    "layouts",
    "lint",
    "ptx",
    "scale-out",
    "schedule",
    "transposes",
}
"""Pages whose commands take seconds."""


@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem in SLOW)) for p in PAGES])
def test_what_stands_there_is_what_happens(
    page: Path, golden: Callable[[Path, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if page.stem == "schedule":  # it keeps kernels, and prunes them
        monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "cache"))
    golden(page, Walk(page).rerun())


@pytest.mark.parametrize(
    ("printed", "expected", "shown"),
    [
        ("a\nb\nc\n", "a\n...\nc\n", "a\n...\nc\n"),
        ("a\nb\nd\n", "a\n...\nc\n", "a\nb\nd\n"),
        ("a\n", "a\n...\n", "a\n...\n"),
        ("a b c\nd\n", "a ...\nd\n", "a ...\nd\n"),
        ("a b c\nd\n", "b ...\nd\n", "a b c\nd\n"),
        ("a\nx...\n", "a\n", "a\nx...\n"),
    ],
)
def test_a_line_of_dots_stands_for_any_lines(printed: str, expected: str, shown: str) -> None:
    assert elided(printed, expected) == shown
