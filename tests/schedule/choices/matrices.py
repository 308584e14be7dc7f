"""Small products of matrices of each kind of factors, decided as descents begin: blocks of one or two warps, or of one group; and
two products that share a factor (SwiGLU)."""

from __future__ import annotations

from functools import cache

from warploom.core import bf16, e4m3, f16, f32, f64, i8, i32, tf32
from warploom.schedule.backbone import Backbone, widened
from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.frontend import TensorFunction, exp, out, tensor
from warploom.schedule.nest import Nest
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false


@tensor
def by_rows(A: f16["m", "k"], B: f16["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[k, n])


@tensor
def by_columns(A: bf16["m", "k"], B: bf16["n", "k"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[n, k])


@tensor
def summed_outside(A: f16["k", "m"], B: f16["k", "n"], bias: f32["n"], C: out[f16["m", "n"]]):
    C[m, n] = f16(max(sum(f32(A[k, m]) * f32(B[k, n]), over=k) + bias[n], 0))


@tensor
def bytes_(A: i8["m", "k"], B: i8["n", "k"], C: out[i32["m", "n"]]):
    C[m, n] += i32(A[m, k]) * i32(B[n, k])


@tensor
def doubles(A: f64["m", "k"], B: f64["k", "n"], C: out[f64["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


@tensor
def rounded(A: tf32["m", "k"], B: tf32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[k, n])


@tensor
def small_floats(A: e4m3["m", "k"], B: e4m3["n", "k"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[n, k])


@tensor
def along_sums(A: f16["m", "k"], B: f16["n", "k"], bias: f32["n"], C: out[f16["m", "n"]]):
    C[m, n] = f16(max(sum(f32(A[m, k]) * f32(B[n, k]), over=k) + bias[n], 0))


@tensor
def gated(X: f16["m", "k"], G: f16["k", "n"], U: f16["k", "n"], Y: out[f16["m", "n"]]):
    gate[m, n] = sum(f32(X[m, k]) * f32(G[k, n]), over=k)
    up[m, n] = sum(f32(X[m, k]) * f32(U[k, n]), over=k)
    Y[m, n] = f16(gate[m, n] / (1 + exp(-gate[m, n])) * up[m, n])


@tensor
def gated_along_sums(X: f16["m", "k"], G: f16["n", "k"], U: f16["n", "k"], Y: out[f16["m", "n"]]):
    gate[m, n] = sum(f32(X[m, k]) * f32(G[n, k]), over=k)
    up[m, n] = sum(f32(X[m, k]) * f32(U[n, k]), over=k)
    Y[m, n] = f16(gate[m, n] / (1 + exp(-gate[m, n])) * up[m, n])


FUNCTIONS: dict[str, TensorFunction] = {
    "by rows": by_rows,
    "by columns": by_columns,
    "summed outside": summed_outside,
    "bytes": bytes_,
    "doubles": doubles,
    "rounded": rounded,
    "small floats": small_floats,
    "group": along_sums,
    "group of wide warps": by_columns,
    "group, bytes": bytes_,
    "group of few columns": along_sums,
    "gated": gated,
    "gated, group": gated_along_sums,
}
TILES = {
    "by rows": {"m": ((1,), (8,), (4,), (2,)), "n": ((2,), (8,), (8,)), "k": ((4,), (8,))},
    "by columns": {"m": ((2,), (2,), (4,), (2,)), "n": ((2,), (4,), (8,)), "k": ((8,), (8,))},
    "summed outside": {"m": ((2,), (2,), (4,), (2,)), "n": ((2,), (8,), (8,)), "k": ((4,), (8,))},
    "bytes": {"m": ((2,), (2,), (4,), (2,)), "n": ((2,), (4,), (8,)), "k": ((8,), (16,))},
    "doubles": {"m": ((2,), (2,), (4,), (2,)), "n": ((2,), (2,), (8,)), "k": ((4,), (2,))},
    "rounded": {"m": ((2,), (2,), (4,), (2,)), "n": ((2,), (4,), (8,)), "k": ((4,), (4,))},
    "small floats": {"m": ((2,), (2,), (4,), (2,)), "n": ((2,), (4,), (8,)), "k": ((8,), (16,))},
    "group": {"m": ((2,), (4,), (4,), (2,)), "n": ((4,), (2,), (8,)), "k": ((8,), (8,))},
    "group of wide warps": {"m": ((2,), (4,), (4,), (2,)), "n": ((4,), (4,), (8,)), "k": ((8,), (8,))},
    "group, bytes": {"m": ((2,), (4,), (4,), (2,)), "n": ((4,), (2,), (8,)), "k": ((8,), (16,))},
    "group of few columns": {"m": ((2,), (1,), (4,), (2,)), "n": ((4,), (2,), (8,)), "k": ((8,), (8,))},
    "gated": {"m": ((1,), (2,), (4,), (2,)), "n": ((2,), (4,), (8,)), "k": ((4,), (8,))},
    "gated, group": {"m": ((1,), (4,), (4,), (2,)), "n": ((4,), (2,), (8,)), "k": ((8,), (8,))},
}
SIZES = {
    "by rows": (120, 128, 64),
    "by columns": (32, 64, 192),
    "summed outside": (32, 128, 64),
    "bytes": (32, 64, 256),
    "doubles": (32, 32, 24),
    "rounded": (32, 64, 48),
    "small floats": (32, 64, 256),
    "group": (64, 64, 192),
    "group of wide warps": (64, 128, 192),
    "group, bytes": (64, 64, 256),
    "group of few columns": (16, 64, 192),
    "gated": (16, 64, 96),
    "gated, group": (32, 64, 192),
}
WAYS = {
    "by rows": 5,
    "by columns": 4,
    "summed outside": 5,
    "bytes": 0,
    "doubles": 1,
    "rounded": 1,
    "small floats": 0,
    "gated": 0,
    "gated, group": 0,
}
GROUPS = tuple(name for name in FUNCTIONS if name.startswith("group"))
WAYS |= dict.fromkeys(GROUPS, 0)


def architecture_of(name: str) -> str:
    """An old one that multiplies such matrices."""
    return "sm_90" if "group" in name else "sm_89" if name == "small floats" else "sm_80"


def stage(name: str, m: int | None = None, k: int | None = None) -> Backbone:
    given = {axis: size for axis, size in (("m", m), ("k", k)) if size is not None}
    return widened(FUNCTIONS[name].program(dict(zip("mnk", SIZES[name], strict=True)) | given, TILES[name]).stages[0])


def first(space: KernelSpace, candidate: Candidate) -> Candidate:
    """The leaf below the candidate in which every open choice has the first value that it may have."""
    while (decision := space.decisions(candidate)) is not None:
        children = (space.apply(candidate, decision, a) for a in decision.alternatives)
        candidate = next(c for c in children if c is not None)
    return candidate


@cache
def decided(name: str, m: int | None = None, k: int | None = None) -> tuple[KernelSpace, Candidate]:
    space = kernel_space(stage(name, m, k), target(architecture_of(name)))
    return space, first(space, space.usually(space.root(), lambda _: False, WAYS[name]))


@cache
def nest_of(name: str, m: int | None = None, k: int | None = None) -> Nest:
    space, candidate = decided(name, m, k)
    return space.lower(candidate)
