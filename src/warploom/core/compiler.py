"""The C compiler at hand, and a folder of shared libraries by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warploom.core import Diagnostic, UnsupportedError, UserError, find_program
from warploom.core.private import default_cache_path, private_folder

COMMON = ("-std=gnu11", "-shared", "-fPIC", "-pthread")
KERNEL_FLAGS = (
    "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fno-tree-vectorize", "-fno-tree-slp-vectorize",
)  # fmt: skip
"""Vectors are a decision of the nest: a compiler that makes its own would beat a bound that counts what is written."""
WRAPPING = ("-fwrapv",)
"""For kernels with integers: their sums and products wrap, as NumPy's do."""
ORDER_FLAGS = ("-fno-loop-interchange", "-fno-loop-unroll-and-jam")
"""Flags of GCC for kernels: the order of loops is a decision of the nest, too."""
_SECONDS = 120
_BUILDING = "build-"
_STALE_S = 3600.0
"""No compiler runs that long."""
_SVE_LENGTH = Path("/proc/sys/abi/sve_default_vector_length")
"""Bytes."""
_INTRINSICS = "#include <immintrin.h>"


@dataclass(frozen=True, slots=True)
class Compiler:
    command: tuple[str, ...]
    version: str
    """The first line that `--version` prints."""

    @property
    def is_gcc(self) -> bool:
        return "clang" not in self.version and "zig" not in self.command


@cache
def find_compiler() -> Compiler | None:
    """The one that `CC` names, else `cc`, `gcc` or `clang` on the path, else that of the `ziglang` wheel (extra `cpu`)."""
    chosen = os.environ.get("CC", "").split()
    for command in ([chosen] if chosen else []) + [["cc"], ["gcc"], ["clang"]]:
        program = find_program(command[0])
        if program is None:
            continue
        # By its name where that is this program; where the path has the current folder first, the name may be another.
        named = (command[0] if shutil.which(command[0]) == program else program, *command[1:])
        if found := _version(named):
            return Compiler(named, found)
    return zig_compiler()


@cache
def zig_compiler() -> Compiler | None:
    """Clang as the `ziglang` wheel brings it, where that is installed."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    command = (sys.executable, "-P", "-m", "ziglang", "cc")
    found = _version(command)
    return Compiler(command, found) if found else None


def the_compiler() -> Compiler:
    """UnsupportedError where there is none."""
    if (compiler := find_compiler()) is not None:
        return compiler
    raise UnsupportedError(
        Diagnostic("NO_C_COMPILER", "expected a C compiler, got none", fix="install gcc or clang, or `pip install warploom[cpu]`")
    )


def order_flags(flags: tuple[str, ...], compiler: Compiler | None) -> tuple[str, ...]:
    """Further flags for a compiler, so that the loops of a kernel stay where they are."""
    return ORDER_FLAGS if flags[: len(KERNEL_FLAGS)] == KERNEL_FLAGS and compiler is not None and compiler.is_gcc else ()


def machine_flags() -> tuple[str, ...]:
    """Options that say which instructions a library may have: all of this machine, unless the command of the compiler names
    others (`CC="gcc -march=x86-64-v3"`)."""
    return named_machine() or ("-march=native", *_length_flags())


def named_machine() -> tuple[str, ...]:
    """The options with which the command of the compiler names a machine."""
    compiler = find_compiler()
    return () if compiler is None else tuple(word for word in compiler.command if word.startswith(("-march=", "-mcpu=")))


def listed_instructions() -> frozenset[str]:
    """Names under which the system lists what kernels may use; none where the compiler's command names a machine."""
    return frozenset() if named_machine() else frozenset(_features().replace(":", " ").split())


def _length_flags() -> tuple[str, ...]:
    """The length of the vectors of SVE with which Linux starts programs, which `-march=native` leaves open: 256 bits. Nothing
    where they are as long as those of NEON, or longer, which nobody measures (`calibration.c`), and on other machines."""
    if "sve" not in _features().split():
        return ()
    try:
        length = int(_SVE_LENGTH.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return (f"-msve-vector-bits={8 * length}",) if length == 32 else ()


def library_folder() -> Path:
    """In the user's cache folder, or, where the cache is off, a folder of the user among the temporary files; never one that
    others may write to, since what is there is run."""
    path = default_cache_path()
    return private_folder("cpu", path.parent / "cpu" if path is not None else None)


def build_library(
    source: str,
    *,
    flags: tuple[str, ...] = KERNEL_FLAGS,
    folder: Path | None = None,
    compiler: Compiler | None = None,
    before: Callable[[], None] | None = None,
) -> Path:
    """The shared library of a C text; built only where `folder` (default `library_folder()`) has none of that text yet, or only a
    damaged one; then `before` is called first.

    Safe with other processes at work. UserError with the compiler's first complaints where it refuses the text, and where it does
    not start or nothing can be written.
    """
    compiler = compiler or the_compiler()
    folder = folder or library_folder()
    command = (
        *compiler.command,
        *COMMON,
        *machine_flags(),
        *flags,
        *order_flags(flags, compiler),
        *(("-Wno-psabi",) if compiler.is_gcc else ()),
    )
    digest = hashlib.sha256("\0".join((*command, compiler.version, machine_text(), source)).encode()).hexdigest()[:32]
    library = folder / f"{digest}.so"
    if _is_whole(library):
        return library
    if before is not None:
        before()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_BUILDING) as build:
            made = _built(source, compiler, command, folder, Path(build))
            _seal(made)
            os.replace(made, library)
    except OSError as error:
        message = f"expected {compiler.command[0]} to make {library}, got: {error.strerror or error}"
        raise UserError(Diagnostic("C_COMPILER", message)) from None
    return library


def _built(source: str, compiler: Compiler, command: tuple[str, ...], folder: Path, build: Path) -> Path:
    """The library, made in the folder `build`; prepared headers with which the compiler refuses the text may be damaged."""
    text, made = build / "kernel.c", build / "kernel.so"
    text.write_text(source, encoding="utf-8")

    def run(prepared: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        whole = (*command, *prepared, "-o", str(made), str(text), "-lm")
        return subprocess.run(whole, capture_output=True, text=True, timeout=_SECONDS, check=False)

    try:
        prepared = _prepared_headers(compiler, command, folder) if _INTRINSICS in source else ()
        done = run(prepared)
        if done.returncode != 0 and prepared:
            done = run(())
            if done.returncode == 0:
                _prepared_file(Path(prepared[-1])).unlink(missing_ok=True)
    except subprocess.TimeoutExpired:
        raise UserError(Diagnostic("C_COMPILER", f"expected a library within {_SECONDS} s, got none")) from None
    if done.returncode != 0:
        complaints = "; ".join([line for line in done.stderr.splitlines() if "error" in line][:3]) or done.stderr[:300]
        raise UserError(Diagnostic("C_COMPILER", f"expected the compiler to accept the C text, got: {complaints}"))
    return made


def _seal(library: Path) -> None:
    """Puts the digest of its content behind it, which loaders do not read: a file that a full disk cut off, or that was changed
    since, would crash the program that loads it, or compute something else."""
    with library.open("r+b") as file:
        content = file.read()
        file.write(_seal_of(content))


def _seal_of(content: bytes) -> bytes:
    return b"\n" + hashlib.sha256(content).hexdigest().encode()


def _is_whole(library: Path) -> bool:
    """Whether the file is there as it was made."""
    try:
        sealed = library.read_bytes()
    except OSError:
        return False
    content = sealed[: -len(_seal_of(b""))]
    return sealed == content + _seal_of(content)


@cache
def _sweep(folder: Path) -> None:
    """Deletes what processes that were killed while they compiled have left there; once."""
    for left in folder.glob(f"{_BUILDING}*"):
        with suppress(OSError):
            if time.time() - left.lstat().st_mtime > _STALE_S:
                shutil.rmtree(left)


def _prepared_headers(compiler: Compiler, command: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Options for GCC to read the headers of intrinsics prepared: they are two thirds of the time of a small kernel."""
    if not compiler.is_gcc:
        return ()
    digest = hashlib.sha256("\0".join((*command, compiler.version, machine_text())).encode()).hexdigest()[:16]
    header = folder / f"headers-{digest}.h"
    prepared = _prepared_file(header)
    if not prepared.exists():
        options = tuple(o for o in command if o != "-shared")
        with tempfile.TemporaryDirectory(dir=folder, prefix=_BUILDING) as build:
            text = Path(build) / "headers.h"
            text.write_text(f"#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n{_INTRINSICS}\n", encoding="utf-8")
            made = Path(build) / "headers.h.gch"
            done = subprocess.run((*options, "-x", "c-header", "-o", str(made), str(text)), capture_output=True, timeout=_SECONDS)
            if done.returncode != 0:
                return ()
            os.replace(text, header)
            os.replace(made, prepared)
    return "-include", str(header)


def _prepared_file(header: Path) -> Path:
    return header.with_suffix(".h.gch")


@cache
def machine_text() -> str:
    """A text of everything that the instructions of a library may depend on: a cache folder can be shared by machines."""
    return " ".join((*named_machine(), _features()))


@cache
def _features() -> str:
    """The line of the system's that lists the instructions of this machine."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("flags", "Features")):
                return line
    except OSError:
        pass
    import platform

    return f"{platform.machine()} {platform.processor()}"


def _version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run((*command, "--version"), capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else ""
