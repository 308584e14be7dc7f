"""Inclusive prefix sums of a warp: in each step a lane adds what another one below it holds. Distance and condition are open."""

import numpy as np
from shown import show

import warploom as wl
from warploom import i32

n = wl.size("n")


def spec(x, y, n):
    for block in range(n):
        for t in range(32):
            for k in range(t + 1):
                y[32 * block + t] += x[32 * block + k]


@wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 1})
def prefix(x: wl.Global[i32, 32 * n], y: wl.Global[i32, 32 * n]):
    lane = wl.lane_id()
    v = x[wl.global_id()]
    for step in range(5):
        below = wl.shfl_up(v, wl.power(32, step, name="distance"))
        v = v + (below if wl.cond(lane, 1 << step, name="has_one") else 0)
    y[wl.global_id()] = v


if __name__ == "__main__":
    done = wl.complete(prefix)
    show(done)
    x = np.arange(64, dtype=np.int32)
    print("two warps as NumPy's:", np.array_equal(done.run({"x": x}, {"n": 2}).arrays["y"], x.reshape(2, 32).cumsum(1).ravel()))
