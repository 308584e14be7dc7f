"""From the user's file to PTX, and from places in the PTX to the user's lines."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warploom.core import Diagnostic, Span, UserError, find_program, find_tool, read_text_file
from warploom.core.limits import left_s
from warploom.gpu import compile_errors, compile_to_ptx
from warploom.ptx import Place, Places, Program
from warploom.tools.lint.names import demangled, plain_name
from warploom.tools.ptx.check import good_program, read_ptx

_CUDA = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".hpp", ".h")
_LONGEST_LINE = 500
LONGEST_COMPILATION_S = 300.0
"""Wall seconds."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """How CUDA C++ is compiled."""

    arch: str = "sm_90"
    folders: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        return ("-lineinfo", *(f"-I{f}" for f in self.folders), *(f"-D{d}" for d in self.defines))


class Source:
    """A file's PTX and its places."""

    def __init__(self, path: str, compilation: Compilation) -> None:
        """UserError where the file cannot be read or compiled, or its PTX is not right."""
        self.path = path
        self.is_compiled = Path(path).suffix in _CUDA
        self.ptx = _compiled(path, compilation) if self.is_compiled else read_ptx(path)
        self.program: Program = good_program(self.ptx, path if not self.is_compiled else f"{path}.ptx")
        self._places = Places(self.program.module)

    def places(self, line: int, column: int = 1) -> tuple[Place, ...]:
        """The user's line of an instruction, then the calls into which it is inlined; the line of the PTX where that is all."""
        found = self._places.of(line)
        return tuple(Place(self._file(p.file), p.line, p.column, demangled(p.function)) for p in found) or (
            Place(shown(self.path), line, column),
        )

    def _file(self, name: str) -> str:
        """A file that the compiler named; where it knew only a relative path, beside the PTX if it lies there."""
        beside = Path(self.path).parent / name
        return shown(str(beside) if not os.path.isabs(name) and beside.is_file() else name)


def _compiled(path: str, compilation: Compilation) -> str:
    """By nvcc, which takes host code, too; by NVRTC where nvcc or the host's compiler is missing."""
    text, whole = read_text_file(path, "a file in CUDA C++"), os.path.abspath(path)
    nvcc = None
    if find_program("gcc") is not None:
        with suppress(UserError):
            nvcc = find_tool("nvcc")
    if nvcc is None:
        options = (*compilation.flags, f"-I{os.path.dirname(whole)}")
        return compile_to_ptx(text, compilation.arch, name=whole, options=options)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernel.ptx"
        arch = compilation.arch.replace("sm_", "compute_")
        command = [
            str(nvcc), "-ptx", f"-arch={arch}", "-x", "cu", *compilation.flags, whole, "-o", str(target),
        ]  # fmt: skip
        limit_s = min(LONGEST_COMPILATION_S, left_s() or LONGEST_COMPILATION_S)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=limit_s)
        except subprocess.TimeoutExpired:
            message = f"expected nvcc to end within {limit_s:.0f} seconds, it still runs"
            raise UserError(Diagnostic("CUDA_LIMIT", message, fix="Lint the PTX that your build writes.")) from None
        if done.returncode != 0 or not target.is_file():
            raise UserError(*compile_errors(text, done.stderr + done.stdout, whole))
        return target.read_text(encoding="utf-8", errors="surrogateescape")


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
    if asked is None and len(names) < 2:
        return source.program.kernel().name
    same = [name for name in names if asked == name] or [name for name in names if asked in (plain_name(name), demangled(name))]
    if len(same) == 1:
        return same[0]
    where = Span(source.path, 1, 1, 1, 2)
    listed = ", ".join(map(demangled, same or names))
    code = "NO_KERNEL" if asked is not None and not same else "SEVERAL_KERNELS"
    got = f", got {asked!r}" if asked is not None else ""
    raise UserError(Diagnostic(code, f"expected one kernel of: {listed}{got}", where, f"Name it: --kernel {(same or names)[0]}"))
