"""The softmax of Triton's tutorial, one program for each row; `ptx_interpreter` imports Triton nowhere else."""

# pyright: basic, reportArgumentType=false
# ruff: noqa: N803  (constants of Triton are called so)

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax(out, rows, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(rows + row * stride + column, mask=column < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + column, powers / tl.sum(powers, axis=0), mask=column < columns)
