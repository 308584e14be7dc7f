"""The kernels of `polybench/*`, `nn/*` and products of narrow types in PyTorch, as one writes them there; imported only where
PyTorch is installed."""

# pyright: basic, reportMissingImports=false
# ruff: noqa: N806  (arrays are called as in the kernels)

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeAlias

import torch
from torch.nn import functional

Tensors: TypeAlias = Mapping[str, Any]
Way: TypeAlias = Callable[[Tensors, Mapping[str, float]], tuple[Any, ...]]
"""Takes a kernel's arrays and scalars by name, gives its outputs in order; writes those in place that PyTorch can."""


def _two_matmul(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    torch.mm(d["A"], d["B"], out=d["AB"])
    return (torch.addmm(d["D"], d["AB"], d["C"], beta=p["beta"], alpha=p["alpha"], out=d["E"]),)


def _three_matmul(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    torch.mm(d["A"], d["B"], out=d["AB"])
    torch.mm(d["C"], d["D"], out=d["CD"])
    return (torch.mm(d["AB"], d["CD"], out=d["G"]),)


def _atax(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    torch.mv(d["A"], d["x"], out=d["Ax"])
    return (torch.mv(d["A"].T, d["Ax"], out=d["y"]),)


def _gemver(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    torch.addr(d["A"], d["u1"], d["v1"], out=d["B"])
    d["B"].addr_(d["u2"], d["v2"])
    torch.addmv(d["z"], d["B"].T, d["y"], alpha=p["beta"], out=d["x"])
    return d["B"], d["x"], torch.mv(d["B"], d["x"], out=d["w"]).mul_(p["alpha"])


def _gesummv(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    return (torch.mv(d["A"], d["x"], out=d["y"]).mul_(p["alpha"]).addmv_(d["B"], d["x"], alpha=p["beta"]),)


def _syr2k(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    torch.addmm(d["C"], d["A"], d["B"].T, beta=p["beta"], alpha=p["alpha"], out=d["D"])
    return (d["D"].addmm_(d["B"], d["A"].T, alpha=p["alpha"]),)


def _jacobi2d(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    X = d["X"]
    found = torch.add(X[1:-1, 1:-1], X[1:-1, :-2], out=d["Y"])
    for part in (X[1:-1, 2:], X[:-2, 1:-1], X[2:, 1:-1]):
        found.add_(part)
    return (found.mul_(0.2),)


def _heat3d(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    X = d["X"]
    inner = X[1:-1, 1:-1, 1:-1]
    found = torch.mul(inner, 0.25, out=d["Y"])
    for part in (
        X[:-2, 1:-1, 1:-1],
        X[2:, 1:-1, 1:-1],
        X[1:-1, :-2, 1:-1],
        X[1:-1, 2:, 1:-1],
        X[1:-1, 1:-1, :-2],
        X[1:-1, 1:-1, 2:],
    ):
        found.add_(part, alpha=0.125)
    return (found,)


def _covariance(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    torch.sub(d["X"], d["X"].mean(0), out=d["D"])
    return (torch.mm(d["D"].T, d["D"], out=d["C"]).div_(len(d["X"]) - 1),)


def _attention(d: Tensors, p: Mapping[str, float]) -> tuple[Any, ...]:
    q, k, v = (d[name][None, None] for name in "QKV")
    return (functional.scaled_dot_product_attention(q, k, v, scale=p["scale"])[0, 0],)


TORCH: dict[str, Way] = {
    "gemm": lambda d, p: (torch.addmm(d["C"], d["A"], d["B"], beta=p["beta"], alpha=p["alpha"], out=d["D"]),),
    "2mm": _two_matmul,
    "3mm": _three_matmul,
    "atax": _atax,
    "bicg": lambda d, p: (torch.mv(d["A"].T, d["r"], out=d["s"]), torch.mv(d["A"], d["p"], out=d["q"])),
    "mvt": lambda d, p: (
        torch.addmv(d["x1"], d["A"], d["y1"], out=d["z1"]),
        torch.addmv(d["x2"], d["A"].T, d["y2"], out=d["z2"]),
    ),
    "gemver": _gemver,
    "gesummv": _gesummv,
    "syrk": lambda d, p: (torch.addmm(d["C"], d["A"], d["A"].T, beta=p["beta"], alpha=p["alpha"], out=d["D"]),),
    "syr2k": _syr2k,
    "doitgen": lambda d, p: (torch.matmul(d["A"], d["C"], out=d["B"]),),
    "jacobi1d": lambda d, p: (torch.add(d["X"][:-2], d["X"][1:-1], out=d["Y"]).add_(d["X"][2:]).mul_(0.33333),),
    "jacobi2d": _jacobi2d,
    "heat3d": _heat3d,
    "covariance": _covariance,
    "linear_relu": lambda d, p: (torch.addmm(d["bias"], d["X"], d["W"].T, out=d["Y"]).relu_(),),
    "gelu": lambda d, p: (functional.gelu(torch.add(d["X"], d["bias"], out=d["Y"])),),
    "softmax": lambda d, p: (torch.softmax(d["X"], 1, out=d["Y"]),),
    "layer_norm": lambda d, p: (functional.layer_norm(d["X"], d["X"].shape[1:], d["gamma"], d["beta"], p["epsilon"]),),
    "rms_norm": lambda d, p: (functional.rms_norm(d["X"], d["X"].shape[1:], d["gamma"], p["epsilon"]),),
    "conv2d": lambda d, p: (functional.conv2d(d["X"][None], d["W"], padding=1)[0],),
    "depthwise": lambda d, p: (functional.conv2d(d["X"][None], d["W"][:, None], padding=1, groups=len(d["W"]))[0],),
    "conv2d_strided": lambda d, p: (functional.conv2d(d["X"][None], d["W"], stride=2)[0],),
    "max_pool": lambda d, p: (functional.max_pool2d(d["X"][None], 2)[0],),
    "attention": _attention,
    "cpu/matmul_bf16": lambda d, p: (torch.mm(d["A"], d["B"]),),
    "cpu/matmul_i8": lambda d, p: (torch.ops.aten._int_mm(d["A"], d["B"].T),),
}
"""By the name of the kernel in its suite, or the name of the case."""


def in_torch(
    name: str, arrays: Tensors, scalars: Mapping[str, float], threads: int, in_bf16: Collection[str] = ()
) -> tuple[str, Callable[[], tuple[Any, ...]]]:
    """A title, and what runs the kernel once on as many threads and gives its outputs. in_bf16: arrays that are tensors of it."""
    torch.set_num_threads(threads)
    tensors = {n: torch.from_numpy(a) for n, a in arrays.items()}
    tensors |= {n: tensors[n].to(torch.bfloat16) for n in in_bf16}
    return f"torch {torch.__version__}", partial(TORCH[name], tensors, scalars)
