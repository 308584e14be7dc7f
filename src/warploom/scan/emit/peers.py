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
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

from warploom.core import find_tool
from warploom.gpu import compile_to_ptx
from warploom.ptx import Launch, launch
from warploom.scan.emit.body import Body, body
from warploom.scan.emit.cub import cub_source
from warploom.scan.emit.dialect import NUMBA, NUMPY, TRITON, C, Dialect, Types
from warploom.scan.emit.numba_module import numba_source
from warploom.scan.emit.numpy_module import function_name, numpy_source
from warploom.scan.emit.running import LIMIT, Comparison, differing
from warploom.scan.emit.serial import DTYPES, Array, column, elements, is_close, serial
from warploom.scan.emit.triton_module import triton_source
from warploom.scan.operators.expression import Value
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.samples import constant_values

SIZES = (1, 100, 300)
_BLOCK = 128
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
    """NotInstalledError without numba-cuda."""
    cuda, numba_types = _module("numba.cuda", "numba-cuda"), _module("numba.types", "numba")
    ready = body(operator, NUMBA, types or Types())
    with imported(numba_source(operator, types)) as module:
        arrays = [
            numba_types.Array(getattr(numba_types, NUMBA.types[s.scalar]), 1, "C") for s in (*ready.elements, *ready.outputs)
        ]
        scalars = [getattr(numba_types, NUMBA.types[s.scalar]) for s in ready.constants]
        signature = numba_types.void(*arrays, numba_types.int64, *scalars)
        with warnings.catch_warnings(), _pretended_device(capability):
            warnings.simplefilter("ignore")
            text: str = cuda.compile(
                module.scan_block.py_func, signature, device=False, abi="numba", cc=capability, output="ptx", lineinfo=False
            )[0]

    def run(inputs: Sequence[Array], constants: Sequence[Any], blocks: int) -> list[Array]:
        outputs = _outputs(ready, len(inputs[0]))
        args: list[Any] = []
        for array in (*inputs, *outputs):
            # two pointers to its owner, size, size of an item, data, extent, stride
            args += [0, 0, array.size, array.itemsize, array, array.size, array.itemsize]
        done = launch(text, grid=blocks, block=_BLOCK, args=[*args, np.int64(len(inputs[0])), *constants], limit=LIMIT)
        arrays = _finished(done)
        return [arrays[7 * (len(inputs) + n) + 4] for n in range(len(outputs))]

    return _tested(ready, run, seed)


def try_triton(operator: Operator, types: Types | None = None, capability: int = 80, seed: int = 0) -> Comparison:
    """NotInstalledError without Triton."""
    triton, compiler = _module("triton", "triton"), _module("triton.compiler", "triton")
    target = _module("triton.backends.compiler", "triton").GPUTarget("cuda", capability, 32)
    ready = body(operator, TRITON, types or Types())
    names = [f"{s.name}_pointer" for s in ready.elements] + [f"{s.name}_out" for s in ready.outputs]
    kinds = [_POINTERS[s.scalar] for s in (*ready.elements, *ready.outputs)]
    signature = dict(zip(names, kinds, strict=True)) | {"n": "i32"}
    signature |= {s.name: _POINTERS[s.scalar][1:] for s in ready.constants} | {"BLOCK": "constexpr"}
    with imported(triton_source(operator, types)) as module, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = compiler.ASTSource(fn=module.scan_block, signature=signature, constexprs={"BLOCK": _BLOCK})
        made: Any = triton.compile(source, target=target)
    text, threads, shared = str(made.asm["ptx"]), 32 * int(made.metadata.num_warps), int(made.metadata.shared)
    shared = -(-shared // 128) * 128  # as hardware gives it out; scans of truth values read beyond what Triton asks for

    def run(inputs: Sequence[Array], constants: Sequence[Any], blocks: int) -> list[Array]:
        outputs = _outputs(ready, len(inputs[0]))
        args = [*inputs, *outputs, np.int32(len(inputs[0])), *constants, 0, 0]  # two pointers to scratch memory
        done = launch(text, "scan_block", grid=blocks, block=threads, args=args, limit=LIMIT, dynamic_shared_bytes=shared)
        arrays = _finished(done)
        return [arrays[len(inputs) + n] for n in range(len(outputs))]

    return _tested(ready, run, seed)


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
