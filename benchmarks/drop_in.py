"""Launches in the interpreter beside Numba's simulator and Triton's interpreter: `python benchmarks/drop_in.py [--case GLOB]`.

One JSON line per case and way of running it, each in a fresh process: CPU seconds of a launch after the first, `per_thread_us`
(of Triton: per element), and whether the results are NumPy's. The ways are `warploom` (with all checks for races and faults),
`simulator` (`NUMBA_ENABLE_CUDASIM=1`), `interpreter` (`TRITON_INTERPRET=1`, without any check). The peers run smaller launches,
because theirs take long: compare `per_thread_us`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import Any

import numpy as np

ROUNDS = 3
SEED = 0
RANDOM = np.random.default_rng(SEED)


class Tensor:
    """The methods that Triton's interpreter needs of a tensor of torch, over an array."""

    def __init__(self, array: Any) -> None:
        self.array, self.dtype, self.device = array, array.dtype.name, "cpu"

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def untyped_storage(self) -> Tensor:
        return self

    cpu = untyped_storage

    def new_empty(self, *_: object, **__: object) -> Tensor:
        return Tensor(self.array)

    def set_(self, *_: object) -> None:
        pass

    def copy_(self, _: object) -> None:
        pass

    def storage_offset(self) -> int:
        return 0

    size = stride = storage_offset


def _timed(work: Callable[[], object]) -> float:
    work()
    took: list[float] = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
    return statistics.median(took)


def blur(scale: int) -> tuple[float, int, bool]:
    global cuda  # the simulator replaces it there
    from numba import cuda

    @cuda.jit
    def kernel(a, b):
        i, j = cuda.grid(2)
        if 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1:
            b[i, j] = (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * np.float32(0.2)

    a = RANDOM.random((scale, scale), np.float32)
    b = np.zeros_like(a)
    grid = (-(-scale // 16),) * 2
    seconds = _timed(lambda: kernel[grid, (16, 16)](a, b))
    expected = (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * np.float32(0.2)
    return seconds, grid[0] * grid[1] * 256, bool(np.allclose(b[1:-1, 1:-1], expected, rtol=1e-5))


def block_sum(scale: int) -> tuple[float, int, bool]:
    global cuda
    from numba import cuda, float32

    @cuda.jit
    def kernel(a, out):
        shared = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        shared[t] = a[cuda.grid(1)]
        cuda.syncthreads()
        d = 64
        while d > 0:
            if t < d:
                shared[t] += shared[t + d]
            cuda.syncthreads()
            d //= 2
        if t == 0:
            out[cuda.blockIdx.x] = shared[0]

    a, out = RANDOM.random(scale * 128, np.float32), np.zeros(scale, np.float32)
    seconds = _timed(lambda: kernel[scale, 128](a, out))
    return seconds, a.size, bool(np.allclose(out, a.reshape(scale, 128).sum(1), rtol=1e-5))


def softmax(scale: int) -> tuple[float, int, bool]:
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):  # noqa: N803
        at = tl.arange(0, BLOCK)
        values = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + tl.program_id(0) * n + at, powers / tl.sum(powers, axis=0), mask=at < n)

    x = RANDOM.random((scale, 1000), np.float32)
    out = np.zeros_like(x)
    wrapped = (Tensor(x), Tensor(out)) if os.environ.get("TRITON_INTERPRET") else (x, out)
    seconds = _timed(lambda: kernel[(scale,)](*wrapped, 1000, BLOCK=1024))
    powers = np.exp(x - x.max(1, keepdims=True))
    return seconds, x.size, bool(np.allclose(out, powers / powers.sum(1, keepdims=True), rtol=1e-4))


def add(scale: int) -> tuple[float, int, bool]:
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, y, out, n, BLOCK: tl.constexpr):  # noqa: N803
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

    x, out = RANDOM.random(scale * 256, np.float32), np.zeros(scale * 256, np.float32)
    wrapped = (Tensor(x), Tensor(x), Tensor(out)) if os.environ.get("TRITON_INTERPRET") else (x, x, out)
    seconds = _timed(lambda: kernel[(scale,)](*wrapped, x.size, BLOCK=256))
    return seconds, x.size, bool((out == x + x).all())


CASES: dict[str, tuple[Callable[[int], tuple[float, int, bool]], int, int]] = {
    "numba/blur": (blur, 1024, 48),
    "numba/block-sum": (block_sum, 4096, 8),
    "triton/add": (add, 4096, 256),
    "triton/softmax": (softmax, 1024, 64),
}
"""Cases, with their sizes here and in the peer."""
WAYS = {"numba": ("warploom", "simulator"), "triton": ("warploom", "interpreter")}
VARIABLES = {"warploom": "WARPLOOM_RUN", "simulator": "NUMBA_ENABLE_CUDASIM", "interpreter": "TRITON_INTERPRET"}


def measure(name: str, way: str) -> dict[str, object]:
    """The line of a case, in this process."""
    if way == "warploom":
        import warploom  # noqa: F401  # which replaces the launches
    work, here, there = CASES[name]
    seconds, count, is_right = work(here if way == "warploom" else there)
    packages = {package: version(package) for package in ("numpy", "numba-cuda" if name.startswith("numba") else "triton")}
    return {
        "case": name, "way": way, "threads": count, "seconds": round(seconds, 5),
        "per_thread_us": round(1e6 * seconds / count, 4), "as_expected": is_right, "rounds": ROUNDS, "seed": SEED,
        "python": sys.version.split()[0], **packages,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="*", help="only the cases that match")
    parser.add_argument("--here", help="run in this process in this way")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measure(options.case, options.here)))
        return 0
    is_right = True
    for name in (name for name in CASES if fnmatchcase(name, options.case)):
        took: dict[str, float] = {}
        for way in WAYS[name.partition("/")[0]]:
            with tempfile.TemporaryDirectory() as folder:
                environment = os.environ | {VARIABLES[way]: "1", "TRITON_CACHE_DIR": folder}
                command = [sys.executable, "-W", "ignore", __file__, "--case", name, "--here", way]
                done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, env=environment)
            print(done.stdout.strip() or json.dumps({"case": name, "way": way, "as_expected": False}), flush=True)
            is_right &= '"as_expected": true' in done.stdout
            if done.returncode == 0:
                took[way] = json.loads(done.stdout)["per_thread_us"]
        if len(took) == 2:
            here, there = took.values()
            print(json.dumps({"case": name, "peer": list(took)[1], "times_faster": round(there / here, 1)}), flush=True)
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main())
