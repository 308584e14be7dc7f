"""Swizzleflow's conditions: comparisons of two coordinates of the written element.

    condition := d_a cmp (c + d_b) | d_a cmp (c - d_b)       cmp := == | != | < | <= | > | >=,  a = b too

Source: Swizzleflow, section 5, with the constants of the authors' tool: 0, 1, -1, n, -n unless `consts` says otherwise.
"""

from __future__ import annotations

from math import prod

import numpy as np

from warploom.ir.kernel.nodes import Compare, CompareOp, HoleArg, IndexBinary, IndexConst, IndexExpr
from warploom.ir.swizzle import Functions, IntArray, Tables, distinct

OPS: tuple[CompareOp, ...] = ("<", "<=", ">", ">=", "==", "!=")


def conditions(positions: IntArray, axes: tuple[int, ...], constants: tuple[int, ...]) -> Functions:
    """`true`, `false` and the distinct truth tables (1 = true) on points, cheapest first, over `HoleArg(axis)`.

    `positions` is [axes, points]. With any axis and constant, `true` and `false` are comparisons too (d_a == d_a).
    """
    points = positions.shape[1]
    constants = tuple(sorted(set(constants), key=lambda c: (abs(c), c < 0)))
    # [a, b, sign, constant, op, points]
    difference = np.stack([positions[:, None] - positions, positions[:, None] + positions], axis=2)[:, :, :, None, None]
    limit = np.array(constants, np.int64)[:, None, None]
    compared = [difference < limit, difference <= limit, difference > limit, difference >= limit]
    truth = np.concatenate([*compared, difference == limit, difference != limit], axis=4)
    listed = truth.shape[:-1]
    cost = np.where(np.array([True, False])[:, None] & (np.array(constants) == 0), 1, 2)
    costs = np.concatenate([np.zeros(2, np.int64), np.broadcast_to(cost[..., None], listed).ravel()])
    constant: Tables = np.repeat(np.array([[1], [0]], np.int16), points, axis=1)
    tables = np.concatenate([constant, truth.reshape(prod(listed), points).astype(np.int16)])

    def expression(row: int) -> IndexExpr:
        if row < 2:
            return IndexConst(row == 0)
        a, b, sign, c, op = (int(v) for v in np.unravel_index(row - 2, listed))
        return Compare(OPS[op], HoleArg(axes[a]), _right(HoleArg(axes[b]), constants[c], negated=sign == 1))

    keep = distinct(tables, costs)
    return Functions(tables[keep], costs[keep], expression, keep)


def _right(axis: IndexExpr, constant: int, *, negated: bool) -> IndexExpr:
    if negated:
        return IndexBinary("-", IndexConst(constant), axis)
    if constant == 0:
        return axis
    return IndexBinary("+" if constant > 0 else "-", axis, IndexConst(abs(constant)))
