"""CPU seconds and memory of reading, printing and checking a large PTX file: `python benchmarks/ptx_parse.py [MB] [--seed N]`.

The file is made of what NVRTC makes of the kernels of `warploom.kernels.kernelgen` (extra `cuda`), their functions renamed, in an
order drawn from the seed, until it has the wanted size. Prints one JSON line: versions, seed, size, and for every step `seconds`
(CPU); `mb` is what the syntax tree takes, from the growth of the process.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import re
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import TypeVar

from warploom.gpu import compile_to_ptx
from warploom.kernels.kernelgen import APPLICATIONS, CONVOLUTIONS, KERNELGEN, cuda_source
from warploom.ptx.routine import lower
from warploom.ptx.syntax import exact, normal, parse
from warploom.ptx.verify import verify

T = TypeVar("T")
_HEADER = re.compile(r"^\.(?:version|target|address_size)[^\n]*\n", re.M)
_FUNCTION = re.compile(r"(\.(?:entry|func)\s+)([\w$]+)")


def compiled() -> list[str]:
    """PTX of every stencil, guarded and grid-stride, without the header lines."""
    stencils = [*KERNELGEN.values(), *APPLICATIONS.values(), *CONVOLUTIONS.values()]
    texts = [compile_to_ptx(cuda_source(s, shape), "sm_75") for s in stencils for shape in ("guarded", "grid-stride")]
    return [_HEADER.sub("", text) for text in texts]


def large_text(pieces: list[str], size: int, seed: int) -> str:
    """At least `size` characters; no function twice."""
    source = random.Random(seed)
    found = [".version 9.0\n.target sm_75\n.address_size 64\n"]
    length = number = 0
    while length < size:
        number += 1
        text = _FUNCTION.sub(lambda m, n=number: f"{m[1]}{m[2]}_{n}", source.choice(pieces))
        found.append(text)
        length += len(text)
    return "".join(found)


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    result = work()
    return round(time.process_time() - started, 3), result


def main(megabytes: float, seed: int) -> None:
    text = large_text(compiled(), int(megabytes * 1e6), seed)
    gc.collect()
    before_mb = peak_mb()
    seconds: dict[str, float] = {}
    seconds["parse"], module = timed(lambda: parse(text))
    tree_mb = peak_mb() - before_mb
    seconds["exact"], printed = timed(lambda: exact(module))
    seconds["normal"], _ = timed(lambda: normal(module))
    seconds["lower"], program = timed(lambda: lower(module))
    seconds["verify"], diagnostics = timed(lambda: verify(module))
    line = {
        "case": "ptx-parse", "warploom": version("warploom"), "python": platform.python_version(), "machine": platform.machine(),
        "seed": seed, "megabytes": round(len(text) / 1e6, 2), "routines": len(program.routines),
        "instructions": sum(len(r.instructions) for r in program.routines.values()), "same_bytes": printed == text,
        "diagnostics": len(diagnostics), "seconds": seconds, "mb": round(tree_mb, 1),
        "mb_per_mb": round(tree_mb / (len(text) / 1e6), 1),
    }  # fmt: skip
    print(json.dumps(line))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("megabytes", nargs="?", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    main(arguments.megabytes, arguments.seed)
