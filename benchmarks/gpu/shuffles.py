"""On a GPU: stencils as compiled, with every load covered that can be, and with those that the model expects to pay.

`python benchmarks/gpu/shuffles.py [--json] [--dry-run] [CASE ...]`, cases as in `warploom bench ptx`. Times are medians of
repeated launches by device events, data larger than the caches; the results of all versions are compared bit for bit.
`--dry-run` needs no GPU: all versions are compiled.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase

import numpy as np
from forms import DRY_ARCH
from times import figures

from warploom.core import UserError
from warploom.gpu import Compiled, assemble, compile_to_ptx, device_arch, device_available, registers_used, time_kernel
from warploom.kernels.kernelgen import APPLICATIONS, KERNELGEN, Shape, Stencil, cuda_source, launch, parameters
from warploom.ptx.shuffle import KernelReport, Policy, Profitable, ShuffleOptions, apply_all, apply_none, shuffle
from warploom.ptx.syntax import parse

EXTENTS = {1: (1 << 13, 1 << 13), 2: (8192, 8192), 3: (512, 512, 256)}
"""By number of parallel axes; a sequential one takes 256."""
SUITES: dict[str, tuple[dict[str, Stencil], Shape]] = {
    "kernelgen": (KERNELGEN, "guarded"), "kernelgen-gs": (KERNELGEN, "grid-stride"), "app": (APPLICATIONS, "guarded"),
}  # fmt: skip


def policies(arch: str) -> dict[str, Policy]:
    return {"original": apply_none, "all": apply_all, "profitable": Profitable(arch)}


def versions(stencil: Stencil, shape: Shape, arch: str) -> Iterator[tuple[str, KernelReport, Compiled]]:
    """The name of each version, what was applied, and its machine code. UserError: those of the compilers."""
    text = compile_to_ptx(cuda_source(stencil, shape), arch)
    for name, policy in policies(arch).items():
        found = shuffle(parse(text), ShuffleOptions(policy=policy))
        cubin, log = assemble(found.text, arch)
        yield name, found.reports[0], Compiled(arch, found.text, cubin, registers_used(log)[-1], 0, 0, 0, log)


def measure(stencil: Stencil, shape: Shape, arch: str) -> dict[str, object]:
    """Milliseconds per version, and what was applied."""
    extents = (*EXTENTS[stencil.dims][: len(stencil.extents)], *(256,) * (len(stencil.extents) - len(EXTENTS[stencil.dims])))
    given = parameters(stencil, extents, np.random.default_rng(0))
    grid, block = launch(stencil, shape, extents)
    line: dict[str, object] = {"shape": shape, "arch": arch, "extents": extents, "block": block}
    first: list[np.ndarray] | None = None
    for name, report, compiled in versions(stencil, shape, arch):
        arrays = [a.copy() for a in given if isinstance(a, np.ndarray)]
        scalars = [a for a in given if not isinstance(a, np.ndarray)]
        timing = time_kernel(compiled, stencil.symbol, grid, block, arrays, scalars)
        line[name] = {
            **figures(timing), "best_ms": timing.best_ms, "registers": compiled.registers,
            "applied": len(report.applied), "predicted_gain": report.predicted_gain,
        }  # fmt: skip
        first = arrays if first is None else first
        line["same"] = line.get("same", True) and all(a.tobytes() == b.tobytes() for a, b in zip(first, arrays, strict=True))
    return line


def cases(patterns: list[str]) -> Iterator[tuple[str, Stencil, Shape]]:
    for suite, (stencils, shape) in SUITES.items():
        for name, stencil in stencils.items():
            case = f"{suite}/{name}"
            if not patterns or any(fnmatchcase(case, pattern) for pattern in patterns):
                yield case, stencil, shape


def main() -> int:
    words = sys.argv[1:]
    as_json, is_dry = "--json" in words, "--dry-run" in words
    if not is_dry and not device_available():
        print("no CUDA device: nothing to measure (--dry-run compiles the kernels without one)", file=sys.stderr)
        return 3
    for case, stencil, shape in cases([w for w in words if w not in ("--json", "--dry-run")]):
        try:
            if is_dry:
                found = {name: compiled.registers for name, _, compiled in versions(stencil, shape, DRY_ARCH)}
                line = {"case": case, "registers": found}
            else:
                line = {"case": case, **measure(stencil, shape, device_arch())}
        except UserError as error:
            line = {"case": case, "reason": str(error).splitlines()[0]}
        print(json.dumps(line) if as_json else line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
