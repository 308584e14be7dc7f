"""Rows of the papers' tables and figures: the paper's number, the authors' tool's, and the benchmark case that gives ours.

Numbers that another part of the program works with stand there (`sources.py` reads them), all others in the folder `data`, a
line for each row of a printed table. An item is a table, a figure or a section of a paper.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from warploom.tools.bench.case import Case

DATA = Path(__file__).with_name("data")
PAPERS = ("swizzle-inventor", "swizzleflow", "ptxasw", "scans", "telamon")

Better: TypeAlias = Literal["less", "more", "same", ""]
"""Says which of two numbers is the better one; empty: neither, the row has no bar."""
Summary: TypeAlias = Literal["median", "greatest", "like an oracle", "avoided"]
"""Number about other rows: of times, of ineffectiveness, of paths."""


@dataclass(frozen=True, slots=True)
class Run:
    """The benchmark that gives our number."""

    case: Case
    """The case as `warploom bench` runs it, under its own name."""
    field: str = "seconds"
    """Where our number is in the line; dots lead into objects."""
    over: float | None = None
    """Our number is this over the field."""
    expected: Literal["solved", "unsat"] = "solved"
    on_gpu: str = ""
    """The field with the time, or ratio of times, where the machine has a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    paper: str
    item: str
    name: str
    unit: str
    theirs: float | None = None
    """The paper's number; None where its text has none."""
    is_limit: bool = False
    """Theirs gave up after that much."""
    authors_tool: float | None = None
    """The same of the authors' tool, measured on two cores without a GPU."""
    run: Run | None = None
    """None with `reason`."""
    better: Better = "less"
    floor: float = 0.0
    """Below this the numbers are noise and are not judged."""
    rounded_to: float = 0.0
    """The paper prints multiples of this, so that a number less than half of it above theirs is equal."""
    is_quick: bool = False
    note: str = ""
    reason: str = ""
    """Why there is nothing to run."""
    summary: Summary | None = None
    """The number is one about other rows of the item, and nothing is run for it."""
    of: str = ""
    """The end of the names of these rows."""

    @property
    def label(self) -> str:
        return f"{self.paper}/{self.item}/{self.name}"

    @property
    def peer(self) -> float | None:
        """The number that ours is compared with: the paper's, else that of the authors' tool."""
        return self.theirs if self.theirs is not None else self.authors_tool


@dataclass(frozen=True, slots=True)
class Item:
    paper: str
    name: str
    title: str
    claim: str
    """The paper's claim."""
    differs: str
    """Difference from the paper here, and its reason."""


def lines_of(name: str) -> list[dict[str, Any]]:
    """The lines of a file in `data`."""
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def items() -> tuple[Item, ...]:
    """In the order of the papers."""
    return tuple(
        Item(line["paper"], line["item"], line["title"], line["claim"], line["differs"])
        for line in lines_of("items")
        if "item" in line
    )


def title(paper: str) -> str:
    return _head(paper)["title"]


def drawings(paper: str) -> str:
    """Parts of the paper's figures that have no numbers."""
    return _head(paper)["drawings"]


def _head(paper: str) -> dict[str, str]:
    return next(line for line in lines_of("items") if line["paper"] == paper and "item" not in line)
