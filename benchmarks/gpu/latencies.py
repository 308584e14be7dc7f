"""On a GPU: the latencies and rates that the model of shuffle profit takes from `warploom.machines`, measured.

`python benchmarks/gpu/latencies.py [--json] [--dry-run]`. Latencies: chains of dependent operations of one warp, cycles by
`clock64`. Rates: many warps, independent operations, warp operations per cycle of one multiprocessor. `--dry-run` needs no GPU:
all are compiled.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from forms import DRY_ARCH

from warploom.gpu import compile_cuda, device_arch, device_available, launch

STEPS = 1024

CHAINS = {
    "shuffle_cycles": ("int v = threadIdx.x;", "v = __shfl_up_sync(0xffffffffu, v, 1) + 0;"),
    "shared_cycles": (
        "__shared__ int s[1024]; for (int i = threadIdx.x; i < 1024; i += 32) s[i] = (i + 32) & 1023; __syncthreads();"
        " int v = threadIdx.x;",
        "v = s[v];",
    ),
    "l1_cycles": ("int v = threadIdx.x;", 'asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(v) : "l"(next + v) : "memory");'),
    "nc_cycles": ("int v = threadIdx.x;", 'asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(next + v));'),
    "l2_cycles": ("int v = threadIdx.x;", 'asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(v) : "l"(next + v) : "memory");'),
    "arithmetic_cycles": ("float v = threadIdx.x;", "v = v * 1.0001f + 1.0f;"),
}
"""Name in the table -> (what starts the chain, one step of it)."""

RATES = {
    "shuffle_rate": "a += __shfl_up_sync(0xffffffffu, b, 1); b ^= a;",
    "l1_rate": 'asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(b) : "l"(next + (threadIdx.x & 31) + (i & 7) * 32)); a += b;',
    "nc_rate": 'asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(b) : "l"(next + (threadIdx.x & 31) + (i & 7) * 32)); a += b;',
}


def chain_source(start: str, step: str) -> str:
    """One warp: `STEPS` dependent steps after as many to warm the caches; cycles in out[0]."""
    return f"""extern "C" __global__ void chain(long long* out, const int* next)
{{
    {start}
    for (int i = 0; i < {STEPS}; i++) {{ {step} }}
    long long begin = clock64();
    #pragma unroll 16
    for (int i = 0; i < {STEPS}; i++) {{ {step} }}
    long long end = clock64();
    if (threadIdx.x == 0) out[0] = end - begin;
    out[1 + threadIdx.x] = (long long)v;
}}
"""


def rate_source(step: str) -> str:
    """1024 threads of one multiprocessor; cycles of the block in out[0]."""
    return f"""extern "C" __global__ void chain(long long* out, const int* next)
{{
    int a = threadIdx.x, b = a + 1;
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 16
    for (int i = 0; i < {STEPS}; i++) {{ {step} }}
    __syncthreads();
    long long end = clock64();
    if (threadIdx.x == 0) out[0] = end - begin;
    out[1 + threadIdx.x] = a;
}}
"""


def sources() -> dict[str, str]:
    """The CUDA of each figure."""
    chains = {name: chain_source(*parts) for name, parts in CHAINS.items()}
    return chains | {name: rate_source(step) for name, step in RATES.items()}


def measure(source: str, threads: int, arch: str) -> int:
    """Cycles, the least of five runs."""
    compiled = compile_cuda(source, arch=arch)
    next_place = ((np.arange(1024, dtype=np.int32) + 32) & 1023).astype(np.int32)
    found: list[int] = []
    for _ in range(5):
        out = np.zeros(1 + threads, np.int64)
        launch(compiled, "chain", (1, 1, 1), (threads, 1, 1), [out, next_place])
        found.append(int(out[0]))
    return min(found)


def main() -> int:
    as_json, is_dry = "--json" in sys.argv[1:], "--dry-run" in sys.argv[1:]
    if not is_dry and not device_available():
        print("no CUDA device: nothing to measure (--dry-run compiles the chains without one)", file=sys.stderr)
        return 3
    arch = DRY_ARCH if is_dry else device_arch()
    for name, source in sources().items():
        line: dict[str, object] = {"case": name, "arch": arch}
        if is_dry:
            compiled = compile_cuda(source, arch)
            line |= {"registers": compiled.registers, "local_bytes": compiled.local_bytes}
        elif name in CHAINS:
            line["cycles"] = round(measure(source, 32, arch) / STEPS, 1)
        else:
            line["warp_operations_per_cycle"] = round(32 * STEPS / measure(source, 1024, arch), 3)
        print(json.dumps(line) if as_json else line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
