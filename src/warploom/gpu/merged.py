"""Finds the shared-memory accesses of a PTX text that ptxas merges, by the SASS that it prints.

Every access gets a line of debug information of its own, the cubin is disassembled with these lines, and the widths of the
machine's instructions are read off. What the interpreter of PTX counts can then be counted as the machine executes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from warploom.gpu.machine_code import disassembled
from warploom.gpu.toolchain import assemble

_SHARED = re.compile(r"^\s*(?:@!?%\w+\s+)?(?:ld|st)(?:\.\w+)*\.shared(?:::cta)?(?:\.\w+)*\s")
_BITS = re.compile(r"\.[bsuf](\d+)\s")
_VECTOR = re.compile(r"\.v([248])\b")
_LINE = re.compile(r'//## File ".*", line (\d+)')
_MACHINE = re.compile(r"\b(?:LDS|STS)((?:\.\w+)*)\s")
_LIMIT_S = 300
"""Wall seconds for the disassembly."""
_WIDTHS = {"U8": 1, "S8": 1, "8": 1, "U16": 2, "S16": 2, "16": 2, "64": 8, "128": 16}


def merged_accesses(ptx: str, arch: str) -> dict[int, int] | None:
    """By line of the text with a shared access: bytes that each lane moves at once there, 0 where another line's access does it.

    None where the SASS does not tell: an access split in several, or copies of one line with different widths. UserError
    (TOOL_MISSING, PTXAS_ERROR, NVDISASM_ERROR) without the tools or for a text that they refuse.
    """
    asked = {n: _bytes(line) for n, line in enumerate(ptx.splitlines(), 1) if _SHARED.match(line)}
    if not asked:
        return {}
    cubin, _ = assemble(_tagged(ptx, asked), arch, options=("-lineinfo",))
    return widths_in(disassembled(cubin, "--print-line-info", limit_s=_LIMIT_S), asked)


def widths_in(sass: str, asked: Mapping[int, int]) -> dict[int, int] | None:
    """Widths by line of a disassembly with lines; `asked`: those of the PTX, in bytes. None where they do not fit together."""
    widths: dict[int, set[int]] = defaultdict(set)
    line = 0
    for text in sass.splitlines():
        if (found := _LINE.search(text)) is not None:
            line = int(found[1])
        elif (access := _MACHINE.search(text)) is not None:
            parts = access[1].split(".")
            widths[line].add(next((_WIDTHS[p] for p in parts if p in _WIDTHS), 4))
    if not widths.keys() <= asked.keys() or any(len(w) > 1 or min(w) < asked[n] for n, w in widths.items()):
        return None
    return {n: max(widths.get(n, ()), default=0) for n in asked}


def _bytes(line: str) -> int:
    bits, vector = _BITS.search(line), _VECTOR.search(line)
    return (int(bits[1]) // 8 if bits else 4) * (int(vector[1]) if vector else 1)


def _tagged(ptx: str, lines: dict[int, int]) -> str:
    """The text with a place for every access, on the same lines."""
    found: list[str] = []
    for number, line in enumerate(ptx.splitlines(), 1):
        if number in lines:
            found.append(f".loc 1 {number} 1 {line.strip()}")
        else:
            found.append(f'{line} .file 1 "kernel.ptx"' if line.startswith(".address_size") else line)
    return "\n".join(found) + "\n"
