"""Proof of the data movement of the warp and block kernels, at PTX level, for every associative operator at once.

The kernels are compiled with the operator's functions as calls of what is not there (`.extern .func`), so the PTX cannot
depend on what they compute, and never looks at a value: values only go from calls to shuffles, shared memory and calls. To that
PTX, functions on intervals of elements are joined, and it runs in the interpreter. One run settles all associative operators
with an identity for its number of threads and elements: a result that is the interval of the elements wanted was combined from
them in order, without gaps or overlap, in some bracketing (Chong, Donaldson, Ketema, "A sound and complete abstraction for
reasoning about parallel prefix sums", POPL 2014; here of machine code in place of a program). Truth values are whole numbers in
this build, so that every field carries the interval. Not covered: the operator's functions, which are joined to the same PTX and
tested, and the compiler when it inlines them, for which the inlined kernels are tested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from warploom.gpu import compile_to_ptx
from warploom.ptx import Program, lower, parse
from warploom.scan.emit.cuda import EMPTY, SHARED_KERNELS, SPAN, Choices, CudaScan, Kernel, cuda_scan, intervals_source
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.running import ARCH, run_kernel
from warploom.scan.emit.serial import DTYPES
from warploom.scan.emit.shared import Cells, shared_scan
from warploom.scan.operators.operator import Operator
from warploom.scan.variants import ScanForm

SEPARATE = ("-rdc=true",)
"""Functions may be in another program."""
FUNCTIONS = ("identity", "lift", "combine", "project")
THREADS = tuple(range(32, 1025, 32))


@dataclass(frozen=True, slots=True)
class Movement:
    """`launches`: block sizes times numbers of elements."""

    is_proved: bool
    launches: int = 0
    domain: str = ""
    reason: str = ""


def movement(
    operator: Operator, types: Types | None = None, choices: Choices | None = None, threads: tuple[int, ...] = THREADS,
    form: ScanForm | None = None, cells: Cells | None = None,
) -> Movement:  # fmt: skip
    """Proof of the data movement of all kernels for warps and blocks; UserError without the CUDA tools."""
    made = opaque_scan(operator, types, choices, form, cells)
    kernels = compile_to_ptx(made.source, ARCH, options=SEPARATE)
    missing = [name for name in functions_of(made) if not re.search(_DECLARATION.format(name), kernels, re.S)]
    if missing:
        return Movement(False, reason=f"the kernels do not call {', '.join(missing)}")
    program = lower(parse(joined(kernels, compile_to_ptx(intervals_source(made), ARCH, options=SEPARATE)), "intervals.ptx"))
    launches = 0
    for size in range(1, 33):
        for kernel in _named(made, "warp"):
            launches += 1
            wrong = _run(kernel, made, program, 32, size)
            if wrong:
                return Movement(False, launches, reason=f"{kernel}, {size} elements: {wrong}")
    for number in threads:
        for kernel in _named(made, "block"):
            for size in (number, number - 31):
                launches += 1
                wrong = _run(kernel, made, program, number, size)
                if wrong:
                    return Movement(False, launches, reason=f"{kernel}, {number} threads, {size} elements: {wrong}")
    for kernel in SHARED_KERNELS if made.columns else ():
        for size in range(made.columns or 0, 0, -31):
            launches += 1
            wrong = _run(kernel, made, program, made.columns or 0, size)
            if wrong:
                return Movement(False, launches, reason=f"{kernel}, {size} elements: {wrong}")
    steps = {b - a for a, b in pairwise(threads)}
    shape = (
        f"{threads[0]}, {threads[1]}, ..., {threads[-1]}"
        if len(steps) == 1 and len(threads) > 2
        else ", ".join(map(str, threads))
    )
    domain = f"data movement, every associative operator with an identity; warps of 1..32 elements, blocks of {shape} threads"
    beside = f"; cells of blocks of {made.columns}, with 31, 62, ... elements missing" if made.columns else ""
    return Movement(True, launches, f"{domain}, full and with 31 elements missing{beside}")


def opaque_scan(
    operator: Operator, types: Types | None, choices: Choices | None, form: ScanForm | None, cells: Cells | None
) -> CudaScan:
    """The kernels for warps and blocks, with the operator's functions as calls."""
    if cells is None:
        return cuda_scan(operator, types, choices, "opaque", form)
    return shared_scan(operator, cells, types, choices, "opaque", form)


def functions_of(made: CudaScan) -> tuple[str, ...]:
    """Names of the functions that such kernels call."""
    return (*FUNCTIONS, "outside") if made.form.is_segmented else FUNCTIONS


def _named(made: CudaScan, part: str) -> list[Kernel]:
    return [k for k in made.kernels if part in k and k not in SHARED_KERNELS]


def _run(kernel: Kernel, made: CudaScan, program: Program, threads: int, size: int) -> str:
    inputs = [np.arange(size).astype(DTYPES[s.scalar]) for s in made.body.arrays]
    constants = [0 for _ in made.body.constants]
    outputs = run_kernel(made, program, kernel, inputs, constants, threads, 1)
    last = np.arange(size)
    first, end = last * SPAN + size - 1, np.full(size, EMPTY)
    if kernel.startswith("reduce"):
        wanted = np.array([size - 1])
    elif made.form.is_backward:
        wanted = np.concatenate([first[1:], end[:1]]) if kernel.endswith("exclusive") else first
    elif kernel.endswith("exclusive"):
        wanted = np.where(last == 0, EMPTY, last - 1)
    else:
        wanted = last  # 0 * SPAN + last
    for array in outputs:
        found = array[: len(wanted)].astype(np.int64)
        differing = np.flatnonzero(found != wanted)
        if differing.size:
            place = int(differing[0])
            code = int(found[place])
            held = f"{code // SPAN}..{code % SPAN}" if code < EMPTY else "nothing" if code == EMPTY else "elements out of order"
            return f"result {place} combines {held}"
    return ""


_DECLARATION = r"\.extern \.func[^;]*?\b{}\b[^;]*;"


def joined(kernels: str, functions: str) -> str:
    """One PTX text: declarations of the functions give way to the functions."""
    for name in (*FUNCTIONS, "outside"):
        kernels = re.sub(_DECLARATION.format(name), "", kernels, count=1, flags=re.S)
    header, separator, rest = kernels.partition(".address_size 64")
    return f"{header}{separator}\n{functions.partition('.address_size 64')[2]}\n{rest}"
