"""Decisions that a file holds, and whether what is asked now is what they were recorded for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

from warploom.core import Diagnostic, Span, UserError, read_text

Written: TypeAlias = Callable[[object], str | None]
"""The value of a decision as text; None for what is none."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Decisions, and of what: as far as the file says."""

    decisions: Mapping[str, str]
    kernel: str | None = None
    target: str | None = None
    threads: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    span: Span | None = None
    is_papers: bool = False
    """True for decisions of the paper's space."""
    run_time: Mapping[str, int] = field(default_factory=dict[str, int])
    """Sizes known at run time: what they are multiples of."""


def as_text(value: object) -> str | None:
    """The values of a tensor function's decisions are texts."""
    return value if isinstance(value, str) else None


def read_decisions(file: Path, written: Written = as_text) -> Recorded:
    """UserError (NOT_READ, REPLAY) where the file is none."""
    try:
        content = read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        message = f"expected a file of decisions at {file}, got: {error}"
        raise UserError(Diagnostic("NOT_READ", message, fix="name a file that `explore --json` wrote")) from error
    lines = content.splitlines()
    if (found := _recorded(_parsed(content), Span(str(file), 1, 1, 1, 1), written)) is not None:
        return found
    for number, line in reversed(list(enumerate(lines, 1))):
        value = _parsed(line)
        if value is None:
            continue
        span = Span(str(file), number, 1, number, len(line) + 1, line[:100])
        if (found := _recorded(value, span, written)) is not None:
            return found
        raise UserError(Diagnostic("REPLAY", "expected an object of decisions, names and values as texts", span))
    message = "expected a line of JSON with `decisions`, got none"
    raise UserError(Diagnostic("REPLAY", message, Span(str(file), 1, 1, 1, 1), "name a file that `explore --json` wrote"))


def _parsed(text: str) -> object:
    try:
        return cast(object, json.loads(text))
    except (ValueError, RecursionError):
        return None


def _recorded(value: object, span: Span, written: Written) -> Recorded | None:
    """The decisions in a line of `explore`, or in an object that holds nothing else."""
    if not isinstance(value, dict):
        return None
    line = cast("dict[str, object]", value)
    items = line.get("decisions", None if "v" in line else line)
    if not isinstance(items, dict):
        return None
    decisions = cast("dict[str, object]", items)
    found = {name: text for name, v in decisions.items() if (text := written(v)) is not None}
    if len(found) < len(decisions):
        return None
    if "decisions" not in line:
        return Recorded(found, span=span)
    kernel, threads, sizes = (line.get(name) for name in ("kernel", "threads", "sizes"))
    target = line.get("target", line.get("arch"))
    known = cast("dict[str, object]", sizes) if isinstance(sizes, dict) else {}
    return Recorded(
        found,
        kernel if isinstance(kernel, str) else None,
        target if isinstance(target, str) else None,
        threads if isinstance(threads, int) else None,
        {name: n for name, n in known.items() if isinstance(n, int)},
        span,
        line.get("features") == "paper",
        _multiples(line.get("run_time")),
    )


def _multiples(value: object) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, facts in cast("dict[str, object]", value).items() if isinstance(value, dict) else ():
        multiple = cast("dict[str, object]", facts).get("multiple_of") if isinstance(facts, dict) else None
        if isinstance(multiple, int):
            found[name] = multiple
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that decisions are judged for: kernel, target and sizes."""

    kernel: str
    target: str
    is_target_given: bool
    """True if the user gave the target."""
    sizes: Mapping[str, int]
    given: Mapping[str, int]
    """Sizes that the user gave."""


def differences(recorded: Recorded, asked: Asked) -> list[str]:
    """Differences between what is asked and what was recorded, on purpose. UserError (REPLAY) where it is not."""
    if recorded.kernel not in (None, asked.kernel):
        message = f"expected decisions of {asked.kernel}, got those of {recorded.kernel}"
        raise refused(recorded, message, f"explore {recorded.kernel}, or name another file")
    notes: list[str] = []
    if recorded.target not in (None, asked.target):
        if not asked.is_target_given:
            message = f"expected decisions for {asked.target}, got those for {recorded.target}"
            raise refused(recorded, message, f"write --target {recorded.target}, or --target {asked.target} to try them there")
        notes.append(f"the decisions are of {recorded.target}, judged on {asked.target}")
    if others := {name: n for name, n in recorded.sizes.items() if asked.sizes.get(name) != n}:
        was = ",".join(f"{name}={n}" for name, n in others.items())
        now = ",".join(f"{name}={asked.sizes[name]}" for name in others if name in asked.sizes)
        if not set(others) & set(asked.sizes) <= set(asked.given):
            message = f"expected decisions at {now}, got those at {was}"
            raise refused(recorded, message, f"write --size {was}, or --size {now} to try them there")
        notes.append(f"the decisions are of {was}, judged at {now}")
    return notes


def refused(recorded: Recorded, message: str, fix: str) -> UserError:
    return UserError(Diagnostic("REPLAY", message, recorded.span or Span("", 1, 1, 1, 1), fix))
