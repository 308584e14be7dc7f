"""The row pass of a separable filter: a binomial of five taps. Each lane keeps two inputs and asks its neighbours."""

import numpy as np
from shown import show

import warploom as wl
from warploom import f32

TAPS = 5
n = wl.size("n")
rows = wl.size("rows")


def spec(x, w, y, rows, n):
    for r in range(rows):
        for i in range(n):
            for k in range(TAPS):
                y[r, i] += w[k] * x[r, i + k]


@wl.sketch(spec=spec, block=32, grid=(wl.ceil_div(n, 32), rows), complete_at={"n": 32, "rows": 1})
def row_pass(x: wl.Global[f32, rows, n + TAPS - 1], w: wl.Constant[f32, TAPS], y: wl.Global[f32, rows, n]):
    lane = wl.lane_id()
    i, r = wl.global_id("x"), wl.block_id("y")
    inp = wl.register(f32, 2)
    inp[0] = x[r, i] if i < n + TAPS - 1 else 0.0
    inp[1] = x[r, i + 32] if i + 32 < n + TAPS - 1 else 0.0
    out = wl.accumulator(f32, op="+", inner="*")
    for k in range(TAPS):
        got = wl.shfl(inp[wl.part(2, lane, k, name="which")], wl.xform(lane, 32, k, name="source"))
        out.add(w[wl.xform(k, TAPS, lane, name="weight")], got)
    if i < n:
        y[r, i] = out.value()


if __name__ == "__main__":
    done = wl.complete(row_pass)
    show(done, "separable_filter")
    x = np.random.default_rng(0).random((3, 44), np.float32)
    w = np.array([1, 4, 6, 4, 1], np.float32) / 16
    result = done.run({"x": x, "w": w}, {"rows": 3, "n": 40})
    wanted = sum(w[k] * x[:, k : k + 40] for k in range(TAPS))
    print("3 x 40 points as NumPy's:", np.allclose(result.arrays["y"], wanted))
