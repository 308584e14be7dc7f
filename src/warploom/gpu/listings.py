"""PTX and machine code of a printed kernel, each line beside the statement of the sketch that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.core import NOWHERE, Span
from warploom.gpu.cuda import CudaSource
from warploom.gpu.machine_code import disassembled
from warploom.gpu.toolchain import assemble, compile_to_ptx

_FILE = "kernel.cu"
_PTX_PLACE = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)(?:.*\binlined_at\s+\d+\s+(\d+))?")
_PTX_HIDDEN = re.compile(r"^\s*(?:$|//|\.version|\.target|\.address_size|\.file|\.section|\.b8|\.b32|\.b64)")
_SASS_PLACE = re.compile(r'//## File "[^"]*", line (\d+)(?: inlined at "[^"]*", line (\d+))?')
_SASS_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*$")
_SASS_LABEL = re.compile(r"^(\.L_\w+):")


@dataclass(frozen=True, slots=True)
class ListedLine:
    text: str
    span: Span
    """The statement of the sketch; NOWHERE for what belongs to none."""


@dataclass(frozen=True, slots=True)
class Listings:
    cuda: tuple[ListedLine, ...]
    ptx: tuple[ListedLine, ...] = ()
    """Empty where it was not compiled; so is `sass`."""
    sass: tuple[ListedLine, ...] = ()
    """Without the padding behind the end."""
    arch: str = ""


def cuda_listing(source: CudaSource) -> Listings:
    """The CUDA text alone."""
    return Listings(tuple(ListedLine(line, span) for line, span in zip(source.text.splitlines(), source.origins, strict=True)))


def machine_listings(source: CudaSource, arch: str) -> Listings:
    """CUDA, PTX and machine code of the kernel, compiled once more with line information.

    Code of a helper function belongs to the line that calls it. UserError without NVIDIA's tools (TOOL_MISSING), or of theirs.
    """
    ptx = compile_to_ptx(source.text, arch, name=_FILE, options=("-lineinfo",))
    cubin, _ = assemble(ptx, arch, options=("-lineinfo",))
    sass = disassembled(cubin, "--print-line-info")
    placed = (NOWHERE, *source.origins)
    return Listings(
        cuda_listing(source).cuda, tuple(_ptx_lines(ptx, placed)), tuple(_sass_lines(sass, source.name, placed)), arch
    )


def _ptx_lines(ptx: str, placed: Sequence[Span]) -> Iterator[ListedLine]:
    span = NOWHERE
    for line in ptx.splitlines():
        if (found := _PTX_PLACE.match(line)) is not None:
            span = _span(found, placed)
        elif not _PTX_HIDDEN.match(line):
            yield ListedLine(line.expandtabs(4), span if line[:1].isspace() else NOWHERE)


def _sass_lines(sass: str, name: str, placed: Sequence[Span]) -> Iterator[ListedLine]:
    span, inside = NOWHERE, False
    for line in sass.splitlines():
        if line.startswith(".text."):
            inside = line == f".text.{name}:"
        elif not inside:
            continue
        elif (found := _SASS_PLACE.search(line)) is not None:
            span = _span(found, placed)
        elif (label := _SASS_LABEL.match(line)) is not None:
            yield ListedLine(f"{label[1]}:", NOWHERE)
        elif (found := _SASS_LINE.match(line)) is not None and found[2] != "NOP":
            yield ListedLine(f"  {found[1]}  {found[2]}", span)


def _span(found: re.Match[str], placed: Sequence[Span]) -> Span:
    line = int(found[2] or found[1])
    return placed[line] if line < len(placed) else NOWHERE
