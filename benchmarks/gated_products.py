"""A gated layer (SwiGLU, `silu(X G) * (X U)`) whose products whole warps make: kernels that searches begin with, by the model.

    python -m benchmarks.gated_products [ARCH ...] [--size 4096]     one JSON line for each architecture and layout of the weights

Of each way of `schedule.choices.habits` what it leaves open is decided by the bound's guess. A line has the fastest kernel by the
model: its time in ms, TFLOP/s, whether both products read one copy of X (`is_shared`), whether groups of four warps multiply
(`wgmma`), and the registers and spilled bytes of its machine code; and the fastest with a copy for each product (`apart_ms`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import warploom as wl
from warploom import exp, f16, f32
from warploom.schedule.backbone import matrix_tiles, read_once, widened
from warploom.schedule.bound import Bound
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.cost import modelled
from warploom.schedule.cuda import Options, compile_kernel, cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.nest import Nest, products_of
from warploom.schedule.targets import target
from warploom.tools.explore.options import KEPT_BYTES

# ruff: noqa: F821, N803, UP037 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@wl.tensor
def by_rows(X: f16["m", "k"], G: f16["k", "n"], U: f16["k", "n"], Y: wl.out[f16["m", "n"]]):
    g[m, n] = sum(f32(X[m, k]) * f32(G[k, n]), over=k)
    u[m, n] = sum(f32(X[m, k]) * f32(U[k, n]), over=k)
    Y[m, n] = f16(g[m, n] / (1 + exp(-g[m, n])) * u[m, n])


@wl.tensor
def along_sum(X: f16["m", "k"], G: f16["n", "k"], U: f16["n", "k"], Y: wl.out[f16["m", "n"]]):
    g[m, n] = sum(f32(X[m, k]) * f32(G[n, k]), over=k)
    u[m, n] = sum(f32(X[m, k]) * f32(U[n, k]), over=k)
    Y[m, n] = f16(g[m, n] / (1 + exp(-g[m, n])) * u[m, n])


WEIGHTS: dict[str, TensorFunction] = {"[k, n]": by_rows, "[n, k]": along_sum}


def descent(space: KernelSpace, bound: Bound, way: int) -> Nest | None:
    """The kernel that a way begins with; None where what it leaves open leads nowhere."""
    candidate = space.usually(space.root(), lambda _: False, way)
    while (decision := space.decisions(candidate)) is not None:
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        if not children:
            return None
        candidate = min(children, key=bound.estimate)
    return space.lower(candidate)


def line(arch: str, weights: str, size: int) -> dict[str, object]:
    on = target(arch)
    (stage,) = WEIGHTS[weights].program(dict.fromkeys("mnk", size), matrix_tiles(on.matrices)).stages
    space = kernel_space(widened(read_once(stage, KEPT_BYTES), on.matrices), on)
    bound = Bound(space)
    found: dict[bool, tuple[float, Nest]] = {}
    for way in range(space.ways):
        nest = descent(space, bound, way)
        if nest is not None:
            is_shared = len(nest.buffers) == len(stage.regions) + 3
            time_ms = modelled(nest, on).time_ms
            if is_shared not in found or time_ms < found[is_shared][0]:
                found[is_shared] = time_ms, nest
    time_ms, nest = min(found.values(), key=lambda pair: pair[0])
    compiled = compile_kernel(cuda_kernel(nest, Options(arch=arch)))
    return {
        "arch": arch, "weights": weights, "size": size, "modelled_ms": round(time_ms, 4),
        "tflops": round(4 * size**3 / time_ms / 1e9, 1), "is_shared": found.get(True, (0.0, None))[1] is nest,
        "wgmma": all(part.group is not None for part in products_of(nest)), "registers": compiled.registers,
        "spill_bytes": compiled.spill_bytes, "apart_ms": round(found[False][0], 4) if False in found else None,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arch", nargs="*", default=ARCHITECTURES)
    parser.add_argument("--size", type=int, default=4096)
    given = parser.parse_args(arguments)
    for arch in given.arch:
        for weights in WEIGHTS:
            print(json.dumps(line(arch, weights, given.size)), flush=True)


if __name__ == "__main__":
    main()
