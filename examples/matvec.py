"""32 x 32 matrix times vector: each lane holds one element of the vector and passes it round the warp."""

import numpy as np

import warploom as wl
from warploom import f32

n = wl.size("n")


def spec(m, v, y, n):
    for b in range(n):
        for i in range(32):
            for j in range(32):
                y[32 * b + i] += m[i, j] * v[32 * b + j]


@wl.sketch(spec=spec, block=32, grid=n, complete_at={"n": 1})
def matvec(m: wl.Global[f32, 32, 32], v: wl.Global[f32, 32 * n], y: wl.Global[f32, 32 * n]):
    lane = wl.lane_id()
    mine = v[wl.global_id()]
    total = wl.accumulator(f32, op="+", inner="*")
    for k in range(32):
        got = wl.shfl(mine, wl.xform(lane, 32, k, name="lane"))
        total.add(m[lane, wl.xform(k, 32, lane, name="column")], got)
    y[wl.global_id()] = total.value()


if __name__ == "__main__":
    done = wl.complete(matvec)
    print(f"{done.status} and {done.lift}")
    for name, text in done.holes.items():
        print(f"  {name} = {text}")

    random = np.random.default_rng(0)
    m, v = (random.uniform(-1, 1, shape).astype(np.float32) for shape in ((32, 32), (3, 32)))
    result = done.run({"m": m, "v": v.reshape(-1)}, {"n": 3})
    print("3 vectors as NumPy's:", np.allclose(result.arrays["y"], (v @ m.T).reshape(-1), atol=1e-5))
