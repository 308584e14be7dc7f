"""Kernels that `explore` finds for GPUs: time by the model, shares of the peaks, and what their machine code has.

    python -m benchmarks.found_kernels [CASE ...] --arch sm_80 sm_90 --nodes 1500     one JSON line for each search
    python -m benchmarks.found_kernels transpose --text DIR                           writes CUDA, machine code, decisions, too

`peak_share`: of the peak of f32, or of the fastest products of matrices of the factors' type. `memory_share`: compulsory bytes
over the time, of the bandwidth of the largest board. `loads_per_output`: global loads of a thread for each element stored.
`ffma_per_lds`: of the machine code, FFMA for each 128 bits loaded from shared memory. `ways`: most wavefronts of the
lanes of a request to shared memory that go together (1: no bank conflict; 0: no such request), counted at index 0 of all loops;
`ptx_ways`: the same of those requests of the PTX whose addresses are known apart. Lists have one entry for each kernel.
`seconds` (CPU) depends on the machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import warploom
from warploom.core import UserError, bf16, f16, f32, i8, i32
from warploom.gpu import Compiled
from warploom.gpu.machine_code import MachineCounts, counts_in, disassembled
from warploom.kernels.suites.measured import NETWORKS, POLYBENCH
from warploom.kernels.tensors import TENSOR_KERNELS
from warploom.machines import ARCHITECTURES, by_groups
from warploom.ptx import lower, parse
from warploom.ptx.launches import Costs, assumptions, costs
from warploom.schedule.backbone import count_compulsory_bytes, count_flops
from warploom.schedule.bound import Bound
from warploom.schedule.choices.lower_swizzle import bank_conflicts
from warploom.schedule.cost import loads_per_output, modelled
from warploom.schedule.cuda import CudaKernel, compile_kernel, cuda_kernel
from warploom.schedule.cuda import Options as CudaOptions
from warploom.schedule.frontend import exp, log, out, tensor
from warploom.schedule.nest import products_of
from warploom.schedule.search import Options, explore_programs, strategy_named
from warploom.schedule.search.modelled import ModelEvaluator
from warploom.schedule.targets import target
from warploom.tools.explore.options import Function, KernelOptions
from warploom.tools.explore.parting import parting_of

# ruff: noqa: F821, N803, UP037 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false, reportUnboundVariable=false


@tensor
def transpose(X: f32["m", "n"], Y: out[f32["n", "m"]]):
    Y[n, m] = X[m, n]


@tensor
def transpose_f16(X: f16["m", "n"], Y: out[f16["n", "m"]]):
    Y[n, m] = X[m, n]


@tensor
def swap_middle(X: f32["a", "b", "c"], Y: out[f32["b", "a", "c"]]):
    Y[b, a, c] = X[a, b, c]


@tensor
def column_sums(X: f32["m", "n"], y: out[f32["n"]]):
    y[n] = sum(X[m, n], over=m)


@tensor
def column_softmax(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    top[n] = max(X[m, n], over=m)
    e[m, n] = exp(X[m, n] - top[n])
    total[n] = sum(e[m, n], over=m)
    Y[m, n] = e[m, n] / total[n]


@tensor
def cross_entropy(X: f32["m", "n"], label: i32["m"], y: out[f32["m"]]):
    top[m] = max(X[m, n], over=n)
    y[m] = log(sum(exp(X[m, n] - top[m]), over=n)) + top[m] - X[m, label[m]]


@tensor
def average_pool(X: f32["c", "2*h + 1", "2*w + 1"], Y: out[f32["c", "h", "w"]]):
    r: range(3)
    s: range(3)
    Y[c, h, w] = sum(X[c, 2 * h + r, 2 * w + s], over=(r, s)) / 9


@tensor
def silu_f16(X: f16["m", "n"], Y: out[f16["m", "n"]]):
    x[m, n] = f32(X[m, n])
    Y[m, n] = f16(x[m, n] / (1 + exp(-x[m, n])))


@tensor
def linear_gelu_bf16(X: bf16["m", "k"], W: bf16["n", "k"], bias: f32["n"], Y: out[bf16["m", "n"]]):
    y[m, n] = sum(f32(X[m, k]) * f32(W[n, k]), over=k) + bias[n]
    Y[m, n] = bf16(y[m, n] / (1 + exp(-1.702 * y[m, n])))


def _square(size: int) -> dict[str, int]:
    return dict.fromkeys("mnk", size)


@tensor
def distances(X: f32["i", "k"], Y: f32["j", "k"], D: out[f32["i", "j"]]):
    D[i, j] = sum((X[i, k] - Y[j, k]) ** 2, over=k)


@tensor
def min_plus(A: f32["i", "k"], B: f32["k", "j"], D: out[f32["i", "j"]]):
    D[i, j] = min(A[i, k] + B[k, j], over=k)


@tensor
def nearest(X: f32["i", "k"], Y: f32["j", "k"], d: out[f32["i"]]):
    d[i] = min(sum((X[i, k] - Y[j, k]) ** 2, over=k), over=j)


@tensor
def int8_weights(X: f16["m", "k"], W: i8["n", "k"], s: f16["n"], Y: out[f16["m", "n"]]):
    Y[m, n] = f16(sum(f32(X[m, k]) * f32(f16(W[n, k])), over=k) * f32(s[n]))


@tensor
def int8_weights_f32(X: f32["m", "k"], W: i8["n", "k"], Y: out[f32["m", "n"]]):
    Y[m, n] = sum(X[m, k] * f32(W[n, k]), over=k)


_MANY = {"b": 64, "m": 256, "n": 256, "k": 64}
_ROWS = {"rows": 8192, "columns": 1000}
_KERNELS: dict[str, Function] = {
    **TENSOR_KERNELS,
    **{name: suite.kernel for name, suite in {**NETWORKS, **POLYBENCH}.items() if name not in TENSOR_KERNELS},
}
CASES: dict[str, tuple[Function, Mapping[str, int]]] = {
    "matmul-4096": (_KERNELS["matmul"], _square(4096)),
    "matmul-1024": (_KERNELS["matmul"], _square(1024)),
    "matmul-1000": (_KERNELS["matmul"], _square(1000)),
    "matmul-64": (_KERNELS["matmul"], _square(64)),
    "matmul_tn-2048": (_KERNELS["matmul_tn"], _square(2048)),
    "matmul_nt-2048": (_KERNELS["matmul_nt"], _square(2048)),
    "matmul_batched": (_KERNELS["matmul_batched"], _MANY),
    "matmul_batched-32": (_KERNELS["matmul_batched"], {"b": 512, "m": 32, "n": 32, "k": 32}),
    "matmul_f16-4096": (_KERNELS["matmul_f16"], _square(4096)),
    "matmul_f16-1024": (_KERNELS["matmul_f16"], _square(1024)),
    "matmul_bf16-4096": (_KERNELS["matmul_bf16"], _square(4096)),
    "matmul_bf16-1024": (_KERNELS["matmul_bf16"], _square(1024)),
    "linear_relu": (_KERNELS["linear_relu"], {"m": 2048, "n": 2048, "k": 512}),
    "linear_gelu_bf16": (linear_gelu_bf16, _square(2048)),
    "int8_weights-4096": (int8_weights, _square(4096)),
    "int8_weights-1024": (int8_weights, _square(1024)),
    "int8_weights_f32": (int8_weights_f32, _square(1024)),
    "distances": (distances, {"i": 2048, "j": 2048, "k": 512}),
    "min_plus": (min_plus, {"i": 2048, "j": 2048, "k": 512}),
    "nearest": (nearest, {"i": 65536, "j": 1024, "k": 128}),
    "matvec": (_KERNELS["matvec"], {"m": 4096, "n": 4096}),
    "matvec-odd": (_KERNELS["matvec"], {"m": 3001, "n": 2999}),
    "matvec_t": (_KERNELS["matvec_t"], {"m": 4096, "n": 4096}),
    "column_sums": (column_sums, {"m": 8192, "n": 4096}),
    "column_softmax": (column_softmax, {"m": 512, "n": 8192}),
    "softmax": (_KERNELS["softmax"], {"rows": 8192, "columns": 1024}),
    "softmax-32000": (_KERNELS["softmax"], {"rows": 4096, "columns": 32000}),
    "cross_entropy": (cross_entropy, {"m": 4096, "n": 32000}),
    "softmax-32": (_KERNELS["softmax"], {"rows": 65536, "columns": 32}),
    "layer_norm": (_KERNELS["layer_norm"], {"rows": 8192, "columns": 1024}),
    "layer_norm-odd": (_KERNELS["layer_norm"], {"rows": 4097, "columns": 999}),
    "rms_norm": (_KERNELS["rms_norm"], _ROWS),
    "gelu": (_KERNELS["gelu"], {"m": 4096, "n": 4096}),
    "silu_f16": (silu_f16, {"m": 4096, "n": 4096}),
    "axpy": (_KERNELS["axpy"], {"n": 1 << 26}),
    "axpy-tiny": (_KERNELS["axpy"], {"n": 100}),
    "outer": (_KERNELS["outer"], {"m": 4096, "n": 4096}),
    "transpose": (transpose, {"m": 4096, "n": 4096}),
    "transpose_f16": (transpose_f16, {"m": 4096, "n": 4096}),
    "swap_middle": (swap_middle, {"a": 512, "b": 512, "c": 64}),
    "jacobi1d": (_KERNELS["jacobi1d"], {"n": 1 << 24}),
    "jacobi2d": (_KERNELS["jacobi2d"], {"h": 4096, "w": 4096}),
    "stencil3d": (_KERNELS["stencil3d"], dict.fromkeys("dhw", 256)),
    "heat3d": (_KERNELS["heat3d"], dict.fromkeys("dhw", 256)),
    "filter2d": (_KERNELS["filter2d"], {"c": 1, "o": 1, "h": 4096, "w": 4096, "r": 3, "s": 3}),
    "filter2d_7x7": (_KERNELS["filter2d_7x7"], {"c": 1, "o": 1, "h": 4096, "w": 4096, "r": 7, "s": 7}),
    "depthwise": (_KERNELS["depthwise"], {"c": 256, "h": 112, "w": 112}),
    "conv2d": (_KERNELS["conv2d_same"], {"c": 64, "o": 64, "h": 56, "w": 56}),
    "conv2d-224": (_KERNELS["conv2d_same"], {"c": 64, "o": 64, "h": 224, "w": 224}),
    "conv2d_strided": (_KERNELS["conv2d_strided"], {"c": 64, "o": 128, "h": 56, "w": 56}),
    "max_pool": (_KERNELS["max_pool"], {"c": 256, "h": 112, "w": 112}),
    "average_pool": (average_pool, {"c": 256, "h": 112, "w": 112}),
}  # fmt: skip
"""By name: the function, and its sizes."""


def line(case: str, arch: str, nodes: int, seed: int, folder: Path | None = None) -> dict[str, object]:
    """One search, and what was found."""
    on, (function, sizes) = target(arch), CASES[case]
    parting = parting_of(function, KernelOptions(target=on, sizes=sizes, seed=seed))
    began = time.process_time()
    asked = Options(strategy=strategy_named("refine", seed), nodes=nodes)
    programs = {parts: variant.program for parts, variant in parting.variants.items()}
    searched = explore_programs(programs, on, Bound, asked, evaluators=lambda _: ModelEvaluator(on))
    seconds = time.process_time() - began
    found = {"case": case, "arch": arch, "seed": seed, "nodes": nodes, "parts": searched.parts, "seconds": round(seconds, 1)}
    nests = [stage.best.nest for stage in searched.found.stages if stage.best is not None]
    time_ms = searched.found.time_ms
    if time_ms is None:
        return found | {"time_ms": None, "version": warploom.__version__}
    modelled_each = [modelled(nest, on) for nest in nests]
    kernels = [cuda_kernel(nest, CudaOptions(arch=arch)) for nest in nests]
    compiled = [compile_kernel(kernel) for kernel in kernels]
    texts = [disassembled(each.cubin) for each in compiled]
    counts = [next(iter(counts_in(text).values())) for text in texts]
    if folder is not None:
        _write(folder / f"{case}-{arch}", [kernel.text for kernel in kernels], texts)
        text = json.dumps([dict(stage.decisions) for stage in searched.found.stages], indent=1)
        text += "\n" + "\n".join(each.text for each in modelled_each)
        (folder / f"{case}-{arch}.txt").write_text(text, encoding="utf-8")
    whole = parting.first.program
    factors = {part.instruction.factor for nest in nests for part in products_of(nest)}
    return found | {
        "time_ms": round(time_ms, 5),
        "peak_share": round(count_flops(whole) / (time_ms * 1e6) / _peak_gflops(arch, factors), 3),
        "memory_share": round(count_compulsory_bytes(whole) / (time_ms * 1e6) / on.rates.bandwidth_bytes_per_ns, 3),
        "threads": [each.threads for each in modelled_each], "blocks": [each.blocks for each in modelled_each],
        "loads_per_output": [None if (n := loads_per_output(nest)) is None else round(n, 2) for nest in nests],
        "ffma_per_lds": [_products_per_load(each) for each in counts],
        "instructions": [each.instructions for each in counts], "registers": [each.registers for each in compiled],
        "spill_bytes": [each.spill_bytes for each in compiled], "ways": [bank_conflicts(nest) for nest in nests],
        "ptx_ways": [_ways(kernel, made) for kernel, made in zip(kernels, compiled, strict=True)],
        "version": warploom.__version__,
    }  # fmt: skip


def _ways(kernel: CudaKernel, compiled: Compiled) -> int | None:
    """None: not known of any."""
    program = lower(parse(compiled.ptx))
    block = [f"blockDim.{axis} == {size}" for axis, size in zip("xyz", kernel.block, strict=True)]
    found = costs(program, next(iter(program.routines)), [one for text in block for one in assumptions(text)])
    return max((cost.ways for cost in found.known if cost.is_shared), default=None) if isinstance(found, Costs) else None


def _write(path: Path, kernels: Sequence[str], sass: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".cu").write_text("\n\n".join(kernels), encoding="utf-8")
    path.with_suffix(".sass").write_text("\n\n".join(sass), encoding="utf-8")


def _products_per_load(counts: MachineCounts) -> float | None:
    """None without loads from shared memory."""
    bits = {"LDS": 32, "LDS.64": 64, "LDS.128": 128}
    loaded = sum(n * bits[opcode] for opcode, n in counts.opcodes.items() if opcode in bits)
    return round(counts.opcodes.get("FFMA", 0) / (loaded / 128), 1) if loaded else None


def _peak_gflops(arch: str, factors: set[str]) -> float:
    rates, timing = target(arch).rates, ARCHITECTURES[arch].timing
    of_kinds = timing.products_by_kind
    each = [max(of_kinds.get(name, 0.0), of_kinds.get(by_groups(name), 0.0)) for name in factors]
    return 2 * max([timing.float_lanes.value, *each]) * rates.clock_ghz * rates.cores


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", choices=[*CASES, []], default=[], help="default: all")
    parser.add_argument("--arch", nargs="+", default=["sm_90"])
    parser.add_argument("--nodes", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a file of lines; cases that it has are not searched again")
    parser.add_argument("--text", type=Path, metavar="DIR", help="writes CUDA, machine code and decisions there")
    given = parser.parse_args(arguments)
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out and given.out.exists() else []
    keys = ("case", "arch", "seed", "nodes")
    known = {tuple(row[key] for key in keys) for row in map(json.loads, lines)}
    for case in given.case or CASES:
        for arch in given.arch:
            for seed in range(given.seeds):
                if (case, arch, seed, given.nodes) in known:
                    continue
                try:
                    text = json.dumps(line(case, arch, given.nodes, seed, given.text))
                except UserError as error:
                    text = json.dumps({"case": case, "arch": arch, "seed": seed, "nodes": given.nodes, "reason": str(error)})
                print(text, flush=True)
                if given.out:
                    with given.out.open("a", encoding="utf-8") as file:
                        file.write(text + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
