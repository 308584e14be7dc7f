"""Sum over a warp that every lane gets: five exchanges, all distances left open as powers of two."""

import numpy as np
from shown import show

import warploom as wl
from warploom import i32

n = wl.size("n")


def spec(x, y, n):
    for block in range(n):
        for t in range(32):
            for k in range(32):
                y[32 * block + t] += x[32 * block + k]


@wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 1})
def all_reduce(x: wl.Global[i32, 32 * n], y: wl.Global[i32, 32 * n]):
    v = x[wl.global_id()]
    for step in range(5):
        v = v + wl.shfl_xor(v, wl.power(32, step, name="distance"))
    y[wl.global_id()] = v


if __name__ == "__main__":
    done = wl.complete(all_reduce)
    show(done)
    x = np.arange(64, dtype=np.int32)
    print("two warps as NumPy's:", np.array_equal(done.run({"x": x}, {"n": 2}).arrays["y"], x.reshape(2, 32).sum(1).repeat(32)))
