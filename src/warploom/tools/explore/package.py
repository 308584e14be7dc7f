"""The folder of `explore --code DIR`: the C file, its header, a Python module that compiles and loads it, and a PyTorch operator.

The files need neither Warploom nor each other's place on this machine: a C compiler, NumPy, and PyTorch for the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from warploom.core import Diagnostic, UserError, bf16, in_memory
from warploom.core.compiler import COMMON, WRAPPING, find_compiler, machine_flags, order_flags
from warploom.schedule import cpu
from warploom.schedule.backbone import Program, Role
from warploom.schedule.cpu import c_program, has_integers
from warploom.schedule.nest import Nest
from warploom.tools.command.files import make_folder, write_text
from warploom.tools.explore.code import code_of
from warploom.tools.explore.entry import entry_of
from warploom.tools.explore.options import KernelOptions


def write_package(
    folder: Path,
    program: Program,
    nests: Sequence[Nest],
    sizes: Mapping[str, int],
    options: KernelOptions,
    build: cpu.Build = cpu.Build.DECIDED,
) -> list[Path]:
    """The files that were written. UserError: OPTION for another target than a CPU, NOT_WRITTEN."""
    texts = package_of(program, nests, sizes, options, build)
    make_folder(folder)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def package_of(
    program: Program,
    nests: Sequence[Nest],
    sizes: Mapping[str, int],
    options: KernelOptions,
    build: cpu.Build = cpu.Build.DECIDED,
) -> dict[str, str]:
    """Name of each file -> its text."""
    if options.target.kind != "cpu":
        message = f"expected a CPU for a folder of C, Python and PyTorch, got {options.target.name}"
        raise UserError(Diagnostic("OPTION", message, fix="Name a file: --code kernel.cu."))
    check_known(options.run_time)
    text, sources = c_program(nests)
    made = _Package(
        program, entry_of(program, nests, sources, text).name, sizes, options.threads, any(map(has_integers, nests)), build
    )
    name = made.name
    declaration = entry_of(program, nests, sources, text).declaration
    return {
        f"{name}.c": code_of(program, nests, sizes, options, build),
        f"{name}.h": made.header(declaration),
        f"{name}.py": made.module(),
        f"{name}_torch.py": made.operator(),
    }


def check_known(run_time: Mapping[str, int]) -> None:
    """UserError (OPTION) where sizes are known at run time only: the files say shapes."""
    if run_time:
        message = f"expected known sizes for files that are called, got {', '.join(run_time)} at run time"
        raise UserError(Diagnostic("OPTION", message, fix="Write the C alone (--code kernel.c), or name the sizes."))


@dataclass(frozen=True)
class _Package:
    program: Program
    name: str
    sizes: Mapping[str, int]
    threads: int
    wraps: bool
    build: cpu.Build

    @cached_property
    def arrays(self) -> list[tuple[str, str, tuple[int, ...], bool]]:
        """(name, NumPy's type, shape, whether it is an output), in the order of a call."""
        regions = {r.name: r for r in self.program.arguments}
        return [
            (n, str(in_memory(regions[n].dtype)), regions[n].shape, regions[n].role is Role.OUTPUT)
            for n in self.program.called_with
            if n in regions
        ]

    @property
    def what(self) -> str:
        return f"{self.program.name} at {', '.join(f'{n} = {v}' for n, v in self.sizes.items()) or 'its size'}"

    def header(self, declaration: str) -> str:
        guard = f"WARPLOOM_{self.name.upper()}_H"
        shapes = "".join(f"   {n}: {'x'.join(map(str, s))}, {'written' if out else 'read'}.\n" for n, _, s, out in self.arrays)
        return (
            f"/* {self.what}, by warploom explore.\n{shapes}   Arrays are contiguous, the last index varies fastest; "
            f"what is written shares no memory with others.\n   0, or -1 where memory lacks. */\n"
            f"#ifndef {guard}\n#define {guard}\n\n"
            f'#include <stdint.h>\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{declaration};\n\n'
            f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
        )

    def module(self) -> str:
        compiler = find_compiler()
        flags = [*COMMON, *machine_flags(), *self.build.flags, *(WRAPPING if self.wraps else ())]
        rows = "".join(f"    ({n!r}, {t!r}, {s!r}, {out}),\n" for n, t, s, out in self.arrays)
        inputs = [n for n in self.program.called_with if n not in self._outputs]
        takes = ", ".join([*inputs, *(f"{n}=None" for n in self._outputs)])
        values = ", ".join(f"{n!r}: {n}" for n in self.program.called_with)
        kinds = {p.name: cpu.c_type(p.dtype) for p in self.program.parameters}
        if odd := [f"{n!r} of {kind}" for n, kind in kinds.items() if kind not in _CTYPES]:
            message = f"expected scalars of types that Python's ctypes has, got {', '.join(odd)}"
            raise UserError(Diagnostic("OPTION", message, fix="Name a file, kernel.c, or declare them as f32."))
        return _MODULE.format(
            what=self.what,
            name=self.name,
            rows=rows,
            order=tuple(self.program.called_with),
            types={n: _CTYPES[kind] for n, kind in kinds.items()},
            threads_word="thread_count" if "threads" in self.program.called_with else "threads",
            flags=tuple(flags),
            order_flags=order_flags(self.build.flags, compiler),
            threads=self.threads,
            takes=takes,
            values=values,
        )

    @cached_property
    def _outputs(self) -> list[str]:
        return [n for n, _, _, out in self.arrays if out]

    def operator(self) -> str:
        known = {n: (t, s) for n, t, s, _ in self.arrays}
        in_words = {r.name for r in self.program.arguments if r.dtype == bf16}
        known |= {n: ("bfloat16", known[n][1]) for n in known if n in in_words}
        as_words = {n: ".view(torch.uint16)" if n in in_words else "" for n in known}
        inputs = [n for n in self.program.called_with if n not in self._outputs]
        whole = {p.name for p in self.program.parameters if not p.dtype.is_float}
        takes = ", ".join(f"{n}: {'torch.Tensor' if n in known else 'int' if n in whole else 'float'}" for n in inputs)
        several = len(self._outputs) > 1
        gives = f"tuple[{', '.join(['torch.Tensor'] * len(self._outputs))}]" if several else "torch.Tensor"
        first = next((n for n in inputs if n in known), "")
        empty = [
            f"torch.empty({known[n][1]!r}, dtype=torch.{known[n][0]}" + (f", device={first}.device)" if first else ")")
            for n in self._outputs
        ]
        passed = ", ".join(f"{n}.contiguous(){as_words[n]}.numpy()" if n in known else n for n in inputs)
        written = ", ".join(f"{n}=made[{k}]{as_words[n]}.numpy()" for k, n in enumerate(self._outputs))
        checks = "".join(f"    _check({n!r}, {n}, torch.{known[n][0]}, {known[n][1]!r})\n" for n in inputs if n in known)
        return _OPERATOR.format(
            what=self.what,
            name=self.name,
            takes=takes,
            gives=gives,
            checks=checks,
            empty=", ".join(empty),
            passed=", ".join(filter(None, (passed, written))),
            result="made" if several else "made[0]",
        )


_CTYPES = {
    "float": "c_float", "double": "c_double", **{f"{u}int{b}_t": f"c_{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)},
}  # fmt: skip

_MODULE = '''\
"""{what}, by warploom explore: compiled from the C beside this file when it is first called."""

import ctypes
import os
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

_ARRAYS = (  # name, type, shape, whether it is written
{rows})
_ORDER = {order}
_SCALARS = {types}
_FLAGS = {flags}
_OF_GCC = {order_flags}
THREADS = {threads}


def build() -> Path:
    """The shared library, made anew where it is older than the C; beside it, or where that cannot be written, in a new folder."""
    source = Path(__file__).with_name("{name}.c")
    library = source.with_suffix(".so")
    if library.exists() and library.stat().st_mtime >= source.stat().st_mtime:
        return library
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang") or "cc"
    compiler = shlex.split(os.environ.get("CC", "")) or [found]
    folder = library.parent if os.access(library.parent, os.W_OK) else Path(tempfile.mkdtemp(prefix="{name}-"))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        made = Path(place) / library.name
        for more in ((*_OF_GCC, "-fopenmp"), ("-fopenmp",), ()):
            done = subprocess.run([*compiler, *_FLAGS, *more, "-o", made, source, "-lm"], capture_output=True, text=True)
            if done.returncode == 0:
                os.replace(made, folder / library.name)
                return folder / library.name
    raise RuntimeError(f"expected {{compiler[0]}} to compile {{source}}, got: {{done.stderr[:500]}}")


@cache
def _function():
    found = ctypes.CDLL(str(build())).{name}
    scalars = {{name: getattr(ctypes, kind) for name, kind in _SCALARS.items()}}
    found.argtypes = [*(scalars.get(name, ctypes.c_void_p) for name in _ORDER), ctypes.c_int]
    found.restype = ctypes.c_int
    return found


def {name}({takes}, *, {threads_word}=THREADS):
    """Outputs may be given: they are written in place; they are returned in any case."""
    return _run({{{values}}}, {threads_word})


def _run(values, threads):
    for name, dtype, shape, is_written in _ARRAYS:
        if values[name] is None and is_written:
            values[name] = np.empty(shape, dtype)
        array = values[name]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
            got = f"{{array.dtype}} {{array.shape}}" if isinstance(array, np.ndarray) else type(array).__name__
            raise TypeError(f"expected {{name}} as an array of {{dtype}} {{shape}}, got {{got}}")
        if not is_written:
            values[name] = np.require(array, requirements="CA")
    written = [values[name] for name, _, _, is_written in _ARRAYS if is_written]
    for array in written:
        others = [v for n, v in values.items() if isinstance(v, np.ndarray) and v is not array]
        is_twice = sum(v is array for v in values.values()) > 1
        if not array.flags.carray or is_twice or any(np.may_share_memory(array, v) for v in others):
            raise ValueError("expected outputs that are contiguous, can be written and share no memory with other arrays")
    given = [value.ctypes.data if isinstance(value, np.ndarray) else value for value in map(values.get, _ORDER)]
    if _function()(*given, threads):
        raise MemoryError("{name}")
    return written[0] if len(written) == 1 else tuple(written)
'''

_OPERATOR = '''\
"""{what}, by warploom explore, as the PyTorch operator `torch.ops.warploom.{name}`: for tensors of the CPU, without gradients."""

import torch

try:
    from .{name} import {name} as _run
except ImportError:  # the folder is no package
    from {name} import {name} as _run


def _check(name, tensor, dtype, shape):
    if tensor.dtype != dtype or tuple(tensor.shape) != shape:
        raise TypeError(f"expected {{name}} as a tensor of {{dtype}} {{shape}}, got {{tensor.dtype}} {{tuple(tensor.shape)}}")


@torch.library.custom_op("warploom::{name}", mutates_args=(), device_types="cpu")
def {name}({takes}) -> {gives}:
{checks}    made = ({empty},)
    _run({passed})
    return {result}


@{name}.register_fake
def _({takes}):
{checks}    made = ({empty},)
    return {result}
'''
