"""On a GPU: every kernel of the library beside the interpreter of PTX, bit by bit, at small sizes.

`python benchmarks/gpu/correct.py [--json] [--dry-run] [CASE ...]`, cases as in `warploom list`, patterns allowed. Both run one
PTX text, so a difference is a fault of the interpreter, of the launch, or a race that one run happened to show. `--dry-run` needs
no GPU: the interpreter runs alone, with its checks. An exit code of 1 says that something differs or that a check found a fault.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from forms import DRY_ARCH, completed

from warploom.core import UserError
from warploom.gpu import device_arch, device_available, grid_of, run_kernel
from warploom.kernels import MORE_NAMES, NAMES, find
from warploom.ptx import launch
from warploom.tools.bench.kernels import COUNT_SIZES

CASES = (*NAMES, *MORE_NAMES)
SMALL = {name: max(2, size // 4) for name, size in COUNT_SIZES.items()}
"""Run-time sizes, with a few blocks each."""


def compared(case: str, *, dry: bool) -> dict[str, object]:
    """Elements of the outputs, and how many differ."""
    example = find(case)
    form = completed(case, DRY_ARCH if dry else device_arch())
    kernel, source = form.kernel, form.source
    sizes = {size: SMALL[size] for size in kernel.sizes}
    arrays: dict[str, Any] = example.arrays(sizes)
    given = [arrays[param.name].copy() for param in kernel.params]
    ran = launch(
        form.compiled.ptx,
        source.name,
        grid=grid_of(kernel, sizes),
        block=kernel.block,
        args=[*given, *(sizes[n] for n in kernel.sizes)],
    )
    found = {p.name: ran.arrays[n] for n, p in enumerate(kernel.params) if p.is_output}
    line: dict[str, object] = {"case": case, "sizes": sizes, "elements": sum(a.size for a in found.values())}
    if ran.status != "finished" or ran.findings:
        return line | {"same": False, "reason": f"the interpreter: {ran.status}, {len(ran.findings)} findings"}
    if dry:
        return line | {"same": None}
    run_kernel(kernel, source, form.compiled, arrays, sizes)
    differ = sum(
        np.count_nonzero(np.ravel(arrays[name]).view(np.uint8) != np.ravel(array).view(np.uint8)) for name, array in found.items()
    )
    return line | {"same": not differ, "bytes_that_differ": int(differ)}


def main(arguments: Sequence[str]) -> int:
    as_json, is_dry = "--json" in arguments, "--dry-run" in arguments
    patterns = [argument for argument in arguments if not argument.startswith("--")]
    if unknown := [argument for argument in arguments if argument.startswith("--") and argument not in ("--json", "--dry-run")]:
        print(f"expected --json or --dry-run, got {unknown[0]}", file=sys.stderr)
        return 2
    cases = [case for case in CASES if not patterns or any(fnmatchcase(case, pattern) for pattern in patterns)]
    if not cases:
        print(f"expected a pattern that some case matches, got {patterns[0]!r}; cases are {', '.join(CASES)}", file=sys.stderr)
        return 2
    if not is_dry and not device_available():
        print("no CUDA device here: nothing to compare with (--dry-run runs the interpreter alone)", file=sys.stderr)
        return 3
    wrong = False
    for case in cases:
        try:
            line = compared(case, dry=is_dry)
        except UserError as error:
            line = {"case": case, "same": False, "reason": str(error).splitlines()[0]}
        wrong = wrong or line["same"] is False
        print(json.dumps(line) if as_json else f"{case:<22} { ({k: v for k, v in line.items() if k != 'case'}) }", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
