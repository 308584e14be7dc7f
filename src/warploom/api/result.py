"""The result that every function of the API returns: the report line of the contract, its fields, and files of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

from warploom.core import Diagnostic, Status, UserError, Verdict
from warploom.core.limits import Limits
from warploom.tools.command.files import require_place, write_bytes
from warploom.tools.command.guard import bounded
from warploom.tools.command.interrupts import heard
from warploom.tools.command.lines import Line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.output import kept
from warploom.tools.command.usage import Stopwatch
from warploom.tools.pages.line_table import line_page, line_table

Progress: TypeAlias = Callable[[str], None]
"""Receives a short line on what is going on."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result:
    """The answer to one question. It is neither true nor false: ask for `status` and `verdict`."""

    line: Line
    """The report line, as the command of the same name prints it with `--json`."""

    @property
    def case(self) -> str:
        """Name of the question."""
        return str(self.line["case"])

    @property
    def status(self) -> Status:
        """`solved`, `unsat` (proved impossible), `unknown` (gave up), `refused` (a fault in what was given) or `error`."""
        return cast(Status, self.line["status"])

    @property
    def verdict(self) -> Verdict:
        """`proved`, `tested`, `unchecked` or `refuted`."""
        return cast(Verdict, self.line["verdict"])

    @property
    def domain(self) -> str:
        """Domain for which a `proved` answer holds. Empty for other verdicts."""
        return str(self.line.get("domain", ""))

    @property
    def reason(self) -> str:
        """Why the status is not `solved`; empty when it is."""
        return str(self.line.get("reason", ""))

    @property
    def seconds(self) -> float:
        """CPU seconds that it took."""
        return cast(float, self.line["seconds"])

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of files that `save` can write of this result."""
        return tuple(self._texts())

    def save(self, path: str | Path) -> Path:
        """Writes the result as what the suffix of `path` says (`suffixes`); the path.

        Under the name stands the old file or the whole new one. Raises UserError: UNKNOWN_FORM for another suffix, NOT_WRITTEN.
        """
        place, texts = Path(path), self._texts()
        if place.suffix not in texts:
            known = ", ".join(texts)
            message = (
                f"expected a file name with one of the suffixes {known} for a result that is {self.status}, got {str(path)!r}"
            )
            raise UserError(Diagnostic("UNKNOWN_FORM", message, fix=f"Use one of {known}."))
        require_place(place)
        write_bytes(place, texts[place.suffix]().encode("utf-8", "surrogateescape"))
        return place

    def _texts(self) -> Mapping[str, Callable[[], str]]:
        """Suffix -> the text of such a file."""
        return {".json": self._json, ".html": self._page}

    def _json(self) -> str:
        return json.dumps(self.line, ensure_ascii=False, allow_nan=False) + "\n"

    def _page(self) -> str:
        return line_page(self.line)

    def __getstate__(self) -> dict[str, object]:
        """Its fields: what was made of them when it was called is made again."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        return line_table(self.line)

    def __repr__(self) -> str:
        over = f" over {self.domain}" if self.domain else ""
        reason = f": {self.reason}" if self.reason else ""
        more = "".join(f"; {said}" for said in self._said())
        return f"<{type(self).__name__} {self.case}: {self.status}, {self.verdict}{over}{reason}{more}>"

    def _said(self) -> Iterator[str]:
        """Further words of `repr`."""
        yield from ()


def worked(case: str, work: Callable[[Stopwatch], Outcome], budget_s: float | None) -> Outcome:
    """The outcome of `work` within `budget_s` CPU seconds (None: without limit). An interruption and a spent budget end it as
    `unknown`, with the best so far where there is one. UserErrors are raised."""
    if budget_s is not None and not budget_s >= 0:
        raise UserError(Diagnostic("BUDGET", f"expected 0 seconds or more as budget_s, got {budget_s!r}"))
    stopwatch = Stopwatch()
    with Limits(budget_s), heard():
        outcome = bounded(case, lambda: work(stopwatch), stopwatch)
    return replace(outcome, line=kept(outcome.line))


def no_answer(result: Result, wanted: str) -> UserError:
    """The error for something that only a result with an answer has."""
    reason = f": {result.reason}" if result.reason else ""
    message = f"expected a result with an answer to give {wanted}, got one that is {result.status}{reason}"
    return UserError(Diagnostic("NO_ANSWER", message, fix="Ask for `status` first."))


def text_and_file(given: str | Path, is_text: Callable[[str], bool]) -> tuple[str | None, str]:
    """The text if `given` is one, and the name for places of errors; else None and the path."""
    if isinstance(given, str) and is_text(given):
        return given, "<text>"
    return None, str(given)
