"""Completions of every example, worked out by hand; arguments of a hole are a0, a1, ..."""

from __future__ import annotations

import ast
import re

from warploom.ir import Compare, HoleArg, IndexBinary, IndexConst, IndexExpr, IndexSelect
from warploom.kernels import broadcast, image
from warploom.sketch import Sketch

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitXor: "^"}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}

AXIS = {"row": "0 if a0 >= a1 else 1", "lane": "(a0 + a1) % 32", "weight": "a0"}
IMAGE = {
    "tile_row": "0 if a0 >= a1 else 1",
    "tile_col": "0 if a0 >= a1 else 1",
    "lane_row": "(a0 + a1) % 4",
    "lane_col": "(a0 + a1) % 8",
}
SIX_ACCUMULATES = {f"c{q}_a{x}_b{y}": "False" for q in range(4) for x in range(2) for y in range(2)} | {
    "c0_a0_b0": "a1 <= a0",
    "c1_a0_b1": "True",
    "c1_a1_b0": "a1 <= a0",
    "c2_a1_b1": "True",
    "c2_a0_b0": "a1 > a0",
    "c3_a1_b0": "a1 > a0",
}
"""The paper's inventive step: b0 and b1 swap rows where i > lane, so that two of the eight accumulates always happen."""
MULT64_REG = SIX_ACCUMULATES | {
    "a0_row": "0", "a1_row": "1", "b0_row": "0 if a0 < 32 - a1 else 1", "b1_row": "0 if a0 >= 32 - a1 else 1",
    "a0_lane": "a1", "a1_lane": "a1", "b0_lane": "(a0 - a1) % 32", "b1_lane": "(a0 - a1) % 32",
}  # fmt: skip
MULT64_SHARED = SIX_ACCUMULATES | {
    "a0_index": "a1", "a1_index": "a1 + 32", "b0_index": "(a0 - a1) % 64", "b1_index": "(a0 - a1 + 32) % 64",
}  # fmt: skip


def completions(name: str, units: int = 1) -> dict[str, IndexExpr]:
    """Hand-made completions of the example `name`; `units` per structure for arrays of structures."""
    texts: dict[str, str]
    match re.sub(r"-?\d+$", "", name.removesuffix("-direct").removesuffix("-units")):
        case "conv1d":
            texts = AXIS
        case "stencil1d":
            texts = {"row": AXIS["row"], "lane": AXIS["lane"], "use": "True"}
        case "conv2d-3-runs" | "conv2d-4-runs" | "conv2d-7-runs" | "stencil2d-2-runs" | "stencil2d-3-runs":
            texts = {"row": AXIS["row"], "lane": AXIS["lane"]}
        case "conv2d" | "stencil2d":
            texts = IMAGE
        case "mult32-reg":
            texts = {"a_lane": "a1", "b_lane": "(a0 - a1) % 32", "low": "a1 <= a0", "high": "a1 > a0"}
        case "mult32-shared":
            texts = {"a_index": "a1", "b_index": "(a0 - a1) % 32", "low": "a1 <= a0", "high": "a1 > a0"}
        case "mult64-shared":
            texts = MULT64_SHARED
        case "mult32-reg-runs" | "mult64-reg-runs" | "ffm-64-runs" | "ffm-96-runs" | "ffm-128-runs":
            texts = {"lane": "(a0 - a1) % 32", "low": "a0 >= a1"}
        case "mult64-reg" | "ffm":
            texts = MULT64_REG
        case "aos-sum-crc":
            column, row, _ = crc(units)
            texts = {"column": column, "row": row}
        case "aos-store-crc":
            column, row, after = crc(units)
            texts = {"column": column, "row": row, "column_after": after}
        case "aos-store-rcr":
            load, column, store = rcr(units)
            texts = {"load": load, "column": column, "store": store}
        case other:
            raise AssertionError(f"no solution written for {other}")
    return {hole: index(text) for hole, text in texts.items()}


def side_by_side(name: str) -> Sketch:
    """`NAME-runs`: outputs of a lane side by side, or one factor read by all lanes alike."""
    what, number = re.fullmatch(r"(.+?)-?(\d+)(?:-reg)?-runs", name).groups()
    match what:
        case "conv2d" | "stencil2d":
            return getattr(image, f"{what}_runs")(int(number))
        case "mult":
            return broadcast.mult_runs(int(number) // 32)
        case _:
            return broadcast.ffm_runs(int(number))


def crc(s: int) -> tuple[str, str, str]:
    """column(i, lane), row(lane, i), column_after(i, lane): an edge colouring of the moves by rounds, per gcd(s, 32)."""
    if s % 2:
        return f"(a0 - a1) * {pow(32, -1, s)} % {s}", f"({s} * a0 + a1) % 32", "a0"
    if 32 % s == 0:
        group = f"({s} * {{}} // 32)"
        lane = f"{s} * a0 % 32 + (a1 - {group.format('a0')}) % {s}"
        return f"(a0 - a1) % {s}", lane, f"(a0 + {group.format('a1')}) % {s}"
    assert s == 6
    column = "(a0 - a1) // 2 % 3 if (a0 - a1) % 2 == 0 else 3 + ((a0 ^ 1) - a1) // 2 % 3"
    return column, "(6 * a0 + (a1 if a0 < 16 else a1 ^ 1)) % 32", "a0 if a1 < 16 else a0 ^ 1"


def rcr(s: int) -> tuple[str, str, str]:
    """load(lane, round), column(i, lane), store(lane, round): each lane loads words of pairwise different positions."""
    if s % 2:
        load, column = "a0", f"({{i}} - {{lane}}) * {pow(32, -1, s)} % {s}"
    elif 32 % s == 0:
        load, column = "(a0 + a1) % 32", f"({{i}} - {{lane}}) % {s}"
    else:
        assert s == 6
        load = "a0 if a1 < 3 else a0 ^ 1"
        column = "({i} - {lane}) // 2 % 3 if ({i} - {lane}) % 2 == 0 else 3 + ({i} - ({lane} ^ 1)) // 2 % 3"
    loaded_in = f"({column.format(i='a1', lane='a0')})"
    store = f"(32 * {loaded_in} + ({load.replace('a1', loaded_in)})) // {s}"
    return load, column.format(i="a0", lane="a1"), store


def index(text: str) -> IndexExpr:
    return _index(ast.parse(text, mode="eval").body)


def _index(node: ast.expr) -> IndexExpr:
    match node:
        case ast.Constant(value):
            assert isinstance(value, (int, bool))
            return IndexConst(value)
        case ast.Name(name):
            return HoleArg(int(name.removeprefix("a")))
        case ast.BinOp(lhs, op, rhs):
            return IndexBinary(BINARY[type(op)], _index(lhs), _index(rhs))
        case ast.Compare(lhs, [op], [rhs]):
            return Compare(COMPARE[type(op)], _index(lhs), _index(rhs))
        case ast.IfExp(cond, then, other):
            return IndexSelect(_index(cond), _index(then), _index(other))
        case _:
            raise AssertionError(ast.dump(node))
