"""The page of `warploom explore`: each kernel as a loop nest, what binds it, its decisions and code, how the search went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from string import Template
from typing import cast

from warploom.schedule.backbone import Role
from warploom.schedule.bound import Explanation
from warploom.schedule.cost import Modelled
from warploom.schedule.nest import Barrier, Buffer, Kind, Loop, Nest, Node, text
from warploom.solve import Event
from warploom.tools.command.lines import Line
from warploom.tools.explore.chart import chart

_MEANINGS = {
    "block": "thread blocks",
    "thread": "threads of a block",
    "vector": "one vector instruction",
    "unroll": "unrolled: one register per iteration",
    "sequential": "loop",
}
_ON_CPU = {**_MEANINGS, "block": "shares of the threads"}
_FACTS = {
    "status": "status",
    "verdict": "results",
    "cases": "elements compared with the reference",
    "data_sets": "data sets that were compared",
    "note": "note",
    "target": "target",
    "sizes": "sizes",
    "dtype": "element type",
    "threads": "threads",
    "time_ms": "time, ms",
    "time_is": "time is",
    "kind": "what runs",
    "plain_ms": "plain loop, ms",
    "found_ms": "fastest implementation found, ms",
    "bound_ms": "bound of the implementation, ms",
    "root_bound_ms": "bound of the whole space, ms",
    "gflops": "GFLOP/s",
    "gb_s": "compulsory GB/s",
    "nodes": "candidates looked at",
    "pruned": "cut by the bound",
    "dead_ends": "dead ends",
    "evaluated": "implementations timed",
    "duplicates": "met again, not timed again",
    "unfit": "not compiled, or wrong",
    "resumed": "times taken from the journal",
    "complete": "search complete",
    "ended": "search ended by",
    "seed": "seed",
    "seconds": "CPU seconds",
    "peak_mb": "peak memory, MB",
}


_KINDS_SHOWN = 16
"""Kinds of instructions that the page counts apart."""


@dataclass(frozen=True, slots=True)
class MachineCode:
    """Counts of the machine code that ptxas made of a kernel."""

    arch: str
    registers: int
    """Registers of a thread."""
    spill_bytes: int
    """Bytes of spill stores and loads of a thread."""
    shared_bytes: int
    """Shared memory of a block, static and dynamic."""
    opcodes: Mapping[str, int]
    """Instructions in the text of each kind, the most frequent first."""


@dataclass(frozen=True, slots=True)
class StageView:
    """One kernel of a program."""

    name: str
    nest: Nest
    bound: Explanation
    """Bound of the implementation that the nest is."""
    modelled: Modelled | None = None
    """On a GPU, what the model makes of it."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Shapes of the arrays, by their names; arrays that a kernel keeps for itself have none."""
    machine: MachineCode | None = None
    """On a GPU, where the CUDA tools are installed."""


def render_explore(
    title: str, line: Line, stages: Sequence[StageView], code: str, language: str, events: Sequence[Event] = ()
) -> str:
    """The page as one HTML text that needs no other file and no network.

    `line` is the report line; `code` all kernels in `language` (`C`, `CUDA C++`); `events` those of the run, as `read_events`
    gives them.
    """
    meanings = _ON_CPU if language == "C" else _MEANINGS
    return Template(_asset("explore.html")).substitute(
        title=escape(title),
        summary=escape(_summary(line)),
        css=_asset("page.css") + _asset("explore.css"),
        stages="".join(_stage(stage, meanings, is_only=len(stages) == 1) for stage in stages),
        chart="".join(f'<section class="wide"><h2>{escape(head)}</h2>{svg}</section>' for head, svg in _charts(stages, events)),
        code_summary=f"{escape(language)}, {code.count(chr(10)) + 1} lines",
        code=escape(code),
        facts="".join(_row(meaning, _fact(line[name])) for name, meaning in _FACTS.items() if line.get(name) not in (None, "")),
        decisions=_decisions(cast("Mapping[str, str]", line.get("decisions", {}))),
    )


def _asset(name: str) -> str:
    return files("warploom.tools.html").joinpath(name).read_text(encoding="utf-8")


def _summary(line: Line) -> str:
    time_ms, bound_ms = line.get("time_ms"), line.get("bound_ms")
    if time_ms is None:
        return "No time." if bound_ms is None else f"No time; the model's bound is {bound_ms} ms."
    speed = f", {line['gflops']} GFLOP/s" if line.get("gflops") else ""
    bound = "" if bound_ms is None else f"; the model allows no less than {bound_ms} ms"
    return f"{time_ms} ms ({line.get('time_is', 'measured')}){speed}{bound}."


def _stage(stage: StageView, meanings: Mapping[str, str], *, is_only: bool) -> str:
    heading = "Loop nest" if is_only else f"{stage.name}: loop nest"
    kinds = {_css(loop.kind) for loop in _loops(stage.nest.body)}
    legend = "".join(f'<span><i class="{k}"></i>{k}: {m}</span>' for k, m in meanings.items() if k in kinds)
    body = "".join(_nodes(stage.nest.body, _lines(stage.nest)))
    binding = "What binds it" if is_only else f"{stage.name}: what binds it"
    parts = _explanation(stage.bound, stage.bound.time_ms)
    return (
        f'<section class="wide"><h2>{escape(heading)}</h2>{_buffers(stage)}<p class="legend">{legend}</p>'
        f'<div class="nest" tabindex="0" role="region" aria-label="{escape(heading)}">{body}</div></section>'
        f'<section class="wide"><h2>{escape(binding)}</h2><div class="bound"><ul>{parts}</ul></div>{_modelled(stage)}</section>'
        + _machine(stage, is_only=is_only)
    )


def _modelled(stage: StageView) -> str:
    return f"<pre>{escape(stage.modelled.text)}</pre>" if stage.modelled is not None else ""


def _machine(stage: StageView, *, is_only: bool) -> str:
    """A table of what ptxas made: registers, spills, instructions of each kind."""
    machine = stage.machine
    if machine is None:
        return ""
    counts = list(machine.opcodes.items())
    rest = sum(count for _, count in counts[_KINDS_SHOWN:])
    rows = [
        ("registers of a thread", machine.registers),
        ("bytes spilled by a thread", machine.spill_bytes),
        ("bytes of shared memory of a block", machine.shared_bytes),
        ("instructions in the text", sum(machine.opcodes.values())),
        *counts[:_KINDS_SHOWN],
    ]
    rows += [("others", rest)] if rest else []
    heading = f"Machine code for {machine.arch}" if is_only else f"{stage.name}: machine code for {machine.arch}"
    table = "".join(_row(name, f"{count:,}") for name, count in rows)
    return f"<section><h2>{escape(heading)}</h2><table><tbody>{table}</tbody></table></section>"


def _lines(nest: Nest) -> Iterator[str]:
    """One line of the nest's text per node, in program order."""
    declared = 1 + len(nest.values) + sum(b.role is Role.TEMPORARY for b in nest.buffers)
    return (line.strip() for line in text(nest).splitlines()[declared:])


def _loops(nodes: Sequence[Node]) -> Iterator[Loop]:
    for node in nodes:
        if isinstance(node, Loop):
            yield node
            yield from _loops(node.body)


def _nodes(nodes: Sequence[Node], lines: Iterator[str]) -> Iterator[str]:
    for node in nodes:
        line = next(lines)
        if not isinstance(node, Loop):
            barrier = " barrier" if isinstance(node, Barrier) else ""
            yield f'<div class="statement{barrier}">{escape(line)}</div>'
            continue
        kind, name, _, size, *more = line.removesuffix(":").split()
        yield (
            f'<div class="loop {_css(node.kind)}"><div class="head">{escape(kind)} {escape(name)} '
            f'<span class="size">× {escape(size)}</span> <span class="more">{escape(" ".join(more))}</span></div>'
        )
        yield from _nodes(node.body, lines)
        yield "</div>"


def _css(kind: Kind) -> str:
    return "sequential" if kind is Kind.LOOP else str(kind)


def _buffers(stage: StageView) -> str:
    rows = "".join(
        f"<tr{' class=shared' if b.role is Role.TEMPORARY else ''}><th>{escape(b.name)}</th><td>{b.role.name.lower()}</td>"
        f"<td>{' x '.join(map(str, stage.shapes.get(b.name) or (b.elements,)))}</td><td>{b.dtype}</td><td>{_place(b)}</td></tr>"
        for b in stage.nest.buffers
    )
    return f'<table class="buffers"><tbody>{rows}</tbody></table>'


def _place(buffer: Buffer) -> str:
    copies = f", {buffer.copies} copies in turn" if buffer.copies > 1 else ""
    return f"{buffer.space}{copies}"


def _explanation(part: Explanation, whole_ms: float, *, is_open: bool = True) -> str:
    """The parts that bind less than the first one are folded."""
    share = min(100.0, 100 * part.time_ms / whole_ms) if whole_ms > 0 else 0.0
    head = f'<span class="bar"><b style="width:{share:.0f}%"></b></span><code>{part.time_ms:.4g} ms</code>{escape(part.what)}'
    if not part.parts:
        return f"<li>{head}</li>"
    inner = "".join(_explanation(p, whole_ms, is_open=is_open and n == 0) for n, p in enumerate(part.parts))
    return f"<li><details{' open' if is_open else ''}><summary>{head}</summary><ul>{inner}</ul></details></li>"


def _charts(stages: Sequence[StageView], events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """One per search, in the order in which they began."""
    parts: list[list[Event]] = []
    for event in events:
        if event.kind == "explore":
            parts.append([])
        if parts:
            parts[-1].append(event)
    latest = {str(part[0].fields.get("kernel", "")): part for part in parts}
    for stage in stages:
        if (part := latest.get(stage.name)) and (svg := chart(part)):
            yield ("The search" if len(stages) == 1 else f"{stage.name}: the search"), svg


def _decisions(decisions: Mapping[str, str]) -> str:
    rows = "".join(_row(name, value) for name, value in decisions.items())
    return f"<details><summary>{len(decisions)}, in the order taken</summary><table><tbody>{rows}</tbody></table></details>"


def _row(name: str, value: str) -> str:
    return f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"


def _fact(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{k} = {v}" for k, v in cast("dict[str, object]", value).items())
        case list():
            return ", ".join(map(str, cast("list[object]", value)))
        case _:
            return str(value)
