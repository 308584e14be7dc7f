"""From the user's file to PTX, and from places in the PTX to the user's lines."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warploom.core import Diagnostic, Span, UserError
from warploom.gpu import compile_file, require_architecture
from warploom.ptx import Place, Places, Program
from warploom.tools.lint.names import demangled, plain_name
from warploom.tools.ptx.check import good_program, read_ptx

_CUDA = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".hpp", ".h")
_LONGEST_LINE = 500
_INTRINSICS = re.compile(r"(?:^|/)(?:sm_\d+_\w+|device_(?:atomic_)?functions|cuda_(?:fp16|bf16|fp8|pipeline\w*))\.h(?:pp)?$")
"""Headers of the toolkit in which functions like `__ldg` are single instructions: of no interest to their users."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """How CUDA C++ is compiled."""

    arch: str = "sm_90"
    folders: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """UserError (ARCHITECTURE), also where nothing is compiled for it."""
        require_architecture(self.arch)


class Source:
    """A file's PTX and its places."""

    def __init__(self, path: str, compilation: Compilation, ptx: str | None = None, kernel: str | None = None) -> None:
        """`ptx`: what a compiler has made of the file. `kernel`: the one that is asked for, where a binary has several files of
        PTX. UserError where the file cannot be read or compiled, or its PTX is not right."""
        self.path = path
        self.is_compiled = ptx is None and Path(path).suffix in _CUDA
        name = path if ptx is None and not self.is_compiled else f"{path}.ptx"
        if ptx is None:
            ptx = (
                compile_file(path, compilation.arch, folders=compilation.folders, defines=compilation.defines)
                if self.is_compiled
                else read_ptx(path, lambda name: kernel in (name, plain_name(name), demangled(name)))
            )
        self.ptx = ptx
        self.program: Program = good_program(self.ptx, name)
        self._places = Places(self.program.module)

    def places(self, line: int, column: int = 1) -> tuple[Place, ...]:
        """The user's line of an instruction, then the calls into which it is inlined; the line of the PTX where that is all."""
        found = self._places.of(line)
        while len(found) > 1 and _INTRINSICS.search(found[0].file):
            found = found[1:]
        return tuple(Place(self._file(p.file), p.line, p.column, demangled(p.function)) for p in found) or (
            Place(shown(self.path), line, column),
        )

    def _file(self, name: str) -> str:
        """A file that the compiler named; where it knew only a relative path, beside the PTX if it lies there."""
        beside = Path(self.path).parent / name
        return shown(str(beside) if not os.path.isabs(name) and beside.is_file() else name)


def shown(file: str) -> str:
    """The path from the current folder where it lies in it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def text_of(file: str) -> tuple[str, ...]:
    """Lines of a source; none where it cannot be read."""
    try:
        found = os.stat(file)
        return _text_of(file, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else ()
    except (OSError, ValueError):
        return ()


@cache
def _text_of(file: str, changed_ns: int, size: int) -> tuple[str, ...]:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return tuple(opened.read(1 << 24).splitlines())
    except (OSError, ValueError):
        return ()


def line_text(place: Place) -> str:
    lines = text_of(place.file)
    text = lines[place.line - 1] if place.line <= len(lines) else ""
    return "".join(c if c.isprintable() or c == "\t" else "?" for c in text[:_LONGEST_LINE])


def kernel_named(source: Source, asked: str | None) -> str:
    """The linker's name of a kernel, which may be asked for by its C++ name. UserError (NO_KERNEL, SEVERAL_KERNELS)."""
    names = [r.name for r in source.program.kernels]
    if asked is None and len(names) == 1:
        return names[0]
    same = [name for name in names if asked == name] or [name for name in names if asked in (plain_name(name), demangled(name))]
    if len(same) == 1:
        return same[0]
    where = Span(source.path, 1, 1, 1, 2)
    if not names:
        raise UserError(Diagnostic("NO_KERNEL", "expected a kernel (__global__, .entry), found none", where))
    listed = ", ".join(map(demangled, same or names))
    first = (same or names)[0]
    short = plain_name(first) if [plain_name(name) for name in names].count(plain_name(first)) == 1 else first
    code = "NO_KERNEL" if asked is not None and not same else "SEVERAL_KERNELS"
    got = f", got {asked!r}" if asked is not None else ""
    raise UserError(Diagnostic(code, f"expected one kernel of: {listed}{got}", where, f"Name it: --kernel {short}"))
