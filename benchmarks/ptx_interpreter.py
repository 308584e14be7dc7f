"""CPU seconds and memory of the PTX interpreter: `python benchmarks/ptx_interpreter.py [--case GLOB] [--size N] [--seed N]`.

Kernels that NVRTC compiles (extra `cuda`; `softmax` needs Triton) on random data, each case in a fresh process; results are
compared with NumPy's. One JSON line per case: `threads`, `instructions` (of threads), `seconds` (CPU of the launch alone),
`peak_mb`, `as_expected`. The launch of `small` is repeated: its seconds are those of one launch after the first.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.gpu import compile_to_ptx
from warploom.ptx import Launch, Program, launch, lower, parse

Array = NDArray[Any]

SOURCE = r"""
extern "C" __global__ void stencil(const float* __restrict__ a, float* __restrict__ b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && j > 0 && i < n - 1 && j < n - 1)
    b[j*n+i] = 0.5f * a[j*n+i] + 0.125f * (a[j*n+i-1] + a[j*n+i+1] + a[(j-1)*n+i] + a[(j+1)*n+i]);
}
extern "C" __global__ void in_place(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 2.0f + 1.0f;
}
extern "C" __global__ void block_sum(const int* a, int* out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, total = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) total += a[i];
  s[t] = total;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) atomicAdd(out, s[0]);
}
extern "C" __global__ void collatz(unsigned* steps, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, c = 0;
  if (i >= n) return;
  for (unsigned long long x = i + 1; x != 1; c++) { if (x & 1) x = 3 * x + 1; else x >>= 1; }
  steps[i] = c;
}
extern "C" __global__ void transposed(const float* __restrict__ a, float* __restrict__ b, int n) {
  __shared__ float tile[32][33];
  int x = threadIdx.x, y = threadIdx.y, i = blockIdx.x * 32, j = blockIdx.y * 32;
  for (int k = y; k < 32; k += 8) tile[k][x] = a[(j + k) * n + i + x];
  __syncthreads();
  for (int k = y; k < 32; k += 8) b[(i + k) * n + j + x] = tile[x][k];
}
extern "C" __global__ void product(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float s[16][16], t[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    s[y][x] = a[row * n + k + x];
    t[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int l = 0; l < 16; l++) sum += s[y][l] * t[l][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
"""


@dataclass(frozen=True, slots=True)
class Ran:
    launch: Launch
    threads: int
    seconds: float
    as_expected: bool


def timed(
    program: Program, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], args: list[Any], **options: bool
) -> tuple[Launch, float]:
    started = time.process_time()
    ran = launch(program, kernel, grid=grid, block=block, args=args, **options)
    return ran, time.process_time() - started


def stencil(program: Program, size: int, seed: int, **options: bool) -> Ran:
    a = np.random.default_rng(seed).random((size, size), np.float32)
    ran, seconds = timed(program, "stencil", (-(-size // 32), -(-size // 8)), (32, 8), [a, np.zeros_like(a), size], **options)
    expected = np.zeros_like(a)
    sides = a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]
    expected[1:-1, 1:-1] = np.float32(0.5) * a[1:-1, 1:-1] + np.float32(0.125) * sides
    same = float(np.abs(ran.arrays[1] - expected).max()) <= 1e-6
    return Ran(ran, -(-size // 32) * -(-size // 8) * 256, seconds, same and not ran.findings)


def in_place(program: Program, size: int, seed: int) -> Ran:
    a = np.random.default_rng(seed).random(size * size // 4, np.float32)
    ran, seconds = timed(program, "in_place", (-(-a.size // 256),), (256,), [a, a.size])
    same = np.allclose(ran.arrays[0], a * np.float32(2) + np.float32(1), rtol=1e-6)
    return Ran(ran, a.size, seconds, same and not ran.findings)


def block_sum(program: Program, size: int, seed: int) -> Ran:
    a = np.random.default_rng(seed).integers(-100, 100, size * size // 4).astype(np.int32)
    blocks = max(1, size * size // 8192)
    ran, seconds = timed(program, "block_sum", (blocks,), (256,), [a, np.zeros(1, np.int32), a.size])
    return Ran(ran, blocks * 256, seconds, bool(ran.arrays[1][0] == a.sum()) and not ran.findings)


def collatz(program: Program, size: int, seed: int) -> Ran:
    count = size * size // 64
    ran, seconds = timed(program, "collatz", (-(-count // 256),), (256,), [np.zeros(count, np.uint32), count])
    expected = np.zeros(count, np.uint32)
    values = np.arange(1, count + 1, dtype=np.uint64)
    while (left := values != 1).any():
        expected += left
        values = np.where(left, np.where(values & 1, 3 * values + 1, values >> 1), values)
    return Ran(ran, count, seconds, bool((ran.arrays[0] == expected).all()) and not ran.findings)


def transposed(program: Program, size: int, seed: int) -> Ran:
    a = np.random.default_rng(seed).random((size // 2, size // 2), np.float32)
    ran, seconds = timed(program, "transposed", (len(a) // 32,) * 2, (32, 8), [a, np.zeros_like(a), len(a)])
    return Ran(ran, a.size // 4, seconds, bool((ran.arrays[1] == a.T).all()) and not ran.findings)


def product(program: Program, size: int, seed: int) -> Ran:
    random = np.random.default_rng(seed)
    a, b = (random.random((size // 16, size // 16), np.float32) for _ in "ab")
    ran, seconds = timed(program, "product", (len(a) // 16,) * 2, (16, 16), [a, b, np.zeros_like(a), len(a)])
    return Ran(ran, a.size, seconds, bool(np.allclose(ran.arrays[2], a @ b, rtol=1e-4)) and not ran.findings)


def softmax(program: Program, size: int, seed: int) -> Ran:
    """The kernel of Triton's tutorial, a row of 1000 columns for each block of four warps."""
    import triton_softmax  # Triton is needed for this case only
    from warploom.tools.lint.python_kernels import TritonKernel
    from warploom.tools.lint.sources import Compilation

    a = np.random.default_rng(seed).normal(size=(size // 2, 1000)).astype(np.float32)
    kernel = TritonKernel("softmax", triton_softmax.softmax)
    made = kernel.launchable(
        [np.zeros_like(a), a, np.int32(1000), np.int32(1000)], {"BLOCK": 1024}, Compilation("sm_90"), 128, {}
    )
    args = made.arguments((len(a),))
    started = time.process_time()
    ran = launch(
        made.source.program, made.name, grid=made.grid((len(a),)), block=128, args=args, dynamic_shared_bytes=made.shared_bytes
    )
    seconds = time.process_time() - started
    expected = np.exp(a - a.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    return Ran(ran, 128 * len(a), seconds, bool(np.allclose(ran.arrays[0], expected, rtol=1e-4)) and not ran.findings)


def small(program: Program, size: int, seed: int) -> Ran:
    rounds = 200
    found = stencil(program, 16, seed)
    started = time.process_time()
    for _ in range(rounds):
        found = stencil(program, 16, seed)
    return Ran(found.launch, found.threads, (time.process_time() - started) / rounds, found.as_expected)


def counted(program: Program, size: int, seed: int) -> Ran:
    return stencil(program, size, seed, counts=True)


def unchecked(program: Program, size: int, seed: int) -> Ran:
    return stencil(program, size, seed, checks=False)


CASES: dict[str, Callable[[Program, int, int], Ran]] = {
    "stencil": stencil, "stencil-counts": counted, "stencil-no-checks": unchecked, "in-place": in_place,
    "block-sum": block_sum, "collatz": collatz, "transpose": transposed, "matmul": product, "softmax": softmax, "small": small,
}  # fmt: skip


def measure(name: str, size: int, seed: int) -> dict[str, object]:
    """The line of one case, in this process."""
    ran = CASES[name](lower(parse(compile_to_ptx(SOURCE, "sm_90"))), size, seed)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "case": name, "size": size, "seed": seed, "threads": ran.threads, "instructions": ran.launch.executed,
        "seconds": round(ran.seconds, 4), "peak_mb": round(peak_mb), "as_expected": ran.as_expected,
        "numpy": version("numpy"), "python": sys.version.split()[0],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", default="*", help="only the cases that match")
    parser.add_argument("--size", type=int, default=4096, help="edge of the stencil's array; the others scale with its square")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="one case in this process")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measure(options.case, options.size, options.seed)))
        return 0
    failed = False
    for name in CASES:
        if fnmatchcase(name, options.case):
            command = [
                sys.executable,
                __file__,
                "--here",
                "--case",
                name,
                "--size",
                str(options.size),
                "--seed",
                str(options.seed),
            ]
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
            print(done.stdout.strip() or json.dumps({"case": name, "as_expected": False}), flush=True)
            failed |= done.returncode != 0 or '"as_expected": true' not in done.stdout
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
