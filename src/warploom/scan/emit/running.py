"""CUDA kernels, compiled and run in the PTX interpreter, against the serial loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from warploom.gpu import compile_to_ptx
from warploom.ptx import Counts, Finding, Program, launch, lower, parse
from warploom.scan.emit.body import Body
from warploom.scan.emit.cuda import SIZES, WARP, CudaScan, Kernel
from warploom.scan.emit.serial import DTYPES, Array, Element, Serial, column, edges, elements, is_close, of_form, serial
from warploom.scan.operators.expression import Value
from warploom.scan.operators.samples import constant_values

ARCH = "sm_80"
LIMIT = 400_000_000
"""Instructions times threads of one launch."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`cases`: results compared."""

    cases: int
    mismatch: str = ""


def compiled_program(made: CudaScan, arch: str = ARCH, options: tuple[str, ...] = ()) -> Program:
    """UserError without the CUDA tools (extra `cuda`), or where the text does not compile."""
    return lower(parse(compile_to_ptx(made.source, arch, options=options), "scan.ptx"))


def run_kernel(
    made: CudaScan, program: Program, kernel: Kernel, inputs: Sequence[Array], constants: Sequence[Value], threads: int, grid: int
) -> list[Array]:
    """The output arrays; RuntimeError with the interpreter's findings if it does not finish cleanly."""
    return _ran(made, program, kernel, inputs, constants, threads, grid)[0]


def _ran(
    made: CudaScan, program: Program, kernel: Kernel, inputs: Sequence[Array], constants: Sequence[Value], threads: int,
    grid: int, counts: bool = False,
) -> tuple[list[Array], Counts | None]:  # fmt: skip
    n = len(inputs[0])
    outputs = [np.zeros(max(n, 1), DTYPES[s.scalar]) for s in made.body.outputs]
    scalars = [column([v], s.scalar)[0] for s, v in zip(made.body.constants, constants, strict=True)]
    scratch: list[Array] = []
    if kernel.startswith("scan_device"):
        values = np.zeros(grid * made.value_bytes, np.uint8)
        scratch = [np.zeros(grid + 1, np.uint32), values, values.copy()]
    elif kernel == "reduce_device":
        scratch = [np.zeros(1, np.uint32), np.zeros(grid * made.value_bytes, np.uint8)]
    args = [*inputs, *outputs, *scratch, np.int64(n), *scalars]
    done = launch(program, kernel, grid=grid, block=threads, args=args, limit=LIMIT, counts=counts)
    found = [str(f) for f in done.findings if not _is_of_padding(made, f)]
    if done.status != "finished" or found:
        raise RuntimeError(f"{kernel}: {done.status} {found[:2]}")
    return [done.arrays[len(inputs) + number] for number in range(len(outputs))], done.counts


def _is_of_padding(made: CudaScan, finding: Finding) -> bool:
    """A struct is moved whole, with the bytes between its members; these are put together in words of 8 and 16 bits."""
    if finding.kind != "uninitialised_register":
        return False
    has_padding = sum(SIZES[s.scalar] for s in made.body.fields) < made.value_bytes
    return ": st." in str(finding) or (has_padding and " reads %rs" in str(finding))


def executed(made: CudaScan, tiles: int) -> tuple[Counts, Comparison]:
    """Counts of what `scan_device` executes on `tiles` whole tiles, and its results compared with the loop's. UserError and
    RuntimeError as `compare`."""
    count = tiles * made.tile
    constants = constant_values(made.plain.loop, 0)
    given = elements(made.plain.loop, count, 0)
    inputs = columns_of(made, given, None)
    outputs, counts = _ran(
        made, compiled_program(made), "scan_device", inputs, constants, made.choices.threads, tiles, counts=True
    )
    assert counts is not None
    return counts, Comparison(*compare_part(made, "scan_device", outputs, given, None, constants, 0, count))


def compare(
    made: CudaScan, kernels: Sequence[Kernel] | None = None, sizes: Sequence[int] = (1, 33, 250), tiles: int = 3, seed: int = 0
) -> Comparison:
    """Kernels (None: all of the text) at several sizes and on no element; device-wide ones at sizes around whole tiles."""
    program = compiled_program(made)
    loop = made.plain.loop
    constants = constant_values(loop, seed)
    cases = 0
    for kernel in made.kernels if kernels is None else kernels:
        for number, size in enumerate((*sizes, 0)):
            if "device" in kernel:
                size = size and min(made.tile * tiles, 3000) * (number + 1) // len(sizes) + number
                threads, grid = made.choices.threads, max(1, -(-size // made.tile))
            else:
                threads = made.columns if "shared" in kernel and made.columns else (32, 64, 128)[number % 3]
                grid = max(1, -(-size // threads))
            given = elements(loop, size, seed + number) if size else []
            flags = edges(size, seed + number) if made.form.is_segmented else None
            inputs = columns_of(made, given, flags)
            outputs = run_kernel(made, program, kernel, inputs, constants, threads, grid)
            part = max(size, 1) if "device" in kernel else WARP if "warp" in kernel else threads
            for start in range(0, size, part) if size or not kernel.startswith("reduce") else (0,):
                piece = given[start : start + part]
                parted = None if flags is None else flags[start : start + part]
                compared, mismatch = compare_part(made, kernel, outputs, piece, parted, constants, start, part)
                cases += compared
                if mismatch:
                    return Comparison(cases, f"{kernel} of {size} elements, blocks of {threads}: {mismatch}")
    return Comparison(cases)


def columns_of(made: CudaScan, given: Sequence[Element], flags: Sequence[bool] | None) -> list[Array]:
    """The input arrays of a kernel: the fields of the elements, and the flags of segments, or keys, where there are any."""
    columns: list[Sequence[Value]] = [[e[f] for e in given] for f in range(len(made.plain.loop.fields))]
    if flags is not None:
        # of three keys in turn, so that equal keys that are not neighbours are of different segments
        keys = [n % 3 for n in accumulate(map(int, flags))]
        columns.append(keys if made.form.is_by_key else flags)
    return [column(values, s.scalar) for values, s in zip(columns, made.body.arrays, strict=True)]


def compare_part(
    made: CudaScan, kernel: Kernel, outputs: Sequence[Array], given: Sequence[Element], flags: Sequence[bool] | None,
    constants: Sequence[Value], start: int, part: int,
) -> tuple[int, str]:  # fmt: skip
    """Results compared of what one warp, block or launch makes of its elements, from place `start` on, and what differs."""
    loop, bits = made.plain.loop, 64 if made.body.types.whole == "int64" else 32
    if made.form.is_plain:
        return differing(made.body, kernel, outputs, serial(loop, given, constants, bits), start, part)
    wanted = of_form(loop, made.form, given, flags, constants, bits, is_exclusive=kernel.endswith("exclusive"))
    return different_results(made.body, outputs, [(start + i, result) for i, result in wanted.items()])


def differing(ready: Body, kernel: Kernel, outputs: Sequence[Array], wanted: Serial, start: int, part: int) -> tuple[int, str]:
    """Results compared of the part of the list from `start` on, and what differs."""
    count = len(wanted.results) - 1
    if kernel.startswith("reduce"):
        places = [(start // part, wanted.results[count])]
    else:
        shift = 0 if kernel.endswith("exclusive") else 1
        places = [(start + i, wanted.results[i + shift]) for i in range(count)]
    return different_results(ready, outputs, places)


def different_results(ready: Body, outputs: Sequence[Array], places: Sequence[tuple[int, Element | None]]) -> tuple[int, str]:
    """Results compared at these places, and what differs; None: nothing is wanted there."""
    compared = 0
    for index, result in places:
        if result is None:
            continue
        for slot, array, expected in zip(ready.outputs, outputs, result, strict=True):
            compared += 1
            if not is_close(array[index].item(), expected, slot.scalar):
                return compared, f"{slot.name}[{index}] is {array[index]}, expected {expected}"
    return compared, ""
