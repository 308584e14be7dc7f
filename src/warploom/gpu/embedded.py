"""PTX inside of binaries: executables, shared libraries, objects and fat binaries that nvcc made, read by cuobjdump."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from warploom.core import Diagnostic, UserError, find_tool

_MAGIC = (b"\x7fELF", b"\x50\xed\x55\xba", b"!<arch>\n", b"MZ")
"""Beginnings of an ELF file, a fat binary, a library of objects, and an executable of Windows."""
_NUMBER = re.compile(r"(\d+)[af]?\.ptx$")
_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class EmbeddedPtx:
    """One PTX file of a binary."""

    name: str
    """As cuobjdump names it, with its architecture: `m.sm_90.ptx`."""
    text: str

    @property
    def architecture(self) -> int:
        """90 of sm_90; 0 where the name has none."""
        match = _NUMBER.search(self.name)
        return int(match[1]) if match else 0

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of its entries."""
        return tuple(re.findall(r"\.entry\s+([\w$]+)", self.text))


def is_binary(data: bytes) -> bool:
    """Whether these first bytes of a file are those of a binary that may hold PTX."""
    return data.startswith(_MAGIC)


def embedded_ptx(path: str) -> tuple[EmbeddedPtx, ...]:
    """All PTX of a binary, compressed or not. UserError (NO_PTX) where it has none, (TOOL_MISSING) without cuobjdump."""
    tool = find_tool("cuobjdump")
    with tempfile.TemporaryDirectory() as folder:
        try:
            # The tool names what it writes after the file, and takes a file that begins with a dash for an option.
            ran = subprocess.run(
                [str(tool), "-xptx", "all", os.path.abspath(path)], cwd=folder, capture_output=True, text=True, errors="replace",
                timeout=_LIMIT_S, stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            ran = None
        found = [
            EmbeddedPtx(file.name, file.read_bytes().rstrip(b"\0").decode("utf-8", "surrogateescape"))
            for file in sorted(Path(folder).glob("*.ptx"))
        ]
    if found:
        return tuple(found)
    said = "" if ran is None else " ".join((ran.stderr or ran.stdout).split())
    why = f" (cuobjdump: {said})" if said and "No PTX file" not in said else ""
    message = f"expected a binary with PTX inside, found none in {path}{why}"
    fix = "Compile with PTX, not machine code alone: nvcc -gencode arch=compute_90,code=compute_90 -lineinfo."
    raise UserError(Diagnostic("NO_PTX", message, fix=fix))
