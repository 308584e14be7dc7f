"""Text for Numba, Triton, CUB and NumPy, compiled by them where they are installed, and run against the serial loop.

Numba, Triton and CUB make PTX without a GPU, which the interpreter runs.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from warploom.core import find_tool
from warploom.gpu import compile_to_ptx
from warploom.ptx import Launch, launch
from warploom.scan.emit.body import Body, body
from warploom.scan.emit.cub import cub_source
from warploom.scan.emit.dialect import NUMBA, NUMPY, TRITON, C, Dialect, Scalar, Types
from warploom.scan.emit.grid_launches import GRID
from warploom.scan.emit.numba_module import numba_source
from warploom.scan.emit.numpy_module import function_name, numpy_source
from warploom.scan.emit.running import LIMIT, Comparison, different_results, differing
from warploom.scan.emit.serial import DTYPES, Array, column, elements, is_close, serial
from warploom.scan.emit.triton_module import triton_source
from warploom.scan.operators.expression import Value
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.samples import constant_values

SIZES = (1, 100, 300)
_BLOCK = 128
_WHOLE_SIZES = (0, 1, 32, 300)
_SMALL_BLOCK, _STEP = 32, 4
_FEW_THREADS = 8
_NUMPY_SIZES = (1, 2, 3, 7, 64, 301)
_POINTERS = {"int32": "*i32", "int64": "*i64", "float32": "*fp32", "float64": "*fp64", "bool": "*i1"}
Run = Callable[[Sequence[Array], Sequence[Any], int], list[Array]]
"""Inputs, constants, number of blocks -> outputs."""


class NotInstalledError(Exception):
    """Names the package."""


def try_numpy(operator: Operator, types: Types | None = None, seed: int = 0) -> Comparison:
    """The printed module on lists of several lengths; a scan's results at every prefix."""
    loop = operator.loop
    ready = body(operator, NUMPY, types or Types())
    cases = 0
    with imported(numpy_source(operator, types)) as module:
        function: Callable[..., Any] = getattr(module, function_name(operator))
        constants = constant_values(loop, seed)
        for number, size in enumerate(_NUMPY_SIZES):
            given = elements(loop, size, seed + number)
            inputs = [column([e[f] for e in given], s.scalar) for f, s in enumerate(ready.elements)]
            answer = function(*inputs, *map(_plain, constants))
            columns: Sequence[Any] = cast("tuple[Any, ...]", answer) if isinstance(answer, tuple) else (answer,)
            wanted = serial(loop, given, constants)
            for place in range(1, size + 1) if loop.is_scan else (size,):
                expected = wanted.results[place]
                if expected is None:
                    continue
                for slot, values, value in zip(ready.outputs, columns, expected, strict=True):
                    cases += 1
                    found = values[place - 1] if loop.is_scan else values
                    if isinstance(value, float) and math.isinf(value):
                        same = float(found) == value
                    else:
                        same = is_close(found, value, "float64" if slot.scalar.startswith("float") else slot.scalar)
                    if not same:
                        return Comparison(cases, f"{slot.name} of {place} elements is {found}, expected {value}")
    return Comparison(cases)


def try_cub(operator: Operator, types: Types | None = None, arch: str = "sm_80", seed: int = 0) -> Comparison:
    """The block scan; NotInstalledError without CUB's headers (package nvidia-cuda-cccl)."""
    headers = find_tool("ptxas").parent.parent / "include" / "cccl"
    if not headers.is_dir():
        raise NotInstalledError("nvidia-cuda-cccl")
    text = compile_to_ptx(cub_source(operator, types), arch, options=(f"-I{headers}",))
    ready = body(operator, C, types or Types())

    def run(inputs: Sequence[Array], constants: Sequence[Any], blocks: int) -> list[Array]:
        outputs = _outputs(ready, len(inputs[0]))
        args = [*inputs, *outputs, np.int64(len(inputs[0])), *constants]
        return _ran(text, "scan_block", blocks, args, len(inputs), len(outputs))

    return _tested(ready, run, seed)


def try_numba(operator: Operator, types: Types | None = None, capability: tuple[int, int] = (8, 0), seed: int = 0) -> Comparison:
    """The block's kernel, and the whole arrays' with the Python that launches them. NotInstalledError without numba-cuda."""
    _module("numba.cuda", "numba-cuda")
    ready = body(operator, NUMBA, types or Types())
    with imported(numba_source(operator, types)) as module:
        for name in ("scan_block", *GRID):
            setattr(module, name, _NumbaKernel(getattr(module, name), capability))
        setattr(module, "_empty", np.zeros)  # noqa: B010 - a name of the module's text

        def run(inputs: Sequence[Array], constants: Sequence[Any], blocks: int) -> list[Array]:
            outputs = _outputs(ready, len(inputs[0]))
            module.scan_block[blocks, _BLOCK](*inputs, *outputs, len(inputs[0]), *constants)
            return outputs

        found = _tested(ready, run, seed)
        return found if found.mismatch else _tested_whole(ready, module, {"THREADS": _FEW_THREADS}, found.cases, seed)


@dataclass(slots=True)
class _NumbaKernel:
    """A kernel of Numba whose launches run in the interpreter."""

    kernel: Any
    capability: tuple[int, int]
    _made: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            given: list[Any] = []
            places: dict[int, Any] = {}
            for value in args:
                if isinstance(value, np.ndarray):
                    array = cast("Array", value)
                    # two pointers to its owner, size, size of an item, data, extent, stride
                    places[len(given) + 4] = array
                    given += [0, 0, array.size, array.itemsize, array, array.size, array.itemsize]
                else:
                    given.append(np.int64(value) if type(value) is int else value)
            text = self._compiled(tuple(_numba_type(a) for a in args))
            done = _finished(launch(text, grid=grid[0], block=grid[1], args=given, limit=LIMIT))
            for number, array in places.items():
                array[...] = done[number]

        return run

    def _compiled(self, types: tuple[str, ...]) -> str:
        if types not in self._made:
            cuda, known = _module("numba.cuda", "numba-cuda"), _module("numba.types", "numba")
            scalars = [getattr(known, t.removesuffix("[]")) for t in types]
            given = [known.Array(s, 1, "C") if t.endswith("[]") else s for s, t in zip(scalars, types, strict=True)]
            with warnings.catch_warnings(), _pretended_device(self.capability):
                warnings.simplefilter("ignore")
                self._made[types] = cuda.compile(
                    self.kernel.py_func, known.void(*given), device=False, abi="numba", cc=self.capability, output="ptx",
                    lineinfo=False,
                )[0]  # fmt: skip
        return self._made[types]


def _numba_type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{NUMBA.types[cast('Any', value).dtype.name]}[]"
    return "int64" if type(value) is int else NUMBA.types[cast("Scalar", np.asarray(value).dtype.name)]


def try_triton(operator: Operator, types: Types | None = None, capability: int = 80, seed: int = 0) -> Comparison:
    """The block's kernel, and the whole arrays' with the Python that launches them. NotInstalledError without Triton."""
    _module("triton", "triton")
    ready = body(operator, TRITON, types or Types())
    with imported(triton_source(operator, types)) as module:
        for name in ("scan_block", *GRID):
            setattr(module, name, _TritonKernel(getattr(module, name), capability))

        def run(inputs: Sequence[Array], constants: Sequence[Any], blocks: int) -> list[Array]:
            outputs = _outputs(ready, len(inputs[0]))
            module.scan_block[(blocks,)](*inputs, *outputs, len(inputs[0]), *constants, BLOCK=_BLOCK)
            return outputs

        found = _tested(ready, run, seed)
        return (
            found if found.mismatch else _tested_whole(ready, module, {"BLOCK": _SMALL_BLOCK, "STEP": _STEP}, found.cases, seed)
        )


@dataclass(slots=True)
class _TritonKernel:
    """A kernel of Triton whose launches run in the interpreter."""

    kernel: Any
    capability: int
    _made: dict[tuple[object, ...], Any] = field(default_factory=dict[tuple[object, ...], Any])

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def run(*args: Any, **constants: int) -> None:
            made = self._compiled(tuple(_triton_type(a) for a in args), constants)
            text, threads, shared = str(made.asm["ptx"]), 32 * int(made.metadata.num_warps), int(made.metadata.shared)
            shared = -(-shared // 128) * 128  # as hardware gives it out; scans of truth values read beyond what Triton asks for
            given = [np.int32(a) if type(a) is int else a for a in args]
            given += [0, 0]  # two pointers to scratch memory
            name = str(self.kernel.__name__)
            done = launch(text, name, grid=grid[0], block=threads, args=given, limit=LIMIT, dynamic_shared_bytes=shared)
            for number, array in _finished(done).items():
                if isinstance(args[number], np.ndarray):
                    args[number][...] = array

        return run

    def _compiled(self, types: tuple[str, ...], constants: Mapping[str, int]) -> Any:
        key = (*types, *constants.items())
        if key not in self._made:
            triton, compiler = _module("triton", "triton"), _module("triton.compiler", "triton")
            target = _module("triton.backends.compiler", "triton").GPUTarget("cuda", self.capability, 32)
            names = [str(p.name) for p in self.kernel.params]
            signature = dict(zip(names, (*types, *("constexpr" for _ in constants)), strict=True))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                source = compiler.ASTSource(fn=self.kernel, signature=signature, constexprs=dict(constants))
                self._made[key] = triton.compile(source, target=target)
        return self._made[key]


def _triton_type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _POINTERS[cast("Any", value).dtype.name]
    return "i32" if type(value) is int else _POINTERS[np.asarray(value).dtype.name][1:]


def _tested_whole(ready: Body, module: ModuleType, options: Mapping[str, int], cases: int, seed: int) -> Comparison:
    """Whole arrays in small blocks, whose totals are scanned a few at a time."""
    loop = ready.operator.loop
    constants = constant_values(loop, seed)
    scalars = [column([v], s.scalar)[0] for s, v in zip(ready.constants, constants, strict=True)]
    bits = 64 if ready.types.whole == "int64" else 32
    for number, size in enumerate(_WHOLE_SIZES):
        given = elements(loop, size, seed + number) if size else []
        inputs = [column([e[f] for e in given], s.scalar) for f, s in enumerate(ready.elements)]
        wanted = serial(loop, given, constants, bits)
        for kernel in ("scan_array", "reduce_array"):
            if not size and kernel == "reduce_array" and loop.needs_element:
                continue
            made: Array | tuple[Array, ...] = getattr(module, kernel)(*inputs, *scalars, **options)
            places = [*enumerate(wanted.results[1:])] if kernel == "scan_array" else [(0, wanted.results[-1])]
            compared, mismatch = different_results(ready, made if isinstance(made, tuple) else (made,), places)
            cases += compared
            if mismatch:
                return Comparison(cases, f"{ready.dialect.name}, {kernel} of {size} elements: {mismatch}")
    return Comparison(cases)


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotInstalledError(package) from error


@contextmanager
def _pretended_device(capability: tuple[int, int]) -> Generator[None]:
    """Numba asks the device for its capability when a kernel calls a device function, even where it only compiles."""
    dispatcher = _module("numba.cuda.dispatcher", "numba-cuda")
    kept = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = kept


def _plain(value: Value) -> object:
    return value if isinstance(value, int | str) else float(value)


def _outputs(ready: Body, count: int) -> list[Array]:
    return [np.zeros(count, DTYPES[s.scalar]) for s in ready.outputs]


def _ran(text: str, kernel: str, blocks: int, args: Sequence[Any], first: int, count: int) -> list[Array]:
    arrays = _finished(launch(text, kernel, grid=blocks, block=_BLOCK, args=args, limit=LIMIT))
    return [arrays[first + n] for n in range(count)]


def _finished(done: Launch) -> Mapping[int, Array]:
    """The arrays of a kernel that ended; RuntimeError with the interpreter's findings of one that did not."""
    if done.status != "finished":
        raise RuntimeError(f"{done.status}: {[str(f) for f in done.findings[:2]]}")
    return done.arrays


def _tested(ready: Body, run: Run, seed: int) -> Comparison:
    """A kernel whose blocks of 128 scan elements of their own."""
    loop = ready.operator.loop
    constants = constant_values(loop, seed)
    scalars = [column([v], s.scalar)[0] for s, v in zip(ready.constants, constants, strict=True)]
    bits = 64 if ready.types.whole == "int64" else 32
    cases = 0
    for number, size in enumerate(SIZES):
        given = elements(loop, size, seed + number)
        inputs = [column([e[f] for e in given], s.scalar) for f, s in enumerate(ready.elements)]
        outputs = run(inputs, scalars, -(-size // _BLOCK))
        for start in range(0, size, _BLOCK):
            wanted = serial(loop, given[start : start + _BLOCK], constants, bits)
            compared, mismatch = differing(ready, "scan_block", outputs, wanted, start, _BLOCK)
            cases += compared
            if mismatch:
                return Comparison(cases, f"{ready.dialect.name}, {size} elements: {mismatch}")
    return Comparison(cases)


_count = 0


@contextmanager
def imported(source: str) -> Generator[ModuleType]:
    """A module of this text, from a file (compilers read it again), forgotten afterwards."""
    global _count
    _count += 1
    name = f"_warploom_emitted_{_count}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            yield module
        finally:
            del sys.modules[name]


DIALECTS: dict[str, Dialect] = {"cuda": C, "cub": C, "numba": NUMBA, "triton": TRITON, "numpy": NUMPY}
