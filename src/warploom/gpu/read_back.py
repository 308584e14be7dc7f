"""Reads printed CUDA back: the text runs as C, the kernel runs in the reference interpreter, and what they do is compared.

What is proved must be what is printed. The authors' generator turned 4 of 31 verified solutions into wrong code (C's % on
negative numbers, a dropped copy, a lost loop); each of these differs here in an output, an address, or an undefined element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, DType, to_numpy
from warploom.gpu.cmachine import CMachine
from warploom.gpu.cparse import Parsed, parse_cuda
from warploom.ir import IndexExpr, Kernel, RunResult, SizeVar, run, tabulate

MOST_THREADS = 4096
"""Most threads of a default choice of sizes."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Whether the printed text does what the kernel does."""

    ok: bool
    verdict: Literal["tested", "refuted", "unchecked"]
    """`unchecked`: the kernel itself is in error at every size tried, so there is nothing to compare with."""
    checked: int
    """Output elements compared, over all runs."""
    diagnostics: tuple[Diagnostic, ...]


def read_back(
    source: str, kernel: Kernel, *, sizes: Sequence[Mapping[str, int]] | None = None, seed: int = 0, rounds: int = 2
) -> ReadBack:
    """Compares the text that `cuda_source` printed with the filled `kernel`, on random inputs for each choice of `sizes`.

    Compared: every output element, the 32-byte sectors that each warp loads and stores, the barriers passed, the launch (block,
    grid, order of arguments); C's undefined behaviour, races and out-of-bounds elements in the text count as differences.
    The first choice runs `rounds` times. The default sizes make a few blocks with a ragged end.
    UserError (READ_BACK_SYNTAX) for text of another form.
    """
    parsed = parse_cuda(source)
    problems = list(_launch_problems(parsed, kernel))
    random = np.random.default_rng(seed)
    checked = 0
    for choice in _choices(kernel) if sizes is None else sizes:
        for _ in range(rounds if not checked else 1):
            inputs = _random_inputs(kernel, choice, random)
            expected = run(kernel, {n: a for n, a in inputs.items() if _is_input(kernel, n)}, dict(choice))
            if expected.diagnostics:
                break
            found, count = _compare(parsed, kernel, choice, inputs, expected)
            problems += found
            checked += count
        if problems:
            break
    unique = tuple({(d.code, d.message): d for d in problems}.values())
    if unique:
        return ReadBack(False, "refuted", checked, unique)
    if not checked:
        reason = Diagnostic("NOT_READ_BACK", "expected sizes at which the kernel runs without a problem, got none")
        return ReadBack(False, "unchecked", 0, (reason,))
    return ReadBack(True, "tested", checked, ())


def _is_input(kernel: Kernel, name: str) -> bool:
    return next(p.is_input for p in kernel.params if p.name == name)


def _launch_problems(parsed: Parsed, kernel: Kernel) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    if parsed.block != kernel.block or parsed.bound != kernel.threads:
        message = f"expected a block of {kernel.block}, got {parsed.block} with launch bounds {parsed.bound}"
        found.append(Diagnostic("READ_BACK_BLOCK", message))
    declared = tuple(p.name for p in parsed.kernel.decl.type.args.params)
    if parsed.launch_arguments != declared or parsed.launch_params[:-1] != declared:
        message = f"expected the launch to pass {', '.join(declared)}, got {', '.join(parsed.launch_arguments)}"
        found.append(Diagnostic("READ_BACK_ARGUMENTS", message))
    return found


def _choices(kernel: Kernel) -> list[dict[str, int]]:
    """Sizes of a few blocks: a ragged end, one element, an exact fit; distinct for distinct sizes."""
    if not kernel.sizes:
        return [{}]
    ragged = [{n: base + 3 * i for i, n in enumerate(kernel.sizes)} for base in (2 * kernel.threads + 5, 37, 5)]
    first = next((c for c in ragged if _threads(kernel, c) <= MOST_THREADS), dict.fromkeys(kernel.sizes, 2))
    even = {n: kernel.threads * (i + 1) for i, n in enumerate(kernel.sizes)}
    return [first, dict.fromkeys(kernel.sizes, 1), *([even] if _threads(kernel, even) <= MOST_THREADS else [])]


def _number(expr: IndexExpr, sizes: Mapping[str, int]) -> int:
    return int(tabulate(expr, {SizeVar(n): v for n, v in sizes.items()}))


def _threads(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    return kernel.threads * int(np.prod([max(0, _number(g, sizes)) for g in kernel.grid]))


def _random_inputs(kernel: Kernel, sizes: Mapping[str, int], random: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Arrays of integers that the type holds exactly, so that floats show every difference and no rounding."""
    arrays: dict[str, NDArray[Any]] = {}
    for param in kernel.params:
        shape = tuple(_number(e, sizes) for e in param.shape) + ((param.dtype.lanes,) if param.dtype.lanes > 1 else ())
        dtype = to_numpy(param.dtype)
        if not param.is_input:
            arrays[param.name] = np.zeros(shape, dtype)
        elif param.dtype.is_float:
            top = {16: 8, 32: 200, 64: 10_000}[param.dtype.bits]
            arrays[param.name] = random.integers(-top, top + 1, shape).astype(dtype)
        else:
            info = np.iinfo(dtype)
            arrays[param.name] = random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return arrays


def _compare(
    parsed: Parsed, kernel: Kernel, sizes: Mapping[str, int], inputs: dict[str, NDArray[Any]], expected: RunResult
) -> tuple[list[Diagnostic], int]:
    at = f"at sizes {dict(sizes)}" if sizes else "in the kernel"
    declared = [p.name for p in parsed.kernel.decl.type.args.params]
    flat = {c: _flat(inputs[p.name], p.dtype).copy() for c, p in zip(declared, kernel.params, strict=False)}
    named_sizes = {c: sizes[n] for c, n in zip(declared[len(kernel.params) :], kernel.sizes, strict=False)}
    grid = tuple(max(0, _number(g, sizes)) for g in kernel.grid)
    machine = CMachine(parsed, (grid[0], grid[1], grid[2]), flat, named_sizes)
    launched = tuple(machine.number(g) for g in parsed.grid)
    if launched != grid:
        return [Diagnostic("READ_BACK_GRID", f"expected a grid of {grid} {at}, got {launched}")], 0
    if machine.threads:
        machine.run()
    problems, checked = list(machine.problems.values()), 0
    for c, param in zip(declared, kernel.params, strict=False):
        wanted, got = _flat(expected.arrays[param.name], param.dtype), flat[c]
        same = np.equal(wanted, got) | ((wanted != wanted) & (got != got))
        checked += len(wanted) if param.is_output else 0
        if not same.all():
            where = int(np.argmin(same.reshape(len(wanted), -1).all(axis=1)))
            message = f"expected {param.name}[{where}] = {wanted[where]} {at}, the printed text gives {got[where]}"
            problems.append(Diagnostic("READ_BACK_VALUE", message))
    problems += _count_problems(machine, kernel, declared, expected, at)
    return problems, checked


def _count_problems(machine: CMachine, kernel: Kernel, declared: list[str], expected: RunResult, at: str) -> list[Diagnostic]:
    counted = [c for c, p in zip(declared, kernel.params, strict=False) if p.space == "global"]
    events, counts = machine.events, expected.counts
    pairs = [("barriers", counts.syncs, events.syncs)]
    if kernel.warp_size == 32:
        pairs += [
            ("sectors loaded", counts.global_load_sectors, sum(events.load_sectors.get(c, 0) for c in counted)),
            ("sectors stored", counts.global_store_sectors, sum(events.store_sectors.get(c, 0) for c in counted)),
        ]
    return [
        Diagnostic("READ_BACK_COUNT", f"expected {wanted} {what} {at}, the printed text has {got}")
        for what, wanted, got in pairs
        if wanted != got
    ]


def _flat(array: NDArray[Any], dtype: DType) -> NDArray[Any]:
    return array.reshape(-1) if dtype.lanes == 1 else array.reshape(-1, dtype.lanes)
