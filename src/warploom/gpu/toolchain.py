"""CUDA C++ to PTX (NVRTC) to machine code (ptxas), with the numbers ptxas reports; the tools come from the extra `cuda`.

The tools are looked up inside the installed wheels first (`nvidia/cu13/bin`), so that one CUDA line serves every step; PATH is
only the fallback. Nothing here needs a GPU or a driver.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from warploom.core import Diagnostic, Span, UserError, find_program, find_tool, read_text_file
from warploom.core.programs import INSTALL, cuda_folders
from warploom.gpu.prebuilt import compiled_once

_ERROR_LINE = re.compile(
    r"^(?P<file>[^\s(:]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\d+(?:-D)?)?: (?P<message>.*)$", re.M
)

_FILE_LINE = re.compile(r'^(\s*\.file\s+\d+ )"([^"\n]*)"', re.M)
_ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?", re.A)
_MACRO = re.compile(r"[A-Za-z_]\w*(=[\w.+-]*)?", re.A)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of one source text, and what ptxas says of its (last) kernel."""

    arch: str
    ptx: str
    cubin: bytes
    registers: int
    """Registers per thread."""
    local_bytes: int
    """Stack frame per thread: what did not fit in, or could not be put into, registers."""
    spill_bytes: int
    """Spill stores plus spill loads, per thread."""
    shared_bytes: int
    """Static shared memory per block."""
    log: str


@cache
def include_folders() -> tuple[Path, ...]:
    """Folders of cuda_fp16.h, cuda_bf16.h and their like; empty when the wheel is not installed."""
    return tuple(f / "include" for f in cuda_folders() if (f / "include" / "cuda_fp16.h").is_file())


def toolchain_available() -> bool:
    """Whether `compile_cuda` can work here (NVRTC loads and ptxas is found)."""
    try:
        _nvrtc().nvrtcVersion()
        find_tool("ptxas")
    except (UserError, RuntimeError):
        return False
    return True


def _nvrtc() -> Any:
    try:
        return importlib.import_module("cuda.bindings.nvrtc")
    except ImportError as error:
        raise UserError(
            Diagnostic("TOOL_MISSING", f"expected the package cuda-bindings (NVRTC), got: {error}", fix=INSTALL)
        ) from error


def _checked(nvrtc: Any, result: Any) -> Any:
    code, *values = result
    if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(nvrtc.nvrtcGetErrorString(code)[1].decode())
    return values[0] if values else None


def compile_to_ptx(source: str, arch: str = "sm_90", *, options: tuple[str, ...] = (), name: str = "kernel.cu") -> str:
    """PTX of the CUDA C++ text; UserError (CUDA_ERROR) with one diagnostic per compiler error, each with its CUDA line.

    `name`: what errors and line information call the text.
    """
    flags = [
        f"--gpu-architecture={arch.replace('sm_', 'compute_')}",
        "--std=c++17",
        *(f"-I{f}" for f in include_folders()),
        *options,
    ]
    settings = (name, *flags)
    return compiled_once("ptx", source, arch, settings, lambda: _compiled(source, name, flags).encode()).decode()


def _compiled(source: str, name: str, flags: list[str]) -> str:
    nvrtc = _nvrtc()
    program = _checked(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], []))
    try:
        (code,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            buffer = b" " * _checked(nvrtc, nvrtc.nvrtcGetProgramLogSize(program))
            _checked(nvrtc, nvrtc.nvrtcGetProgramLog(program, buffer))
            raise UserError(*_compile_errors(source, buffer.decode(errors="replace"), name))
        buffer = b" " * _checked(nvrtc, nvrtc.nvrtcGetPTXSize(program))
        _checked(nvrtc, nvrtc.nvrtcGetPTX(program, buffer))
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return buffer.decode().rstrip("\0")


def compile_file(
    path: str, arch: str = "sm_90", *, folders: Sequence[str] = (), defines: Sequence[str] = (), limit_s: float = 300
) -> str:
    """PTX with line information of a file in CUDA C++: by nvcc, which takes host code, too; by NVRTC, device code alone, where
    nvcc or gcc is missing. folders: of headers. defines: `NAME` or `NAME=TEXT`.

    UserError: FILE_NOT_FOUND, NOT_READ, TOOL_MISSING, ARCHITECTURE, MACRO, CUDA_ERROR, CUDA_LIMIT past `limit_s` wall seconds.
    """
    text, whole = read_text_file(path, "a file in CUDA C++"), os.path.abspath(path)
    require_architecture(arch)
    for macro in defines:
        if not _MACRO.fullmatch(macro):
            message = f"expected NAME or NAME=TEXT, of letters, digits and . + -, for a macro, got {macro!r}"
            raise UserError(Diagnostic("MACRO", message, fix="Write other macros into the file."))
    flags = ("-lineinfo", *(f"-D{macro}" for macro in defines))
    nvcc = None
    if find_program("gcc") is not None:
        with suppress(UserError):
            nvcc = find_tool("nvcc")
    if nvcc is None:
        places = [os.path.dirname(whole), *map(os.path.abspath, folders)]
        return compile_to_ptx(text, arch, name=whole, options=(*flags, *(f"-I{f}" for f in places)))
    # nvcc hands the names that it gets to a shell, so it gets names of this program's own only.
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.cu"
        source.symlink_to(whole)
        for number, place in enumerate((os.path.dirname(whole), *folders)):
            (Path(folder) / f"h{number}").symlink_to(os.path.abspath(place))
        includes = [f"-Ih{number}" for number in range(len(folders) + 1)]
        architecture = f"-arch={arch.replace('sm_', 'compute_')}"
        command = [str(nvcc), "-ptx", architecture, *flags, *includes, "kernel.cu", "-o", "kernel.ptx"]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=limit_s
            )
        except subprocess.TimeoutExpired:
            message = f"expected nvcc to end within {limit_s:.0f} seconds, it still runs"
            raise UserError(Diagnostic("CUDA_LIMIT", message, fix="Give the PTX that your build writes.")) from None
        target = Path(folder) / "kernel.ptx"
        if done.returncode != 0 or not target.is_file():
            raise UserError(*_compile_errors(text, done.stderr + done.stdout, "kernel.cu", path))
        return _with_own_names(target.read_text(encoding="utf-8", errors="surrogateescape"), Path(folder), whole, folders)


def is_architecture(text: str) -> bool:
    """True for `sm_90` and its like, whether or not a compiler knows it."""
    return _ARCHITECTURE.fullmatch(text) is not None


def require_architecture(arch: str) -> None:
    """UserError (ARCHITECTURE) for a text that names none."""
    if not is_architecture(arch):
        raise UserError(Diagnostic("ARCHITECTURE", f"expected an architecture such as sm_90, got {arch!r}"))


def _with_own_names(ptx: str, folder: Path, file: str, folders: Sequence[str]) -> str:
    """PTX whose `.file` directives name the user's files."""
    own = {f"{folder}/kernel.cu": file}
    for number, place in enumerate((os.path.dirname(file), *folders)):
        own[f"{folder}/h{number}/"] = os.path.join(os.path.abspath(place), "")

    def named(match: re.Match[str]) -> str:
        name = match[2]
        for before, after in own.items():
            if name.startswith(before) and not set('"\\\n') & set(after):
                name = after + name.removeprefix(before)
        return f'{match[1]}"{name}"'

    return _FILE_LINE.sub(named, ptx)


def _compile_errors(source: str, log: str, name: str, told: str | None = None) -> list[Diagnostic]:
    """The errors in a log of NVRTC or nvcc; lines of the file `name` are those of the text. `told`: what it is called here."""
    lines = source.splitlines()
    found: list[Diagnostic] = []
    for match in _ERROR_LINE.finditer(log):
        number = int(match["line"])
        text = lines[number - 1] if match["file"] == name and 0 < number <= len(lines) else ""
        span = Span((told or name) if match["file"] == name else match["file"], number, 1, number, len(text) + 1, text)
        found.append(Diagnostic("CUDA_ERROR", match["message"], span))
    return found or [Diagnostic("CUDA_ERROR", f"the compiler refused the source: {log.strip() or 'no log'}")]


def compile_cuda(source: str, arch: str = "sm_90", *, options: tuple[str, ...] = ()) -> Compiled:
    """`source` compiled for `arch` by NVRTC and `ptxas -v`; `options` go to NVRTC.

    UserError: TOOL_MISSING, CUDA_ERROR, PTXAS_ERROR.
    """
    ptx = compile_to_ptx(source, arch, options=options)
    cubin, log = assemble(ptx, arch)
    return Compiled(
        arch=arch,
        ptx=ptx,
        cubin=cubin,
        registers=next(reversed(registers_used(log)), 0),
        local_bytes=_last(r"(\d+) bytes stack frame", log),
        spill_bytes=sum(spilled(log)),
        shared_bytes=_last(r"(\d+) bytes smem", log),
        log=log,
    )


def assemble(ptx: str, arch: str = "sm_90", *, options: Sequence[str] = (), limit_s: float = 300) -> tuple[bytes, str]:
    """Cubin and `ptxas -v` log of a PTX text; `options` go to ptxas. UserError (PTXAS_ERROR) with the log, PTXAS_LIMIT past
    `limit_s` wall seconds."""
    found = compiled_once("cubin", ptx, arch, options, lambda: b"\0".join(_assembled(ptx, arch, options, limit_s)))
    log, _, cubin = found.partition(b"\0")
    return cubin, log.decode(errors="replace")


def _assembled(ptx: str, arch: str, options: Sequence[str], limit_s: float) -> tuple[bytes, bytes]:
    """The log, and the cubin."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx, encoding="utf-8", errors="surrogateescape")
        command = [str(find_tool("ptxas")), "-v", f"--gpu-name={arch}", *options, str(source), "-o", str(target)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            message = f"expected ptxas to end within {limit_s:g} seconds for {arch}, it still runs"
            raise UserError(Diagnostic("PTXAS_LIMIT", message, fix="Look for huge alignments or arrays in the PTX.")) from error
        log = done.stdout + done.stderr
        if done.returncode != 0:
            raise UserError(Diagnostic("PTXAS_ERROR", f"expected ptxas to accept the PTX for {arch}, got: {log.strip()}"))
        return log.encode(errors="replace"), target.read_bytes()


def registers_used(log: str) -> list[int]:
    """Registers of a thread of each kernel, from the log of `assemble`."""
    return [int(n) for n in re.findall(r"Used (\d+) registers", log)]


def spilled(log: str, function: str | None = None) -> tuple[int, int]:
    """Bytes of spill stores and of spill loads of a thread, from the log of `assemble`; None: of its last function."""
    if function is not None:
        log = log.partition(f"Function properties for {function}\n")[2].partition("\n")[0]
    return _last(r"(\d+) bytes spill stores", log), _last(r"(\d+) bytes spill loads", log)


def _last(pattern: str, log: str) -> int:
    found = re.findall(pattern, log)
    return int(found[-1]) if found else 0
