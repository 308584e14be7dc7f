"""Counts instructions of the machine code that ptxas makes of a kernel."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core import Diagnostic, UserError, find_tool

LIMIT_S = 20
"""Wall seconds for one disassembly."""
_KERNEL = re.compile(r"^\s*\.text\.(?P<name>[\w$.]+):")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?!@!U?PT\s)(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Z0-9_]*)(?P<suffix>[.\w]*)")
_WIDTH = re.compile(r"\.(?:64|128)(?=\.|$)")
_END = re.compile(r"^\s*\.size\b|^//-+ \.")


@dataclass(frozen=True, slots=True)
class MachineCounts:
    """Instructions in the text of a kernel, each once."""

    instructions: int
    """Without the padding behind the end, and without those that never run (`@!PT`), which ptxas puts behind a wait on sm_80."""
    loads: int
    """Loads of global memory, of any width."""
    shuffles: int = 0
    selects: int = 0
    """Choices between two registers by a condition."""
    opcodes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Instructions of each kind, the most frequent first: `FFMA`, `LDS.128`; of the suffixes only the width is kept."""


def machine_counts(cubin: bytes) -> dict[str, MachineCounts]:
    """By kernel; UserError as `disassembled`."""
    return counts_in(disassembled(cubin))


def disassembled(cubin: bytes, *options: str, limit_s: float = LIMIT_S) -> str:
    """The text that nvdisasm prints; UserError (TOOL_MISSING, NVDISASM_ERROR) without it, if it refuses the code or takes
    longer than `limit_s` wall seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [str(find_tool("nvdisasm")), "-c", *options, str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            raise UserError(Diagnostic("NVDISASM_ERROR", f"expected nvdisasm to end within {limit_s:g} s")) from error
    if done.returncode != 0:
        raise UserError(Diagnostic("NVDISASM_ERROR", f"expected nvdisasm to accept the code, got: {done.stderr.strip()}"))
    return done.stdout


def counts_in(sass: str) -> dict[str, MachineCounts]:
    """Counts of a disassembly."""
    found: dict[str, Counter[str]] = {}
    name = ""
    for line in sass.splitlines():
        if (kernel := _KERNEL.match(line)) is not None:
            name = kernel["name"]
            found[name] = Counter()
        elif _END.match(line):
            name = ""
        elif name and (instruction := _INSTRUCTION.match(line)) is not None and instruction["opcode"] != "NOP":
            width = _WIDTH.search(instruction["suffix"])
            found[name][instruction["opcode"] + (width[0] if width else "")] += 1
    return {name: _counted(opcodes) for name, opcodes in found.items()}


def _counted(opcodes: Counter[str]) -> MachineCounts:
    def among(*kinds: str) -> int:
        return sum(count for opcode, count in opcodes.items() if opcode.partition(".")[0] in kinds)

    return MachineCounts(opcodes.total(), among("LDG", "LD"), among("SHFL"), among("SEL", "FSEL"), dict(opcodes.most_common()))
