"""Where a PTX instruction comes from: lines of the user's own file, through `.loc` and `.file` (PTX ISA 11.5.1 and 11.5.3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from warploom.ptx.syntax import Block, Directive, Module, Section, Source

_AT = r"\d{1,9} \d{1,9} \d{1,9}"
_LOC = re.compile(
    rf"(?P<at>{_AT})(?: ?, ?function_name (?P<name>[\w$]+)(?: ?\+ ?(?P<offset>0x[\da-fA-F]{{1,8}}|\d{{1,9}}))?"
    rf"| ?, ?inlined_at (?P<caller>{_AT}))*"
)
_FILE = re.compile(r'(?P<number>\d{1,9}) "(?P<path>[^"]*)"')
_BYTES = re.compile(r"\.b8 ([\d,]+)|^([\w$]+):", re.M)
_INLINE_ASM = re.compile(r"// (begin|end) inline asm")
_LONGEST_CHAIN = 64
"""Calls inlined into each other that are followed: a file may name a chain without end."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's source."""

    file: str
    line: int
    column: int
    function: str = ""
    """The function that was inlined here, as the linker names it; empty in the kernel itself."""


class Places:
    """The places of all instructions of a module, by the line of the PTX text."""

    def __init__(self, module: Module) -> None:
        self._source = Source(module.text, module.file)
        self._files, self._names = _files(module), _names(module)
        # LLVM counts lines on inside of inline assembly, which lies at the place before it.
        self._asm = [(match.start(), match[1] == "begin") for match in _INLINE_ASM.finditer(module.text)]
        self._lines: list[int] = []
        self._chains: list[tuple[Place, ...]] = []
        for function in module.functions:
            if function.body is not None:
                self._mark(function.extent.start, ())
                self._read(function.body)

    def of(self, line: int) -> tuple[Place, ...]:
        """Where the instruction on this line of the PTX text comes from, then the calls into which that is inlined, the innermost
        first; empty where the compiler says nothing."""
        at = bisect_right(self._lines, line) - 1
        return self._chains[at] if at >= 0 else ()

    def _mark(self, offset: int, chain: tuple[Place, ...]) -> None:
        self._lines.append(self._source.span(offset).line)
        self._chains.append(chain)

    def _read(self, body: Block) -> None:
        # A call that is inlined itself has a `.loc` of its own, before those of what is inlined there.
        calls: dict[str, tuple[Place, ...]] = {}
        for directive in _locs(body):
            match = _LOC.fullmatch(directive.arguments)
            if match is None or self._is_in_asm(directive.extent.start):
                continue
            caller = match["caller"]
            outer = () if caller is None else calls.get(caller, self._place(caller, ""))
            name = self._names.get((match["name"] or "", _number(match["offset"] or "0")), "")
            calls[match["at"]] = chain = (*self._place(match["at"], name), *outer)[:_LONGEST_CHAIN]
            self._mark(directive.extent.start, chain)

    def _is_in_asm(self, offset: int) -> bool:
        at = bisect_right(self._asm, (offset, True)) - 1
        return at >= 0 and self._asm[at][1]

    def _place(self, at: str, function: str) -> tuple[Place, ...]:
        number, line, column = map(int, at.split())
        return (Place(self._files[number], line, max(1, column), function),) if number in self._files and line else ()


def _locs(block: Block) -> Iterator[Directive]:
    for item in block.items:
        if isinstance(item, Block):
            yield from _locs(item)
        elif isinstance(item, Directive) and item.name == "loc":
            yield item


def _number(text: str) -> int:
    return int(text, 16 if text.startswith("0x") else 10)


def _files(module: Module) -> dict[int, str]:
    matches = (_FILE.match(i.arguments) for i in module.items if isinstance(i, Directive) and i.name == "file")
    return {int(m["number"]): m["path"] for m in matches if m is not None}


def _names(module: Module) -> dict[tuple[str, int], str]:
    """Texts of `.debug_str` by label; an offset counts from the label."""
    found: dict[tuple[str, int], str] = {}
    for section in module.items:
        if not isinstance(section, Section) or section.name != ".debug_str":
            continue
        label, data = "", bytearray()
        for bytes_, begun in [*_BYTES.findall(section.contents), ("", "end")]:
            if not begun:
                data += bytes(int(b[:9]) & 255 for b in bytes_.split(",") if b)
                continue
            start = 0
            for text in bytes(data).split(b"\0"):
                found[label, start] = text.decode("utf-8", "replace")
                start += len(text) + 1
            label, data = begun, bytearray()
    return found
