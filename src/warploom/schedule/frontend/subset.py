"""The subset of Python that tensor functions accept, by example; docs/schedule.md shows the table and a test reads every row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One construct: `example` is the body of a function of X: f32["n"], A: f32["n", "n + 2"], N: i32["n"], and outputs y, m."""

    construct: str
    example: str
    is_accepted: bool
    note: str = ""


ROWS: tuple[Row, ...] = (
    Row("arithmetic", "y[i] = X[i] * 2 - (X[i] + 1) / 3", True, "a number takes the type of what it meets, unchanged"),
    Row("fraction on integers", "m[i] = N[i] + 0.5", False, "convert: `f32(N[i])`"),
    Row("`/` of integers", "m[i] = N[i] / 2", False, "convert: `f32(N[i]) / 2`"),
    Row("`//`, `%` of elements", "m[i] = N[i] // 2", False, "of indices: yes"),
    Row("powers", "y[i] = X[i] ** 3 + X[i] ** -2 + X[i] ** 0.5", True, "whole numbers from 1 to 8, the same below 0, and 0.5"),
    Row("functions", "y[i] = max(abs(X[i]), sqrt(exp(X[i])), 1)", True, "by what the name is bound to, not by its spelling"),
    Row("reductions", "y[i] = max(A[i, k], over=k)", True, "`sum prod max min`"),
    Row("sum by `+=`", "y[i] += A[i, k]", True),
    Row("`-=`, `*=`, `/=`", "y[i] -= A[i, k]", False, "`sum(..., over=k)`; arrays declared as `inout` take them"),
    Row("values", "t[i] = X[i] * X[i]\ny[i] = t[i] + 1", True, "from index to the same index; stores may share them"),
    Row(
        "values without indices", "t = X[i] * X[i]\ny[i] = t + 1", True, "those that the right side leaves; read as `t` or `t[i]`"
    ),
    Row("affine indices", "y[i] = A[i, 1 + i + 0 * i]", True, "integers, indices, `+ -`, integer * index"),
    Row(
        "divided indices",
        "y[i] = X[i // 2] + X[i % 4]",
        True,
        "one index over a number; several of one index where each divides the next",
    ),
    Row("shifted and padded", "y[i] = pad(X, 0)[i - 1]", True),
    Row("a padded array by name", "P = pad(X, 0)\ny[i] = P[i - 1] + P[i + 1]", True, "of an input, or of what is stored already"),
    Row("size as a number", "y[i] = X[i] / n + X[n // 2]", True, "also over an integer, `//` or `%`, here and in indices"),
    Row(
        "conversion",
        "y[i] = f32(N[i]) + np.float32(N[i])",
        True,
        "`f32(...)`, or NumPy's types; `float` and `int` name no one type",
    ),
    Row("backwards", "y[i] = X[n - 1 - i]", True, "a size that is no index itself; sums of sizes and integers"),
    Row(
        "index as a number",
        "y[i] = X[i] * (i + 1) if i < n - 1 else f32(N[i] - i)",
        True,
        "in the type of what it meets, or `f32(i)`; sums with integers and sizes",
    ),
    Row("gather", "y[i] = X[N[i]] + pad(X, 0)[N[i]]", True, "an element of an input of whole numbers alone, as an index"),
    Row("place of an extreme", "m[i] = argmax(A[i, k], over=k)", True, "`argmax argmin`, as NumPy: the first, of NaNs the first"),
    Row("running result", "y[i] = y[i - 1] + X[i]", False, "a loop under `wl.jit` ([running results](#running-results))"),
    Row("conditions", "y[i] = X[i] if X[i] > 0 else 0", True, "both values are computed; a NaN compares as in Python"),
    Row(
        "`where`",
        "y[i] = where(0 < X[i] <= 1 or not X[i] < n, X[i], -X[i])",
        True,
        "as in NumPy, too: `(X[i] > 0) & ~(X[i] > 1)`",
    ),
    Row("a choice of numbers", "m[i] = where(X[i] > 0, 1, 0)", True, "takes the type of what it meets, else the compared type"),
    Row("`and`, `or`, comparisons as values", "y[i] = X[i] or 1", False, "`where(X[i] != 0, X[i], 1)`"),
    Row("loops, `if`, `return`", "for i in range(3):\n    y[i] = X[i]", False, "indices run by themselves"),
)


def table() -> str:
    """`ROWS` for docs/schedule.md."""
    lines = ["| Python | example | accepted | |", "| --- | --- | --- | --- |"]
    for row in ROWS:
        example = row.example.replace(":\n    ", ": ").replace("\n", "; ")
        lines.append(f"| {row.construct} | `{example}` | {'yes' if row.is_accepted else 'no'} | {row.note} |")
    return "\n".join(lines)
