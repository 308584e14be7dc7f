"""A convolution on a warp of four lanes, as in the paper's figure 1, with its completions."""

from __future__ import annotations

from warploom.ir import Compare, HoleArg, IndexBinary, IndexConst, IndexExpr, IndexSelect, Kernel, parse_kernel

SIZES = {"n": 4}
KERNEL: Kernel = parse_kernel(
    """
@hole("row", kind="part", args=("lane", "k"), n=2)
@hole("from", kind="xform", args=("lane", "k"), n=4)
@hole("weight", kind="xform", args=("k", "lane"), n=3)
@kernel(block=(4, 1, 1), grid=((n + 3) // 4, 1, 1), warp_size=4, file="")
def conv1d(x: Global[f32, n + 2], w: Constant[f32, 3], y: Global[f32, n] | out, n: size):
    lane = thread_id % 4
    first = block_id * 4
    inp = register(f32, 2)
    for r in range(0, 2, 1):
        inp[r] = x[first + r * 4 + lane] if first + r * 4 + lane < n + 2 else f32(0)
    out = accumulator(f32, op="+", init=0, finalize=__state)
    for k in range(0, 3, 1):
        sent: f32 = inp[hole("row", lane, k)]
        got: f32 = shfl(sent, hole("from", lane, k), 4)
        out.add(w[hole("weight", k, lane)] * got)
    if first + lane < n:
        y[first + lane] = out.value()
"""
)
_first, _second = HoleArg(0), HoleArg(1)
COMPLETIONS: dict[str, IndexExpr] = {
    "row": IndexSelect(Compare(">=", _first, _second), IndexConst(0), IndexConst(1)),
    "from": IndexBinary("%", IndexBinary("+", _first, _second), IndexConst(4)),
    "weight": _first,
}
