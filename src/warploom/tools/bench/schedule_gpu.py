"""Cases `gpu/NAME` of `warploom bench schedule`: kernels that a search on the device finds, beside PyTorch (cuBLAS, cuDNN), a
copy of as many bytes, a naive kernel. Times are medians by device events, f32 without tensor cores.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Any, Literal

import numpy as np

from warploom.gpu import compile_cuda, device_arch, device_available, time_kernel
from warploom.kernels.tensors import TensorKernel, tensor_kernel
from warploom.schedule.backbone import count_flops
from warploom.schedule.targets import target
from warploom.tools.bench.schedule_names import SEARCH_S
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.outcome import Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.kernel import explore_tensor
from warploom.tools.explore.options import KernelOptions, program_of

_REPEATS, _WARM_UP = 40, 10

Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GpuCase:
    kernel: str
    peer: Literal["torch", "copy", "naive"]
    bar: float
    """The peer's time over ours at least. Of a copy as large as what is read and written once: the share of its bandwidth; rows
    of a norm that no cache holds are read three times, so that 0.5 is the whole of it."""
    torch: Callable[[Any, Arrays], object]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


def _product(torch: Any, d: Arrays) -> object:
    return torch.matmul(d["A"], d["B"])


def _convolution(torch: Any, d: Arrays) -> object:
    return torch.nn.functional.conv2d(d["X"][None], d["W"])


def _layer_norm(torch: Any, d: Arrays) -> object:
    return torch.nn.functional.layer_norm(d["X"], d["X"].shape[1:], d["gamma"], d["beta"])


CASES: dict[str, GpuCase] = {
    "matmul-1024": GpuCase("matmul", "torch", 0.9, _product),
    "matmul-256x256x32": GpuCase("matmul", "torch", 1.0, _product, {"m": 256, "n": 256, "k": 32}),
    "matmul-strided": GpuCase("matmul_strided", "naive", 10.0, lambda torch, d: torch.matmul(d["A"][:, ::32], d["B"])),
    "axpy": GpuCase("axpy", "copy", 0.95, lambda torch, d: torch.add(d["y"], d["x"], alpha=1.5)),
    "dot": GpuCase("dot", "copy", 0.85, lambda torch, d: torch.dot(d["x"], d["y"]), {"n": 1 << 26}),
    "sum": GpuCase("sum", "copy", 0.85, lambda torch, d: torch.sum(d["x"])),
    "max": GpuCase("max", "copy", 0.85, lambda torch, d: torch.max(d["x"])),
    "layer_norm-8": GpuCase("layer_norm", "copy", 0.42, _layer_norm, {"rows": 8, "columns": 1 << 22}),
    "conv2d-3x3": GpuCase("conv2d", "torch", 0.9, _convolution),
    "conv2d-7x7": GpuCase("conv2d_7x7", "torch", 0.9, _convolution),
}

_COPY = """extern "C" __global__ void copy(const float4* from, float4* to, int count)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) to[i] = from[i];
}
"""
_NAIVE = """extern "C" __global__ void naive(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += A[(long long)row * 32 * k + 32 * i] * B[i * n + column];
    C[row * n + column] = sum;
}
"""
"""One element of C per thread."""


def measure(name: str, budget_s: float | None, seed: int, stopwatch: Stopwatch, progress: Progress) -> Line:
    case = CASES[name.removeprefix("gpu/")]
    bar: Line = {"bar": {"peer": case.peer, "peer_over_time": case.bar}}
    if not device_available():
        line = plain_line(name, "unknown", stopwatch.read(), reason="no CUDA device on this machine")
        return line | bar | {"as_expected": None}
    arch = device_arch()
    kernel = tensor_kernel(case.kernel)
    budget_s = SEARCH_S if budget_s is None else budget_s
    options = KernelOptions(target=target(arch), sizes=case.sizes, budget_s=budget_s, seed=seed)
    line = explore_tensor(name, kernel, options, stopwatch, progress).line
    if line["status"] != "solved":
        return line | bar | {"as_expected": False}
    progress("timing the peers")
    arrays = kernel.arrays(case.sizes, seed)
    moved_bytes = kernel.bytes(case.sizes)
    peers: dict[str, float | None] = {"torch": _torch_ms(case, arrays), "copy": _copy_ms(moved_bytes, arch)}
    if case.peer == "naive":
        peers["naive"] = _naive_ms(kernel, case, arrays, arch)
    peer_ms, ours_ms = peers[case.peer], line["time_ms"]
    assert isinstance(ours_ms, float)
    line |= {f"{peer}_ms": None if ms is None else round(ms, 6) for peer, ms in peers.items()}
    line["arch"] = arch
    if peer_ms is None:
        return line | bar | {"note": "PyTorch is not installed", "as_expected": None}
    flops = count_flops(program_of(kernel, options))
    line |= {"peer": case.peer, "peer_over_time": round(peer_ms / ours_ms, 4), "peer_gflops": round(flops / (peer_ms * 1e6), 3)}
    return line | bar | {"as_expected": peer_ms / ours_ms >= case.bar}


def _torch_ms(case: GpuCase, arrays: Arrays) -> float | None:
    """None without PyTorch."""
    if find_spec("torch") is None:
        return None
    torch = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    device = {name: torch.from_numpy(np.array(array)).cuda() for name, array in arrays.items()}
    found: list[float] = []
    for _ in range(_REPEATS + _WARM_UP):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        case.torch(torch, device)
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end))
    return median(found[_WARM_UP:])


def _copy_ms(moved_bytes: int, arch: str) -> float:
    """Reads half of the bytes and writes as many."""
    count = max(1, moved_bytes // 32)
    arrays = [np.zeros(4 * count, np.float32), np.zeros(4 * count, np.float32)]
    compiled = compile_cuda(_COPY, arch)
    return time_kernel(compiled, "copy", (-(-count // 256), 1, 1), (256, 1, 1), arrays, [count], repeats=_REPEATS).median_ms


def _naive_ms(kernel: TensorKernel, case: GpuCase, arrays: Arrays, arch: str) -> float:
    sizes = kernel.sizes_with(case.sizes)
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    given = [arrays["A"].reshape(-1), arrays["B"].reshape(-1), np.zeros(m * n, np.float32)]
    compiled = compile_cuda(_NAIVE, arch)
    grid = (-(-n // 16), -(-m // 16), 1)
    return time_kernel(compiled, "naive", grid, (16, 16, 1), given, [m, n, k], repeats=_REPEATS).median_ms
